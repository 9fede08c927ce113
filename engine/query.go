package engine

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/colcache"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// run is one execution of a one-off plan over one snapshot.
type run struct {
	s    *Session
	cat  *catalog.Snapshot
	snap *state.Snapshot
	ctx  context.Context
	view *txView // whose snapshot it is; nil: the run's own
	// own holds the transaction's uncommitted rows by relation.
	own map[uint32]*stage.TableWrite
	// measure takes the time of the next plan that is run.
	measure *exec.Measure
	// with and given serve a statement whose parts read one another: the mutations
	// of its WITH, and the rows that have been made, by plan.RelGiven number.
	with  []*planner.Mutation
	given map[uint32]*vec.Chunk
	// events are changes that foreign keys are still to be held against, keys the
	// checkers of these.
	events []keyEvent
	// locked are the rows that the statement has locked, by table.
	locked map[uint32]*lockedRows
	keys   map[uint32]*stage.ForeignKey
}

// newRun opens a snapshot of everything committed by now, or takes that of the
// transaction. That is strict consistency: an epoch's tables and views are
// committed in one step, and a write has returned only after it.
func (s *Session) newRun(ctx context.Context) *run {
	r := &run{s: s, ctx: ctx}
	r.open()
	s.expr.Advisory = advisoryUse{s, ctx}
	if s.expr.LockRows = nil; !s.tx.alone {
		s.expr.LockRows = r.lock
	}
	s.expr.Sleep = func(d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return jobs.Canceled(ctx)
		}
	}
	if len(s.tx.writes) > 0 {
		r.own = map[uint32]*stage.TableWrite{}
		for _, w := range s.tx.writes {
			r.own[w.Rel] = w
		}
	}
	return r
}

func (r *run) open() {
	tx, e := &r.s.tx, r.s.eng
	tx.queried = true
	if tx.view != nil {
		r.view, r.cat, r.snap = tx.view, r.s.snapshot(), tx.view.snap
		return
	}
	e.Steady(func() {
		if r.snap != nil {
			r.snap.Close()
		}
		r.cat, r.snap = r.s.snapshot(), e.Store.Snapshot()
	})
	if tx.modes.isolation >= repeatableRead && tx.open && !tx.alone {
		r.view = &txView{r.cat, r.snap}
		tx.view, tx.views = r.view, append(tx.views, r.view)
	}
}

func (r *run) close() {
	if r.view == nil {
		r.snap.Close()
	}
}

// freeze makes the run see the transaction's own rows as they are now, whatever
// the statement goes on to write.
func (r *run) freeze() {
	for rel, w := range r.own {
		c := *w
		c.Rows = vec.NewChunk(w.Rows.Types(), w.Rows.Rows)
		c.Rows.AppendRange(w.Rows, 0, w.Rows.Rows)
		c.Keys, c.Unique = nil, nil // of what the statement goes on to write, too
		r.own[rel] = &c
	}
}

// execute runs a bound plan; out borrows the chunks.
func (r *run) execute(root plan.Node, out exec.Emit) (err error) {
	defer limited(&err)
	m := r.measure
	r.measure = nil
	tree, err := exec.Build(root, &exec.BuildCtx{
		Expr: &expr.Ctx{Session: &r.s.expr}, Out: out, Batch: true, Measure: m, ChunkRows: r.s.eng.Config.ChunkRows,
		RunSub: r.execute, Budget: jobs.QueryBudget, Interrupt: func() error { return jobs.Canceled(r.ctx) },
	})
	if err != nil {
		return err
	}
	defer tree.Close()
	if err := tree.Start(); err != nil {
		return done(err)
	}
	ins := tree.Inputs()
	for _, i := range tree.InputOrder() {
		scan, ok := ins[i].Node.(*plan.Scan)
		if !ok {
			return errors.New("engine: a one-off plan has an exchange")
		}
		// ErrDone concerns this input alone: nobody wants more of it.
		tree.Reading(i)
		err := r.scan(scan, func(c *vec.Chunk) error { return tree.Push(i, c) })
		tree.Reading(-1)
		if err != nil && !errors.Is(err, exec.ErrDone) {
			return err
		}
		if err := done(tree.EndInput(i)); err != nil {
			return err
		}
	}
	return done(tree.Seal(1))
}

// limited is deferred: it makes the panic of a limit that has no other way out an
// error. Other panics go on, with their stack.
func limited(err *error) {
	r := recover()
	if r == nil {
		return
	}
	e, ok := r.(*pgerr.Error)
	if !ok {
		panic(r)
	}
	*err = e
}

func done(err error) error {
	if errors.Is(err, exec.ErrDone) {
		return nil
	}
	return err
}

// scan reads a relation as chunks of the scan's columns, which f borrows.
func (r *run) scan(s *plan.Scan, f func(*vec.Chunk) error) error {
	check := func(c *vec.Chunk) error {
		if err := jobs.Canceled(r.ctx); err != nil {
			return err
		}
		return f(c)
	}
	if s.Kind == plan.RelGiven {
		return r.scanGiven(s, check)
	}
	if err := r.s.tx.ddl.failed(); err != nil {
		return err
	}
	switch o := r.cat.ByOID(s.Rel).(type) {
	case *catalog.VirtualTable:
		return o.Chunks(&catalog.Context{Snapshot: r.cat, Session: &r.s.expr, Server: serverInfo{r.s}}, s.Cols, check)
	case *catalog.Sequence:
		return r.sequenceRow(o, s.Cols, check)
	case *catalog.Table:
		return r.scanStored(s, o, check)
	case *catalog.MatView:
		if r.s.tx.ddl.fresh(o.OID) {
			return r.scanPending(s, o, check)
		}
		if err := r.s.eng.Readable(o.OID); err != nil {
			return err
		}
		return r.scanStored(s, o, check)
	case *catalog.Source:
		return r.scanSource(s, o, check)
	}
	return pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", s.Name)
}

// narrowed passes the columns of a scan on to f, which borrows them.
func narrowed(s *plan.Scan, f func(*vec.Chunk) error) func(*vec.Chunk) error {
	view := &vec.Chunk{Cols: make([]vec.Vector, len(s.Cols))}
	return func(c *vec.Chunk) error {
		for i, k := range s.Cols {
			view.Cols[i] = c.Cols[k]
		}
		view.Rows, view.Diff = c.Rows, c.Diff
		return f(view)
	}
}

// scanGiven reads rows that a part of the statement makes.
func (r *run) scanGiven(s *plan.Scan, f func(*vec.Chunk) error) error {
	all, err := r.madeRows(s)
	if err != nil || all.Rows == 0 {
		return err
	}
	size := r.s.eng.Config.ChunkRows
	f = narrowed(s, f)
	if all.Rows <= size {
		return f(all)
	}
	part := vec.NewChunk(all.Types(), size)
	for lo := 0; lo < all.Rows; lo += size {
		part.Reset()
		part.AppendRange(all, lo, min(lo+size, all.Rows))
		if err := f(part); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) scanStored(s *plan.Scan, o catalog.Relation, f func(*vec.Chunk) error) error {
	o, err := r.asOf(o)
	if err != nil {
		return err
	}
	ts := stage.ColumnTypes(o.Cols())
	rel, key, form, whole := catalog.StoreID(o), catalog.StorageKey(o), stage.StoredForm(o), s.Index == 0
	if !whole {
		ix := r.indexFor(s)
		if ix == nil {
			all := *s
			all.Index, all.Prefix, all.Lo, all.Hi = 0, nil, nil, nil
			return r.scanStored(&all, o, f)
		}
		ts = stage.IndexTypes(ix, o)
		if rel, key = ix.OID, stage.IndexKey(ix, o); form == stage.FormBag {
			form = stage.FormOrdered
		}
	}
	lo, hi, empty, err := r.keyRange(s, ts, key)
	if err != nil || empty {
		return err
	}
	narrow := narrowed(s, f)
	own := r.own[s.Rel]
	if t, ok := o.(*catalog.Table); ok && own != nil && own.Revision != t.Revision {
		return stage.SerializationFailure() // the transaction's rows are those of another table by now
	}
	if whole && len(s.Prefix) == len(key) && lo != nil {
		return r.getRow(o, ts, lo, own, narrow)
	}
	if own != nil && own.Whole || r.s.tx.ddl.fresh(o.Header().OID) { // nothing is stored
		if own == nil {
			return nil
		}
		return plus(own, narrow)
	}
	r.noteRead(o)
	if own == nil && whole && lo == nil && hi == nil {
		t := colcache.Table{ID: rel, Types: ts, Bag: form == stage.FormBag}
		return r.s.eng.Columns.Scan(r.snap, t, s.Cols, f)
	}
	if own == nil {
		return stage.ScanColumns(r.snap, rel, ts, s.Cols, form, lo, hi, r.s.eng.Config.ChunkRows, f)
	}
	if err := stage.ScanRows(r.snap, rel, ts, form, lo, hi, r.s.eng.Config.ChunkRows, minus(own, narrow)); err != nil {
		return err
	}
	return plus(own, narrow)
}

// isPointRead reports whether the plan reads at most one row by its whole key:
// then running it at once is cheaper than a coroutine to pull from.
func (r *run) isPointRead(n plan.Node) bool {
	for {
		switch x := n.(type) {
		case *plan.Project:
			n = x.Input
		case *plan.Filter:
			n = x.Input
		case *plan.Scan:
			rel, ok := r.cat.ByOID(x.Rel).(catalog.Relation)
			return ok && x.Index == 0 && x.Prefix != nil && len(x.Prefix) == len(catalog.StorageKey(rel))
		default:
			return false
		}
	}
}

// getRow reads the one row of a whole key, as the transaction sees it that wrote
// own, if it did.
func (r *run) getRow(o catalog.Relation, ts []types.T, key []byte, own *stage.TableWrite, f func(*vec.Chunk) error) error {
	var row []byte
	var err error
	rel := catalog.StoreID(o)
	if _, table := o.(*catalog.Table); !table {
		r.noteRead(o)
	} else if r.s.tx.modes.isolation == serializable {
		err = r.noteRow(rel, key)
	}
	if err != nil {
		return err
	}
	if own != nil {
		row, err = r.current(own, key)
	} else {
		row, _, err = r.snap.Get(rel, key)
	}
	if err != nil || row == nil {
		return err
	}
	c := vec.NewChunk(ts, 1)
	if _, err := vec.DecodeRow(c, nil, row); err != nil {
		return err
	}
	c.AddWeight(1)
	return f(c)
}

// keyRange turns the scan's key prefix and bounds into a range of storage keys.
// empty means that no row can match.
func (r *run) keyRange(s *plan.Scan, ts []types.T, key []int) (lo, hi []byte, empty bool, err error) {
	if key == nil || (len(s.Prefix) == 0 && s.Lo == nil && s.Hi == nil) {
		return nil, nil, false, nil
	}
	var prefix []byte
	for i, e := range s.Prefix {
		if prefix, empty, err = r.appendKeyPart(prefix, ts[key[i]], e); empty || err != nil {
			return nil, nil, empty, err
		}
	}
	lo, hi = prefix, append(append([]byte(nil), prefix...), 0xff)
	if n := len(s.Prefix); n < len(key) {
		if s.Lo != nil {
			if lo, empty, err = r.appendKeyPart(append([]byte(nil), prefix...), ts[key[n]], s.Lo); empty || err != nil {
				return nil, nil, empty, err
			}
		}
		if s.Hi != nil {
			if hi, empty, err = r.appendKeyPart(append([]byte(nil), prefix...), ts[key[n]], s.Hi); empty || err != nil {
				return nil, nil, empty, err
			}
			hi = append(hi, 0xff)
		}
	}
	return lo, hi, false, nil
}

// appendKeyPart appends the key form of a constant; empty if it is NULL, which
// equals nothing.
func (r *run) appendKeyPart(dst []byte, t types.T, e expr.Expr) (key []byte, empty bool, err error) {
	d, err := expr.EvalConst(&expr.Ctx{Session: &r.s.expr}, e)
	if err != nil || d == nil {
		return dst, d == nil && err == nil, err
	}
	c := vec.NewChunk([]types.T{t}, 1)
	c.AppendRow(1, d)
	return vec.AppendKey(dst, c, []int{0}, nil, nil, 0), false, nil
}

// minus leaves out of stored rows those the transaction has removed; rows it
// added do not matter here. The weights of a bag's rows are lessened.
func minus(own *stage.TableWrite, f func(*vec.Chunk) error) func(*vec.Chunk) error {
	net := stage.NetRows(own.Rows)
	width := len(own.Rows.Cols)
	return func(c *vec.Chunk) error {
		if len(c.Cols) > width { // by an index, which has more columns behind
			c = stage.Columns(c, 0, width)
		}
		out := vec.NewChunk(c.Types(), c.Rows)
		var row []byte
		for i := range c.Rows {
			w := c.Weight(i)
			row = vec.AppendRow(row[:0], c, nil, i)
			if n := net[string(row)]; n < 0 {
				take := min(w, -n)
				net[string(row)] = n + take
				w -= take
			}
			if w > 0 {
				out.AppendFrom(c, i, w)
			}
		}
		return f(out)
	}
}

// plus yields the rows the transaction has added and not removed again.
func plus(own *stage.TableWrite, f func(*vec.Chunk) error) error {
	net := stage.NetRows(own.Rows)
	out := vec.NewChunk(own.Rows.Types(), own.Rows.Rows)
	var row []byte
	for i := range own.Rows.Rows {
		row = vec.AppendRow(row[:0], own.Rows, nil, i)
		if n := net[string(row)]; n > 0 {
			out.AppendFrom(own.Rows, i, n)
			net[string(row)] = 0
		}
	}
	if out.Rows == 0 {
		return nil
	}
	return f(out)
}

// rows is a result pulled chunk by chunk out of a run that pushes: the run is a
// coroutine that stands still in its output until the next pull.
type rows struct {
	next func() (*vec.Chunk, error, bool)
	stop func()
}

// pull starts a coroutine for produce; it begins at the first next.
func pull(produce func(out exec.Emit) error) *rows {
	seq := func(yield func(*vec.Chunk, error) bool) {
		err := produce(func(c *vec.Chunk) error {
			if c.Rows > 0 && !yield(c, nil) {
				return exec.ErrDone
			}
			return nil
		})
		if err != nil && !errors.Is(err, exec.ErrDone) {
			yield(nil, err)
		}
	}
	next, stop := iter.Pull2(iter.Seq2[*vec.Chunk, error](seq))
	return &rows{next: next, stop: stop}
}

// collect runs a plan and returns a copy of its rows.
func (r *run) collect(root plan.Node) (*vec.Chunk, error) {
	all := vec.NewChunk(plan.Types(root.Schema()), 64)
	err := r.execute(root, func(c *vec.Chunk) error {
		all.AppendRange(c, 0, c.Rows)
		return nil
	})
	return all, err
}
