package planner

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
)

// viewColumns are the catalog's columns of a query's output.
func viewColumns(cols []plan.Column) []catalog.Column {
	out := make([]catalog.Column, len(cols))
	for i, c := range cols {
		out[i] = catalog.Column{Name: c.Name, Type: c.Typ}
	}
	return out
}

// Modifies reports whether a statement of the query's WITH changes data.
func Modifies(q *sql.Select) bool {
	return q.With != nil && slices.ContainsFunc(q.With.CTEs, func(c sql.CTE) bool {
		_, query := c.Query.(*sql.Select)
		return !query
	})
}

// BindCreateView makes the catalog object of CREATE VIEW.
func (p *Planner) BindCreateView(s *sql.CreateView) (*catalog.View, error) {
	b := p.newBinder(false)
	h, err := b.head(s.Name)
	if err != nil {
		return nil, err
	}
	if Modifies(s.Query) {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "views must not contain data-modifying statements in WITH")
	}
	// A view may read sources, since streams may read the view.
	b.stream = true
	_, cols, err := b.query(s.Query, nil, queryMode{})
	if err != nil {
		return nil, err
	}
	if len(b.params.pos) > 0 {
		return nil, pgerr.New(pgerr.UndefinedParameter, "there is no parameter $1")
	}
	if cols, err = outputNames(cols, s.Columns); err != nil {
		return nil, err
	}
	query, err := p.storedQuery(s.Query, b.searchPath())
	if err != nil {
		return nil, err
	}
	v := &catalog.View{Head: h, Query: query, Text: s.QueryText, Definition: sql.Format(s), Columns: viewColumns(cols),
		DependsOn: b.dependencies(), SearchPath: b.lastingPath()}
	options := s.Options
	if s.CheckOption != "" {
		options = append(slices.Clone(options), sql.Option{At: s.At, Name: "check_option", Kind: sql.OptString, Value: strings.ToLower(s.CheckOption)})
	}
	if v.Options, err = SetStorage(ViewStorage, nil, options); err != nil {
		return nil, err
	}
	return v, p.checkOption(v)
}

// AlterViewOptions sets options of a view, which is a copy, or resets them.
func (p *Planner) AlterViewOptions(v *catalog.View, os []sql.Option, reset bool) (err error) {
	if reset {
		v.Options, err = ResetStorage(v.Options, os)
	} else {
		v.Options, err = SetStorage(ViewStorage, v.Options, os)
	}
	if err != nil {
		return err
	}
	st, err := sql.ParseStored(v.Definition)
	if err != nil {
		return err
	}
	if def, ok := st[0].Stmt.(*sql.CreateView); ok {
		def.CheckOption, def.Options = "", nil
		for _, o := range v.Options {
			def.Options = append(def.Options, sql.Option{Name: o.Name, Kind: sql.OptString, Value: o.Value})
		}
		v.Definition = sql.Format(def)
	}
	return p.checkOption(v)
}

// checkOption refuses WITH CHECK OPTION for views that do not show a table's rows.
func (p *Planner) checkOption(v *catalog.View) error {
	if v.CheckOption() == "" {
		return nil
	}
	needs := p.Needs
	_, err := p.newBinder(false).changeable(v, "update")
	p.Needs = needs
	if e := pgerr.From(err); err != nil && e.Code == pgerr.ObjectNotInPrerequisiteState {
		return pgerr.New(pgerr.FeatureNotSupported, "WITH CHECK OPTION is supported only on automatically updatable views").WithHint("%s", e.Detail)
	}
	return err
}

// BindCreateMaterializedView makes the catalog object of CREATE MATERIALIZED VIEW
// and checks that its query can be kept up to date. Settings are the caller's.
func (p *Planner) BindCreateMaterializedView(s *sql.CreateMaterializedView) (*catalog.MatView, error) {
	b := p.newBinder(true)
	b.maintained = true
	if s.EmitOnWindowClose {
		return nil, b.unsupported(s, "EMIT ON WINDOW CLOSE", "Leave it out: the view then has a result for open windows too.")
	}
	if Modifies(s.Query) {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "materialized views must not use data-modifying statements in WITH")
	}
	h, err := b.head(s.Name)
	if err != nil {
		return nil, err
	}
	st, err := p.PlanStream(s.Query, Target{Rel: 1, Columns: s.Columns})
	if err != nil {
		return nil, err
	}
	for _, c := range st.Columns {
		if err := checkStoredName(c.Name); err != nil {
			return nil, err
		}
	}
	query, err := p.storedQuery(s.Query, b.searchPath())
	if err != nil {
		return nil, err
	}
	return &catalog.MatView{Head: h, Query: query, Text: s.QueryText, Definition: sql.Format(s), Columns: viewColumns(st.Columns), Key: st.Key,
		AppendOnly: st.AppendOnly, DependsOn: st.Deps, Options: options(s.Options), SearchPath: b.lastingPath()}, nil
}

// PlanMatView plans the dataflow of a materialized view in the catalog.
func (p *Planner) PlanMatView(v *catalog.MatView) (*Stream, error) {
	q, err := ParseQuery(v.Query)
	if err != nil {
		return nil, err
	}
	c := *p
	c.Text, c.Session = "", withPath(p.Session, v.SearchPath)
	names := make([]string, len(v.Columns))
	for i, col := range v.Columns {
		names[i] = col.Name
	}
	return c.PlanStream(q, Target{Rel: catalog.StoreID(v), Columns: names, Key: v.Key, Known: true})
}

// PlanSink plans the dataflow of a sink in the catalog.
func (p *Planner) PlanSink(s *catalog.Sink) (*Stream, error) {
	c := *p
	c.Text, c.Session = "", withPath(p.Session, s.SearchPath)
	q, err := ParseQuery(s.Query)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(s.Columns))
	for i, col := range s.Columns {
		names[i] = col.Name
	}
	return c.PlanStream(q, Target{Sink: s.OID, Key: s.Key, Columns: names})
}

// BindCreateSink makes the catalog object of CREATE SINK. Key is left to the
// caller, who knows the connector's options (primary_key, type): the default here
// is the query's key, or nil where its output only appends.
func (p *Planner) BindCreateSink(s *sql.CreateSink) (*catalog.Sink, error) {
	b := p.newBinder(true)
	b.maintained = true
	h, err := b.head(s.Name)
	if err != nil {
		return nil, err
	}
	out := &catalog.Sink{Head: h, Text: s.QueryText, Definition: sql.Format(s), Connector: connectorOf(s.Options, s.Format), SearchPath: b.lastingPath()}
	q := s.Query
	if s.From != nil {
		rel, err := b.relation(*s.From, *s.From)
		if err != nil {
			return nil, err
		}
		if rel.Kind() == catalog.KindVirtual {
			return nil, b.unsupported(*s.From, "a sink of a catalog table", "Create a sink of a table, a source or a materialized view.")
		}
		out.Input = rel.Header().OID
		if q, err = ParseQuery("SELECT * FROM " + sql.QuoteIdent(rel.Header().Schema) + "." + sql.QuoteIdent(rel.Header().Name)); err != nil {
			return nil, err
		}
	}
	st, err := p.PlanStream(q, Target{Sink: 1, Columns: s.Columns})
	if err != nil {
		return nil, err
	}
	if out.Query, err = p.storedQuery(q, b.searchPath()); err != nil {
		return nil, err
	}
	out.Columns, out.DependsOn = viewColumns(st.Columns), st.Deps
	if !st.AppendOnly {
		out.Key = st.Key
	}
	if s.Into != nil {
		t, err := b.dmlTarget(*s.Into, "insert into", *s.Into)
		if err == nil && t.view != nil {
			err = b.unsupported(*s.Into, "a sink into a view", "Name the table under the view.")
		}
		if err != nil {
			return nil, err
		}
		out.Into = t.OID
	}
	return out, nil
}
