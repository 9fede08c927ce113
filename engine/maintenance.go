package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// reindex is REINDEX, which has nothing to do: indexes are part of every commit.
func (s *Session) reindex(st *sql.Reindex) error {
	snap := s.snapshot()
	switch st.Kind {
	case "schema":
		o, err := s.dropTarget(snap, "schema", st.Name)
		if err != nil {
			return err
		}
		return s.mustOwn(o)
	case "database", "system":
		if st.Kind == "system" && st.Concurrently {
			return pgerr.New(pgerr.FeatureNotSupported, "cannot reindex system catalogs concurrently")
		}
		if st.Name.Name != "" && st.Name.Name != s.database {
			return pgerr.New(pgerr.FeatureNotSupported, "can only reindex the currently open database")
		}
		return s.mustOwn(snap.Database())
	}
	o, err := s.resolve(snap, st.Name)
	if err != nil {
		if t := s.keyIndexTable(snap, st.Name); t != nil && st.Kind == "index" {
			if err := s.mustOwn(t); err != nil {
				return forbidden("must be owner of index %s", st.Name.Name)
			}
			return nil
		}
		return err
	}
	switch k := o.Kind(); {
	case st.Kind == "index" && k != catalog.KindIndex:
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not an index", o.Header().Name)
	case st.Kind == "table" && k != catalog.KindTable && k != catalog.KindMatView:
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a table or materialized view", o.Header().Name)
	}
	if err := s.mustOwn(o); err != nil {
		return err
	}
	if t, ok := o.(*catalog.Table); ok && t.PrimaryKey == nil && len(snap.Indexes(t.OID)) == 0 {
		text := "table \"%s\" has no indexes to reindex"
		if st.Concurrently {
			text = "table \"%s\" has no indexes that can be reindexed concurrently"
		}
		s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, text, t.Name))
	}
	return nil
}

// keyIndexTable returns the table whose rows are stored by the key that a name means,
// whose index is no object of its own; nil: none.
func (s *Session) keyIndexTable(snap *catalog.Snapshot, n sql.Name) *catalog.Table {
	path := s.expr.SearchPath
	if n.Schema != "" {
		path = []string{n.Schema}
	}
	for _, schema := range path {
		oid, _, _, ok := catalog.KeyIndex(snap, 0, schema, n.Name)
		if !ok {
			continue
		}
		for _, t := range catalog.All[*catalog.Table](snap) {
			if t.PrimaryKey != nil && t.PrimaryKey.OID == oid {
				return t
			}
		}
	}
	return nil
}

// cluster is CLUSTER: rows are stored in the order of their key, and it is only kept
// which index was named.
func (s *Session) cluster(st *sql.Cluster) error {
	if st.Table == nil {
		return nil
	}
	o, err := s.resolve(s.snapshot(), *st.Table)
	if err != nil {
		return err
	}
	if err := s.mustOwn(o); err != nil {
		return err
	}
	t, ok := catalog.Clone(o).(*catalog.Table)
	switch {
	case !ok && o.Kind() == catalog.KindMatView:
		return pgerr.Unsupported("CLUSTER of a materialized view", "Its rows are stored in the order of its key.")
	case !ok:
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a table or materialized view", o.Header().Name)
	case st.Index == "" && t.ClusterIndex == 0:
		return pgerr.New(pgerr.UndefinedObject, "there is no previously clustered index for table \"%s\"", t.Name)
	case st.Index == "":
		return nil
	}
	if t.ClusterIndex, err = s.clusterIndex(t, st.Index); err != nil {
		return err
	}
	return s.changeCatalog(catalog.Change{Replace: t})
}
