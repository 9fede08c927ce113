package wire

import (
	"github.com/streamdb/streamdb/charset"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// transcoder converts between the text of a client and that of the server, which
// is UTF-8. The zero value does nothing.
type transcoder struct {
	set     *charset.Set // nil: as it is
	scratch []byte
	err     error // the first value that the client's set has no characters for
}

// use makes name the client's character set.
func (t *transcoder) use(name string) {
	t.set = charset.Find(name)
	if t.set != nil && (t.set.Raw() || !t.set.Convertible()) {
		t.set = nil
	}
}

// toServer converts text from the client.
func (t *transcoder) toServer(b []byte) ([]byte, error) {
	if t.set == nil {
		return b, nil
	}
	return t.set.Decode(make([]byte, 0, len(b)+len(b)/2), b)
}

// text is toServer for strings, checked.
func (t *transcoder) text(s string) (string, error) {
	if t.set == nil {
		return s, checkText(s)
	}
	b, err := t.toServer([]byte(s))
	return string(b), err
}

// toClient converts what was appended to b from at on. What cannot be converted
// stays and is told by failed.
func (t *transcoder) toClient(b []byte, at int) []byte {
	if t.set == nil || ascii(b[at:]) {
		return b
	}
	out, err := t.set.Encode(t.scratch[:0], b[at:])
	t.scratch = out[:0]
	if err != nil {
		if t.err == nil {
			t.err = err
		}
		return b
	}
	return append(b[:at], out...)
}

// failed returns the error of conversions to the client since the last call.
func (t *transcoder) failed() error {
	err := t.err
	t.err = nil
	return err
}

// message converts the text of an error or notice; characters without an
// equivalent become question marks, as the client is to hear of it anyway.
func (t *transcoder) message(s string) string {
	if t.set == nil || ascii([]byte(s)) {
		return s
	}
	out := make([]byte, 0, len(s))
	for _, r := range s {
		char, err := t.set.Encode(nil, []byte(string(r)))
		if err != nil {
			char = []byte{'?'}
		}
		out = append(out, char...)
	}
	return string(out)
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// encoder is encoderOf with the values in the client's character set.
func (t *transcoder) encoder(typ types.T, format int16) encoder {
	enc := encoderOf(typ, format)
	if t.set == nil || format == 1 && !sentAsText(typ) {
		return enc
	}
	return func(dst []byte, v vec.Vector, i int, o *types.Options) []byte {
		at := len(dst)
		return t.toClient(enc(dst, v, i, o), at)
	}
}

// parse reads a value in the client's character set.
func (t *transcoder) parse(typ types.T, format int16, b []byte, o *types.Options) (types.Datum, error) {
	if t.set != nil && (format == 0 || sentAsText(typ)) {
		var err error
		if b, err = t.toServer(b); err != nil {
			return nil, err
		}
	}
	if format == 1 {
		return parseBinary(typ, b)
	}
	return parseText(typ, b, o)
}

// checkBinary refuses the binary format of a type whose values have text inside.
func (t *transcoder) checkBinary(typ types.T) error {
	if t.set == nil || !textInside(typ) {
		return nil
	}
	return pgerr.Unsupported("the binary format of type "+typ.String()+" in encoding "+t.set.Name,
		"Use the text format, or set client_encoding to UTF8.")
}

// sentAsText reports whether the binary format of a type is its text.
func sentAsText(t types.T) bool {
	switch t.Underlying().ID {
	case types.Text, types.Varchar, types.Bpchar, types.Name, types.JSON, types.JSONB, types.JSONPath, types.Unknown, types.Enum:
		return true
	}
	return false
}

func textInside(t types.T) bool {
	t = t.Underlying()
	switch t.ID {
	case types.Array:
		return sentAsText(t.ElemType()) || textInside(t.ElemType())
	case types.Record:
		return true
	}
	return false
}
