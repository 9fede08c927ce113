package expr

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var (
	tText, tI4, tI8, tF8, tNum, tBytea = types.TText, types.TInt4, types.TInt8, types.TFloat8, types.TNumeric, types.TBytea
)

func text1(name string, f func(s string) string) *Func {
	return safe(fn(name, ts(tText), tText, func(r *row) error { return r.putS(f(r.s(0))) }))
}

func stringFuncs() []*Func {
	out := []*Func{
		safe(fn("length", ts(tText), tI4, func(r *row) error { return r.putI4(utf8.RuneCount(r.b(0))) })),
		safe(fn("length", ts(types.TBpchar), tI4, bpcharLength)),
		safe(fn("length", ts(tBytea), tI4, func(r *row) error { return r.putI4(len(r.b(0))) })),
		safe(fn("char_length", ts(tText), tI4, func(r *row) error { return r.putI4(utf8.RuneCount(r.b(0))) })),
		safe(fn("character_length", ts(tText), tI4, func(r *row) error { return r.putI4(utf8.RuneCount(r.b(0))) })),
		safe(fn("char_length", ts(types.TBpchar), tI4, bpcharLength)), safe(fn("character_length", ts(types.TBpchar), tI4, bpcharLength)),
		safe(fn("octet_length", ts(types.TBpchar), tI4, func(r *row) error { return r.putI4(len(r.b(0))) })),
		safe(fn("textlen", ts(tText), tI4, func(r *row) error { return r.putI4(utf8.RuneCount(r.b(0))) })),
		safe(fn("octet_length", ts(tText), tI4, func(r *row) error { return r.putI4(len(r.b(0))) })),
		safe(fn("octet_length", ts(tBytea), tI4, func(r *row) error { return r.putI4(len(r.b(0))) })),
		safe(fn("bit_length", ts(tText), tI4, func(r *row) error { return r.putI4(8 * len(r.b(0))) })),
		safe(fn("bit_length", ts(tBytea), tI4, func(r *row) error { return r.putI4(8 * len(r.b(0))) })),
		{Name: "lower", Args: ts(tText), Ret: tText, Eval: mapCase('A', 'Z', strings.ToLower)},
		{Name: "upper", Args: ts(tText), Ret: tText, Eval: mapCase('a', 'z', strings.ToUpper)},
		text1("initcap", initcap),
		text1("reverse", reverse),
		safe(fn("left", ts(tText, tI4), tText, func(r *row) error { return r.putS(left(r.s(0), r.i4(1))) })),
		safe(fn("right", ts(tText, tI4), tText, func(r *row) error { return r.putS(right(r.s(0), r.i4(1))) })),
		safe(fn("strpos", ts(tText, tText), tI4, func(r *row) error { return r.putI4(position(r.s(0), r.s(1))) })),
		safe(fn("position", ts(tText, tText), tI4, func(r *row) error { return r.putI4(position(r.s(0), r.s(1))) })),
		safe(fn("position", ts(tBytea, tBytea), tI4, func(r *row) error { return r.putI4(strings.Index(r.s(0), r.s(1)) + 1) })),
		safe(fn("replace", ts(tText, tText, tText), tText, func(r *row) error {
			if r.s(1) == "" {
				return r.putB(r.b(0))
			}
			return r.putS(strings.ReplaceAll(r.s(0), r.s(1), r.s(2)))
		})),
		safe(fn("translate", ts(tText, tText, tText), tText, func(r *row) error {
			return r.putS(translate(r.s(0), r.s(1), r.s(2)))
		})),
		fn("repeat", ts(tText, tI4), tText, repeat),
		fn("split_part", ts(tText, tText, tI4), tText, splitPart),
		safe(fn("starts_with", ts(tText, tText), types.TBool, func(r *row) error {
			return r.putBool(strings.HasPrefix(r.s(0), r.s(1)))
		})),
		safe(fn("ascii", ts(tText), tI4, func(r *row) error {
			if len(r.b(0)) == 0 {
				return r.putI4(0)
			}
			c, _ := utf8.DecodeRune(r.b(0))
			return r.putI4(int(c))
		})),
		fn("chr", ts(tI4), tText, chr),
		safe(fn("to_hex", ts(tI4), tText, func(r *row) error { return r.putS(formatBase(uint64(uint32(r.i4(0))), 16)) })),
		safe(fn("to_hex", ts(tI8), tText, func(r *row) error { return r.putS(formatBase(uint64(r.i8(0)), 16)) })),
		text1("md5", func(s string) string { h := md5.Sum([]byte(s)); return hex.EncodeToString(h[:]) }),
		safe(fn("md5", ts(tBytea), tText, func(r *row) error { h := md5.Sum(r.b(0)); return r.putS(hex.EncodeToString(h[:])) })),
		safe(fn("sha224", ts(tBytea), tBytea, func(r *row) error { h := sha256.Sum224(r.b(0)); return r.putB(h[:]) })),
		safe(fn("sha256", ts(tBytea), tBytea, func(r *row) error { h := sha256.Sum256(r.b(0)); return r.putB(h[:]) })),
		safe(fn("sha384", ts(tBytea), tBytea, func(r *row) error { h := sha512.Sum384(r.b(0)); return r.putB(h[:]) })),
		safe(fn("sha512", ts(tBytea), tBytea, func(r *row) error { h := sha512.Sum512(r.b(0)); return r.putB(h[:]) })),
		text1("quote_ident", quoteIdent),
		text1("quote_literal", quoteLiteral),
		safe(fn("quote_literal", ts(AnyElement), tText, func(r *row) error {
			return r.putS(quoteLiteral(textOf(r.typ(0), r.datum(0), r.c.options())))
		})),
		safe(fnNulls("quote_nullable", ts(tText), tText, func(r *row) error {
			if r.isNull(0) {
				return r.putS("NULL")
			}
			return r.putS(quoteLiteral(r.s(0)))
		})),
		safe(fnNulls("quote_nullable", ts(AnyElement), tText, func(r *row) error {
			if r.isNull(0) {
				return r.putS("NULL")
			}
			return r.putS(quoteLiteral(textOf(r.typ(0), r.datum(0), r.c.options())))
		})),
		fn("encode", ts(tBytea, tText), tText, encode),
		fn("decode", ts(tText, tText), tBytea, decode),
	}
	out = append(out, substringFuncs()...)
	out = append(out, trimFuncs()...)
	out = append(out, concatFuncs()...)
	out = append(out, likeFuncs()...)
	out = append(out, byteaFuncs()...)
	out = append(out, encodingFuncs()...)
	out = append(out, unicodeFuncs()...)
	return out
}

func bpcharLength(r *row) error {
	return r.putI4(utf8.RuneCountInString(strings.TrimRight(r.s(0), " ")))
}

// mapCase maps ASCII letters in place and leaves other strings to full.
func mapCase(lo, hi byte, full func(string) string) Kernel {
	return func(_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		d, a := dst.(*vec.Bytes), args[0].(*vec.Bytes)
		d.Resize(n)
		for i := range n {
			s := a.At(i)
			at, wide := len(d.Data), false
			d.Data = append(d.Data, s...)
			for k, c := range d.Data[at:] {
				wide = wide || c >= utf8.RuneSelf
				if c >= lo && c <= hi {
					d.Data[at+k] = c ^ 0x20
				}
			}
			if wide {
				d.Data = append(d.Data[:at], full(string(s))...)
			}
			d.Finish()
		}
		return nil
	}
}

func initcap(s string) string {
	var b strings.Builder
	inWord := false
	for _, c := range s {
		if inWord {
			b.WriteRune(unicode.ToLower(c))
		} else {
			b.WriteRune(unicode.ToUpper(c))
		}
		inWord = unicode.IsLetter(c) || unicode.IsDigit(c)
	}
	return b.String()
}

func reverse(s string) string {
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		_, n := utf8.DecodeLastRuneInString(s)
		out = append(out, s[len(s)-n:]...)
		s = s[:len(s)-n]
	}
	return string(out)
}

// runeOffset returns the byte offset of character n, or len(s).
func runeOffset(s string, n int) int {
	if n <= 0 {
		return 0
	}
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

func left(s string, n int) string {
	if n < 0 {
		n = max(utf8.RuneCountInString(s)+n, 0)
	}
	return s[:runeOffset(s, n)]
}

func right(s string, n int) string {
	if n == math.MinInt32 { // has no positive counterpart
		return s
	}
	if n < 0 {
		return s[runeOffset(s, -n):]
	}
	return s[runeOffset(s, max(utf8.RuneCountInString(s)-n, 0)):]
}

func position(s, sub string) int {
	i := strings.Index(s, sub)
	if i < 0 {
		return 0
	}
	return utf8.RuneCountInString(s[:i]) + 1
}

func translate(s, from, to string) string {
	m := map[rune]rune{}
	t := []rune(to)
	for i, c := range []rune(from) {
		if _, ok := m[c]; ok {
			continue
		}
		m[c] = -1
		if i < len(t) {
			m[c] = t[i]
		}
	}
	return strings.Map(func(c rune) rune {
		if x, ok := m[c]; ok {
			return x
		}
		return c
	}, s)
}

// maxText is the longest value a function may build.
const maxText = 1 << 28

var errTooLong = pgerr.New(pgerr.ProgramLimitExceeded, "requested length too large")

func repeat(r *row) error {
	n := max(r.i4(1), 0)
	if len(r.b(0))*n > maxText {
		return errTooLong
	}
	return r.putS(strings.Repeat(r.s(0), n))
}

func splitPart(r *row) error {
	s, sep, n := r.s(0), r.s(1), r.i4(2)
	if n == 0 {
		return pgerr.New(pgerr.InvalidParameterValue, "field position must not be zero")
	}
	if sep == "" {
		if n == 1 || n == -1 {
			return r.putS(s)
		}
		return r.putS("")
	}
	parts := strings.Split(s, sep)
	if n < 0 {
		n += len(parts) + 1
	}
	if n < 1 || n > len(parts) {
		return r.putS("")
	}
	return r.putS(parts[n-1])
}

func chr(r *row) error {
	n := r.i4(0)
	switch {
	case n < 0:
		return pgerr.New(pgerr.InvalidParameterValue, "character number must be positive")
	case n == 0:
		return pgerr.New(pgerr.ProgramLimitExceeded, "null character not permitted")
	case n > 0x10ffff:
		return pgerr.New(pgerr.ProgramLimitExceeded, "requested character too large for encoding: %d", n)
	case n >= 0xd800 && n < 0xe000:
		return pgerr.New(pgerr.ProgramLimitExceeded, "requested character not valid for encoding: %d", n)
	}
	return r.putS(string(rune(n)))
}

func formatBase(v uint64, base uint64) string {
	var b [64]byte
	i := len(b)
	for {
		i--
		b[i] = "0123456789abcdef"[v%base]
		if v /= base; v == 0 {
			return string(b[i:])
		}
	}
}

func quoteIdent(s string) string {
	plain := s != "" && !(s[0] >= '0' && s[0] <= '9')
	for i := range len(s) {
		c := s[i]
		plain = plain && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_')
	}
	if plain && !strings.Contains(quotedKeywords, " "+s+" ") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// QuoteIdent quotes an identifier where SQL needs it, as quote_ident does.
func QuoteIdent(s string) string { return quoteIdent(s) }

// quotedKeywords are the keywords that are not free to be names.
const quotedKeywords = " all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both " +
	"case cast char character check coalesce collate collation column concurrently constraint create cross current_catalog " +
	"current_date current_role current_schema current_time current_timestamp current_user dec decimal default deferrable desc " +
	"distinct do else end except exists extract false fetch float for foreign freeze from full grant greatest group grouping " +
	"having ilike in initially inner inout int integer intersect interval into is isnull join json_array lateral leading least " +
	"left like limit localtime localtimestamp national natural nchar none normalize not notnull null nullif numeric offset on " +
	"only or order out outer overlaps overlay placing position precision primary real references returning right row select " +
	"session_user setof similar smallint some substring symmetric table tablesample then time timestamp to trailing treat trim " +
	"true union unique user using values varchar variadic verbose when where window with xmlattributes xmlconcat xmlelement " +
	"xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable "

func quoteLiteral(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		q = "E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q
}

func encode(r *row) error {
	b := r.b(0)
	switch strings.ToLower(r.s(1)) {
	case "hex":
		return r.putS(hex.EncodeToString(b))
	case "base64":
		s := base64.StdEncoding.EncodeToString(b)
		var out strings.Builder
		for len(s) > 76 {
			out.WriteString(s[:76] + "\n")
			s = s[76:]
		}
		return r.putS(out.String() + s)
	case "escape":
		var out []byte
		for _, c := range b {
			switch {
			case c == 0 || c >= 0x80:
				out = append(out, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
			case c == '\\':
				out = append(out, '\\', '\\')
			default:
				out = append(out, c)
			}
		}
		return r.putB(out)
	}
	return pgerr.New(pgerr.InvalidParameterValue, "unrecognized encoding: \"%s\"", r.s(1))
}

func decode(r *row) error {
	s := r.s(0)
	switch strings.ToLower(r.s(1)) {
	case "hex":
		v, err := types.ParseBytea(`\x` + s)
		if err != nil {
			return err
		}
		return r.putS(v)
	case "base64":
		s = strings.Map(func(c rune) rune {
			if unicode.IsSpace(c) {
				return -1
			}
			return c
		}, s)
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return pgerr.New(pgerr.InvalidParameterValue, "invalid base64 end sequence").
				WithHint("Input data is missing padding, is truncated, or is otherwise corrupted.")
		}
		return r.putB(b)
	case "escape":
		if strings.HasPrefix(s, `\x`) {
			s = `\\` + s[1:]
		}
		v, err := types.ParseBytea(s)
		if err != nil {
			return err
		}
		return r.putS(v)
	}
	return pgerr.New(pgerr.InvalidParameterValue, "unrecognized encoding: \"%s\"", r.s(1))
}
