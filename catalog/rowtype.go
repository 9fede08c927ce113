package catalog

import "github.com/streamdb/streamdb/types"

// RowType returns the composite type that the rows of a relation have: it is
// called as the relation is. System relations have none.
func RowType(r Relation) (types.T, bool) {
	if !hasRowType(r) {
		return types.T{}, false
	}
	h := r.Header()
	d := &types.Def{OID: rowTypeNumber(r), ArrayOID: madeOID("rowarray", h.OID, 0), Relation: h.OID, Schema: h.Schema, Name: h.Name}
	for _, c := range r.Cols() {
		d.Fields = append(d.Fields, types.RowField{Name: c.Name, Typ: c.Type})
	}
	return types.CompositeOf(d), true
}

func hasRowType(r Relation) bool {
	switch r.(type) {
	case *Table, *Source, *MatView, *View:
		return true
	}
	return false
}

// rowTypeNumber is the OID of a relation's row type.
func rowTypeNumber(r Relation) uint32 { return madeOID("rowtype", r.Header().OID, 0) }
