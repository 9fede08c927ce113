package expr

import (
	"bytes"
	"unicode/utf8"

	"github.com/streamdb/streamdb/charset"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// findCharset finds the set that an argument names; what tells which of them.
func findCharset(name, what string) (*charset.Set, error) {
	s := charset.Find(name)
	switch {
	case s == nil:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid %s encoding name \"%s\"", what, name)
	case !s.Convertible():
		return nil, pgerr.Unsupported("the encoding "+name, "Use UTF8, which has all characters.")
	}
	return s, nil
}

// decodeText turns bytes of a set into text.
func decodeText(s *charset.Set, b []byte) ([]byte, error) {
	if s.Raw() {
		return b, validText(b)
	}
	return s.Decode(make([]byte, 0, len(b)), b)
}

func encodingFuncs() []*Func {
	return []*Func{
		fn("convert_from", ts(tBytea, tName), tText, func(r *row) error {
			c, err := findCharset(r.s(1), "source")
			if err != nil {
				return err
			}
			b, err := decodeText(c, r.b(0))
			if err != nil {
				return err
			}
			return r.putB(b)
		}),
		fn("convert_to", ts(tText, tName), tBytea, func(r *row) error {
			c, err := findCharset(r.s(1), "destination")
			if err != nil {
				return err
			}
			b, err := c.Encode(nil, r.b(0))
			if err != nil {
				return err
			}
			return r.putB(b)
		}),
		fn("convert", ts(tBytea, tName, tName), tBytea, convertBytes),
		fn("length", ts(tBytea, tName), tI4, func(r *row) error {
			c, err := findCharset(r.s(1), "source")
			if err != nil {
				return pgerr.New(pgerr.InvalidParameterValue, "invalid encoding name \"%s\"", r.s(1))
			}
			if i := bytes.IndexByte(r.b(0), 0); i >= 0 && !c.Raw() {
				return c.Invalid(r.b(0)[i : i+1])
			}
			if c != charset.UTF8 {
				n, err := c.Chars(r.b(0))
				if err != nil {
					return err
				}
				return r.putI4(n)
			}
			if err := validText(r.b(0)); err != nil {
				return err
			}
			return r.putI4(utf8.RuneCount(r.b(0)))
		}),
	}
}

func convertBytes(r *row) error {
	from, err := findCharset(r.s(1), "source")
	if err != nil {
		return err
	}
	to, err := findCharset(r.s(2), "destination")
	if err != nil {
		return err
	}
	b := r.b(0)
	if i := bytes.IndexByte(b, 0); i >= 0 && !from.Raw() {
		return from.Invalid(b[i : i+1])
	}
	if from == to || to == charset.SQLASCII || from == charset.SQLASCII {
		if from == charset.UTF8 || from == charset.SQLASCII && to == charset.UTF8 {
			err = types.CheckText(string(b))
		}
		if err != nil {
			return err
		}
		return r.putB(b)
	}
	if b, err = decodeText(from, b); err == nil {
		b, err = to.Encode(nil, b)
	}
	if err != nil {
		return err
	}
	return r.putB(b)
}
