package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// dmlRetries bounds how often a statement that is its own transaction is run
// again because a concurrent write changed what it had read.
const dmlRetries = 50

// writing is a statement that changes tables: an INSERT, UPDATE or DELETE (main),
// or a query whose WITH has some.
type writing struct {
	cat *catalog.Snapshot // that it was planned with
	// measure takes the time of the plan that yields the rows.
	measure *exec.Measure
	with    []*planner.Mutation
	main    *planner.Mutation
	query   plan.Node
}

func (w *writing) verb() string {
	if w.main == nil {
		return "SELECT"
	}
	return [...]string{planner.MutInsert: "INSERT", planner.MutUpdate: "UPDATE", planner.MutDelete: "DELETE", planner.MutMerge: "MERGE"}[w.main.Kind]
}

// all are the mutations, the main one last.
func (w *writing) all() []*planner.Mutation {
	if w.main == nil {
		return w.with
	}
	return append(w.with[:len(w.with):len(w.with)], w.main)
}

// bind returns the statement with its parameters as constants.
func (w writing) bind(ts []types.T, args []types.Datum) (writing, error) {
	var err error
	with := make([]*planner.Mutation, len(w.with))
	for i, m := range w.with {
		if with[i], err = bindDML(m, ts, args); err != nil {
			return w, err
		}
	}
	w.with = with
	if w.main != nil {
		w.main, err = bindDML(w.main, ts, args)
	} else {
		w.query, err = bindParams(w.query, ts, args)
	}
	return w, err
}

// runWriting runs a statement that changes tables and returns its rows (nil:
// none) and the number of rows that the main statement changed. A statement that
// is its own transaction runs again when a concurrent write has come between, as
// plan then gives it for the present catalog.
func (s *Session) runWriting(ctx context.Context, plan func() (writing, []types.T, error), args []types.Datum) (*vec.Chunk, int64, error) {
	for try := 0; ; try++ {
		ret, n, err := s.writeOnce(ctx, plan, args)
		if err == errStalePlan { // nothing is done yet
			continue
		}
		if !errors.Is(err, stage.ErrConflict) {
			return ret, n, err
		}
		if try == dmlRetries || !s.tx.alone {
			return nil, 0, stage.ConflictError(err)
		}
		if err := jobs.Canceled(ctx); err != nil {
			return nil, 0, err
		}
		s.tx.writes, s.tx.reads = nil, nil
	}
}

// writeOnce plans the statement, runs it, and commits if it is its own
// transaction.
func (s *Session) writeOnce(ctx context.Context, plan func() (writing, []types.T, error), args []types.Datum) (*vec.Chunk, int64, error) {
	w, ts, err := plan()
	if err != nil {
		return nil, 0, err
	}
	if s.tx.modes.readOnly && slices.ContainsFunc(w.all(), func(m *planner.Mutation) bool { return !catalog.IsTemp(m.Table.Schema) }) {
		return nil, 0, pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", w.verb())
	}
	for _, d := range w.all() {
		if s.snapshot().Builtin(d.Table.OID) {
			return nil, 0, pgerr.New(pgerr.InsufficientPrivilege, "permission denied: \"%s\" is a system catalog", d.Table.Name)
		}
	}
	if w.main != nil && w.main.Current != nil {
		row, err := s.currentRow(w.main.Current)
		if err != nil {
			return nil, 0, err
		}
		args = append(args[:len(args):len(args)], row...)
	}
	if w, err = w.bind(ts, args); err != nil {
		return nil, 0, err
	}
	ret, n, err := s.tryWriting(ctx, w)
	if err == nil && s.tx.alone {
		err = s.flushWrites(ctx, true)
	}
	return ret, n, err
}

// bindDML returns the statement with its parameters as constants.
func bindDML(d *planner.Mutation, ts []types.T, args []types.Datum) (*planner.Mutation, error) {
	if len(ts) == 0 {
		return d, nil
	}
	c := *d
	var err error
	if c.Source, err = bindParams(d.Source, ts, args); err != nil {
		return nil, err
	}
	if d.ReturningPlan != nil {
		if c.ReturningPlan, err = bindParams(d.ReturningPlan, ts, args); err != nil {
			return nil, err
		}
	}
	c.Merge = slices.Clone(d.Merge)
	for i, a := range d.Merge {
		if c.Merge[i].Mutation, err = bindDML(a.Mutation, ts, args); err != nil {
			return nil, err
		}
	}
	c.Returning = nil
	for _, e := range d.Returning {
		c.Returning = append(c.Returning, bindExpr(e, args))
	}
	if d.Conflict != nil {
		k := *d.Conflict
		k.Set = nil
		for _, e := range d.Conflict.Set {
			if e != nil {
				e = bindExpr(e, args)
			}
			k.Set = append(k.Set, e)
		}
		if k.Where != nil {
			k.Where = bindExpr(k.Where, args)
		}
		if k.Plan != nil {
			if k.Plan, err = bindParams(k.Plan, ts, args); err != nil {
				return nil, err
			}
		}
		c.Conflict = &k
	}
	return &c, nil
}

// tryWriting runs the statement once. Statements of WITH that nothing has read run
// after the main one, the last first, as in PostgreSQL.
func (s *Session) tryWriting(ctx context.Context, w writing) (*vec.Chunk, int64, error) {
	r := s.newRun(ctx)
	defer r.close()
	r.measure = w.measure
	if r.cat != w.cat {
		return nil, 0, errStalePlan
	}
	if len(w.with) > 0 || w.main != nil && (w.main.ReadsGiven() || w.main.Kind == planner.MutMerge) {
		r.freeze()
		r.with, r.given = w.with, map[uint32]*vec.Chunk{}
	}
	var ret *vec.Chunk
	var n int64
	var err error
	if w.main != nil {
		ret, n, err = r.mutate(w.main)
	} else {
		ret, err = r.collect(w.query)
	}
	for i := len(w.with) - 1; i >= 0 && err == nil; i-- {
		_, err = r.givenRows(w.with[i].Given)
	}
	if err == nil {
		err = r.keepLocks()
	}
	if err == nil {
		err = r.settleKeys()
	}
	return ret, n, err
}

// givenRows returns what a part of the statement has made; a statement of WITH is
// run when its rows are first wanted.
func (r *run) givenRows(id uint32) (*vec.Chunk, error) {
	if c, ok := r.given[id]; ok {
		return c, nil
	}
	for _, m := range r.with {
		if m.Given == id {
			c, _, err := r.mutate(m)
			r.given[id] = c
			return c, err
		}
	}
	return nil, pgerr.New(pgerr.Internal, "there are no rows %d in the statement", id)
}

// madeRows returns the rows of a part of the statement, and makes those that are made
// for the first that reads them.
func (r *run) madeRows(s *plan.Scan) (*vec.Chunk, error) {
	if _, ok := r.given[s.Rel]; ok || s.Made == nil {
		return r.givenRows(s.Rel)
	}
	c, err := r.collect(s.Made.Root)
	if err != nil {
		return nil, err
	}
	if r.given == nil {
		r.given = map[uint32]*vec.Chunk{}
	}
	r.given[s.Rel] = c
	return c, nil
}

// mutate runs one INSERT, UPDATE or DELETE and returns the rows of RETURNING (nil:
// none) and the number of rows changed.
func (r *run) mutate(d *planner.Mutation) (*vec.Chunk, int64, error) {
	s := r.s
	if d.Kind == planner.MutMerge {
		n, err := r.mergeRows(d)
		return nil, n, err
	}
	src := constantRows(d.Source)
	if src == nil || r.measure != nil {
		var err error
		if src, err = r.collect(d.Source); err != nil {
			return nil, 0, err
		}
	}
	var err error
	m := &modify{r: r, d: d, ec: &expr.Ctx{Session: &s.expr}, nc: len(d.Table.Columns)}
	switch d.Kind {
	case planner.MutInsert:
		err = m.insert(src)
	case planner.MutUpdate:
		err = m.update(src)
	case planner.MutDelete:
		err = m.delete(src)
	}
	if err == nil && d.Current != nil && d.Kind == planner.MutUpdate {
		s.followCurrent(d.Current, stage.Columns(m.done, m.nc, 2*m.nc))
	}
	if err != nil || !d.Returns() {
		return nil, m.n, err
	}
	if d.ReturningPlan != nil {
		r.given[d.Returned] = m.done
		ret, err := r.collect(d.ReturningPlan)
		return ret, m.n, err
	}
	ret, err := m.returning()
	return ret, m.n, err
}

// modify is a DML statement at work.
type modify struct {
	r    *run
	d    *planner.Mutation
	ec   *expr.Ctx
	nc   int        // columns of the table
	n    int64      // rows changed
	done *vec.Chunk // the rows RETURNING sees
	new  *vec.Chunk // the rows that INSERT has added
	// What the transaction has added to and removed from the table's rows before
	// the statement, and by now; made when first needed.
	before, now map[string]int64
	planned     plannedConflicts
}

// check refuses rows about to be stored that violate constraints.
func (m *modify) check(c *vec.Chunk) error {
	if err := checkNotNull(m.d.Table, m.d.NotNull, c); err != nil {
		return err
	}
	first := c.Rows // that breaks a check
	var broken error
	for n, e := range m.d.Checks {
		v, err := m.eval(e, c)
		if err != nil {
			return err
		}
		ok := v.(*vec.Col[bool])
		for i := range first {
			if !ok.IsNull(i) && !ok.Vals[i] {
				name := m.d.CheckNames[n]
				e := pgerr.New(pgerr.CheckViolation, "new row for relation \"%s\" violates check constraint \"%s\"", m.d.Table.Name, name).
					WithDetail("Failing row contains %s.", jobs.RowText(c, i))
				e.Schema, e.Table, e.Constraint = m.d.Table.Schema, m.d.Table.Name, name
				first, broken = i, e
				break
			}
		}
	}
	if broken != nil {
		return broken
	}
	if err := m.checkViews(c); err != nil {
		return err
	}
	return m.checkIndexes(c)
}

// checkViews holds new rows against the CHECK OPTION of the views they come through.
func (m *modify) checkViews(c *vec.Chunk) error {
	for _, k := range m.d.ViewChecks {
		v, err := m.eval(k.Cond, c)
		if err != nil {
			return err
		}
		ok := v.(*vec.Col[bool])
		for i := range c.Rows {
			if ok.IsNull(i) || !ok.Vals[i] {
				return pgerr.New(pgerr.WithCheckOptionViolation, "new row violates check option for view \"%s\"", k.View).
					WithDetail("Failing row contains %s.", jobs.RowText(c, i))
			}
		}
	}
	return nil
}

// checkIndexes refuses rows about to be stored for which the condition or an
// expression of an index cannot be computed.
func (m *modify) checkIndexes(c *vec.Chunk) error {
	for _, ix := range m.d.Indexes {
		rows := c
		if ix.Where != nil {
			p, err := expr.Compile(ix.Where)
			if err != nil {
				return err
			}
			sel, err := p.Filter(m.ec, c, nil)
			if err != nil {
				return err
			}
			if len(sel) < c.Rows {
				rows = vec.NewChunk(c.Types(), len(sel))
				for _, i := range sel {
					rows.AppendFrom(c, int(i), 1)
				}
			}
		}
		for _, e := range ix.Exprs {
			if rows.Rows == 0 {
				break
			}
			if _, err := m.eval(e, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *modify) eval(e expr.Expr, c *vec.Chunk) (vec.Vector, error) {
	p, err := expr.Compile(e)
	if err != nil {
		return nil, err
	}
	return p.Eval(m.ec, c)
}

func (m *modify) insert(c *vec.Chunk) error {
	bad := m.check(c)
	if bad != nil && c.Rows == 1 {
		return bad
	}
	m.done = vec.NewChunk(c.Types(), c.Rows)
	w, err := m.r.staged(m.d.Table)
	if err != nil {
		return err
	}
	w.Lenient = w.Lenient || m.d.Conflict != nil
	if m.new = m.done; m.d.Conflict != nil && !m.d.Conflict.Nothing {
		m.new = vec.NewChunk(c.Types(), 0)
	}
	if m.d.Conflict != nil && m.d.Conflict.Plan != nil {
		if err := m.planConflicts(w, c); err != nil {
			return err
		}
	}
	touched := map[string]bool{}
	for i := range c.Rows {
		if bad != nil { // some row is refused, but an earlier one may have a key that is taken
			one := vec.NewChunk(c.Types(), 1)
			one.AppendFrom(c, i, 1)
			if err := m.check(one); err != nil {
				return err
			}
		}
		steps, each := w.Copies(c.Weight(i))
		for range steps {
			if err := m.insertOne(w, c, i, each, touched); err != nil {
				return err
			}
		}
	}
	if bad != nil {
		return bad
	}
	m.r.noteKeys(m.d.Table, nil, m.new)
	return nil
}

// insertOne stages a new row, or does what ON CONFLICT says. touched are the rows
// that the statement has made, which it must not change again.
func (m *modify) insertOne(w *stage.TableWrite, c *vec.Chunk, i int, n int64, touched map[string]bool) error {
	t, on := m.d.Table, m.d.Conflict
	if on != nil {
		k, err := m.r.conflicting(t, w, on.Arbiters, c, i)
		switch {
		case err != nil:
			return err
		case k != nil && on.Nothing:
			return nil
		case k != nil && touched[string(k.row)]:
			return pgerr.New(pgerr.CardinalityViolation, "ON CONFLICT DO UPDATE command cannot affect row a second time").
				WithHint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
		case k != nil:
			return m.upsert(w, k.row, c, i, touched)
		}
	}
	if err := m.r.insertRow(t, w, c, i, n); err != nil {
		return err
	}
	if on != nil {
		touched[string(vec.AppendRow(nil, c, nil, i))] = true
	}
	m.n += n
	m.done.AppendFrom(c, i, n)
	if m.new != m.done {
		m.new.AppendFrom(c, i, n)
	}
	return nil
}

// upsert changes the existing row as ON CONFLICT DO UPDATE says.
func (m *modify) upsert(w *stage.TableWrite, cur []byte, c *vec.Chunk, i int, touched map[string]bool) error {
	old := vec.NewChunk(stage.ColumnTypes(m.d.Table.Columns), 1)
	if _, err := vec.DecodeRow(old, nil, cur); err != nil {
		return err
	}
	old.AddWeight(1)
	excluded := vec.NewChunk(old.Types(), 1)
	excluded.AppendFrom(c, i, 1)
	both := &vec.Chunk{Rows: 1, Cols: append(append([]vec.Vector(nil), old.Cols...), excluded.Cols...)}
	if m.d.Conflict.Plan != nil {
		var err error
		if both, err = m.planned.at(m, cur, both, i); both == nil || err != nil {
			return err
		}
	}
	if m.d.Conflict.Where != nil {
		v, err := m.eval(m.d.Conflict.Where, both)
		if err != nil {
			return err
		}
		if b := v.(*vec.Col[bool]); b.IsNull(0) || !b.Vals[0] {
			return nil
		}
	}
	fresh := vec.NewChunk(old.Types(), 1)
	for k, e := range m.d.Conflict.Set {
		if e == nil {
			fresh.Cols[k].AppendFrom(old.Cols[k], 0)
			continue
		}
		v, err := m.eval(e, both)
		if err != nil {
			return err
		}
		fresh.Cols[k].AppendFrom(v, 0)
	}
	fresh.AddWeight(1)
	if err := m.check(fresh); err != nil {
		return err
	}
	if err := m.replace(w, old, fresh); err != nil {
		return err
	}
	touched[string(vec.AppendRow(nil, fresh, nil, 0))] = true
	m.n++
	m.done.AppendFrom(fresh, 0, 1)
	return nil
}

// replace stages the removal of old rows, then the new ones, whose keys must be
// free by then.
func (m *modify) replace(w *stage.TableWrite, old, fresh *vec.Chunk) error {
	for i := range old.Rows {
		if err := w.Add(old, i, -old.Weight(i)); err != nil {
			return err
		}
	}
	for i := range fresh.Rows {
		steps, each := w.Copies(old.Weight(i))
		for range steps {
			if err := m.r.insertRow(m.d.Table, w, fresh, i, each); err != nil {
				return err
			}
		}
	}
	m.r.noteKeys(m.d.Table, old, fresh)
	return nil
}

// update takes old row, new row and extras of every row to change. A row joined
// to several others is changed once.
func (m *modify) update(c *vec.Chunk) error {
	c, err := m.onceEach(c)
	if err != nil {
		return err
	}
	old, fresh := stage.Columns(c, 0, m.nc), stage.Columns(c, m.nc, 2*m.nc)
	if err := m.check(fresh); err != nil {
		return err
	}
	w, err := m.r.staged(m.d.Table)
	if err != nil {
		return err
	}
	if err := m.replace(w, old, fresh); err != nil {
		return err
	}
	m.count(c)
	m.done = c
	return nil
}

func (m *modify) delete(c *vec.Chunk) error {
	c, err := m.onceEach(c)
	if err != nil {
		return err
	}
	w, err := m.r.staged(m.d.Table)
	if err != nil {
		return err
	}
	old := stage.Columns(c, 0, m.nc)
	for i := range c.Rows {
		if err := w.Add(old, i, -c.Weight(i)); err != nil {
			return err
		}
	}
	m.r.noteKeys(m.d.Table, old, nil)
	m.count(c)
	m.done = c
	return nil
}

func (m *modify) count(c *vec.Chunk) {
	for i := range c.Rows {
		m.n += c.Weight(i)
	}
}

// onceEach keeps each stored row once: by key, or for tables without one as
// often as the row is stored.
func (m *modify) onceEach(c *vec.Chunk) (*vec.Chunk, error) {
	key := catalog.StorageKey(m.d.Table)
	old := stage.Columns(c, 0, m.nc)
	out := vec.NewChunk(c.Types(), c.Rows)
	if key != nil {
		seen := map[string]bool{}
		for i := range c.Rows {
			k := string(vec.AppendKey(nil, old, key, nil, nil, i))
			if seen[k] {
				continue
			}
			seen[k] = true
			if changed, err := m.changed(k, old, i); err != nil {
				return nil, err
			} else if !changed {
				out.AppendFrom(c, i, 1)
			}
		}
		return out, nil
	}
	left := map[string]int64{}
	for i := range c.Rows {
		k := string(vec.AppendRow(nil, old, nil, i))
		n, ok := left[k]
		if !ok {
			var err error
			if n, err = m.stored(k); err != nil {
				return nil, err
			}
		}
		take := min(n, c.Weight(i))
		if m.d.EachOnce {
			take = n
		}
		left[k] = n - take
		if take > 0 {
			out.AppendFrom(c, i, take)
		}
	}
	return out, nil
}

// changed reports whether another part of the statement has changed the stored row
// with a key, which then stays as that has left it.
func (m *modify) changed(key string, c *vec.Chunk, i int) (bool, error) {
	if len(m.r.with) == 0 {
		return false, nil
	}
	w, err := m.r.staged(m.d.Table)
	if err != nil {
		return false, err
	}
	cur, err := m.r.current(w, []byte(key))
	return !bytes.Equal(cur, vec.AppendRow(nil, c, nil, i)), err
}

// stored returns how often a row of a table without key is stored, as the
// statement sees it and nothing in it has removed it yet.
func (m *modify) stored(row string) (int64, error) {
	n := int64(0)
	if own := m.r.own[m.d.Table.OID]; own == nil || !own.Whole {
		var err error
		if n, err = m.r.snap.Count(m.d.Table.OID, []byte(row)); err != nil {
			return 0, err
		}
	}
	if m.now == nil {
		w, err := m.r.staged(m.d.Table)
		if err != nil {
			return 0, err
		}
		m.now = stage.NetRows(w.Rows)
		m.before = m.now
		if len(m.r.with) > 0 {
			m.before = nil
			if own := m.r.own[m.d.Table.OID]; own != nil {
				m.before = stage.NetRows(own.Rows)
			}
		}
	}
	return n + min(m.before[row], m.now[row]), nil
}

// returning computes RETURNING over the rows done.
func (m *modify) returning() (*vec.Chunk, error) {
	ts := make([]types.T, len(m.d.Returning))
	for i, e := range m.d.Returning {
		ts[i] = e.Type()
	}
	out := vec.NewChunk(ts, m.done.Rows)
	for i, e := range m.d.Returning {
		if m.done.Rows == 0 {
			break
		}
		v, err := m.eval(e, m.done)
		if err != nil {
			return nil, err
		}
		out.Cols[i].AppendRange(v, 0, m.done.Rows)
	}
	out.Rows, out.Diff = m.done.Rows, m.done.Diff
	return out, nil
}

func dmlTag(d *planner.Mutation, n int64) string {
	switch d.Kind {
	case planner.MutInsert:
		return "INSERT 0 " + itoa(n)
	case planner.MutUpdate:
		return "UPDATE " + itoa(n)
	case planner.MutMerge:
		return "MERGE " + itoa(n)
	}
	return "DELETE " + itoa(n)
}

// copyRows stages rows of COPY: the plan of the rows runs over each chunk of them. It
// returns how many there are.
func (r *run) copyRows(d *planner.Mutation, in *vec.Chunk) (int, error) {
	m := &modify{r: r, d: d, ec: &expr.Ctx{Session: &r.s.expr}, nc: len(d.Table.Columns)}
	whole, err := m.project(d.Source, in)
	if err != nil || whole.Rows == 0 {
		return 0, err
	}
	if err := m.check(whole); err != nil {
		return 0, err
	}
	if err := r.insertRows(d.Table, whole); err != nil {
		return 0, err
	}
	r.noteKeys(d.Table, nil, whole)
	return whole.Rows, nil
}

// project computes a chain of Projects and Filters over a chunk in the place of the
// Values node below them.
func (m *modify) project(n plan.Node, in *vec.Chunk) (*vec.Chunk, error) {
	if f, ok := n.(*plan.Filter); ok {
		return m.filter(f, in)
	}
	p, ok := n.(*plan.Project)
	if !ok {
		return in, nil
	}
	below, err := m.project(p.Input, in)
	if err != nil {
		return nil, err
	}
	out := vec.NewChunk(plan.Types(p.Out), below.Rows)
	for k, e := range p.Exprs {
		v, err := m.eval(e, below)
		if err != nil {
			return nil, err
		}
		out.Cols[k].AppendRange(v, 0, below.Rows)
	}
	out.Rows = below.Rows
	return out, nil
}

func (m *modify) filter(f *plan.Filter, in *vec.Chunk) (*vec.Chunk, error) {
	below, err := m.project(f.Input, in)
	if err != nil || below.Rows == 0 {
		return below, err
	}
	v, err := m.eval(f.Cond, below)
	if err != nil {
		return nil, err
	}
	var keep []int32
	for i, ok := range v.(*vec.Col[bool]).Vals[:below.Rows] {
		if ok && !v.IsNull(i) {
			keep = append(keep, int32(i))
		}
	}
	if len(keep) == below.Rows {
		return below, nil
	}
	out := vec.NewChunk(below.Types(), len(keep))
	out.Gather(below, keep)
	return out, nil
}
