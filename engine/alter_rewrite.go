package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// rewriter makes the rows of a table's new shape from its stored ones.
type rewriter struct {
	a     *alteration
	ctx   expr.Ctx
	progs []*expr.Program // by column, over the stored row; nil: a column of it
	gen   []*expr.Program // by column, over the new row; nil: none
	apart bool            // some value differs between rows that are equal by now
	seen  map[string]bool // storage keys so far
	kb    []byte
}

func newRewriter(a *alteration, next *catalog.Snapshot) (*rewriter, error) {
	w := &rewriter{a: a, progs: make([]*expr.Program, len(a.src)), gen: make([]*expr.Program, len(a.src))}
	s := a.s.expr
	a.fills.Sequences = s.Sequences
	s.Sequences = &a.fills
	w.ctx.Session = &s
	if a.t.PrimaryKey != nil {
		w.seen = map[string]bool{}
	}
	pl := &planner.Planner{Cat: next, Session: &s}
	for i, src := range a.src {
		e, generated := src.expr, false
		var err error
		if src.fill {
			if e, generated, err = pl.ColumnFill(a.t, i); err != nil {
				return nil, err
			}
		}
		if e == nil {
			continue
		}
		w.apart = w.apart || plan.IsVolatile(e)
		p, err := expr.Compile(e)
		if err != nil {
			return nil, err
		}
		if generated {
			w.gen[i] = p
		} else {
			w.progs[i] = p
		}
	}
	return w, nil
}

// chunk returns the new rows of a chunk of stored ones.
func (w *rewriter) chunk(c *vec.Chunk) (*vec.Chunk, error) {
	if w.apart && c.Diff != nil {
		each := vec.NewChunk(c.Types(), c.Rows)
		for i := range c.Rows {
			for range c.Weight(i) {
				each.AppendFrom(c, i, 1)
			}
		}
		c = each
	}
	out := vec.NewChunk(stage.ColumnTypes(w.a.t.Columns), c.Rows)
	out.Rows, out.Diff = c.Rows, c.Diff
	for i, src := range w.a.src {
		switch {
		case w.progs[i] != nil:
			v, err := w.progs[i].Eval(&w.ctx, c)
			if err != nil {
				return nil, err
			}
			out.Cols[i].AppendRange(v, 0, c.Rows)
		case w.gen[i] != nil:
			for range c.Rows {
				out.Cols[i].AppendNull()
			}
		default:
			out.Cols[i].AppendRange(c.Cols[src.old], 0, c.Rows)
		}
	}
	for i, p := range w.gen {
		if p == nil {
			continue
		}
		v, err := p.Eval(&w.ctx, out)
		if err != nil {
			return nil, err
		}
		col := vec.NewChunk(stage.ColumnTypes(w.a.t.Columns[i:i+1]), c.Rows).Cols[0]
		col.AppendRange(v, 0, c.Rows)
		out.Cols[i] = col
	}
	return out, nil
}

// unique refuses new rows of which two have one storage key.
func (w *rewriter) unique(c *vec.Chunk) error {
	t := w.a.t
	if t.PrimaryKey == nil {
		return nil
	}
	for i := range c.Rows {
		w.kb = vec.AppendKey(w.kb[:0], c, t.PrimaryKey.Columns, nil, nil, i)
		if w.seen[string(w.kb)] {
			e := pgerr.New(pgerr.UniqueViolation, "could not create unique index \"%s\"", t.PrimaryKey.Name).
				WithDetail("%s", "Key "+stage.KeyText(t, c, i)+" is duplicated.")
			e.Schema, e.Table, e.Constraint = t.Schema, t.Name, t.PrimaryKey.Name
			return e
		}
		w.seen[string(w.kb)] = true
	}
	return nil
}

// tableBuild makes the stored rows of a table, for a commit in which they come to be.
type tableBuild struct {
	key     []int
	batch   *state.RowBatch
	kb, row []byte
}

func newTableBuild(t *catalog.Table) *tableBuild {
	return &tableBuild{key: catalog.StorageKey(t), batch: state.NewRowBatch(t.OID)}
}

// add adds the rows of a chunk.
func (b *tableBuild) add(c *vec.Chunk) error {
	for i := range c.Rows {
		b.row = vec.AppendRow(b.row[:0], c, nil, i)
		if b.key == nil {
			b.batch.Add(b.row, c.Weight(i))
			continue
		}
		b.kb = vec.AppendKey(b.kb[:0], c, b.key, nil, nil, i)
		b.batch.Put(b.kb, b.row)
	}
	return nil
}
