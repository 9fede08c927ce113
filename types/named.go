package types

import (
	"encoding/binary"
	"hash/fnv"
	"strings"
	"sync"
)

// Def describes a type that has more to it than fits into a T: the fields of a
// composite type or of a row made by a query, the labels of an enum. T.Ref names
// it. A Def is never changed; Define puts another in its place.
type Def struct {
	Ref           uint64 // never 0
	OID, ArrayOID uint32 // 0 for a row that a query made
	Schema, Name  string // empty likewise
	Relation      uint32 // OID of the relation whose row type it is, else 0
	Fields        []RowField
	Labels        []Label // of an enum, in its order
	Over          *T      // what a domain is over; nil: no domain (domain.go)
	Sub           *T      // of what the bounds of a range or multirange are
	Pair          uint64  // of a range the Ref of its multirange, and the other way round
}

// RowField is one field of a composite type.
type RowField struct {
	Name string
	Typ  T
}

// Label is one value of an enum. Values are stored as codes, which are ordered as
// the enum is and never change: a new label between two gets a code between theirs.
type Label struct {
	Code int64
	Name string
}

// defs holds every Def in use by its Ref. References are either random (made with
// the type, and kept with it) or a hash of what they stand for, so that the many
// servers of a process may share it.
var defs sync.Map // uint64 -> *Def

// Define makes d known under its reference, in the place of an older form of the
// same type.
func Define(d *Def) { defs.Store(d.Ref, d) }

// Def returns what t.Ref stands for; nil for a type that is complete in itself.
func (t T) Def() *Def {
	if t.Ref == 0 {
		return nil
	}
	d, _ := defs.Load(t.Ref)
	def, _ := d.(*Def)
	return def
}

// Fields returns the fields of a composite type or row; nil if they are not known
// before a value is seen.
func (t T) Fields() []RowField {
	if d := t.Underlying().Def(); d != nil {
		return d.Fields
	}
	return nil
}

// IsComposite reports whether t is a composite type with a name, or a domain over one.
func (t T) IsComposite() bool {
	d := t.Def()
	return t.ID == Record && d != nil && d.Name != ""
}

// RowOf returns the type of a row without a type name that has the given fields.
func RowOf(fields []RowField) T {
	return T{ID: Record, Mod: -1, Ref: shapeRef(&Def{Fields: fields})}
}

// CompositeOf returns the composite type d describes and gives it a reference
// made of its content.
func CompositeOf(d *Def) T { return T{ID: Record, Mod: -1, Ref: shapeRef(d)} }

// shapeRef hashes a definition and makes it known.
func shapeRef(d *Def) uint64 {
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint32(b[:], d.OID)
	h.Write(b[:4])
	write := func(s string) {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	write(d.Schema)
	write(d.Name)
	for _, f := range d.Fields {
		write(f.Name)
		b[0], b[1] = byte(f.Typ.ID), byte(f.Typ.Elem)
		binary.LittleEndian.PutUint32(b[2:], uint32(f.Typ.Mod))
		binary.LittleEndian.PutUint64(b[6:], f.Typ.Ref)
		h.Write(b[:14])
	}
	d.Ref = h.Sum64() | 1
	if _, known := defs.Load(d.Ref); !known {
		Define(d)
	}
	return d.Ref
}

// defName is the name of a type as format_type prints it.
func (d *Def) defName() string {
	n := quoteTypeName(d.Name)
	if d.Schema != "" && d.Schema != "public" {
		n = quoteTypeName(d.Schema) + "." + n
	}
	return n
}

// quoteTypeName puts a name into quotes that would not be read back without.
func quoteTypeName(n string) string {
	plain := n != ""
	for i := range len(n) {
		c := n[i]
		plain = plain && (c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' && i > 0)
	}
	if plain {
		return n
	}
	return `"` + strings.ReplaceAll(n, `"`, `""`) + `"`
}
