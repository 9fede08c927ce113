package exec

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// clock emits one row of expressions over the time, BuildCtx.Now, and replaces it
// at a Seal at which they have other values. Its state is the row.
type clock struct {
	*opBase
	progs  []*expr.Program
	expr   expr.Ctx
	format *rowFormat
	batch  rowBatch
	row    []byte // emitted; nil: none yet
	dirty  bool
	out    *rowOutput
}

func newClock(p *plan.Clock, b *opBase) (Operator, error) {
	ts := plan.Types(p.Out)
	c := &clock{opBase: b, format: newRowFormat(ts, allColumns(ts), false)}
	c.out = newRowOutput(c.format, ts, b.ctx.rows())
	s := expr.Session{}
	if b.ctx.Expr.Session != nil {
		s = *b.ctx.Expr.Session
	}
	c.expr.Session = &s
	for _, e := range p.Exprs {
		prog, err := expr.Compile(e)
		if err != nil {
			return nil, err
		}
		c.progs = append(c.progs, prog)
	}
	return c, nil
}

func (c *clock) Push(int, *vec.Chunk, Emit) error { return nil }

// Start emits the only row of a one-off query.
func (c *clock) Start(emit Emit) error {
	if !c.ctx.Batch {
		return nil
	}
	return c.tell(emit)
}

// Seal emits the row of the epoch's end.
func (c *clock) Seal(_ types.Epoch, emit Emit) error {
	if c.ctx.Batch {
		return nil
	}
	return c.tell(emit)
}

func (c *clock) tell(emit Emit) error {
	c.expr.Session.NowMicros = c.ctx.Now
	one, now := &vec.Chunk{Rows: 1}, &vec.Chunk{Rows: 1}
	for _, prog := range c.progs {
		v, err := prog.Eval(&c.expr, one)
		if err != nil {
			return err
		}
		now.Cols = append(now.Cols, v)
	}
	c.format.encode(&c.batch, now)
	row := c.batch.row(0)
	if c.row != nil && string(row) == string(c.row) {
		return nil
	}
	next := append([]byte{}, row...)
	if c.row != nil {
		if err := c.out.add(c.row, -1, emit); err != nil {
			return err
		}
	}
	if err := c.out.add(next, 1, emit); err != nil {
		return err
	}
	if err := c.out.flush(emit); err != nil {
		return err
	}
	c.row, c.dirty = next, true
	return nil
}

// Replay emits the row.
func (c *clock) Replay(emit Emit) error {
	if c.row == nil {
		return nil
	}
	out := newRowOutput(c.format, c.out.types, 1)
	return out.add(c.row, 1, emit)
}

// Save writes the row.
func (c *clock) Save(w StateWriter) error {
	if c.dirty {
		w.Put(0, nil, c.row)
		c.dirty = false
	}
	return nil
}

// Load takes the row back.
func (c *clock) Load(_, val []byte) error {
	if !c.format.valid(val) {
		return errSaved
	}
	c.row = append([]byte{}, val...)
	return nil
}

func (c *clock) StateBytes() int { return len(c.row) }
