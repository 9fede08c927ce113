package types

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/pgerr"
)

// errAnonymousInput is PostgreSQL's answer to text or bytes for a row whose type
// has no name.
func errAnonymousInput() error {
	return pgerr.New(pgerr.FeatureNotSupported, "input of anonymous composite types is not implemented").
		WithHint("Build the value with ROW(...), or cast to a composite type.")
}

func errRecord(s, detail string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "malformed record literal: \"%s\"", s).WithDetail("%s", detail)
}

// fieldsForInput returns the fields of a composite type that a value is read as.
func fieldsForInput(t T) ([]RowField, error) {
	if !t.IsComposite() {
		return nil, errAnonymousInput()
	}
	return t.Fields(), nil
}

// ParseRecord reads '(a,"b c",)' into the flat encoding of composite type t.
func ParseRecord(t T, src string, opt *Options) (string, error) {
	fields, err := fieldsForInput(t)
	if err != nil {
		return "", err
	}
	s := trimLeft(src)
	if s == "" || s[0] != '(' {
		return "", errRecord(src, "Missing left parenthesis.")
	}
	s = s[1:]
	ds := make([]Datum, len(fields))
	for i, f := range fields {
		if i > 0 {
			if s == "" {
				return "", errRecord(src, "Unexpected end of input.")
			}
			if s[0] != ',' {
				return "", errRecord(src, "Too few columns.")
			}
			s = s[1:]
		}
		if s == "" {
			return "", errRecord(src, "Unexpected end of input.")
		}
		if s[0] == ',' || s[0] == ')' {
			continue // NULL
		}
		var text string
		if text, s, err = recordField(src, s); err != nil {
			return "", err
		}
		if ds[i], err = ParseText(f.Typ, text, opt); err != nil {
			return "", err
		}
	}
	if s == "" {
		return "", errRecord(src, "Unexpected end of input.")
	}
	if s[0] != ')' {
		return "", errRecord(src, "Too many columns.")
	}
	if trimLeft(s[1:]) != "" {
		return "", errRecord(src, "Junk after right parenthesis.")
	}
	return string(AppendRecord(nil, fieldTypes(fields), ds)), nil
}

func trimLeft(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	return s
}

// recordField reads one field, up to the comma or parenthesis after it.
func recordField(src, s string) (text, rest string, err error) {
	var out []byte
	quoted := false
	for {
		if s == "" {
			return "", "", errRecord(src, "Unexpected end of input.")
		}
		c := s[0]
		switch {
		case !quoted && (c == ',' || c == ')'):
			return string(out), s, nil
		case c == '\\':
			if len(s) < 2 {
				return "", "", errRecord(src, "Unexpected end of input.")
			}
			out = append(out, s[1])
			s = s[2:]
			continue
		case c == '"' && quoted && len(s) > 1 && s[1] == '"':
			out = append(out, '"')
			s = s[2:]
			continue
		case c == '"':
			quoted = !quoted
		default:
			out = append(out, c)
		}
		s = s[1:]
	}
}

func fieldTypes(fields []RowField) []T {
	ts := make([]T, len(fields))
	for i, f := range fields {
		ts[i] = f.Typ
	}
	return ts
}

// parseRecordBinary reads the binary form of a composite type.
func parseRecordBinary(t T, b []byte) (Datum, error) {
	fields, err := fieldsForInput(t)
	if err != nil {
		return nil, err
	}
	be := binary.BigEndian
	if len(b) < 4 {
		return nil, errBinary()
	}
	if n := int(be.Uint32(b)); n != len(fields) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "wrong number of columns: %d, expected %d", n, len(fields))
	}
	b = b[4:]
	ds := make([]Datum, len(fields))
	for i, f := range fields {
		if len(b) < 8 {
			return nil, errBinary()
		}
		if got := be.Uint32(b); got != f.Typ.OID() {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "binary data has type %d (%s) instead of expected %d (%s) in record column %d",
				got, oidName(got), f.Typ.OID(), f.Typ.Base(), i+1)
		}
		l := int(int32(be.Uint32(b[4:])))
		if b = b[8:]; l == -1 {
			continue
		}
		if l < 0 || l > len(b) {
			return nil, errBinary()
		}
		if ds[i], err = ParseBinary(f.Typ, b[:l]); err != nil {
			return nil, err
		}
		b = b[l:]
	}
	if len(b) != 0 {
		return nil, errBinary()
	}
	return string(AppendRecord(nil, fieldTypes(fields), ds)), nil
}

func oidName(oid uint32) string {
	if t, ok := ByOID(oid); ok {
		return t.String()
	}
	return "???"
}

// castRecord casts a record field by field to a composite type.
func castRecord(d Datum, to T, explicit bool, opt *Options) (Datum, error) {
	fields := to.Fields()
	if fields == nil {
		return d, nil
	}
	v := ViewRecord([]byte(d.(string)))
	if v.Len() != len(fields) {
		detail := "Input has too few columns."
		if v.Len() > len(fields) {
			detail = "Input has too many columns."
		}
		return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type record to %s", to).WithDetail("%s", detail)
	}
	ds := make([]Datum, len(fields))
	for i, f := range fields {
		b, null := v.At(i)
		if null {
			continue
		}
		from := v.Type(i)
		var err error
		if ds[i], err = CastDatum(ElemDatum(from.Kind(), b), from, f.Typ, explicit, opt); err != nil {
			return nil, err
		}
	}
	return string(AppendRecord(nil, fieldTypes(fields), ds)), nil
}

// RecordNulls reports whether all fields of a record are NULL, and whether any is.
func RecordNulls(rec []byte) (all, some bool) {
	v := ViewRecord(rec)
	all = true
	for i := range v.Len() {
		if _, null := v.At(i); null {
			some = true
		} else {
			all = false
		}
	}
	return all, some
}

// SimilarRecords checks that two records can be compared: 42804 if not.
func SimilarRecords(x, y []byte) error {
	a, b := ViewRecord(x), ViewRecord(y)
	for i := range min(a.Len(), b.Len()) {
		if s, t := a.Type(i), b.Type(i); s.OID() != t.OID() {
			return pgerr.New(pgerr.DatatypeMismatch, "cannot compare dissimilar column types %s and %s at record column %d", s.Base(), t.Base(), i+1)
		}
	}
	if a.Len() != b.Len() {
		return pgerr.New(pgerr.DatatypeMismatch, "cannot compare record types with different numbers of columns")
	}
	return nil
}
