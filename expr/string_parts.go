package expr

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var errNegSubstring = pgerr.New(pgerr.SubstringError, "negative substring length not allowed")

func substringFuncs() []*Func {
	from := func(r *row) error { return r.putS(r.s(0)[runeOffset(r.s(0), r.i4(1)-1):]) }
	forN := func(r *row) error {
		s, err := substr(r.s(0), r.i4(1), r.i4(2))
		if err != nil {
			return err
		}
		return r.putS(s)
	}
	bytesN := func(r *row) error {
		b, lo := r.b(0), r.i4(1)
		hi := len(b) + 1
		if len(r.args) > 2 {
			if r.i4(2) < 0 {
				return errNegSubstring
			}
			hi = lo + r.i4(2)
		}
		lo, hi = min(max(lo, 1), len(b)+1), min(max(hi, 1), len(b)+1)
		return r.putB(b[lo-1 : max(hi, lo)-1])
	}
	out := []*Func{}
	for _, name := range []string{"substr", "substring"} {
		out = append(out, safe(fn(name, ts(tText, tI4), tText, from)), fn(name, ts(tText, tI4, tI4), tText, forN),
			safe(fn(name, ts(tBytea, tI4), tBytea, bytesN)), fn(name, ts(tBytea, tI4, tI4), tBytea, bytesN))
	}
	overlay := func(r *row) error {
		s, at := r.s(0), r.i4(2)
		n := utf8.RuneCountInString(r.s(1))
		if len(r.args) > 3 {
			n = r.i4(3)
		}
		if at <= 0 {
			return errNegSubstring
		}
		if int64(int32(at+n)) != int64(at+n) {
			return errInt4Range
		}
		head, err := substr(s, 1, at-1)
		if err != nil {
			return err
		}
		return r.putS(head + r.s(1) + s[runeOffset(s, at+n-1):])
	}
	return append(out, fn("overlay", ts(tText, tText, tI4), tText, overlay),
		fn("overlay", ts(tText, tText, tI4, tI4), tText, overlay))
}

func substr(s string, start, n int) (string, error) {
	if n < 0 {
		return "", errNegSubstring
	}
	end := start + n
	if end <= 1 {
		return "", nil
	}
	s = s[:runeOffset(s, end-1)]
	return s[runeOffset(s, start-1):], nil
}

func trimFuncs() []*Func {
	out := []*Func{}
	for name, f := range map[string]func(s, set string) string{
		"btrim": strings.Trim, "ltrim": strings.TrimLeft, "rtrim": strings.TrimRight,
	} {
		out = append(out, safe(fn(name, ts(tText, tText), tText, func(r *row) error { return r.putS(f(r.s(0), r.s(1))) })),
			safe(fn(name, ts(tText), tText, func(r *row) error { return r.putS(f(r.s(0), " ")) })))
	}
	pad := func(name string, atLeft bool) {
		out = append(out, fn(name, ts(tText, tI4), tText, func(r *row) error { return putPadded(r, r.s(0), r.i4(1), " ", atLeft) }),
			fn(name, ts(tText, tI4, tText), tText, func(r *row) error { return putPadded(r, r.s(0), r.i4(1), r.s(2), atLeft) }))
	}
	pad("lpad", true)
	pad("rpad", false)
	return out
}

func putPadded(r *row, s string, n int, fill string, atLeft bool) error {
	if n <= 0 {
		return r.putS("")
	}
	have := utf8.RuneCountInString(s)
	if have >= n || fill == "" {
		return r.putS(left(s, n))
	}
	if n > maxText/4 {
		return errTooLong
	}
	fills := utf8.RuneCountInString(fill)
	p := strings.Repeat(fill, (n-have)/fills) + left(fill, (n-have)%fills)
	if atLeft {
		return r.putS(p + s)
	}
	return r.putS(s + p)
}

// appendArg appends argument k's text form.
func (r *row) appendArg(dst []byte, k int) []byte {
	t := r.typ(k)
	if t.ID == types.Bool {
		return types.AppendBool(dst, r.bool(k))
	}
	return appendVecText(dst, t, r.args[k], r.i, r.c.options())
}

func concatFuncs() []*Func {
	concat := &Func{Name: "concat", Args: ts(Any), Variadic: true, Ret: tText, NotStrict: true, Volatility: Stable,
		Eval: rowsNulls(func(r *row) error {
			d := r.dst.(*vec.Bytes)
			for k := range r.args {
				if !r.isNull(k) {
					d.Data = r.appendArg(d.Data, k)
				}
			}
			d.Finish()
			return nil
		})}
	concatWS := &Func{Name: "concat_ws", Args: ts(tText, Any), Variadic: true, Ret: tText, NotStrict: true, Volatility: Stable,
		Eval: rowsNulls(func(r *row) error {
			if r.isNull(0) {
				return r.null()
			}
			d := r.dst.(*vec.Bytes)
			first := true
			for k := 1; k < len(r.args); k++ {
				if r.isNull(k) {
					continue
				}
				if !first {
					d.Data = append(d.Data, r.b(0)...)
				}
				first = false
				d.Data = r.appendArg(d.Data, k)
			}
			d.Finish()
			return nil
		})}
	format := &Func{Name: "format", Args: ts(tText, Any), Variadic: true, Optional: 1, Ret: tText, NotStrict: true, MayFail: true,
		Volatility: Stable, Eval: rowsNulls(formatFn)}
	count := func(name string, null bool) *Func {
		return &Func{Name: name, Args: ts(Any), Variadic: true, Ret: tI4, NotStrict: true, Eval: rowsNulls(func(r *row) error {
			n := 0
			for k := range r.args {
				if r.isNull(k) == null {
					n++
				}
			}
			return r.putI4(n)
		})}
	}
	return []*Func{concat, concatWS, format, count("num_nulls", true), count("num_nonnulls", false)}
}

// concatOps are the forms of || over text; arrays and jsonb have their own.
func concatOps() []*Func {
	join := func(r *row) error {
		d := r.dst.(*vec.Bytes)
		d.Data = append(append(d.Data, r.b(0)...), r.b(1)...)
		d.Finish()
		return nil
	}
	any2 := func(r *row) error {
		d := r.dst.(*vec.Bytes)
		for k := range 2 {
			if r.typ(k).ID == types.Bool { // the cast to text, unlike the type's own text
				d.Data = strconv.AppendBool(d.Data, r.bool(k))
			} else {
				d.Data = r.appendArg(d.Data, k)
			}
		}
		d.Finish()
		return nil
	}
	return []*Func{
		safe(fn("||", ts(tText, tText), tText, join)),
		safe(fn("||", ts(tBytea, tBytea), tBytea, join)),
		stable(safe(fn("||", ts(tText, AnyNonArray), tText, any2))),
		stable(safe(fn("||", ts(AnyNonArray, tText), tText, any2))),
	}
}

// formatFn is format(): %s, %I and %L with positions, flags and widths.
func formatFn(r *row) error {
	if r.isNull(0) {
		return r.null()
	}
	f := r.s(0)
	var out []byte
	next := 1
	for i := 0; i < len(f); {
		if f[i] != '%' {
			out = append(out, f[i])
			i++
			continue
		}
		i++
		if i < len(f) && f[i] == '%' {
			out = append(out, '%')
			i++
			continue
		}
		spec, n, err := parseSpec(r, f[i:], &next)
		if err != nil {
			return err
		}
		i += n
		v, err := spec.text(r)
		if err != nil {
			return err
		}
		out = spec.pad(out, v)
	}
	return r.putB(out)
}

type formatSpec struct {
	arg   int
	left  bool
	width int
	verb  byte
}

var errFormatEnd = pgerr.New(pgerr.InvalidParameterValue, "unterminated format() type specifier").
	WithHint(`For a single "%%" use "%%%%".`)

func parseSpec(r *row, f string, next *int) (formatSpec, int, error) {
	s := formatSpec{arg: -1}
	i := 0
	number := func() (n int, ok bool) {
		for i < len(f) && f[i] >= '0' && f[i] <= '9' && n < 1<<28 {
			n, ok = n*10+int(f[i]-'0'), true
			i++
		}
		return n, ok
	}
	start := i
	if n, ok := number(); ok && i < len(f) && f[i] == '$' {
		if n == 0 {
			return s, 0, errFormatZero
		}
		s.arg = n
		i++
	} else {
		i = start
	}
	for i < len(f) && f[i] == '-' {
		s.left = true
		i++
	}
	indirect, widthArg := false, 0
	if i < len(f) && f[i] == '*' {
		i++
		indirect = true
		if n, ok := number(); ok {
			switch {
			case i >= len(f):
				return s, 0, errFormatEnd
			case f[i] != '$':
				return s, 0, pgerr.New(pgerr.InvalidParameterValue, "width argument position must be ended by \"$\"")
			case n == 0:
				return s, 0, errFormatZero
			}
			widthArg = n
			i++
		}
	} else if n, ok := number(); ok {
		s.width = n
	}
	if i >= len(f) {
		return s, 0, errFormatEnd
	}
	s.verb = f[i]
	if s.verb != 's' && s.verb != 'I' && s.verb != 'L' {
		return s, 0, pgerr.New(pgerr.InvalidParameterValue, "unrecognized format() type specifier \"%c\"", s.verb).
			WithHint(`For a single "%%" use "%%%%".`)
	}
	if indirect {
		if widthArg == 0 {
			widthArg = *next
		}
		if err := s.readWidth(r, widthArg); err != nil {
			return s, 0, err
		}
		*next = widthArg + 1
	}
	if s.arg < 0 {
		s.arg = *next
	}
	*next = s.arg + 1
	return s, i + 1, nil
}

// readWidth takes the width from an argument; one below zero aligns to the left.
func (s *formatSpec) readWidth(r *row, arg int) error {
	if arg >= len(r.args) {
		return errFewArgs
	}
	if r.isNull(arg) {
		return nil
	}
	w, err := types.ParseInt4(string(r.appendArg(nil, arg)))
	if err != nil {
		return err
	}
	if s.width = int(w); w < 0 {
		s.left, s.width = true, -s.width
	}
	return nil
}

var errFormatZero = pgerr.New(pgerr.InvalidParameterValue, "format specifies argument 0, but arguments are numbered from 1")

var errFewArgs = pgerr.New(pgerr.InvalidParameterValue, "too few arguments for format()")

func (s formatSpec) text(r *row) (string, error) {
	if s.arg >= len(r.args) {
		return "", errFewArgs
	}
	null := r.isNull(s.arg)
	v := ""
	if !null {
		v = string(r.appendArg(nil, s.arg))
	}
	switch s.verb {
	case 'I':
		if null {
			return "", pgerr.New(pgerr.NullValueNotAllowed, "null values cannot be formatted as an SQL identifier")
		}
		return quoteIdent(v), nil
	case 'L':
		if null {
			return "NULL", nil
		}
		return quoteLiteral(v), nil
	}
	return v, nil
}

func (s formatSpec) pad(out []byte, v string) []byte {
	blanks := max(s.width-utf8.RuneCountInString(v), 0)
	if s.left {
		return append(append(out, v...), strings.Repeat(" ", blanks)...)
	}
	return append(append(out, strings.Repeat(" ", blanks)...), v...)
}
