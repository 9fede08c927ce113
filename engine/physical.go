package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
)

// Actions of ALTER TABLE and ALTER INDEX that tell PostgreSQL how to store rows. Here
// they change what the catalog's tables show, and nothing else.

// physical reports whether all actions are such.
func physical(as []sql.AlterAction) bool {
	return !slices.ContainsFunc(as, func(a sql.AlterAction) bool {
		return a.Kind != sql.AlterPhysical && a.Kind != sql.AlterSetOptions && a.Kind != sql.AlterResetOptions
	})
}

// alterPhysical runs such actions on a table or an index, and sets options of a view.
func (s *Session) alterPhysical(pl *planner.Planner, o catalog.Object, as []sql.AlterAction) error {
	n := catalog.Clone(o)
	for i := range as {
		var err error
		switch n := n.(type) {
		case *catalog.Table:
			err = s.physicalTable(n, &as[i])
		case *catalog.Index:
			err = s.physicalIndex(n, &as[i])
		case *catalog.View:
			a := &as[i]
			if a.Kind == sql.AlterPhysical {
				return pgerr.Unsupported("this form of ALTER VIEW", "Change the tables under the view.")
			}
			err = pl.AlterViewOptions(n, a.Options, a.Kind == sql.AlterResetOptions)
		default:
			err = pgerr.Unsupported("this form of ALTER "+strings.ToUpper(o.Kind().String()), "Create a new object and drop the old one.")
		}
		if err != nil {
			return err
		}
	}
	return s.changeCatalog(catalog.Change{Replace: n})
}

// physicalTable changes a table, which is a copy, by one action.
func (s *Session) physicalTable(t *catalog.Table, a *sql.AlterAction) (err error) {
	switch a.Kind {
	case sql.AlterSetOptions:
		if t.Connector != nil {
			return pgerr.Unsupported("changing the options of a table fed by a connector", "Create a new table.")
		}
		t.Options, err = planner.SetStorage(planner.TableStorage, t.Options, a.Options)
		return err
	case sql.AlterResetOptions:
		t.Options, err = planner.ResetStorage(t.Options, a.Options)
		return err
	}
	switch a.What {
	case "statistics", "storage", "compression", "set", "reset":
		return s.physicalColumn(t, a)
	case "cluster":
		t.ClusterIndex = 0
		if a.NewName != "" {
			t.ClusterIndex, err = s.clusterIndex(t, a.NewName)
		}
	case "logged", "unlogged":
		if catalog.IsTemp(t.Schema) {
			return pgerr.New(pgerr.InvalidTableDefinition, "cannot change logged status of table \"%s\" because it is temporary", t.Name)
		}
		t.Unlogged = a.What == "unlogged"
	case "identity":
		return s.replicaIdentity(t, a)
	}
	return err
}

// physicalColumn changes a column of a table.
func (s *Session) physicalColumn(t *catalog.Table, a *sql.AlterAction) (err error) {
	i := catalog.ColumnIndex(t.Columns, a.Column)
	if i < 0 {
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", a.Column, t.Name)
	}
	c := &t.Columns[i]
	p := catalog.Physical{}
	if c.Physical != nil {
		p = *c.Physical
	}
	c.Physical = &p
	varying := catalog.Varying(c.Type)
	switch a.What {
	case "statistics":
		n, err := s.statisticsTarget(a.NewName)
		if err != nil {
			return err
		}
		if p.Statistics = &n; n < 0 {
			p.Statistics = nil
		}
	case "storage":
		modes := map[string]string{"plain": "p", "external": "e", "extended": "x", "main": "m"}
		mode, ok := modes[strings.ToLower(a.NewName)]
		switch {
		case !ok:
			return pgerr.New(pgerr.InvalidParameterValue, "invalid storage type \"%s\"", a.NewName)
		case mode != "p" && !varying:
			return pgerr.New(pgerr.FeatureNotSupported, "column data type %s can only have storage PLAIN", c.Type.Base())
		}
		p.Storage = mode
	case "compression":
		switch {
		case a.NewName != "pglz" && a.NewName != "lz4" && a.NewName != "default":
			return pgerr.New(pgerr.InvalidParameterValue, "invalid compression method \"%s\"", a.NewName)
		case !varying:
			return pgerr.New(pgerr.FeatureNotSupported, "column data type %s does not support compression", c.Type.Base())
		}
	case "set":
		p.Options, err = planner.SetStorage(planner.ColumnStorage, p.Options, a.Options)
	case "reset":
		p.Options, err = planner.ResetStorage(p.Options, a.Options)
	}
	return err
}

// statisticsTarget reads the number of SET STATISTICS.
func (s *Session) statisticsTarget(text string) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || n < -1:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "statistics target %s is too low", text)
	case n > 10000:
		s.notice("WARNING", pgerr.New(pgerr.InvalidParameterValue, "lowering statistics target to 10000"))
		n = 10000
	}
	return n, nil
}

// clusterIndex finds the index of CLUSTER.
func (s *Session) clusterIndex(t *catalog.Table, name string) (uint32, error) {
	oid, ix, err := s.tableIndex(t, name, "index \"%s\" for table \"%s\" does not exist")
	switch {
	case err != nil:
		return 0, err
	case ix != nil && ix.Where != "":
		return 0, pgerr.New(pgerr.FeatureNotSupported, "cannot cluster on partial index \"%s\"", name)
	}
	return oid, nil
}

// tableIndex finds an index of a table, which is nil for that of the key that the rows
// are stored by; missing is the error where there is none of the name.
func (s *Session) tableIndex(t *catalog.Table, name, missing string) (uint32, *catalog.Index, error) {
	if k := t.PrimaryKey; k != nil && k.Name == name {
		return k.OID, nil, nil
	}
	o := s.snapshot().Get(t.Schema, name)
	if o == nil {
		return 0, nil, pgerr.New(pgerr.UndefinedObject, missing, name, t.Name)
	}
	ix, ok := o.(*catalog.Index)
	if !ok || ix.Table != t.OID {
		return 0, nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not an index for table \"%s\"", name, t.Name)
	}
	return ix.OID, ix, nil
}

// replicaIdentity runs REPLICA IDENTITY.
func (s *Session) replicaIdentity(t *catalog.Table, a *sql.AlterAction) error {
	t.ReplicaIdentity = map[string]string{"FULL": "f", "NOTHING": "n", "USING INDEX": "i"}[a.Text]
	t.IdentityIndex = 0
	if a.Text != "USING INDEX" {
		return nil
	}
	oid, ix, err := s.tableIndex(t, a.NewName, "index \"%s\" for table \"%s\" does not exist")
	if err != nil {
		return err
	}
	t.IdentityIndex = oid
	if ix == nil {
		return nil
	}
	switch {
	case !ix.Unique:
		return pgerr.New(pgerr.WrongObjectType, "cannot use non-unique index \"%s\" as replica identity", ix.Name)
	case ix.Deferrable:
		return pgerr.New(pgerr.FeatureNotSupported, "cannot use non-immediate index \"%s\" as replica identity", ix.Name)
	case ix.Columns() == nil:
		return pgerr.New(pgerr.FeatureNotSupported, "cannot use expression index \"%s\" as replica identity", ix.Name)
	case ix.Where != "":
		return pgerr.New(pgerr.FeatureNotSupported, "cannot use partial index \"%s\" as replica identity", ix.Name)
	}
	for _, c := range ix.Columns() {
		if !t.Columns[c].NotNull {
			return pgerr.New(pgerr.WrongObjectType, "index \"%s\" cannot be used as replica identity because column \"%s\" is nullable", ix.Name, t.Columns[c].Name)
		}
	}
	return nil
}

// physicalIndex changes an index, which is a copy, by one action.
func (s *Session) physicalIndex(ix *catalog.Index, a *sql.AlterAction) (err error) {
	switch {
	case a.Kind == sql.AlterSetOptions:
		ix.Options, err = planner.SetStorage(planner.IndexStorage, ix.Options, a.Options)
	case a.Kind == sql.AlterResetOptions:
		ix.Options, err = planner.ResetStorage(ix.Options, a.Options)
	case a.What == "statistics":
		return s.indexStatistics(ix, a)
	default:
		err = pgerr.Unsupported("this form of ALTER INDEX", "Change the table.")
	}
	return err
}

// indexStatistics is SET STATISTICS of a column of an index, by its number.
func (s *Session) indexStatistics(ix *catalog.Index, a *sql.AlterAction) error {
	k, err := strconv.Atoi(a.Column)
	switch {
	case err != nil:
		return pgerr.New(pgerr.FeatureNotSupported, "cannot refer to non-index column by name")
	case k > len(ix.Keys)+len(ix.Include):
		return pgerr.New(pgerr.UndefinedColumn, "column number %d of relation \"%s\" does not exist", k, ix.Name)
	}
	t := s.snapshot().ByOID(ix.Table).(catalog.Relation)
	if k > len(ix.Keys) {
		return pgerr.New(pgerr.FeatureNotSupported, "cannot alter statistics on included column \"%s\" of index \"%s\"", t.Cols()[ix.Include[k-1-len(ix.Keys)]].Name, ix.Name)
	}
	key := ix.Keys[k-1]
	if key.Column >= 0 {
		return pgerr.New(pgerr.FeatureNotSupported, "cannot alter statistics on non-expression column \"%s\" of index \"%s\"", t.Cols()[key.Column].Name, ix.Name).
			WithHint("Alter statistics on table column instead.")
	}
	n, err := s.statisticsTarget(a.NewName)
	if err != nil {
		return err
	}
	ix.Keys = slices.Clone(ix.Keys)
	as := *key.As
	as.Physical = &catalog.Physical{Statistics: &n}
	ix.Keys[k-1].As = &as
	return nil
}
