package types

import (
	"bytes"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// A network address is stored as the family (4 or 6), the address with the bits to
// the right of the mask cleared, the length of the mask, and the whole address: the
// order of these bytes is that of inet and cidr.

// InetValue is an inet, or a cidr, whose Addr has no bits to the right of the mask.
type InetValue struct {
	Addr [16]byte // the first Size bytes
	V6   bool
	Bits int
}

// Size is the number of bytes of the address.
func (v *InetValue) Size() int {
	if v.V6 {
		return 16
	}
	return 4
}

// MaxBits is the length of the whole address.
func (v *InetValue) MaxBits() int { return 8 * v.Size() }

// Bytes returns the bytes of the address, which belong to v.
func (v *InetValue) Bytes() []byte { return v.Addr[:v.Size()] }

// Masked returns v without the bits to the right of the mask.
func (v InetValue) Masked() InetValue {
	b := v.Bytes()
	for i := range b {
		b[i] &= maskByte(v.Bits, i)
	}
	return v
}

// maskByte is byte i of a mask of so many bits.
func maskByte(n, i int) byte {
	switch n -= 8 * i; {
	case n >= 8:
		return 0xff
	case n <= 0:
		return 0
	}
	return ^byte(0xff >> n)
}

// Netmask returns the mask as an address, or with host the bits it leaves out.
func (v InetValue) Netmask(host bool) InetValue {
	b := v.Bytes()
	for i := range b {
		b[i] = maskByte(v.Bits, i)
		if host {
			b[i] = ^b[i]
		}
	}
	v.Bits = v.MaxBits()
	return v
}

// Broadcast returns v with all bits to the right of the mask set.
func (v InetValue) Broadcast() InetValue {
	b := v.Bytes()
	for i := range b {
		b[i] |= ^maskByte(v.Bits, i)
	}
	return v
}

// CommonBits returns how many of the first bits two addresses of a family share, max at most.
func CommonBits(a, b *InetValue, max int) int {
	x, y := a.Bytes(), b.Bytes()
	for i := range x {
		if d := x[i] ^ y[i]; d != 0 {
			return min(max, 8*i+bits.LeadingZeros8(d))
		}
	}
	return max
}

// Within reports whether v's network is in w's, or with equal also whether it is w's.
func (v *InetValue) Within(w *InetValue, equal bool) bool {
	return v.V6 == w.V6 && (v.Bits > w.Bits || equal && v.Bits == w.Bits) && CommonBits(v, w, w.Bits) == w.Bits
}

// Overlaps reports whether one network is in the other.
func (v *InetValue) Overlaps(w *InetValue) bool {
	n := min(v.Bits, w.Bits)
	return v.V6 == w.V6 && CommonBits(v, w, n) == n
}

// AppendInet appends the stored form.
func AppendInet(dst []byte, v InetValue) []byte {
	family := byte(4)
	if v.V6 {
		family = 6
	}
	m := v.Masked()
	dst = append(append(dst, family), m.Bytes()...)
	return append(append(dst, byte(v.Bits)), v.Bytes()...)
}

// ViewInet reads the stored form.
func ViewInet(b []byte) (v InetValue) {
	v.V6 = len(b) == 34
	if n := v.Size(); len(b) == 2*n+2 {
		v.Bits = int(b[n+1])
		copy(v.Addr[:], b[n+2:])
	}
	return v
}

func parseInet(s string, cidr bool) (string, error) {
	name := "inet"
	if cidr {
		name = "cidr"
	}
	v, ok := scanInet(s, cidr)
	if !ok {
		return "", errInput(name, s)
	}
	if cidr && v.Masked() != v {
		return "", pgerr.New(pgerr.InvalidTextRepresentation, "invalid cidr value: \"%s\"", s).WithDetail("Value has bits set to right of mask.")
	}
	return string(AppendInet(nil, v)), nil
}

func scanInet(s string, cidr bool) (v InetValue, ok bool) {
	if strings.IndexByte(s, ':') < 0 {
		return scanIPv4(s, cidr)
	}
	addr, mask, masked := strings.Cut(s, "/")
	a, err := netip.ParseAddr(addr)
	if err != nil || a.Zone() != "" || !a.Is6() {
		return v, false
	}
	v = InetValue{Addr: a.As16(), V6: true, Bits: 128}
	if masked {
		n, err := strconv.ParseUint(mask, 10, 8)
		if err != nil || n > 128 || len(mask) > 1 && mask[0] == '0' || mask[0] == '+' {
			return v, false
		}
		v.Bits = int(n)
	}
	return v, true
}

// scanIPv4 reads up to four numbers and a mask. Of a cidr the mask may be left out,
// and follows from the class of the address then; of an inet only of all four.
func scanIPv4(s string, cidr bool) (v InetValue, ok bool) {
	addr, mask, masked := strings.Cut(s, "/")
	n := 0
	if cidr && len(addr) > 2 && addr[0] == '0' && addr[1]|0x20 == 'x' {
		for i := 2; i < len(addr); i += 2 {
			hi, ok := hexVal(addr[i])
			var lo byte
			ok2 := true
			if i+1 < len(addr) {
				lo, ok2 = hexVal(addr[i+1])
			}
			if !ok || !ok2 || n == 4 {
				return v, false
			}
			v.Addr[n] = hi<<4 | lo
			n++
		}
	} else {
		for _, part := range strings.Split(addr, ".") {
			x := 0
			for i := range len(part) {
				if part[i] < '0' || part[i] > '9' {
					return v, false
				}
				if x = 10*x + int(part[i]-'0'); x > 255 {
					return v, false
				}
			}
			if part == "" || n == 4 {
				return v, false
			}
			v.Addr[n] = byte(x)
			n++
		}
	}
	switch {
	case masked:
		for i := range len(mask) {
			if mask[i] < '0' || mask[i] > '9' {
				return v, false
			}
			if v.Bits = 10*v.Bits + int(mask[i]-'0'); v.Bits > 32 {
				return v, false
			}
		}
		if mask == "" {
			return v, false
		}
	case cidr:
		v.Bits = max(classBits(v.Addr[0]), 8*n)
		if v.Bits == 8 && v.Addr[0] == 224 {
			v.Bits = 4
		}
	case n == 4:
		v.Bits = 32
	default:
		return v, false
	}
	return v, cidr || v.Bits/8 <= n
}

func classBits(first byte) int {
	switch {
	case first >= 240:
		return 32
	case first >= 224:
		return 8
	case first >= 192:
		return 24
	case first >= 128:
		return 16
	}
	return 8
}

func appendInetText(dst, b []byte) []byte {
	v := ViewInet(b)
	return AppendInetText(dst, &v, v.Bits < v.MaxBits())
}

func appendCidrText(dst, b []byte) []byte {
	v := ViewInet(b)
	return AppendInetText(dst, &v, true)
}

// AppendInetText appends an address, with the length of its mask if mask is set.
func AppendInetText(dst []byte, v *InetValue, mask bool) []byte {
	if v.V6 {
		dst = appendIPv6(dst, v.Addr)
	} else {
		dst = appendIPv4(dst, v.Addr[:4])
	}
	if mask {
		dst = strconv.AppendInt(append(dst, '/'), int64(v.Bits), 10)
	}
	return dst
}

func appendIPv4(dst, b []byte) []byte {
	for i, x := range b {
		if i > 0 {
			dst = append(dst, '.')
		}
		dst = strconv.AppendInt(dst, int64(x), 10)
	}
	return dst
}

// appendIPv6 shortens the first of the longest runs of zeros, and writes the last
// two words as an IPv4 address where they are one.
func appendIPv6(dst []byte, a [16]byte) []byte {
	word := func(i int) int { return int(a[2*i])<<8 | int(a[2*i+1]) }
	at, n := -1, 1
	for i := 0; i < 8; i++ {
		run := 0
		for i+run < 8 && word(i+run) == 0 {
			run++
		}
		if run > n {
			at, n = i, run
		}
		i += run
	}
	for i := 0; i < 8; i++ {
		if i == at {
			dst = append(dst, ':')
			if i += n - 1; i == 7 {
				dst = append(dst, ':')
			}
			continue
		}
		if i > 0 {
			dst = append(dst, ':')
		}
		if i == 6 && at == 0 && (n == 6 || n == 5 && word(5) == 0xffff) {
			return appendIPv4(dst, a[12:])
		}
		dst = strconv.AppendInt(dst, int64(word(i)), 16)
	}
	return dst
}

// AppendCidrAbbrev appends a network without the parts that its mask leaves out.
func AppendCidrAbbrev(dst []byte, v InetValue) []byte {
	v = v.Masked()
	switch {
	case v.V6:
		dst = appendIPv6Abbrev(dst, v.Addr, v.Bits)
	case v.Bits == 0:
		dst = append(dst, '0')
	default:
		dst = appendIPv4(dst, v.Addr[:(v.Bits+7)/8])
	}
	return strconv.AppendInt(append(dst, '/'), int64(v.Bits), 10)
}

func appendIPv6Abbrev(dst []byte, a [16]byte, n int) []byte {
	if n == 0 {
		return append(dst, "::"...)
	}
	words := max((n+15)/16, 2)
	word := func(i int) int { return int(a[2*i])<<8 | int(a[2*i+1]) }
	at, zeros, runAt, run := 0, 0, 0, 0
	for i := range words {
		if word(i) == 0 {
			if run == 0 {
				runAt = i
			}
			run++
		} else if run > zeros {
			at, zeros, run = runAt, run, 0
		}
	}
	if run > zeros {
		at, zeros = runAt, run
	}
	v4 := zeros != words && at == 0 && (zeros == 6 || zeros == 5 && word(5) == 0xffff || zeros == 7 && a[14] != 0 && a[15] != 1)
	start := len(dst)
	for i := range words {
		switch {
		case zeros > 0 && i >= at && i < at+zeros:
			if i == at {
				dst = append(dst, ':')
			}
			if i == words-1 {
				dst = append(dst, ':')
			}
		case v4 && i > 5:
			dst = append(dst, map[bool]byte{true: ':', false: '.'}[i == 6])
			dst = strconv.AppendInt(dst, int64(a[2*i]), 10)
			if i != 7 || n > 120 {
				dst = strconv.AppendInt(append(dst, '.'), int64(a[2*i+1]), 10)
			}
		default:
			if len(dst) > start {
				dst = append(dst, ':')
			}
			dst = strconv.AppendInt(dst, int64(word(i)), 16)
		}
	}
	return dst
}

func appendInetBinary(dst, b []byte) []byte { return appendAddress(dst, b, 0) }
func appendCidrBinary(dst, b []byte) []byte { return appendAddress(dst, b, 1) }

func appendAddress(dst, b []byte, cidr byte) []byte {
	v := ViewInet(b)
	family := byte(2)
	if v.V6 {
		family = 3
	}
	return append(append(dst, family, byte(v.Bits), cidr, byte(v.Size())), v.Bytes()...)
}

func parseInetBinary(b []byte, t T) (string, error) {
	name := t.TypName()
	bad := func(what string) (string, error) {
		return "", pgerr.New(pgerr.InvalidBinaryRepresentation, "invalid %s in external \"%s\" value", what, name)
	}
	if len(b) < 4 {
		return "", errBinary()
	}
	v := InetValue{V6: b[0] == 3, Bits: int(b[1])}
	switch {
	case b[0] != 2 && b[0] != 3:
		return bad("address family")
	case v.Bits > v.MaxBits():
		return bad("bits")
	case int(b[3]) != v.Size() || len(b) != 4+v.Size():
		return bad("length")
	}
	copy(v.Addr[:], b[4:])
	if t.ID == Cidr && v.Masked() != v {
		return "", pgerr.New(pgerr.InvalidBinaryRepresentation, "invalid external \"cidr\" value").WithDetail("Value has bits set to right of mask.")
	}
	return string(AppendInet(nil, v)), nil
}

// AddInet adds a number to an address: 22003 beyond the family's addresses.
func AddInet(v InetValue, n int64) (InetValue, error) {
	b := v.Bytes()
	carry := 0
	for i := len(b) - 1; i >= 0; i-- {
		x := int(b[i]) + int(byte(n)) + carry
		b[i], carry = byte(x), x>>8
		n >>= 8
	}
	// What is left of a negative number is -1, and its carry takes that back.
	if !(n == 0 && carry == 0 || n == -1 && carry == 1) {
		return v, errInetRange()
	}
	return v, nil
}

func errInetRange() error { return pgerr.New(pgerr.NumericValueOutOfRange, "result is out of range") }

// SubInet returns the distance between two addresses of a family.
func SubInet(v, w InetValue) (int64, error) {
	x, y := v.Bytes(), w.Bytes()
	negative := bytes.Compare(x, y) < 0
	if negative {
		x, y = y, x
	}
	var d uint64
	borrow := 0
	for i := len(x) - 1; i >= 0; i-- {
		z := int(x[i]) - int(y[i]) - borrow
		if borrow = 0; z < 0 {
			z, borrow = z+256, 1
		}
		if at := len(x) - 1 - i; at < 8 {
			d |= uint64(z) << (8 * at)
		} else if z != 0 {
			return 0, errInetRange()
		}
	}
	if negative && d <= 1<<63 {
		return -int64(d), nil
	}
	if negative || d > 1<<63-1 {
		return 0, errInetRange()
	}
	return int64(d), nil
}
