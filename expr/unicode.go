package expr

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/streamdb/streamdb/pgerr"
)

// unicodeFuncs are normal forms and escapes.
func unicodeFuncs() []*Func {
	form := func(r *row) (norm.Form, error) {
		name := r.argOr(1, "NFC")
		f, ok := map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}[strings.ToUpper(name)]
		if !ok {
			return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid normalization form: %s", name)
		}
		return f, nil
	}
	normalize := fn("normalize", ts(tText, tText), tText, func(r *row) error {
		f, err := form(r)
		if err != nil {
			return err
		}
		return r.putB(f.Bytes(r.b(0)))
	})
	is := fn("is_normalized", ts(tText, tText), tBool, func(r *row) error {
		f, err := form(r)
		if err != nil {
			return err
		}
		return r.putBool(f.IsNormal(r.b(0)))
	})
	normalize.Optional, is.Optional = 1, 1
	return []*Func{normalize, is, fn("unistr", ts(tText), tText, unistr)}
}

// unistr reads \XXXX, \+XXXXXX, \uXXXX, \UXXXXXXXX and \\.
func unistr(r *row) error {
	s := r.s(0)
	var out []byte
	high := rune(0) // the first half of a surrogate pair
	errPair := pgerr.New(pgerr.SyntaxError, "invalid Unicode surrogate pair")
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			if high != 0 {
				return errPair
			}
			out = append(out, s[i])
			i++
			continue
		}
		if strings.HasPrefix(s[i:], `\\`) {
			if high != 0 {
				return errPair
			}
			out = append(out, '\\')
			i += 2
			continue
		}
		c, n, err := unicodeEscape(s[i:])
		if err != nil {
			return err
		}
		i += n
		switch {
		case high != 0:
			if c = utf16.DecodeRune(high, c); c == utf8.RuneError {
				return errPair
			}
			high = 0
		case c >= 0xd800 && c < 0xdc00:
			high = c
			continue
		case c >= 0xdc00 && c < 0xe000:
			return errPair
		}
		out = utf8.AppendRune(out, c)
	}
	if high != 0 {
		return errPair
	}
	return r.putB(out)
}

func unicodeEscape(s string) (c rune, n int, err error) {
	for _, form := range []struct {
		lead   string
		digits int
	}{{`\u`, 4}, {`\U`, 8}, {`\+`, 6}, {`\`, 4}} {
		end := len(form.lead) + form.digits
		if !strings.HasPrefix(s, form.lead) || len(s) < end {
			continue
		}
		v, err := strconv.ParseUint(s[len(form.lead):end], 16, 32)
		if err != nil || s[len(form.lead)] == '+' {
			continue
		}
		if v == 0 || v > utf8.MaxRune {
			return 0, 0, pgerr.New(pgerr.InvalidParameterValue, "invalid Unicode code point: %04X", v)
		}
		return rune(v), end, nil
	}
	return 0, 0, pgerr.New(pgerr.SyntaxError, "invalid Unicode escape").
		WithHint(`Unicode escapes must be \XXXX, \+XXXXXX, \uXXXX, or \UXXXXXXXX.`)
}
