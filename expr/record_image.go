package expr

import (
	"bytes"
	"encoding/binary"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// recordImageOps compare records by the bytes of their fields: 1.0 is not 1.00.
func recordImageOps() []*Func {
	var out []*Func
	for op, name := range cmpNames {
		op := cmpOp(op)
		equality := name == "=" || name == "<>"
		out = append(out, &Func{Name: "*" + name, Args: ts(types.TRecord, types.TRecord), Ret: types.TBool, MayFail: true,
			Eval: rows(func(r *row) error {
				c, err := compareImages(r.b(0), r.b(1), equality)
				if err != nil {
					return err
				}
				return r.putBool(op.holds(c))
			})})
	}
	return out
}

// compareImages orders two records; only whether they are equal counts for equality,
// which ends at the first field that differs only if the records have as many.
func compareImages(x, y []byte, equality bool) (int, error) {
	if err := types.SimilarRecords(x, y); err != nil && (equality || !fewerFields(x, y)) {
		return 0, err
	}
	a, b := types.ViewRecord(x), types.ViewRecord(y)
	for i := range min(a.Len(), b.Len()) {
		v, vNull := a.At(i)
		w, wNull := b.At(i)
		switch {
		case vNull && wNull:
			continue
		case vNull:
			return 1, nil
		case wNull:
			return -1, nil
		}
		c := 0
		if !bytes.Equal(v, w) {
			c = 1
		}
		if !equality && c != 0 {
			var ok bool
			if c, ok = compareImage(a.Type(i), v, w); !ok {
				return 0, pgerr.Unsupported("the order of the binary images of type "+a.Type(i).Base().String(), "Compare the records by < and the like, or their images by *= only.")
			}
		}
		if c != 0 {
			return c, nil
		}
	}
	return 0, types.SimilarRecords(x, y)
}

// fewerFields reports whether the records differ in shape by their number of fields
// only, which matters after the fields that both have.
func fewerFields(x, y []byte) bool {
	a, b := types.ViewRecord(x), types.ViewRecord(y)
	for i := range min(a.Len(), b.Len()) {
		if a.Type(i).OID() != b.Type(i).OID() {
			return false
		}
	}
	return true
}

// compareImage orders the bytes that PostgreSQL keeps of two values; ok is false for
// types that are kept otherwise there.
func compareImage(t types.T, v, w []byte) (c int, ok bool) {
	le := binary.LittleEndian
	word := func(b []byte) uint64 { // as a word of a machine, with its sign
		switch len(b) {
		case 0:
			return 0
		case 1:
			if t.Underlying().ID == types.Char {
				return uint64(int8(b[0]))
			}
			return uint64(b[0])
		case 2:
			return uint64(int16(le.Uint16(b)))
		case 4:
			return uint64(int32(le.Uint32(b)))
		}
		return le.Uint64(b)
	}
	switch u := t.Underlying(); u.ID {
	case types.Text, types.Varchar, types.Bpchar, types.Bytea, types.Name, types.JSON, types.UUID, types.Macaddr, types.Macaddr8, types.Interval:
		return bytes.Compare(v, w), true
	case types.Timetz:
		image := func(b []byte) []byte {
			z := types.ViewTimetz(b)
			return le.AppendUint32(le.AppendUint64(nil, uint64(z.Micros)), uint32(-z.Off))
		}
		return bytes.Compare(image(v), image(w)), true
	case types.Enum:
		return 0, false
	default:
		if u.Kind() == types.KBytes && u.ID != types.Char {
			return 0, false
		}
	}
	if x, y := word(v), word(w); x < y {
		return -1, true
	}
	return 1, true
}

// patternOrderOps compare texts by their bytes, as indexes for LIKE do.
func patternOrderOps() []*Func {
	var out []*Func
	for _, t := range ts(tText, types.TBpchar) {
		for op, name := range cmpNames {
			op := cmpOp(op)
			if name == "=" || name == "<>" {
				continue
			}
			out = append(out, safe(fn("~"+name+"~", ts(t, t), types.TBool, func(r *row) error {
				a, b := r.b(0), r.b(1)
				if t == types.TBpchar {
					a, b = bytes.TrimRight(a, " "), bytes.TrimRight(b, " ")
				}
				return r.putBool(op.holds(bytes.Compare(a, b)))
			})))
		}
	}
	return out
}
