package engine

import (
	"math/rand/v2"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
)

func (s *Session) createType(pl *planner.Planner, st *sql.CreateType) error {
	if st.Range {
		return s.createRange(pl, st)
	}
	t, err := pl.BindCreateType(st)
	if err != nil {
		return err
	}
	if _, err := s.place(&t.Head, false); err != nil {
		return err
	}
	if err := s.mayUseTypes(stage.ColumnTypes(t.Fields)...); err != nil {
		return err
	}
	s.furnish(t)
	t.Ref = rand.Uint64() | 1
	s.number(t)
	return s.changeCatalog(catalog.Change{Create: t})
}

// createRange creates a range type and its multirange type.
func (s *Session) createRange(pl *planner.Planner, st *sql.CreateType) error {
	t, m, err := pl.BindCreateRange(st)
	if err != nil {
		return err
	}
	for _, o := range []*catalog.Type{t, m} {
		if _, err := s.place(&o.Head, false); err != nil {
			return err
		}
		o.Ref = rand.Uint64() | 1
	}
	if err := s.mayUseTypes(t.Range.Sub.Type); err != nil {
		return err
	}
	s.furnish(t, m)
	s.number(t)
	s.number(m)
	t.Range.Pair, t.Range.PairRef = m.OID, m.Ref
	m.Range.Pair, m.Range.PairRef = t.OID, t.Ref
	return s.changeCatalog(catalog.Change{Create: t}, catalog.Change{Create: m})
}

// alterEnum adds or renames a value. Stored queries name values by their labels,
// so none is renamed while a view or sink uses the type.
func (s *Session) alterEnum(st *sql.AlterEnum) error {
	snap := s.snapshot()
	o, err := s.dropTarget(snap, "type", st.Name)
	if err != nil {
		return err
	}
	old := o.(*catalog.Type)
	if err := s.mustOwn(old); err != nil {
		return err
	}
	n, err := planner.AlterEnum(old, st)
	if err != nil {
		return err
	}
	if n == nil {
		s.notice("NOTICE", pgerr.New(pgerr.DuplicateObject, "enum label \"%s\" already exists, skipping", st.New))
		return nil
	}
	if st.Old != "" {
		for _, d := range snap.Dependents(old.OID) {
			switch d.Kind() {
			case catalog.KindView, catalog.KindMatView, catalog.KindSink:
				return pgerr.Unsupported("renaming a value of an enum that a stored query uses",
					"Drop "+d.Kind().String()+" "+d.Header().Name+" and create it again afterwards.")
			}
		}
	}
	return s.changeCatalog(catalog.Change{Replace: n})
}

// typeTarget finds the type that DROP, ALTER or COMMENT names.
func (s *Session) typeTarget(snap *catalog.Snapshot, n sql.Name) (catalog.Object, error) {
	if o := snap.Other(catalog.KindType, n.Schema, n.Name, s.expr.SearchPath); o != nil {
		return o, nil
	}
	if t, ok := snap.Type(n.Schema, n.Name, s.expr.SearchPath); ok {
		r := snap.ByOID(t.Def().Relation)
		return nil, pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop type %s because %s %s requires it", t, r.Kind(), r.Header().Name).
			WithHint("You can drop %s %s instead.", r.Kind(), r.Header().Name)
	}
	full := n.Name
	if n.Schema != "" {
		full = n.Schema + "." + n.Name
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", full)
}
