package types

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// Positions in a log (pg_lsn) and numbers of transactions (xid8, xid) are unsigned
// words, which are stored with the highest byte first.

// AppendWord appends the stored form of a word of type t.
func AppendWord(dst []byte, t T, v uint64) []byte {
	if t.ID == Xid {
		return binary.BigEndian.AppendUint32(dst, uint32(v))
	}
	return binary.BigEndian.AppendUint64(dst, v)
}

// ViewWord reads the stored form of a word of any length.
func ViewWord(b []byte) (v uint64) {
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

func appendWordText(dst, b []byte) []byte { return strconv.AppendUint(dst, ViewWord(b), 10) }

func parseWord(s string, t T) (string, error) {
	return string(AppendWord(nil, t, leadingUint64(s))), nil
}

func parseWordBinary(b []byte, t T) (string, error) {
	if len(b) != int(t.Size()) {
		return "", errBinary()
	}
	return string(b), nil
}

// leadingUint64 reads an unsigned number as C does, by which PostgreSQL reads numbers
// of transactions: in base 8, 10 or 16, as far as there are digits, with a sign, and
// the largest number for one out of range.
func leadingUint64(s string) uint64 {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	neg := strings.HasPrefix(s, "-")
	if neg || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	base := 10
	switch {
	case len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X") && digitValue(s[2]) < 16:
		base, s = 16, s[2:]
	case strings.HasPrefix(s, "0"):
		base = 8
	}
	n := 0
	for n < len(s) && digitValue(s[n]) < base {
		n++
	}
	v, err := strconv.ParseUint(s[:n], base, 64)
	switch {
	case n == 0:
		return 0
	case err != nil:
		return math.MaxUint64
	case neg:
		return -v
	}
	return v
}

func digitValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return math.MaxInt
}

// A pg_lsn is written as its halves in hexadecimal digits.

func appendLSNText(dst, b []byte) []byte {
	v := ViewWord(b)
	return fmt.Appendf(dst, "%X/%X", v>>32, uint32(v))
}

func parseLSN(s string, t T) (string, error) {
	hi, lo, ok := strings.Cut(s, "/")
	half := func(h string) uint64 {
		for i := range len(h) {
			ok = ok && digitValue(h[i]) < 16
		}
		v, err := strconv.ParseUint(h, 16, 32)
		ok = ok && err == nil && len(h) <= 8
		return v
	}
	v := half(hi)<<32 | half(lo)
	if !ok {
		return "", errInput("pg_lsn", s)
	}
	return string(AppendWord(nil, t, v)), nil
}

// LSNDecimal is a position as a number.
func LSNDecimal(b []byte) Decimal {
	return fromMag(new(big.Int).SetUint64(ViewWord(b)), false, 0)
}

// DecimalToLSN is the position of a number, rounded: 0A000, 22023.
func DecimalToLSN(d Decimal) ([]byte, error) {
	switch {
	case d.IsNaN():
		return nil, pgerr.New(pgerr.FeatureNotSupported, "cannot convert NaN to pg_lsn")
	case d.IsInf():
		return nil, pgerr.New(pgerr.FeatureNotSupported, "cannot convert infinity to pg_lsn")
	}
	v, err := strconv.ParseUint(d.Round(0).String(), 10, 64)
	if err != nil {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "pg_lsn out of range")
	}
	return AppendWord(nil, TLSN, v), nil
}
