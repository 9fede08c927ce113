package types

import (
	"encoding/binary"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

func errRange22(what, s, detail string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "malformed %s literal: \"%s\"", what, s).WithDetail("%s", detail)
}

// ParseRange reads '[a,b)' or 'empty' into the flat encoding.
func ParseRange(t T, src string, opt *Options) (string, error) {
	r, rest, err := parseRange(t, "range", src, src, opt)
	if err != nil {
		return "", err
	}
	if trimLeft(rest) != "" {
		detail := "Junk after right parenthesis or bracket."
		if r.Empty && strings.HasPrefix(strings.ToLower(trimLeft(src)), "empty") {
			detail = "Junk after \"empty\" key word."
		}
		return "", errRange22("range", src, detail)
	}
	return string(AppendRange(nil, r)), nil
}

// parseRange reads one range at the front of s, which is a part of src, the text
// of a range or, as what says, of a multirange.
func parseRange(t T, what, src, s string, opt *Options) (r Range, rest string, err error) {
	bad := func(detail string) (Range, string, error) { return r, "", errRange22(what, src, detail) }
	s = trimLeft(s)
	if len(s) >= 5 && strings.EqualFold(s[:5], "empty") {
		return Range{Empty: true}, s[5:], nil
	}
	if s == "" || s[0] != '[' && s[0] != '(' {
		return bad("Missing left parenthesis or bracket.")
	}
	r.Lo.Inc = s[0] == '['
	lo, loInf, s, ok := rangeBound(s[1:])
	if !ok {
		return bad("Unexpected end of input.")
	}
	if s[0] != ',' {
		return bad("Missing comma after lower bound.")
	}
	hi, hiInf, s, ok := rangeBound(s[1:])
	if !ok {
		return bad("Unexpected end of input.")
	}
	if s[0] == ',' {
		return bad("Too many commas.")
	}
	r.Hi.Inc = s[0] == ']'
	for _, b := range []struct {
		to   *Bound
		text string
		inf  bool
	}{{&r.Lo, lo, loInf}, {&r.Hi, hi, hiInf}} {
		if b.to.Inf = b.inf; b.inf {
			continue
		}
		d, err := ParseText(t.RangeSub(), b.text, opt)
		if err != nil {
			return r, "", err
		}
		b.to.Val = AppendElem(nil, d)
	}
	r, err = MakeRange(t, r)
	return r, s[1:], err
}

// rangeBound reads a bound up to the comma or bracket after it.
func rangeBound(s string) (text string, inf bool, rest string, ok bool) {
	if s == "" {
		return "", false, "", false
	}
	if s[0] == ',' || s[0] == ')' || s[0] == ']' {
		return "", true, s, true
	}
	var out []byte
	quoted := false
	for s != "" {
		c := s[0]
		switch {
		case !quoted && (c == ',' || c == ')' || c == ']' || c == '(' || c == '['):
			return string(out), false, s, true
		case c == '\\':
			if len(s) < 2 {
				return "", false, "", false
			}
			out = append(out, s[1])
			s = s[1:]
		case c == '"' && quoted && len(s) > 1 && s[1] == '"':
			out = append(out, '"')
			s = s[1:]
		case c == '"':
			quoted = !quoted
		default:
			out = append(out, c)
		}
		s = s[1:]
	}
	return "", false, "", false
}

// AppendRangeText appends the text form of a range.
func AppendRangeText(dst []byte, t T, b []byte, opt *Options) []byte {
	r := ViewRange(b)
	if r.Empty {
		return append(dst, "empty"...)
	}
	bound := func(b Bound) {
		if b.Inf {
			return
		}
		start := len(dst)
		dst = appendElemText(dst, t.RangeSub(), b.Val, opt)
		if rangeNeedsQuote(dst[start:]) {
			dst = quoteField(dst, start)
		}
	}
	dst = append(dst, map[bool]byte{true: '[', false: '('}[r.Lo.Inc])
	bound(r.Lo)
	dst = append(dst, ',')
	bound(r.Hi)
	return append(dst, map[bool]byte{true: ']', false: ')'}[r.Hi.Inc])
}

func rangeNeedsQuote(b []byte) bool {
	for _, c := range b {
		if c == '[' || c == ']' {
			return true
		}
	}
	return recordNeedsQuote(b)
}

// ParseMultirange reads '{[a,b),…}' into the flat encoding.
func ParseMultirange(t T, src string, opt *Options) (string, error) {
	bad := func(detail string) (string, error) { return "", errRange22("multirange", src, detail) }
	s := trimLeft(src)
	if s == "" || s[0] != '{' {
		return bad("Missing left brace.")
	}
	s = trimLeft(s[1:])
	var rs []Range
	for s == "" || s[0] != '}' {
		if len(rs) > 0 {
			if s == "" {
				return bad("Unexpected end of input.")
			}
			if s[0] != ',' {
				return bad("Expected comma or end of multirange.")
			}
			s = trimLeft(s[1:])
		}
		if s == "" {
			return bad("Unexpected end of input.")
		}
		if s[0] != '[' && s[0] != '(' && !(len(s) >= 5 && strings.EqualFold(s[:5], "empty")) {
			return bad("Expected range start.")
		}
		r, rest, err := parseRange(t.RangeType(), "multirange", src, s, opt)
		if err != nil {
			return "", err
		}
		rs, s = append(rs, r), trimLeft(rest)
	}
	if trimLeft(s[1:]) != "" {
		return bad("Junk after closing right brace.")
	}
	return string(AppendMultirange(nil, NewRangeSet(t, rs))), nil
}

// AppendMultirangeText appends the text form of a multirange.
func AppendMultirangeText(dst []byte, t T, b []byte, opt *Options) []byte {
	v := ViewArray(b)
	dst = append(dst, '{')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		e, _ := v.At(i)
		dst = AppendRangeText(dst, t.RangeType(), e, opt)
	}
	return append(dst, '}')
}

// appendRangeBinary appends the binary form; its flags are PostgreSQL's.
func appendRangeBinary(dst []byte, t T, b []byte) []byte {
	r := ViewRange(b)
	if r.Empty {
		return append(dst, 0x01)
	}
	f := byte(0)
	for _, x := range []struct {
		on  bool
		bit byte
	}{{r.Lo.Inc, 2}, {r.Hi.Inc, 4}, {r.Lo.Inf, 8}, {r.Hi.Inf, 16}} {
		if x.on {
			f |= x.bit
		}
	}
	dst = append(dst, f)
	for _, x := range []Bound{r.Lo, r.Hi} {
		if !x.Inf {
			dst = appendSized(dst, t.RangeSub(), x.Val, false)
		}
	}
	return dst
}

func parseRangeBinary(t T, b []byte) (Datum, error) {
	if len(b) == 0 {
		return nil, errBinary()
	}
	f := b[0]
	b = b[1:]
	r := Range{Empty: f&1 != 0, Lo: Bound{Inc: f&2 != 0, Inf: f&8 != 0}, Hi: Bound{Inc: f&4 != 0, Inf: f&16 != 0}}
	if !r.Empty {
		for _, x := range []*Bound{&r.Lo, &r.Hi} {
			if x.Inf {
				continue
			}
			e, rest, err := sizedPart(b)
			if err != nil {
				return nil, err
			}
			d, err := ParseBinary(t.RangeSub(), e)
			if err != nil {
				return nil, err
			}
			x.Val, b = AppendElem(nil, d), rest
		}
	}
	if len(b) != 0 {
		return nil, errBinary()
	}
	r, err := MakeRange(t, r)
	if err != nil {
		return nil, err
	}
	return string(AppendRange(nil, r)), nil
}

// sizedPart cuts off a part that its length precedes.
func sizedPart(b []byte) (part, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errBinary()
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	if n < 0 || n > len(b)-4 {
		return nil, nil, errBinary()
	}
	return b[4 : 4+n], b[4+n:], nil
}

func appendMultirangeBinary(dst []byte, t T, b []byte) []byte {
	v := ViewArray(b)
	dst = binary.BigEndian.AppendUint32(dst, uint32(v.Len()))
	for i := range v.Len() {
		e, _ := v.At(i)
		dst = appendSized(dst, t.RangeType(), e, false)
	}
	return dst
}

func parseMultirangeBinary(t T, b []byte) (Datum, error) {
	if len(b) < 4 {
		return nil, errBinary()
	}
	n := binary.BigEndian.Uint32(b)
	b = b[4:]
	var rs []Range
	for range n {
		e, rest, err := sizedPart(b)
		if err != nil {
			return nil, err
		}
		d, err := parseRangeBinary(t.RangeType(), e)
		if err != nil {
			return nil, err
		}
		rs, b = append(rs, ViewRange([]byte(d.(string)))), rest
	}
	if len(b) != 0 {
		return nil, errBinary()
	}
	return string(AppendMultirange(nil, NewRangeSet(t, rs))), nil
}
