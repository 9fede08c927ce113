package types

import (
	"encoding/binary"
)

// The flat encoding of a record is the number of fields, fourteen bytes of type
// for each (ID, Elem, Mod, Ref), then the same table of ends and bytes as an
// array's.
const fieldType = 14

// RecordView reads a record's flat encoding without copying.
type RecordView struct {
	types, ends, data []byte
}

// ViewRecord opens a flat encoding; malformed bytes give a record of no fields.
func ViewRecord(b []byte) RecordView {
	if len(b) < 2 {
		return RecordView{}
	}
	n := int(binary.LittleEndian.Uint16(b))
	if len(b) < 2+(fieldType+4)*n {
		return RecordView{}
	}
	for i := range n {
		if b[2+fieldType*i] >= byte(numIDs) || b[3+fieldType*i] >= byte(numIDs) {
			return RecordView{}
		}
	}
	return RecordView{b[2 : 2+fieldType*n], b[2+fieldType*n : 2+(fieldType+4)*n], b[2+(fieldType+4)*n:]}
}

// Len returns the number of fields.
func (v *RecordView) Len() int { return len(v.types) / fieldType }

// Type returns the type of field i.
func (v *RecordView) Type(i int) T {
	b := v.types[fieldType*i:]
	return T{ID: ID(b[0]), Elem: ID(b[1]), Mod: int32(binary.LittleEndian.Uint32(b[2:])), Ref: binary.LittleEndian.Uint64(b[6:])}
}

// At returns the bytes of field i in AppendElem's form.
func (v *RecordView) At(i int) (b []byte, null bool) { return tableAt(v.ends, v.data, i) }

// AppendRecord appends the flat encoding of a record.
func AppendRecord(dst []byte, ts []T, fields []Datum) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint16(dst, uint16(len(ts)))
	for _, t := range ts {
		dst = le.AppendUint64(le.AppendUint32(append(dst, byte(t.ID), byte(t.Elem)), uint32(t.Mod)), t.Ref)
	}
	var b ArrayBuilder
	for _, f := range fields {
		b.AddDatum(f)
	}
	return append(append(dst, b.ends...), b.data...)
}

// AppendRecordText appends the text form: (1,"a b",).
func AppendRecordText(dst []byte, rec []byte, opt *Options) []byte {
	v := ViewRecord(rec)
	dst = append(dst, '(')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		b, null := v.At(i)
		if null {
			continue
		}
		start := len(dst)
		dst = appendElemText(dst, v.Type(i), b, opt)
		if recordNeedsQuote(dst[start:]) {
			dst = quoteField(dst, start)
		}
	}
	return append(dst, ')')
}

func recordNeedsQuote(b []byte) bool {
	for _, c := range b {
		if c == '"' || c == '\\' || c == '(' || c == ')' || c == ',' || isSpace(c) {
			return true
		}
	}
	return len(b) == 0
}

// quoteField quotes dst[start:], doubling quotes and backslashes.
func quoteField(dst []byte, start int) []byte {
	raw := string(dst[start:])
	dst = append(dst[:start], '"')
	for i := range len(raw) {
		if raw[i] == '"' || raw[i] == '\\' {
			dst = append(dst, raw[i])
		}
		dst = append(dst, raw[i])
	}
	return append(dst, '"')
}
