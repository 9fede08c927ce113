package engine

import (
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/define"
	"github.com/streamdb/streamdb/engine/settings"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
)

// table is a result under construction.
type table struct {
	cols []wire.Column
	rows [][]types.Datum
}

func newTable(names ...string) *table {
	t := &table{}
	for _, n := range names {
		c := wire.Column{Name: n, Type: types.TText}
		if base, typ, ok := strings.Cut(n, ":"); ok {
			c = wire.Column{Name: base, Type: statusType(typ)}
		}
		t.cols = append(t.cols, c)
	}
	return t
}

func (t *table) add(row ...types.Datum) { t.rows = append(t.rows, row) }

func (t *table) chunk() *vec.Chunk {
	c := emptyChunk(t.cols)
	for _, r := range t.rows {
		c.AppendRow(1, r...)
	}
	return c
}

// showCommand sets up SHOW and DESCRIBE; what it shows is computed when it runs.
func (s *Session) showCommand(p *prepared) error {
	fill, t, err := s.showTable(p.st.Stmt)
	if err != nil {
		return err
	}
	p.cols = t.cols
	p.command = func(context.Context, []types.Datum) (*vec.Chunk, string, error) {
		t.rows = nil
		if err := fill(t); err != nil {
			return nil, "", err
		}
		return t.chunk(), "SHOW", nil
	}
	return nil
}

func (s *Session) showTable(st sql.Stmt) (func(*table) error, *table, error) {
	if d, ok := st.(*sql.Describe); ok {
		return s.describe(d.Name), newTable("Name", "Type", "Is Nullable", "Default"), nil
	}
	sh := st.(*sql.Show)
	if sh.Name != "" {
		return s.showSetting(sh.Name)
	}
	what := strings.ToLower(sh.What)
	switch what {
	case "create":
		return s.showCreate(sh), newTable("Name", "Create Sql"), nil
	case "columns":
		return s.describe(*sh.From), newTable("Name", "Type", "Is Nullable", "Default"), nil
	case "jobs":
		return showRows(s.jobRows, sh), newTable("Id:bigint", "Name", "Kind", "Status", "Rows Read:bigint", "State Bytes:bigint", "Error", "Since:timestamptz"), nil
	case "sinks":
		return showRows(s.sinkRows, sh), newTable("Name", "Connector", "Status", "Pending Epochs:bigint", "Pending Rows:bigint", "Pending Bytes:bigint", "Pending Since:timestamptz", "Error", "Since:timestamptz"), nil
	case "sources":
		return showRows(s.sourceRows, sh), newTable("Name", "Connector", "Format", "Status", "Jobs:bigint", "Lag:bigint", "Skipped:bigint", "Error", "Since:timestamptz"), nil
	}
	if what == "databases" {
		return s.showDatabases(sh), newTable("Name"), nil
	}
	kind, ok := map[string]catalog.Kind{"tables": catalog.KindTable, "views": catalog.KindView,
		"materialized views": catalog.KindMatView, "indexes": catalog.KindIndex, "schemas": catalog.KindSchema, "secrets": catalog.KindSecret}[what]
	if !ok {
		return nil, nil, pgerr.Unsupported("SHOW "+strings.ToUpper(sh.What), "Available: TABLES, SOURCES, VIEWS, MATERIALIZED VIEWS, SINKS, INDEXES, SCHEMAS, DATABASES, SECRETS, JOBS, COLUMNS FROM, CREATE.")
	}
	return func(t *table) error { return s.showObjects(t, kind, sh) }, newTable("Name"), nil
}

func (s *Session) showDatabases(sh *sql.Show) func(*table) error {
	return func(t *table) error {
		var names []string
		for _, d := range s.snapshot().Databases() {
			if !sh.HasLike || likeMatch(d.Name, sh.Like) {
				names = append(names, d.Name)
			}
		}
		sort.Strings(names)
		for _, n := range names {
			t.add(n)
		}
		return nil
	}
}

func (s *Session) showSetting(name string) (func(*table) error, *table, error) {
	if name == "all" {
		t := newTable("name", "setting", "description")
		return func(t *table) error {
			for _, n := range settings.Names() {
				v, _ := s.show(n)
				t.add(settings.All[n].Name, v, settings.All[n].Doc)
			}
			return nil
		}, t, nil
	}
	st, err := settings.Lookup(name)
	if err != nil {
		return nil, nil, err
	}
	return func(t *table) error {
		v, err := s.show(name)
		t.add(v)
		return err
	}, newTable(st.Name), nil
}

func (s *Session) showObjects(t *table, kind catalog.Kind, sh *sql.Show) error {
	snap := s.snapshot()
	var names []string
	snap.Objects(func(o catalog.Object) {
		h := o.Header()
		if o.Kind() != kind || (snap.Builtin(h.OID) && kind != catalog.KindSchema) {
			return
		}
		if sh.From != nil && h.Schema != sh.From.Name {
			return
		}
		n := h.Name
		inPath := kind == catalog.KindSecret && slices.Contains(s.expr.SearchPath, h.Schema)
		if kind != catalog.KindSchema && sh.From == nil && !inPath {
			n = snap.QualifiedName(o, s.expr.SearchPath)
		}
		if !sh.HasLike || likeMatch(h.Name, sh.Like) {
			names = append(names, n)
		}
	})
	sort.Strings(names)
	for _, n := range names {
		t.add(n)
	}
	return nil
}

// likeMatch is LIKE with % and _ over bytes, for names.
func likeMatch(s, p string) bool {
	if p == "" {
		return s == ""
	}
	switch p[0] {
	case '%':
		return likeMatch(s, p[1:]) || (s != "" && likeMatch(s[1:], p))
	case '_':
		return s != "" && likeMatch(s[1:], p[1:])
	}
	return s != "" && s[0] == p[0] && likeMatch(s[1:], p[1:])
}

func (s *Session) describe(n sql.Name) func(*table) error {
	return func(t *table) error {
		o, err := s.snapshot().Resolve(n.Schema, n.Name, s.expr.SearchPath)
		if err != nil {
			return err
		}
		r, ok := o.(catalog.Relation)
		if !ok {
			return pgerr.New(pgerr.WrongObjectType, "\"%s\" has no columns", n.Name)
		}
		for _, c := range r.Cols() {
			null, def := "YES", types.Datum(nil)
			if c.NotNull {
				null = "NO"
			}
			if c.Default != "" {
				def = c.Default
			}
			t.add(c.Name, c.Type.String(), null, def)
		}
		return nil
	}
}

func (s *Session) showCreate(sh *sql.Show) func(*table) error {
	return func(t *table) error {
		snap := s.snapshot()
		o, err := snap.Resolve(sh.From.Schema, sh.From.Name, s.expr.SearchPath)
		if err != nil {
			return err
		}
		def := define.Definition(o)
		if tab, ok := o.(*catalog.Table); ok && def == "" && !snap.Builtin(tab.OID) {
			def = catalog.TableDefinition(snap, tab, s.expr.SearchPath)
		} else if _, ok := o.(*catalog.Index); ok && def == "" {
			def, _ = catalog.IndexDefinition(snap, o.Header().OID, false)
		}
		if def == "" {
			return pgerr.New(pgerr.WrongObjectType, "\"%s\" has no definition", sh.From.Name)
		}
		t.add(snap.QualifiedName(o, s.expr.SearchPath), def)
		return nil
	}
}
