package catalog

import "github.com/streamdb/streamdb/types"

// fillTypes gives PostgreSQL's own types from the data file, and those that users
// and relations made, each with the type of its arrays.
func fillTypes(c *Context, r *rows) {
	fromFile("types", 11, 10, true, -1, 0, nil, 0, false, 0, nil)(c, r)
	s := c.Snapshot
	row := func(t types.T, elem, array, rel uint32) {
		d := t.Def()
		ns := namespaceOID(s, d.Schema)
		owner, acl := BootstrapOID, any(nil)
		for _, oid := range TypeOIDs(t) {
			if o := s.ByOID(oid); o != nil {
				owner = o.Header().Owner
				if o.Kind() == KindType && !t.IsArrayOfNamed() {
					acl = aclOf(s, o.Header().ACL)
				}
			}
		}
		size, byval, kind, category, align, storage := -1, false, "b", string(t.Category()), "d", "x"
		in := []any{2290, 2291, 2402, 2403} // record_in and so on
		switch {
		case t.IsArrayOfNamed():
			in = []any{750, 751, 2400, 2401}
			if t.Elem == types.Enum || t.ElemType().IsRange() || t.ElemType().IsMultirange() {
				align = rangeAlign(t.ElemType())
			}
		case t.IsDomain():
			fillDomainType(r, s, t, owner, acl)
			return
		case t.ID == types.Enum:
			size, byval, kind, align, storage = 4, true, "e", "i", "p"
			in = []any{3504, 3505, 3532, 3533}
		case t.IsRange():
			kind, align, in = "r", rangeAlign(t), []any{3834, 3835, 3836, 3837}
		case t.IsMultirange():
			kind, align, in = "m", rangeAlign(t), []any{4231, 4232, 4233, 4234}
		default:
			kind = "c"
		}
		r.add(t.OID(), t.TypName(), size, byval, kind, category, false, ",", elem, array, in[0], in[1], in[2], in[3], 0, 0,
			align, storage, 0, ns, owner, true, -1, rel, acl, 0, false, 0, nil)
	}
	s.eachType(func(t types.T) {
		d, rel := t.Def(), uint32(0)
		if t.ID == types.Record && !t.IsDomain() {
			if rel = d.Relation; rel == 0 {
				rel = compositeRel(d.OID)
			}
		}
		row(t, 0, d.ArrayOID, rel)
		if t.ID != types.Array {
			row(t.ArrayType(), d.OID, 0, 0)
		}
	})
}

// rangeAlign is the alignment of a range type, which is that of the bounds if they
// take double words.
func rangeAlign(t types.T) string {
	if t.ID == types.Enum {
		return "i"
	}
	switch sub := t.RangeSub().Underlying(); {
	case sub.IsComposite(), sub.Size() == 8 && sub.Kind() != types.KBytes, sub.ID == types.Timetz, sub.ID == types.LSN, sub.ID == types.Xid8, sub.ID == types.Interval:
		return "d"
	}
	return "i"
}

// fillRanges lists PostgreSQL's range types and those of users.
func fillRanges(c *Context, r *rows) {
	fromFile("ranges")(c, r)
	for _, t := range All[*Type](c.Snapshot) {
		if t.Range == nil || t.Range.Multi {
			continue
		}
		sub := t.Range.Sub.Type
		collation := t.Range.Collation
		if collation == 0 && sub.Underlying().IsString() {
			collation = 100
		}
		class := opclassOID("", sub)
		diff := any(0)
		if diff = t.Range.DiffOID; t.Range.Diff != "" && t.Range.DiffOID == 0 {
			f := function{name: t.Range.Diff, args: []types.T{sub, sub}}
			diff = madeOID("proc "+f.signature(), 0, 0)
		}
		r.add(t.OID, sub.OID(), t.Range.Pair, collation, class, 0, diff)
	}
}

// compositeRel is the OID of the row that pg_class has for a composite type.
func compositeRel(oid uint32) uint32 { return madeOID("composite", oid, 0) }

// composites returns the composite types of CREATE TYPE.
func composites(s *Snapshot) []*Type {
	var out []*Type
	for _, t := range All[*Type](s) {
		if !t.Enum && t.Domain == nil && t.Range == nil {
			out = append(out, t)
		}
	}
	return out
}

// compositeName finds a composite type by the OID of its row in pg_class.
func compositeName(s *Snapshot, oid uint32) (schema, name string, ok bool) {
	for _, t := range composites(s) {
		if compositeRel(t.OID) == oid {
			return t.Schema, t.Name, true
		}
	}
	return "", "", false
}

func fillEnum(c *Context, r *rows) {
	for _, t := range All[*Type](c.Snapshot) {
		for _, l := range t.Labels {
			r.add(madeOID("label "+l.Name, t.OID, 0), t.OID, float32(float64(l.Code)/types.EnumStep), l.Name)
		}
	}
}
