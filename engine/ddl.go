package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// ddlCommand sets up statements that change the catalog. Inside of a transaction block
// they are part of it; alone they take effect at once.
func (s *Session) ddlCommand(p *prepared) error {
	tag, f, err := s.ddlAction(p)
	if err != nil {
		return err
	}
	run := func(ctx context.Context) error {
		if s.tx.modes.readOnly {
			return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", tag)
		}
		if st, ok := p.st.Stmt.(*sql.Truncate); ok {
			return s.truncate(ctx, st)
		}
		if err := s.enterBlock(ctx, p.st); err != nil {
			return err
		}
		if s.tx.ddl == nil {
			defer s.tx.renewView()
		}
		if err := s.eng.DDL.Acquire(ctx); err != nil {
			return err
		}
		defer s.eng.DDL.Unlock()
		if s.eng.Ctx.Err() != nil {
			return jobs.ShuttingDown()
		}
		if err := s.makeTemporary(p.st.Stmt); err != nil {
			return err
		}
		return f(ctx, s.planner(p.st, nil))
	}
	p.command = func(ctx context.Context, _ []types.Datum) (*vec.Chunk, string, error) {
		s.made = -1
		err := run(ctx)
		if s.made >= 0 {
			return nil, "SELECT " + itoa(s.made), err
		}
		return nil, tag, err
	}
	return nil
}

type ddlFunc = func(ctx context.Context, pl *planner.Planner) error

func (s *Session) ddlAction(p *prepared) (string, ddlFunc, error) {
	switch st := p.st.Stmt.(type) {
	case *sql.CreateSchema:
		return "CREATE SCHEMA", func(ctx context.Context, _ *planner.Planner) error { return s.createSchema(ctx, p.st, st) }, nil
	case *sql.CreateTable:
		if st.Query != nil || st.Execute != nil {
			return "CREATE TABLE AS", func(ctx context.Context, pl *planner.Planner) error { return s.createTableAs(ctx, pl, p.st, st) }, nil
		}
		return "CREATE TABLE", func(_ context.Context, pl *planner.Planner) error { return s.createTable(pl, p.st, st) }, nil
	case *sql.CreateSequence:
		return "CREATE SEQUENCE", func(_ context.Context, pl *planner.Planner) error { return s.createSequence(pl, st) }, nil
	case *sql.AlterSequence:
		return "ALTER SEQUENCE", func(_ context.Context, pl *planner.Planner) error { return s.alterSequence(pl, st) }, nil
	case *sql.CreateSource:
		return "CREATE SOURCE", func(ctx context.Context, pl *planner.Planner) error { return s.createSource(ctx, pl, p.st, st) }, nil
	case *sql.CreateView:
		return "CREATE VIEW", func(_ context.Context, pl *planner.Planner) error { return s.createView(pl, p.st, st) }, nil
	case *sql.CreateMaterializedView:
		return "CREATE MATERIALIZED VIEW", func(ctx context.Context, pl *planner.Planner) error { return s.createMatView(ctx, pl, p.st, st) }, nil
	case *sql.CreateSink:
		return "CREATE SINK", func(ctx context.Context, pl *planner.Planner) error { return s.createSink(ctx, pl, p.st, st) }, nil
	case *sql.CreateIndex:
		return "CREATE INDEX", func(ctx context.Context, pl *planner.Planner) error { return s.createIndex(ctx, pl, p.st, st) }, nil
	case *sql.Drop:
		return "DROP " + strings.ToUpper(st.Kind), func(ctx context.Context, _ *planner.Planner) error { return s.drop(ctx, st) }, nil
	case *sql.Alter:
		return "ALTER " + strings.ToUpper(st.Kind), func(ctx context.Context, pl *planner.Planner) error { return s.alter(ctx, pl, st) }, nil
	case *sql.Cluster:
		return "CLUSTER", func(context.Context, *planner.Planner) error { return s.cluster(st) }, nil
	case *sql.Comment:
		return "COMMENT", func(context.Context, *planner.Planner) error { return s.comment(st) }, nil
	case *sql.Truncate:
		return "TRUNCATE TABLE", nil, nil // a write, not a change of the catalog
	case *sql.CreateType:
		return "CREATE TYPE", func(_ context.Context, pl *planner.Planner) error { return s.createType(pl, st) }, nil
	case *sql.CreateDomain:
		return "CREATE DOMAIN", func(_ context.Context, pl *planner.Planner) error { return s.createDomain(pl, st) }, nil
	case *sql.AlterEnum:
		return "ALTER TYPE", func(context.Context, *planner.Planner) error { return s.alterEnum(st) }, nil
	case *sql.CreateFunction:
		tag := "CREATE FUNCTION"
		if st.Procedure {
			tag = "CREATE PROCEDURE"
		}
		return tag, func(_ context.Context, pl *planner.Planner) error { return s.createFunction(pl, p.st, st) }, nil
	case *sql.CreateSecret:
		return "CREATE SECRET", func(context.Context, *planner.Planner) error { return s.createSecret(st) }, nil
	case *sql.CreateConnection:
		return "", nil, pgerr.Unsupported("CREATE CONNECTION", "Give the options in CREATE SOURCE or CREATE SINK.")
	case *sql.Subscribe:
		return "", nil, pgerr.Unsupported("SUBSCRIBE", "Read the materialized view with SELECT.")
	case *sql.Cancel:
		return "", nil, pgerr.Unsupported("CANCEL JOBS", "Drop the object whose creation is to be cancelled.")
	}
	return s.roleAction(p)
}

// exists handles IF NOT EXISTS: it reports true after a notice if the name is
// taken.
func (s *Session) exists(schema, name string, ifNotExists bool) bool {
	if !ifNotExists || s.snapshot().Get(schema, name) == nil {
		return false
	}
	s.notice("NOTICE", pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists, skipping", name))
	return true
}

func (s *Session) createSchema(ctx context.Context, src *statement, st *sql.CreateSchema) error {
	name, owner := st.Name, s.who.current
	snap := s.snapshot()
	if st.Authorization != nil {
		r, err := s.roleOf(snap, *st.Authorization)
		if err != nil {
			return err
		}
		if owner = r.OID; name == "" {
			name = r.Name
		}
	}
	if err := s.may(snap.Database(), catalog.Create); err != nil {
		return err
	}
	if err := s.mustBeMember(owner); err != nil {
		return err
	}
	if strings.HasPrefix(name, "pg_") {
		return pgerr.New(pgerr.ReservedName, "unacceptable schema name \"%s\"", name).
			WithDetail("The prefix \"pg_\" is reserved for system schemas.")
	}
	if st.IfNotExists && snap.Schema(name) != nil {
		s.notice("NOTICE", pgerr.New(pgerr.DuplicateSchema, "schema \"%s\" already exists, skipping", name))
		return nil
	}
	o := &catalog.Schema{Head: catalog.Head{Name: name, Owner: owner, ACL: snap.InitialACL(owner, catalog.GrantSchema, 0)}}
	s.number(o)
	if err := s.changeCatalog(catalog.Change{Create: o}); err != nil || len(st.Elements) == 0 {
		return err
	}
	return s.schemaElements(ctx, src, o, st.Elements)
}

// place fills in an object's schema and owner, whether it may be made there, and
// checks IF NOT EXISTS.
func (s *Session) place(h *catalog.Head, ifNotExists bool) (skip bool, err error) {
	snap := s.snapshot()
	h.Owner = s.who.current
	if err := s.mayLookInto(snap, h.Schema); err != nil {
		return false, err
	}
	if h.Schema, err = snap.CreationSchema(h.Schema, s.expr.SearchPath); err != nil {
		return false, err
	}
	if err := s.mayCreateIn(h.Schema); err != nil {
		return false, err
	}
	return s.exists(h.Schema, h.Name, ifNotExists), nil
}

// furnish gives a new object the access list that its owner's default privileges say.
func (s *Session) furnish(os ...catalog.Object) {
	snap := s.snapshot()
	for _, o := range os {
		h := o.Header()
		var schema uint32
		if sc := snap.Schema(h.Schema); sc != nil {
			schema = sc.OID
		}
		h.ACL = snap.InitialACL(h.Owner, catalog.GrantKindOf(o), schema)
	}
}

func (s *Session) createTable(pl *planner.Planner, src *statement, st *sql.CreateTable) error {
	if st.IfNotExists { // then nothing else about it matters
		h := catalog.Head{Schema: st.Name.Schema, Name: st.Name.Name}
		if skip, err := s.place(&h, true); skip && err == nil {
			return nil
		}
	}
	made, err := pl.BindCreateTable(st)
	if err != nil {
		return err
	}
	t := made.Table
	if t.Connector != nil {
		return pgerr.Unsupported("a table fed by a connector", "Use CREATE SOURCE, and a materialized view on it.")
	}
	if len(t.Watermarks) > 0 {
		return pgerr.Unsupported("WATERMARK FOR", "Event-time windows are not there yet; leave the clause out.")
	}
	t.Definition = src.Text
	if skip, err := s.place(&t.Head, st.IfNotExists); skip || err != nil {
		if pgerr.CodeOf(err) == pgerr.InsufficientPrivilege {
			err = pgerr.From(err).At(sql.PosToChar(src.whole, int(st.Name.Offset())))
		}
		return err
	}
	if err := s.permit(pl.Cat, pl.Needs); err != nil {
		return err
	}
	s.furnish(t)
	if err := s.mayUseTypes(stage.ColumnTypes(t.Columns)...); err != nil {
		return err
	}
	s.number(t)
	changes := append([]catalog.Change{{Create: t}}, s.ownSequences(t, made.Sequences)...)
	for _, ix := range made.Indexes {
		ix.Owner, ix.Table = t.Owner, t.OID
		s.number(ix)
		changes = append(changes, catalog.Change{Create: ix})
	}
	planner.LinkForeignKeys(t, made.Indexes)
	if err := s.changeCatalog(changes...); err != nil {
		return err
	}
	s.keepOnCommit(t.OID, st.OnCommit)
	if s.tx.ddl != nil {
		return nil
	}
	return s.eng.StartTable(t, made.Indexes)
}

// tableQuery plans the query of CREATE TABLE AS, or of the prepared statement that it
// names with the arguments given.
func (s *Session) tableQuery(pl *planner.Planner, src *statement, st *sql.CreateTable) (*planner.Query, error) {
	if st.Execute == nil {
		q, err := pl.PlanQuery(st.Query)
		if err != nil {
			return nil, err
		}
		return q, s.permit(pl.Cat, pl.Needs)
	}
	target, args, err := s.executed(&prepared{s: s, st: src}, st.Execute)
	if err != nil {
		return nil, err
	}
	var query *sql.Select
	if target != nil {
		query, _ = target.st.Stmt.(*sql.Select)
	}
	if query == nil {
		return nil, pgerr.New(pgerr.WrongObjectType, "prepared statement is not a SELECT")
	}
	pl = s.planner(target.st, target.params)
	q, err := pl.PlanQuery(query)
	if err != nil {
		return nil, err
	}
	w, err := writing{with: q.With, query: q.Root}.bind(q.ParamTypes, args)
	if err != nil {
		return nil, err
	}
	q.With, q.Root = w.with, w.query
	return q, s.permit(pl.Cat, pl.Needs)
}

// createTableAs makes the table of a query's columns and inserts its rows.
func (s *Session) createTableAs(ctx context.Context, pl *planner.Planner, src *statement, st *sql.CreateTable) error {
	q, err := s.tableQuery(pl, src, st)
	if err != nil {
		return err
	}
	if len(q.With) > 0 && s.tx.ddl == nil {
		return pgerr.Unsupported("CREATE TABLE AS EXECUTE of a statement that changes data, outside of a transaction block", "Use BEGIN and COMMIT.")
	}
	t := &catalog.Table{Head: catalog.Head{Schema: st.Name.Schema, Name: st.Name.Name}, Definition: src.Text, Unlogged: st.Unlogged}
	if t.Options, err = planner.SetStorage(planner.TableStorage, nil, st.Options); err != nil {
		return err
	}
	for i, c := range q.Columns {
		n := c.Name
		if i < len(st.ColumnNames) {
			n = st.ColumnNames[i]
		}
		if catalog.ColumnIndex(t.Columns, n) >= 0 {
			return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" specified more than once", n)
		}
		if err := planner.CheckColumn(n, c.Typ); err != nil {
			return err
		}
		t.Columns = append(t.Columns, catalog.Column{Name: n, Type: c.Typ})
	}
	if skip, err := s.place(&t.Head, st.IfNotExists); skip || err != nil {
		return err
	}
	if st.Execute != nil { // its tag tells the rows in any case
		s.made = 0
	}
	s.furnish(t)
	s.number(t)
	if s.tx.ddl != nil {
		return s.stageTableAs(ctx, q, t, st)
	}
	c := &state.Commit{}
	if !st.NoData {
		if err := s.queryRows(ctx, q, t.OID, c); err != nil {
			return err
		}
	}
	if err := s.eng.ChangeCatalog(c, catalog.Change{Create: t}); err != nil {
		return err
	}
	s.keepOnCommit(t.OID, st.OnCommit)
	s.eng.StartGraph(t.OID, nil)
	return nil
}

// queryRows adds a query's rows to a commit as those of a table without a key, so
// that the table comes to be with them or not at all.
func (s *Session) queryRows(ctx context.Context, q *planner.Query, rel uint32, c *state.Commit) error {
	r := s.newRun(ctx)
	defer r.close()
	b := state.NewRowBatch(rel)
	var row []byte
	s.made = 0
	err := r.execute(q.Root, func(ch *vec.Chunk) error {
		for i := range ch.Rows {
			row = vec.AppendRow(row[:0], ch, nil, i)
			b.Add(row, ch.Weight(i))
			s.made += ch.Weight(i)
		}
		return nil
	})
	if err == nil && b.Len() > 0 {
		c.Rows = append(c.Rows, b)
	}
	return err
}

func (s *Session) createSource(ctx context.Context, pl *planner.Planner, src *statement, st *sql.CreateSource) error {
	o, err := pl.BindCreateSource(st)
	if err != nil {
		return err
	}
	if len(o.Watermarks) > 0 {
		return pgerr.Unsupported("WATERMARK FOR", "Event-time windows are not there yet; leave the clause out.")
	}
	o.Definition = s.eng.Redact(src.Text)
	if skip, err := s.place(&o.Head, st.IfNotExists); skip || err != nil {
		return err
	}
	if err := s.sealOptions(o.Connector); err != nil {
		return err
	}
	if err := checkSourcePolicy(o); err != nil {
		return err
	}
	cs, err := s.eng.MakeSource(o)
	if err != nil {
		return err
	}
	if len(o.Columns) == 0 {
		for _, c := range cs.Columns() {
			o.Columns = append(o.Columns, catalog.Column{Name: c.Name, Type: c.Typ})
		}
		if len(o.Columns) == 0 {
			return pgerr.New(pgerr.InvalidTableDefinition, "source \"%s\" needs a column list", o.Name)
		}
	}
	o.AppendOnly = cs.AppendOnly()
	if err := cs.Check(ctx); err != nil {
		return err
	}
	s.furnish(o)
	s.number(o)
	return s.changeCatalog(catalog.Change{Create: o})
}

func (s *Session) createView(pl *planner.Planner, src *statement, st *sql.CreateView) error {
	v, err := pl.BindCreateView(st)
	if err != nil {
		return err
	}
	v.Definition = src.Text
	if err := s.temporaryView(v, st); err != nil {
		return err
	}
	if _, err := s.place(&v.Head, false); err != nil {
		return err
	}
	old := s.snapshot().Get(v.Schema, v.Name)
	if old == nil || !st.OrReplace {
		s.furnish(v)
		s.number(v)
		return s.changeCatalog(catalog.Change{Create: v})
	}
	ov, ok := old.(*catalog.View)
	if !ok {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a view", v.Name)
	}
	if err := s.mustOwn(ov); err != nil {
		return err
	}
	for _, d := range s.snapshot().DropOrder(ov.OID) {
		if k := d.Kind(); k == catalog.KindMatView || k == catalog.KindSink {
			return pgerr.Unsupported("replacing a view that a "+k.String()+" reads", k.String()+" "+d.Header().Name+" was created with its present query.")
		}
	}
	if err := jobs.KeepsColumns(ov.Columns, v.Columns, "VIEW"); err != nil {
		return err
	}
	v.OID, v.Owner, v.ACL, v.Comment = ov.OID, ov.Owner, ov.ACL, ov.Comment
	return s.changeCatalog(catalog.Change{Replace: v})
}

// jobOptions checks the options of a job's WITH clause.
func jobOptions(os []catalog.Option) (onError string, err error) {
	onError = "dead_letter"
	for _, o := range os {
		if o.Name != "on_error" {
			return "", pgerr.New(pgerr.InvalidParameterValue, "unrecognized parameter \"%s\"", o.Name).
				WithHint("The option of materialized views is on_error.")
		}
		switch o.Value {
		case "dead_letter", "fail":
			onError = o.Value
		default:
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for option \"on_error\": \"%s\"", o.Value).
				WithHint("Available values: dead_letter, fail.")
		}
	}
	return onError, nil
}

func (s *Session) createMatView(ctx context.Context, pl *planner.Planner, src *statement, st *sql.CreateMaterializedView) error {
	if st.NoData {
		return pgerr.Unsupported("WITH NO DATA", "A materialized view is always up to date.")
	}
	if st.EmitOnWindowClose {
		return pgerr.Unsupported("EMIT ON WINDOW CLOSE", "Leave the clause out.")
	}
	v, err := pl.BindCreateMaterializedView(st)
	if err != nil {
		return err
	}
	v.Definition = src.Text
	if skip, err := s.place(&v.Head, st.IfNotExists); skip || err != nil {
		return err
	}
	was := s.snapshot().Get(v.Schema, v.Name)
	old, view := was.(*catalog.MatView)
	if was != nil && !st.OrReplace {
		return pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", v.Name)
	}
	if was != nil && !view {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a materialized view", v.Name)
	}
	if old != nil {
		if err := s.mustOwn(old); err != nil {
			return err
		}
	}
	if err := s.permit(pl.Cat, pl.Needs); err != nil {
		return err
	}
	for _, d := range v.DependsOn {
		if _, stored := s.snapshot().ByOID(d).(*catalog.Table); stored && s.snapshot().Builtin(d) {
			return pgerr.Unsupported("a materialized view on an error table", "Query the error table itself.")
		}
	}
	if s.usesTemporary(v.DependsOn) {
		return pgerr.New(pgerr.FeatureNotSupported, "materialized views must not use temporary tables or views").
			WithHint("A materialized view outlives the session. Create the tables it reads without TEMPORARY.")
	}
	onError, err := jobOptions(v.Options)
	if err != nil {
		return err
	}
	v.SearchPath, v.Settings = catalog.LastingPath(s.expr.SearchPath), s.freeze(onError, v.DependsOn)
	if old != nil {
		s.eng.Inherit(old, v)
	}
	indexes, err := s.usedIndexes(v)
	if err != nil {
		return err
	}
	v.DependsOn = append(v.DependsOn, indexes...)
	if old != nil {
		if err := s.aloneOnly("CREATE OR REPLACE MATERIALIZED VIEW of an existing view"); err != nil {
			return err
		}
		return s.replaceMatView(ctx, old, v)
	}
	s.furnish(v)
	s.number(v)
	return s.createJob(ctx, v)
}

func (s *Session) createSink(ctx context.Context, pl *planner.Planner, src *statement, st *sql.CreateSink) error {
	if st.Into != nil {
		return pgerr.Unsupported("CREATE SINK ... INTO", "Create a materialized view instead.")
	}
	o, err := pl.BindCreateSink(st)
	if err != nil {
		return err
	}
	o.Definition = s.eng.Redact(src.Text)
	if skip, err := s.place(&o.Head, st.IfNotExists); skip || err != nil {
		return err
	}
	if err := s.permit(pl.Cat, pl.Needs); err != nil {
		return err
	}
	if err := s.sealOptions(o.Connector); err != nil {
		return err
	}
	if s.snapshot().Get(o.Schema, o.Name) != nil {
		return pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", o.Name)
	}
	v, ok := o.Connector.Option("on_error")
	var opts []catalog.Option
	if ok {
		opts = []catalog.Option{{Name: "on_error", Value: v}}
	}
	onError, err := jobOptions(opts)
	if err != nil {
		return err
	}
	if s.usesTemporary(append(slices.Clone(o.DependsOn), o.Input)) {
		return pgerr.Unsupported("a sink of temporary tables or views", "A sink outlives the session. Create the tables it reads without TEMPORARY.")
	}
	o.SearchPath, o.Settings = catalog.LastingPath(s.expr.SearchPath), s.freeze(onError, o.DependsOn)
	if err := s.sinkKey(o); err != nil {
		return err
	}
	indexes, err := s.usedIndexes(o)
	if err != nil {
		return err
	}
	o.DependsOn = append(o.DependsOn, indexes...)
	cs, err := s.eng.MakeSink(o)
	if err != nil {
		return err
	}
	if err := cs.Check(ctx); err != nil {
		return err
	}
	s.furnish(o)
	s.number(o)
	return s.createJob(ctx, o)
}

// sinkKey settles a sink's upsert key: FORMAT PLAIN has none and takes a query
// that only appends; FORMAT UPSERT takes the option primary_key, or the key the
// query is known to have.
func (s *Session) sinkKey(o *catalog.Sink) error {
	names, given := o.Connector.Option("primary_key")
	var key []int
	for _, n := range strings.Split(names, ",") {
		if n = strings.TrimSpace(n); n == "" {
			continue
		}
		i := catalog.ColumnIndex(o.Columns, n)
		if i < 0 {
			return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" named in option \"primary_key\" does not exist", n)
		}
		key = append(key, i)
	}
	if given {
		o.Key = key
	}
	switch o.Connector.Format {
	case "plain":
		st, err := (&planner.Planner{Cat: s.snapshot(), Session: &s.expr}).PlanSink(o)
		if err != nil {
			return err
		}
		if !st.AppendOnly {
			return pgerr.New(pgerr.InvalidParameterValue, "FORMAT PLAIN cannot express that rows change or go away, as they do in the input of sink \"%s\"", o.Name).
				WithHint("Use FORMAT UPSERT with the option primary_key.")
		}
	case "upsert":
		if o.Key == nil {
			return pgerr.New(pgerr.InvalidParameterValue, "sink \"%s\" needs a key", o.Name).
				WithHint("Name the key columns with the option primary_key.")
		}
	}
	return nil
}

func (s *Session) createIndex(ctx context.Context, pl *planner.Planner, src *statement, st *sql.CreateIndex) error {
	ix, err := pl.BindCreateIndex(st)
	if err != nil {
		return err
	}
	ix.Definition = src.Text
	t := s.snapshot().ByOID(ix.Table)
	if err := s.mustOwn(t); err != nil {
		return err
	}
	if skip, err := s.place(&ix.Head, st.IfNotExists); skip || err != nil {
		return err
	}
	if s.snapshot().Get(ix.Schema, ix.Name) != nil {
		return pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", ix.Name)
	}
	ix.Owner = t.Header().Owner
	s.number(ix)
	return s.createJob(ctx, ix)
}
