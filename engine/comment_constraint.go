package engine

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// commentConstraint is COMMENT ON CONSTRAINT of a table.
func (s *Session) commentConstraint(snap *catalog.Snapshot, st *sql.Comment, text string) error {
	o, err := s.resolve(snap, st.Name)
	if err != nil {
		return err
	}
	if err := s.mustOwn(o); err != nil {
		return forbidden("must be owner of relation %s", o.Header().Name)
	}
	if t, ok := catalog.Clone(o).(*catalog.Table); ok {
		if i := slices.IndexFunc(t.Checks, func(k catalog.Check) bool { return k.Name == st.Column }); i >= 0 {
			t.Checks = slices.Clone(t.Checks)
			t.Checks[i].Comment = text
			return s.changeCatalog(catalog.Change{Replace: t})
		}
		if i := slices.IndexFunc(t.ForeignKeys, func(k catalog.ForeignKey) bool { return k.Name == st.Column }); i >= 0 {
			t.ForeignKeys = slices.Clone(t.ForeignKeys)
			t.ForeignKeys[i].Comment = text
			return s.changeCatalog(catalog.Change{Replace: t})
		}
		if k := t.PrimaryKey; k != nil && k.Name == st.Column {
			n := *k
			n.Comment, t.PrimaryKey = text, &n
			return s.changeCatalog(catalog.Change{Replace: t})
		}
		for _, ix := range snap.Indexes(t.OID) {
			if ix.Constraint && ix.Name == st.Column {
				n := catalog.Clone(ix).(*catalog.Index)
				n.ConstraintComment = text
				return s.changeCatalog(catalog.Change{Replace: n})
			}
		}
	}
	return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", st.Column, o.Header().Name)
}

// commentDomainConstraint is COMMENT ON CONSTRAINT of a domain.
func (s *Session) commentDomainConstraint(snap *catalog.Snapshot, st *sql.Comment, text string) error {
	o, err := s.domainTarget(snap, st.Name)
	if err != nil {
		return err
	}
	if err := s.mustOwn(o); err != nil {
		return err
	}
	t := catalog.Clone(o).(*catalog.Type)
	i := slices.IndexFunc(t.Checks, func(k catalog.Check) bool { return k.Name == st.Column })
	if i < 0 {
		return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for domain %s does not exist", st.Column, t.Name)
	}
	t.Checks[i].Comment = text
	return s.changeCatalog(catalog.Change{Replace: t})
}

// commentKeyIndex is COMMENT ON INDEX of the key that a table's rows are stored by,
// which is no object of its own; false: the name is not one of these.
func (s *Session) commentKeyIndex(snap *catalog.Snapshot, st *sql.Comment, text string) (bool, error) {
	t := s.keyIndexTable(snap, st.Name)
	if t == nil {
		return false, nil
	}
	if err := s.mustOwn(t); err != nil {
		return true, forbidden("must be owner of index %s", st.Name.Name)
	}
	n := catalog.Clone(t).(*catalog.Table)
	k := *t.PrimaryKey
	k.IndexComment, n.PrimaryKey = text, &k
	return true, s.changeCatalog(catalog.Change{Replace: n})
}
