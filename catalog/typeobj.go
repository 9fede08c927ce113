package catalog

import (
	"slices"

	"github.com/streamdb/streamdb/types"
)

// Type is a type that a user made: an enum, a composite type or a domain. Ref is its
// reference among all types (types.T.Ref), ArrayOID the OID of arrays of it.
type Type struct {
	Head
	ArrayOID uint32        `json:"array_oid"`
	Ref      uint64        `json:"ref"`
	Enum     bool          `json:"enum,omitempty"`
	Labels   []types.Label `json:"labels,omitempty"`
	Fields   []Column      `json:"fields,omitempty"`
	// Domain is set for a domain: its type is what the domain is over, and it has the
	// default and NOT NULL. Checks are over this column, by the name VALUE.
	Domain    *Column `json:"domain,omitempty"`
	Collation uint32  `json:"collation,omitempty"` // of a domain; 0: that of its type
	Checks    []Check `json:"checks,omitempty"`
	Range     *Ranges `json:"range,omitempty"` // of a range or multirange type
}

// Ranges is what a range type or the multirange type of one is made of.
type Ranges struct {
	Sub   Column `json:"sub"` // whose type is that of the bounds
	Multi bool   `json:"multi,omitempty"`
	// Pair and PairRef are the OID and the reference of the other type of the two. A
	// multirange type goes away with its range type.
	Pair    uint32 `json:"pair"`
	PairRef uint64 `json:"pair_ref"`
	Diff    string `json:"diff,omitempty"`     // the function of subtype_diff
	DiffOID uint32 `json:"diff_oid,omitempty"` // its OID, if a user made it
	// Collation is what was written; 0: that of the type.
	Collation uint32 `json:"collation,omitempty"`
}

// Kind returns KindType.
func (*Type) Kind() Kind { return KindType }

// Dependencies returns the types of the fields, or the type that a domain is over.
func (t *Type) Dependencies() []uint32 {
	if t.Domain != nil {
		return TypeOIDs(t.Domain.Type)
	}
	if t.Range != nil && t.Range.Multi {
		return []uint32{t.Range.Pair}
	}
	if t.Range != nil {
		out := TypeOIDs(t.Range.Sub.Type)
		if t.Range.DiffOID != 0 {
			out = append(out, t.Range.DiffOID)
		}
		return out
	}
	return typeOIDs(t.Fields)
}

// T returns the type as columns have it.
func (t *Type) T() types.T {
	switch {
	case t.Domain != nil:
		return types.DomainOf(t.Ref, t.Domain.Type)
	case t.Enum:
		return types.EnumOf(t.Ref)
	case t.Range != nil:
		return types.RangeOf(t.Ref, t.Range.Multi)
	}
	return types.T{ID: types.Record, Mod: -1, Ref: t.Ref}
}

// define makes the type known under its reference.
func (t *Type) define() {
	d := &types.Def{Ref: t.Ref, OID: t.OID, ArrayOID: t.ArrayOID, Schema: t.Schema, Name: t.Name, Labels: t.Labels}
	for _, c := range t.Fields {
		d.Fields = append(d.Fields, types.RowField{Name: c.Name, Typ: c.Type})
	}
	if t.Domain != nil {
		d.Over = &t.Domain.Type
	}
	if t.Range != nil {
		d.Sub, d.Pair = &t.Range.Sub.Type, t.Range.PairRef
	}
	types.Define(d)
}

// typeOIDs returns the OIDs of the objects that the types of columns need.
func typeOIDs(cols []Column) []uint32 {
	var out []uint32
	for _, c := range cols {
		for _, oid := range TypeOIDs(c.Type) {
			if !slices.Contains(out, oid) {
				out = append(out, oid)
			}
		}
	}
	return out
}

// TypeOIDs returns the OID of the object that a type stands or falls with: the
// type that a user made, or the relation whose row type it is.
func TypeOIDs(t types.T) []uint32 {
	switch d := t.Def(); {
	case d == nil || d.Name == "":
		return nil
	case d.Relation != 0:
		return []uint32{d.Relation}
	default:
		return []uint32{d.OID}
	}
}

// Type finds a type that a user made, or the row type of a relation. An empty
// schema searches path.
func (s *Snapshot) Type(schema, name string, path []string) (types.T, bool) {
	path = s.EffectivePath(path)
	if schema != "" {
		path = []string{schema}
	}
	for _, p := range path {
		if o, ok := s.other(KindType, p, name).(*Type); ok {
			return o.T(), true
		}
		if r, ok := s.Get(p, name).(Relation); ok {
			if t, ok := RowType(r); ok {
				return t, true
			}
		}
	}
	return types.T{}, false
}

// TypeByOID finds the type, or the array type, with an OID of pg_type.
func (s *Snapshot) TypeByOID(oid uint32) (types.T, bool) {
	if t, ok := types.ByOID(oid); ok {
		return t, true
	}
	var found types.T
	s.eachType(func(t types.T) {
		switch d := t.Def(); oid {
		case d.OID:
			found = t
		case d.ArrayOID:
			found = t.ArrayType()
		}
	})
	return found, found.ID != types.Invalid
}

// eachType calls f for every type that a user made and every relation's row type.
func (s *Snapshot) eachType(f func(types.T)) {
	s.Objects(func(o Object) {
		switch o := o.(type) {
		case *Type:
			f(o.T())
		case Relation:
			if t, ok := RowType(o); ok {
				f(t)
			}
		}
	})
}

// typeJSON is a type in the log: PostgreSQL's OID and modifier, which never
// change, unlike the numbers of types.ID. A row type takes its fields with it, so
// that an object can be read without what it depends on.
type typeJSON struct {
	OID      uint32      `json:"type"`
	Mod      int32       `json:"mod"`
	Ref      uint64      `json:"ref,omitempty"`
	Enum     bool        `json:"enum,omitempty"`
	Array    bool        `json:"array,omitempty"`
	Schema   string      `json:"schema,omitempty"`
	Name     string      `json:"type_name,omitempty"`
	RowOID   uint32      `json:"row_oid,omitempty"`
	ArrayOID uint32      `json:"array_oid,omitempty"`
	Relation uint32      `json:"relation,omitempty"`
	Fields   []fieldJSON `json:"fields,omitempty"`
	Over     *typeJSON   `json:"over,omitempty"`  // of a domain
	Range    string      `json:"range,omitempty"` // "range" or "multirange" of a user
}

type fieldJSON struct {
	Name string   `json:"name"`
	Type typeJSON `json:"t"`
}

func typeToJSON(t types.T) typeJSON {
	j := typeJSON{OID: t.OID(), Mod: t.Mod}
	if t.Ref == 0 {
		return j
	}
	j.Ref, j.Array = t.Ref, t.ID == types.Array
	d := t.Def()
	if d != nil && d.Over != nil {
		over := typeToJSON(*d.Over)
		j.Array = t.IsArrayOfNamed()
		j.Over, j.Schema, j.Name, j.RowOID, j.ArrayOID = &over, d.Schema, d.Name, d.OID, d.ArrayOID
		return j
	}
	if j.Enum = t.ID == types.Enum || t.Elem == types.Enum; j.Enum {
		return j
	}
	for _, id := range []types.ID{t.ID, t.Elem} {
		switch id {
		case types.UserRange:
			j.Range = "range"
		case types.UserMultirange:
			j.Range = "multirange"
		}
	}
	if j.Range != "" {
		return j
	}
	if d != nil {
		j.Schema, j.Name, j.RowOID, j.ArrayOID, j.Relation = d.Schema, d.Name, d.OID, d.ArrayOID, d.Relation
		for _, f := range d.Fields {
			j.Fields = append(j.Fields, fieldJSON{f.Name, typeToJSON(f.Typ)})
		}
	}
	return j
}

func (j *typeJSON) t() (types.T, bool) {
	if j.Ref == 0 {
		t, ok := types.ByOID(j.OID)
		if !ok {
			t, ok = types.PseudoByOID(j.OID)
		}
		t.Mod = j.Mod
		return t, ok
	}
	t := types.EnumOf(j.Ref)
	if j.Over != nil {
		over, ok := j.Over.t()
		if !ok {
			return t, false
		}
		if t = types.DomainOf(j.Ref, over); t.Def() == nil {
			types.Define(&types.Def{Ref: j.Ref, OID: j.RowOID, ArrayOID: j.ArrayOID, Schema: j.Schema, Name: j.Name, Over: &over})
		}
	} else if j.Range != "" {
		t = types.RangeOf(j.Ref, j.Range == "multirange")
	} else if !j.Enum {
		t.ID = types.Record
		if t.Def() == nil {
			d := &types.Def{Ref: j.Ref, OID: j.RowOID, ArrayOID: j.ArrayOID, Relation: j.Relation, Schema: j.Schema, Name: j.Name}
			for i := range j.Fields {
				ft, ok := j.Fields[i].Type.t()
				if !ok {
					return t, false
				}
				d.Fields = append(d.Fields, types.RowField{Name: j.Fields[i].Name, Typ: ft})
			}
			types.Define(d)
		}
	}
	if j.Array {
		t = t.ArrayType()
	}
	t.Mod = j.Mod
	return t, true
}
