package types

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/streamdb/streamdb/pgerr"
)

// The flat encoding of a numeric is a header byte (form, sign, width of the
// coefficient), the scale (one byte, or 255 and two bytes) and the coefficient,
// little-endian in 1, 2, 4, 8 or 16 bytes, or big-endian to the end when wider.
const (
	decWide   = 6
	decNegBit = 0x20
)

// AppendDecimal appends the flat encoding of d. Encodings of equal values with
// different scales differ; AppendDecimalKey's do not.
func AppendDecimal(dst []byte, d Decimal) []byte {
	h := byte(d.form) << 6
	if d.form != decFinite {
		return append(dst, h)
	}
	if d.neg {
		h |= decNegBit
	}
	w := byte(decWide)
	if d.big == nil {
		switch {
		case d.hi != 0:
			w = 5
		case d.lo == 0:
			w = 0
		case d.lo <= math.MaxUint8:
			w = 1
		case d.lo <= math.MaxUint16:
			w = 2
		case d.lo <= math.MaxUint32:
			w = 3
		default:
			w = 4
		}
	}
	dst = append(dst, h|w)
	if d.scale < 255 {
		dst = append(dst, byte(d.scale))
	} else {
		dst = append(dst, 255, byte(d.scale), byte(d.scale>>8))
	}
	switch w {
	case 1:
		return append(dst, byte(d.lo))
	case 2:
		return binary.LittleEndian.AppendUint16(dst, uint16(d.lo))
	case 3:
		return binary.LittleEndian.AppendUint32(dst, uint32(d.lo))
	case 4:
		return binary.LittleEndian.AppendUint64(dst, d.lo)
	case 5:
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, d.lo), d.hi)
	case decWide:
		return append(dst, d.big.Bytes()...)
	}
	return dst
}

// DecodeDecimal decodes what AppendDecimal wrote; b is not kept. Malformed
// bytes give NaN, never a panic.
func DecodeDecimal(b []byte) Decimal {
	if len(b) < 2 {
		if len(b) == 1 && b[0]>>6 != 0 {
			return Decimal{form: decForm(b[0] >> 6)}
		}
		return DecimalNaN()
	}
	h := b[0]
	d := Decimal{scale: int32(b[1]), neg: h&decNegBit != 0}
	b = b[2:]
	if d.scale == 255 {
		if len(b) < 2 {
			return DecimalNaN()
		}
		d.scale = int32(binary.LittleEndian.Uint16(b))
		b = b[2:]
	}
	switch w := h & 7; {
	case h>>6 != 0 || d.scale > maxNumericScale:
		return DecimalNaN()
	case w == 0:
	case w == 1 && len(b) >= 1:
		d.lo = uint64(b[0])
	case w == 2 && len(b) >= 2:
		d.lo = uint64(binary.LittleEndian.Uint16(b))
	case w == 3 && len(b) >= 4:
		d.lo = uint64(binary.LittleEndian.Uint32(b))
	case w == 4 && len(b) >= 8:
		d.lo = binary.LittleEndian.Uint64(b)
	case w == 5 && len(b) >= 16:
		d.lo, d.hi = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	case w == decWide:
		return fromMag(new(big.Int).SetBytes(b), d.neg, d.scale)
	default:
		return DecimalNaN()
	}
	d.neg = d.neg && d.lo|d.hi != 0
	return d
}

// DecodeSmallDecimal decodes the flat encoding of coef × 10^-scale where coef fits
// an int64 and scale a byte: what nearly all numerics are. ok is false for others.
func DecodeSmallDecimal(b []byte) (coef int64, scale uint8, ok bool) {
	if len(b) < 2 || b[0]>>6 != 0 || b[1] == 255 {
		return 0, 0, false
	}
	var u uint64
	w := b[0] & 7
	switch len(b) {
	case 2:
		ok = w == 0
	case 3:
		u, ok = uint64(b[2]), w == 1
	case 4:
		u, ok = uint64(binary.LittleEndian.Uint16(b[2:])), w == 2
	case 6:
		u, ok = uint64(binary.LittleEndian.Uint32(b[2:])), w == 3
	case 10:
		u = binary.LittleEndian.Uint64(b[2:])
		ok = w == 4 && u <= math.MaxInt64
	}
	if b[0]&decNegBit != 0 {
		return -int64(u), b[1], ok
	}
	return int64(u), b[1], ok
}

// AppendSmallDecimal appends the flat encoding of coef × 10^-scale, which
// AppendDecimal would append for it; scale is below 255, and coef not the least
// int64.
func AppendSmallDecimal(dst []byte, coef int64, scale uint8) []byte {
	h, u := byte(0), uint64(coef)
	if coef < 0 {
		h, u = decNegBit, uint64(-coef)
	}
	switch {
	case u == 0:
		return append(dst, 0, scale)
	case u <= math.MaxUint8:
		return append(dst, h|1, scale, byte(u))
	case u <= math.MaxUint16:
		return append(dst, h|2, scale, byte(u), byte(u>>8))
	case u <= math.MaxUint32:
		return binary.LittleEndian.AppendUint32(append(dst, h|3, scale), uint32(u))
	}
	return binary.LittleEndian.AppendUint64(append(dst, h|4, scale), u)
}

// DecimalDatum boxes d as the Datum of a numeric.
func DecimalDatum(d Decimal) Datum {
	var buf [32]byte
	return string(AppendDecimal(buf[:0], d))
}

// DatumDecimal reads the Datum of a numeric.
func DatumDecimal(v Datum) Decimal {
	s, _ := v.(string)
	return DecodeDecimal([]byte(s))
}

// String returns d as PostgreSQL prints it.
func (d Decimal) String() string { return string(AppendDecimalText(nil, d)) }

// appendCoef appends the digits of the coefficient without leading zeros.
func (d *Decimal) appendCoef(dst []byte) []byte {
	if d.big != nil {
		return d.big.Append(dst, 10)
	}
	if d.hi == 0 {
		return strconv.AppendUint(dst, d.lo, 10)
	}
	hi, lo, r := div128(d.hi, d.lo, 1e19)
	t := Decimal{hi: hi, lo: lo}
	dst = t.appendCoef(dst)
	var z [19]byte
	for i := 18; i >= 0; i-- {
		z[i] = byte('0' + r%10)
		r /= 10
	}
	return append(dst, z[:]...)
}

// AppendDecimalText appends d as PostgreSQL prints it: NaN, Infinity, -12.50.
func AppendDecimalText(dst []byte, d Decimal) []byte {
	switch d.form {
	case decNaN:
		return append(dst, "NaN"...)
	case decPosInf:
		return append(dst, "Infinity"...)
	case decNegInf:
		return append(dst, "-Infinity"...)
	}
	if d.neg {
		dst = append(dst, '-')
	}
	var buf [48]byte
	c := d.appendCoef(buf[:0])
	s := int(d.scale)
	if s == 0 {
		return append(dst, c...)
	}
	if len(c) <= s {
		dst = append(dst, '0', '.')
		for i := len(c); i < s; i++ {
			dst = append(dst, '0')
		}
		return append(dst, c...)
	}
	dst = append(dst, c[:len(c)-s]...)
	dst = append(dst, '.')
	return append(dst, c[len(c)-s:]...)
}

// ParseDecimal reads a numeric in PostgreSQL's input syntax: 22P02 when
// malformed, 22003 beyond 131072 digits before or 16383 after the point.
func ParseDecimal(s string) (Decimal, error) {
	t := trimSpace(s)
	if d, ok := parseDecimalFast(t); ok {
		return d, nil
	}
	body, neg := t, false
	if body != "" && (body[0] == '-' || body[0] == '+') {
		neg = body[0] == '-'
		body = body[1:]
	}
	switch {
	case equalFold(t, "nan"):
		return DecimalNaN(), nil
	case equalFold(body, "inf") || equalFold(body, "infinity"):
		if neg {
			return DecimalNegInf(), nil
		}
		return DecimalInf(), nil
	}
	digs := make([]byte, 0, len(body))
	scale, i, dot := 0, 0, false
	for ; i < len(body); i++ {
		c := body[i]
		if c == '.' && !dot {
			dot = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		digs = append(digs, c)
		if dot {
			scale++
		}
	}
	if len(digs) == 0 {
		return Decimal{}, errInput("numeric", s)
	}
	if i < len(body) {
		e, err := decimalExp(body[i:], s)
		if err != nil {
			return Decimal{}, err
		}
		scale -= e
	}
	return buildDecimal(digs, scale, neg)
}

func decimalExp(t, whole string) (int, error) {
	if t[0] != 'e' && t[0] != 'E' || len(t) < 2 {
		return 0, errInput("numeric", whole)
	}
	n := t[1:]
	if n[0] == '+' || n[0] == '-' {
		n = n[1:]
	}
	if n == "" {
		return 0, errInput("numeric", whole)
	}
	for i := range len(n) {
		if n[i] < '0' || n[i] > '9' {
			return 0, errInput("numeric", whole)
		}
	}
	e, err := strconv.Atoi(t[1:])
	if err != nil || e > math.MaxInt32/2 || e < -math.MaxInt32/2 {
		return 0, errNumericOverflow()
	}
	return e, nil
}

func buildDecimal(digs []byte, scale int, neg bool) (Decimal, error) {
	for len(digs) > 1 && digs[0] == '0' {
		digs = digs[1:]
	}
	zero := digs[0] == '0'
	if !zero && len(digs)-scale > maxNumericInteger || scale > maxNumericScale {
		return Decimal{}, errNumericOverflow()
	}
	if zero {
		return Decimal{scale: int32(max(scale, 0))}, nil
	}
	c, ok := new(big.Int).SetString(string(digs), 10)
	if !ok {
		return Decimal{}, errNumericOverflow()
	}
	if scale < 0 {
		c.Mul(c, bigPow10(-scale))
		scale = 0
	}
	return fromMag(c, neg, int32(scale)), nil
}

// parseDecimalFast handles plain numbers of at most 19 digits.
func parseDecimalFast(t string) (Decimal, bool) {
	if len(t) == 0 || len(t) > 21 {
		return Decimal{}, false
	}
	i, n := 0, 0
	d := Decimal{scale: -1}
	if t[0] == '-' || t[0] == '+' {
		d.neg = t[0] == '-'
		i = 1
	}
	for ; i < len(t); i++ {
		c := t[i] - '0'
		if c > 9 {
			if t[i] != '.' || d.scale >= 0 {
				return Decimal{}, false
			}
			d.scale = 0
			continue
		}
		d.lo = d.lo*10 + uint64(c)
		n++
		if d.scale >= 0 {
			d.scale++
		}
	}
	if n == 0 || n > 19 {
		return Decimal{}, false
	}
	d.scale = max(d.scale, 0)
	d.neg = d.neg && d.lo != 0
	return d, true
}

// DecimalFromFloat64 converts by PostgreSQL's rule: 15 significant digits.
func DecimalFromFloat64(f float64) Decimal { return decimalFromFloat(f, 15, 64) }

// DecimalFromFloat32 converts by PostgreSQL's rule: 6 significant digits.
func DecimalFromFloat32(f float32) Decimal { return decimalFromFloat(float64(f), 6, 32) }

func decimalFromFloat(f float64, prec, size int) Decimal {
	switch {
	case math.IsNaN(f):
		return DecimalNaN()
	case math.IsInf(f, 1):
		return DecimalInf()
	case math.IsInf(f, -1):
		return DecimalNegInf()
	}
	var buf [40]byte
	d, err := ParseDecimal(string(strconv.AppendFloat(buf[:0], f, 'g', prec, size)))
	if err != nil {
		return DecimalNaN() // not reached: every finite float8 is in range
	}
	return d
}

// Float64 returns the nearest float8, an infinity beyond its range.
func (d Decimal) Float64() float64 {
	switch d.form {
	case decNaN:
		return math.NaN()
	case decPosInf:
		return math.Inf(1)
	case decNegInf:
		return math.Inf(-1)
	}
	if d.big == nil && d.hi == 0 && d.lo < 1<<53 && d.scale <= 22 {
		f := float64(d.lo)
		if d.scale > 0 {
			f /= math.Pow10(int(d.scale)) // both exact, so one correct rounding
		}
		if d.neg {
			return -f
		}
		return f
	}
	var buf [64]byte
	f, _ := strconv.ParseFloat(string(AppendDecimalText(buf[:0], d)), 64)
	return f
}

// Int64 rounds half away from zero; ok is false beyond int64, NaN and infinity.
func (d Decimal) Int64() (v int64, ok bool) {
	if d.form != decFinite {
		return 0, false
	}
	r := d.Round(0)
	switch {
	case r.big != nil || r.hi != 0:
		return 0, false
	case r.neg:
		return -int64(r.lo), r.lo <= 1<<63
	}
	return int64(r.lo), r.lo < 1<<63
}

// Typmod rounds d to numeric(p,s) and checks its precision: 22003 with
// PostgreSQL's detail. A negative mod leaves d alone.
func (d Decimal) Typmod(mod int32) (Decimal, error) {
	if mod < 4 || d.form == decNaN {
		return d, nil
	}
	p, s := T{ID: Numeric, Mod: mod}.NumericMod()
	if d.form != decFinite {
		return d, pgerr.New(pgerr.NumericValueOutOfRange, "numeric field overflow").
			WithDetail("A field with precision %d, scale %d cannot hold an infinite value.", p, s)
	}
	r := d.Round(s)
	if !r.IsZero() && r.digits()-int(r.scale) > p-s {
		limit := "10^" + strconv.Itoa(p-s)
		if p == s {
			limit = "1"
		}
		return d, pgerr.New(pgerr.NumericValueOutOfRange, "numeric field overflow").
			WithDetail("A field with precision %d, scale %d must round to an absolute value less than %s.", p, s, limit)
	}
	return r, nil
}

// trimmed returns the value with trailing zeros of the coefficient removed; the
// scale may become negative. Equal values give equal results.
func (d Decimal) trimmed() Decimal {
	if d.IsZero() {
		return Decimal{}
	}
	for d.big != nil {
		q, r := new(big.Int).QuoRem(d.big, big.NewInt(10), new(big.Int))
		if r.Sign() != 0 {
			return d
		}
		d = fromMag(q, d.neg, d.scale-1)
	}
	for d.hi != 0 {
		hi, lo, r := div128(d.hi, d.lo, 10)
		if r != 0 {
			return d
		}
		d.hi, d.lo, d.scale = hi, lo, d.scale-1
	}
	for d.lo%10 == 0 {
		d.lo /= 10
		d.scale--
	}
	return d
}

// MinScale returns the scale that shows d without trailing zeros.
func (d Decimal) MinScale() int {
	if d.form != decFinite {
		return 0
	}
	return max(int(d.trimmed().scale), 0)
}

// TrimScale removes trailing zeros after the point.
func (d Decimal) TrimScale() Decimal { return d.Trunc(d.MinScale()) }

// Key bytes of a numeric: a class byte, for finite values three bytes of
// decimal exponent and the significant digits, two a byte as 1..100, and 0.
const (
	dkNegInf = iota + 1
	dkNeg
	dkZero
	dkPos
	dkInf
	dkNaN
)

// AppendDecimalKey appends order-preserving, self-delimiting bytes; equal
// values of any scale give equal bytes and NaN sorts last.
func AppendDecimalKey(dst []byte, d Decimal) []byte {
	switch {
	case d.form == decNaN:
		return append(dst, dkNaN)
	case d.form == decPosInf:
		return append(dst, dkInf)
	case d.form == decNegInf:
		return append(dst, dkNegInf)
	case d.IsZero():
		return append(dst, dkZero)
	}
	var buf [64]byte
	c := d.appendCoef(buf[:0])
	e := uint32(len(c) - int(d.scale) + 1<<20)
	for c[len(c)-1] == '0' {
		c = c[:len(c)-1]
	}
	class, flip := byte(dkPos), byte(0)
	if d.neg {
		class, flip = dkNeg, 0xff
	}
	dst = append(dst, class, byte(e>>16)^flip, byte(e>>8)^flip, byte(e)^flip)
	for i := 0; i < len(c); i += 2 {
		v := (c[i]-'0')*10 + 1
		if i+1 < len(c) {
			v += c[i+1] - '0'
		}
		dst = append(dst, v^flip)
	}
	return append(dst, flip)
}

// DecodeDecimalKey reads AppendDecimalKey's bytes and returns the rest. The
// scale is the smallest that shows the value, since keys do not hold scales.
func DecodeDecimalKey(b []byte) (d Decimal, rest []byte, ok bool) {
	if len(b) == 0 {
		return d, b, false
	}
	class := b[0]
	b = b[1:]
	switch class {
	case dkNaN:
		return DecimalNaN(), b, true
	case dkInf:
		return DecimalInf(), b, true
	case dkNegInf:
		return DecimalNegInf(), b, true
	case dkZero:
		return d, b, true
	case dkNeg, dkPos:
	default:
		return d, b, false
	}
	flip := byte(0)
	if class == dkNeg {
		flip = 0xff
	}
	if len(b) < 4 {
		return d, b, false
	}
	e := int(b[0]^flip)<<16 | int(b[1]^flip)<<8 | int(b[2]^flip)
	b = b[3:]
	var digs []byte
	for {
		if len(b) == 0 {
			return d, b, false
		}
		v := b[0] ^ flip
		b = b[1:]
		if v == 0 {
			break
		}
		if v > 100 {
			return d, b, false
		}
		digs = append(digs, '0'+(v-1)/10, '0'+(v-1)%10)
	}
	if len(digs) == 0 {
		return d, b, false
	}
	d, err := buildDecimal(digs, len(digs)-(e-1<<20), class == dkNeg)
	return d.TrimScale(), b, err == nil
}

// HashDecimal hashes d so that equal values of any scale hash alike.
func HashDecimal(d Decimal, seed uint64) uint64 {
	if d.form != decFinite {
		return mix64(seed ^ uint64(d.form) | 1<<63)
	}
	t := d.trimmed()
	h := seed
	if t.big != nil {
		for _, w := range t.big.Bits() {
			h = mix64(h ^ uint64(w))
		}
	} else {
		h = mix64(h ^ t.lo)
		if t.hi != 0 {
			h = mix64(h ^ t.hi)
		}
	}
	h ^= uint64(uint32(t.scale)) << 1
	if t.neg {
		h ^= 1
	}
	return mix64(h)
}

func mix64(x uint64) uint64 {
	hi, lo := bits.Mul64(x^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// AppendDecimalBinary appends PostgreSQL's binary form: ndigits, weight, sign,
// dscale and base-10000 digits.
func AppendDecimalBinary(dst []byte, d Decimal) []byte {
	be := binary.BigEndian
	if d.form != decFinite {
		sign := map[decForm]uint16{decNaN: 0xc000, decPosInf: 0xd000, decNegInf: 0xf000}[d.form]
		scale := byte(0)
		if d.form != decNaN {
			scale = 0x20 // what PostgreSQL reads out of an infinity's sign
		}
		dst = append(dst, 0, 0, 0, 0)
		return append(be.AppendUint16(dst, sign), 0, scale)
	}
	var buf [72]byte
	c := d.appendCoef(buf[:0])
	if d.IsZero() {
		c = c[:0]
	}
	intDigits := len(c) - int(d.scale)
	weight := (intDigits+3)>>2 - 1 // floor division, also below zero
	lead := (weight+1)*4 - intDigits
	nd := (lead + len(c) + 3) / 4
	digs := make([]uint16, nd)
	for i, ch := range c {
		p := lead + i
		digs[p/4] += uint16(ch-'0') * [4]uint16{1000, 100, 10, 1}[p%4]
	}
	for nd > 0 && digs[nd-1] == 0 {
		nd--
	}
	if nd == 0 {
		weight = 0
	}
	dst = be.AppendUint16(dst, uint16(nd))
	dst = be.AppendUint16(dst, uint16(int16(weight)))
	sign := uint16(0)
	if d.neg {
		sign = 0x4000
	}
	dst = be.AppendUint16(dst, sign)
	dst = be.AppendUint16(dst, uint16(d.scale))
	for _, g := range digs[:nd] {
		dst = be.AppendUint16(dst, g)
	}
	return dst
}

// ParseDecimalBinary reads PostgreSQL's binary form; 22P03 when malformed.
func ParseDecimalBinary(b []byte) (Decimal, error) {
	bad := func(what string) (Decimal, error) {
		return Decimal{}, pgerr.New(pgerr.InvalidBinaryRepresentation, "invalid %s in external \"numeric\" value", what)
	}
	be := binary.BigEndian
	if len(b) < 8 {
		return bad("length")
	}
	n, weight := int(be.Uint16(b)), int(int16(be.Uint16(b[2:])))
	sign, scale := be.Uint16(b[4:]), int(be.Uint16(b[6:]))
	if len(b) != 8+2*n {
		return bad("length")
	}
	switch sign {
	case 0xc000:
		return DecimalNaN(), nil
	case 0xd000:
		return DecimalInf(), nil
	case 0xf000:
		return DecimalNegInf(), nil
	case 0, 0x4000:
	default:
		return bad("sign")
	}
	if scale > maxNumericScale {
		return bad("scale")
	}
	digs := make([]byte, 1, 4*n+1)
	digs[0] = '0'
	for i := range n {
		g := be.Uint16(b[8+2*i:])
		if g > 9999 {
			return bad("digit")
		}
		digs = append(digs, '0'+byte(g/1000), '0'+byte(g/100%10), '0'+byte(g/10%10), '0'+byte(g%10))
	}
	have := 4 * (n - weight - 1) // scale of the digits as sent
	if n == 0 {
		have = 0
	}
	c, _ := new(big.Int).SetString(string(digs), 10)
	if have < 0 {
		c.Mul(c, bigPow10(-have))
		have = 0
	}
	// Digits past the scale are dropped, as numeric_recv does.
	return fromMag(c, sign == 0x4000, int32(have)).Trunc(scale), nil
}
