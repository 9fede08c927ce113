package engine

import (
	"context"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
)

// prepared is an analysed statement. Which runner it uses depends on its kind:
// queries and DML are planned, everything else runs as it is.
type prepared struct {
	s      *Session
	st     *statement
	params []types.T
	cols   []wire.Column
	// plan is made for cat and used again until the catalog changes.
	cat   *catalog.Snapshot
	query *planner.Query
	dml   *planner.Mutation
	// taken are the constants of the text, of types takenAs, if dml is the plan of its
	// template; nil: it is the text's own.
	taken   []types.Datum
	takenAs []types.T
	// needs are what the plan needs the right to; allowed is the last role that had
	// it, by the catalog allowedBy.
	needs     []*planner.Need
	allowed   uint32
	allowedBy *catalog.Snapshot
	// point is the compiled form of query if it reads by a whole key; made at the
	// second execution, since most statements have only one.
	point *pointRead
	spare *vec.Chunk // a result of point that no portal uses
	runs  int
	// command runs a statement that is neither; it returns its rows (nil: none)
	// and its tag.
	command func(ctx context.Context, args []types.Datum) (*vec.Chunk, string, error)
	copy    *wire.Copy
	copyTag bool // the tag is COPY, not SELECT
	// wholeTag: the command's tag has its row count already.
	wholeTag bool
	// cursor: the query is that of a cursor, whose rows have more than is shown.
	cursor bool
	// fetches is the cursor whose columns are those of the rows, of FETCH.
	fetches string
}

// portal is a bound statement.
type portal struct {
	p    *prepared
	args []types.Datum
	rows *rows
	// point is the result of a point read, instead of rows; sent: it was returned.
	point   *vec.Chunk
	sent    bool
	tag     func(n int64) string
	end     bool
	cleanup func()
	held    *tether // of the rows; nil: they are there
}

func (s *Session) planner(st *statement, declared []types.T) *planner.Planner {
	s.sync()
	pl := &planner.Planner{Cat: s.snapshot(), Session: &s.expr, Text: st.whole, ParamTypes: declared, Bytes: s.eng.RelationBytes, Rows: s.eng.Columns.Rows}
	if !s.who.super {
		pl.Usable = func(schema string) error { return s.mayLookInto(pl.Cat, schema) }
	}
	return pl
}

// prepare analyses a statement.
func (s *Session) prepare(ctx context.Context, st *statement, oids []uint32) (*prepared, error) {
	if s.expr.NowMicros == 0 || !s.tx.open {
		s.setNow()
	}
	s.sync()
	s.expr.Catalog = s.catalogInfo()
	if len(st.Far) > 0 {
		if err := s.within(st); err != nil {
			return nil, err
		}
	}
	if st.part && len(oids) == 0 {
		if p := s.templated(st); p != nil {
			return p, nil
		}
	}
	declared := make([]types.T, max(len(oids), st.NumParams))
	for i := range declared {
		declared[i] = types.TUnknown
		if i < len(oids) && oids[i] != 0 && oids[i] != types.TUnknown.OID() {
			t, ok := s.snapshot().TypeByOID(oids[i])
			if !ok {
				return nil, pgerr.New(pgerr.UndefinedObject, "type with OID %d does not exist", oids[i])
			}
			declared[i] = t
		}
	}
	p := &prepared{s: s, st: st, params: declared}
	if err := p.analyse(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *prepared) analyse(ctx context.Context) error {
	s := p.s
	p.cat, p.taken = s.snapshot(), nil
	if p.st.Stmt == nil { // its template was known
		ps, err := sql.Parse(p.st.whole)
		if err != nil {
			return err
		}
		p.st = &statement{Parsed: ps[p.st.index], whole: p.st.whole, part: p.st.part, index: p.st.index}
	}
	switch st := p.st.Stmt.(type) {
	case *sql.Select:
		pl := s.planner(p.st, p.params)
		plan := pl.PlanQuery
		if p.cursor {
			plan = pl.PlanCursor
		}
		q, err := plan(st)
		if err != nil {
			return err
		}
		p.needs, p.allowedBy = pl.Needs, nil
		p.point, p.spare, p.runs = nil, nil, 0
		p.query, p.params, p.cols = q, q.ParamTypes, resultColumns(q.Columns)
		return nil
	case *sql.Insert, *sql.Update, *sql.Delete, *sql.Merge:
		pl := s.planner(p.st, p.params)
		d, err := pl.PlanMutation(st)
		if err != nil {
			return err
		}
		p.needs, p.allowedBy = pl.Needs, nil
		if p.dml, p.params = d, d.ParamTypes; d.Current != nil {
			p.params = p.params[:d.Current.At]
		}
		if d.Returns() {
			p.cols = resultColumns(d.Columns)
		}
		return nil
	}
	if _, ok := p.st.Stmt.(*sql.Prepare); ok {
		p.params = nil // they belong to the statement inside
	}
	if len(p.params) > 0 && !takesParams(p.st.Stmt) {
		return pgerr.New(pgerr.UndefinedParameter, "there is no parameter $1")
	}
	return s.command(ctx, p)
}

func takesParams(st sql.Stmt) bool {
	switch st.(type) {
	case *sql.Explain, *sql.DeclareCursor:
		return true
	}
	return false
}

// Params implements wire.Prepared.
func (p *prepared) Params() []types.T { return p.params }

// Columns implements wire.Prepared.
func (p *prepared) Columns() []wire.Column {
	if p.fetches == "" {
		return p.cols
	}
	// The cursor may be declared later, or anew, so only its use fails without it.
	if c := p.s.cursors[p.fetches]; c != nil {
		return c.portal.Columns()
	}
	return nil
}

// Close implements wire.Prepared.
func (p *prepared) Close() {}

// Bind implements wire.Prepared.
func (p *prepared) Bind(ctx context.Context, args []types.Datum) (wire.Portal, error) {
	if p.s.tx.failed && !endsBlock(p.st.Stmt) {
		return nil, pgerr.New(pgerr.InFailedSQLTransaction, "current transaction is aborted, commands ignored until end of transaction block")
	}
	if (p.query != nil || p.dml != nil) && p.cat != p.s.snapshot() {
		if err := p.analyseAgain(ctx); err != nil {
			return nil, err
		}
	}
	if p.taken != nil {
		args = p.taken
	}
	return &portal{p: p, args: args}, nil
}

// analyseAgain plans the statement for the present catalog.
func (p *prepared) analyseAgain(ctx context.Context) error {
	old := p.cols
	if err := p.analyse(ctx); err != nil {
		return err
	}
	if !sameColumns(old, p.cols) {
		return pgerr.New(errStalePlan.Code, "%s", errStalePlan.Msg)
	}
	return nil
}

// writing returns the plan of a statement that changes tables, each time for the
// catalog as it is then.
func (p *prepared) writing(ctx context.Context) func() (writing, []types.T, error) {
	return func() (writing, []types.T, error) {
		if p.cat != p.s.snapshot() {
			if err := p.analyseAgain(ctx); err != nil {
				return writing{}, nil, err
			}
			if err := p.permit(); err != nil {
				return writing{}, nil, err
			}
		}
		if p.query != nil {
			return writing{cat: p.cat, with: p.query.With, query: p.query.Root}, p.params, nil
		}
		if p.taken != nil {
			return writing{cat: p.cat, main: p.dml}, p.takenAs, nil
		}
		return writing{cat: p.cat, with: p.dml.With, main: p.dml}, p.dml.ParamTypes, nil
	}
}

func sameColumns(a, b []wire.Column) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for i := range a {
		if a[i].Type != b[i].Type || a[i].Name != b[i].Name {
			return false
		}
	}
	return true
}

func resultColumns(cs []plan.Column) []wire.Column {
	out := make([]wire.Column, len(cs))
	for i, c := range cs {
		out[i] = wire.Column{Name: c.Name, Type: c.Typ, TableOID: c.From.Rel, Attnum: c.From.Attr}
	}
	return out
}

// Columns implements wire.Portal.
func (o *portal) Columns() []wire.Column { return o.p.Columns() }

// Copy implements wire.Portal.
func (o *portal) Copy() *wire.Copy { return o.p.copy }

// Tag implements wire.Portal.
func (o *portal) Tag(n int64) string { return o.tag(n) }

// Next implements wire.Portal.
func (o *portal) Next(ctx context.Context) (*vec.Chunk, error) {
	if o.end {
		return nil, nil
	}
	if o.rows == nil && o.point == nil {
		if err := o.start(ctx); err != nil {
			o.end = true
			return nil, err
		}
	}
	if o.point != nil {
		if o.end = o.sent || o.point.Rows == 0; o.end {
			return nil, nil
		}
		o.sent = true
		return o.point, nil
	}
	if o.held != nil {
		defer o.held.tie(ctx)()
	}
	c, err, ok := o.rows.next()
	if !ok || err != nil {
		o.end = true
		o.release()
		return nil, err
	}
	return c, nil
}

func (o *portal) release() {
	if o.cleanup != nil {
		o.cleanup()
		o.cleanup = nil
	}
}

// Close implements wire.Portal.
func (o *portal) Close() {
	if o.rows != nil {
		o.rows.stop()
	}
	if o.point != nil {
		o.point.Reset()
		o.p.spare, o.point = o.point, nil
	}
	o.end = true
	o.release()
}

// start runs the statement up to its first row, with a new plan if what it reads
// is replaced at this moment.
func (o *portal) start(ctx context.Context) error {
	for {
		err := o.tryStart(ctx)
		if err != errStalePlan || o.p.query == nil && o.p.dml == nil {
			return err
		}
		if err := o.p.analyseAgain(ctx); err != nil {
			return err
		}
	}
}

func (o *portal) tryStart(ctx context.Context) error {
	p := o.p
	p.s.running(&p.st.Text)
	p.s.expr.Catalog = p.s.catalogInfo()
	if err := p.permit(); err != nil {
		return err
	}
	ctx = p.s.withLockLimit(ctx)
	switch {
	case p.query != nil && len(p.query.With) > 0:
		res, _, err := p.s.runWriting(ctx, p.writing(ctx), o.args)
		o.rows, o.tag = once(res), p.queryTag
		return err
	case p.query != nil && p.query.Locks != "":
		return p.lockRows(ctx, o)
	case p.query != nil:
		if p.runs++; p.runs == 2 {
			p.point = newPointRead(p.cat, p.query.Root, p.params)
		}
		if p.point != nil && p.point.usable(p.s, p.cat, p.params, o.args) {
			o.tag = p.queryTag
			if o.point, p.spare = p.spare, nil; o.point == nil {
				o.point = vec.NewChunk(p.point.out, 1)
			}
			err := p.point.run(ctx, p.s, o.args, o.point)
			if err == errStalePlan {
				o.point = nil
			}
			return err
		}
		root, err := bindParams(p.query.Root, p.params, o.args)
		if err != nil {
			return err
		}
		held := newTether(ctx)
		defer held.tie(ctx)()
		r := p.s.newRun(held.ctx)
		if r.cat != p.cat {
			r.close()
			return errStalePlan
		}
		o.tag = p.queryTag
		if r.isPointRead(root) {
			defer r.close()
			c, err := r.collect(root)
			if err == nil && c.Rows == 0 {
				c = nil
			}
			o.rows = once(c)
			return err
		}
		if p.cursor {
			r.freeze()
		}
		o.held, o.cleanup = held, func() { r.close(); held.cancel(nil) }
		o.rows = pull(func(out emitFunc) error { return r.execute(root, out) })
		return nil
	case p.dml != nil:
		res, n, err := p.s.runWriting(ctx, p.writing(ctx), o.args)
		if err != nil {
			return err
		}
		o.rows = once(res)
		o.tag = func(int64) string {
			if p.copyTag {
				return p.queryTag(n)
			}
			return dmlTag(p.dml, n)
		}
		return nil
	}
	if err := p.s.outsideBlocks(p.st); err != nil {
		return err
	}
	res, tag, err := p.command(ctx, o.args)
	if err != nil {
		return err
	}
	o.rows = once(res)
	o.tag = func(n int64) string {
		if p.wholeTag || tag == "SHOW" || tag == "EXPLAIN" || res == nil {
			return tag
		}
		return tag + " " + itoa(n)
	}
	return nil
}

func (p *prepared) queryTag(n int64) string {
	if p.copyTag {
		return "COPY " + itoa(n)
	}
	return selectTag(n)
}

func selectTag(n int64) string {
	switch n {
	case 0:
		return "SELECT 0"
	case 1:
		return "SELECT 1"
	}
	return "SELECT " + itoa(n)
}

// once is a result of one chunk; nil: no rows.
func once(c *vec.Chunk) *rows {
	return &rows{next: func() (*vec.Chunk, error, bool) {
		r := c
		c = nil
		return r, nil, r != nil
	}, stop: func() {}}
}
