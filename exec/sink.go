package exec

import (
	"slices"

	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// sink emits the epoch's net changes at Seal: for append-only sinks every row
// with its weight, for upsert sinks one row a key, which is its new value with
// weight +1 or, once gone, its last value with weight -1.
type sink struct {
	*opBase
	// direct: there is nothing to net, as nothing is ever taken back or the input
	// says itself what each key has in the end. Rows go on as they come.
	direct  bool
	key     []int
	changes *consolidator // nil: keyed
	keyed   *keyedChanges
	out     *rowOutput
}

func newSink(p *plan.Sink, b *opBase) Operator {
	ts := plan.Types(p.Schema())
	s := &sink{opBase: b, key: p.Key, direct: p.Key == nil && p.Input.Props().AppendOnly}
	if p.Key != nil {
		s.keyed = newKeyedChanges(ts, p.Key)
		s.out = newRowOutput(s.keyed.format, ts, b.ctx.rows())
	} else {
		s.changes = newConsolidator(ts)
		s.out = newRowOutput(s.changes.format, ts, b.ctx.rows())
	}
	return s
}

func (s *sink) Push(_ int, c *vec.Chunk, emit Emit) error {
	switch {
	case s.direct:
		return emit(c)
	case s.keyed != nil:
		s.keyed.add(c)
	default:
		s.changes.add(c)
	}
	return nil
}

// Seal emits the net changes.
func (s *sink) Seal(_ types.Epoch, emit Emit) error {
	var err error
	if s.keyed != nil {
		defer s.keyed.reset()
		err = s.keyed.each(s.opBase, func(row []byte, put bool) error {
			w := int64(1)
			if !put {
				w = -1
			}
			return s.out.add(row, w, emit)
		})
	} else {
		defer s.changes.reset()
		err = s.changes.each(func(id uint32, w int64) error {
			return s.out.add(s.changes.rows.key(id), w, emit)
		})
	}
	if err != nil {
		return err
	}
	return s.out.flush(emit)
}

// lastRows is implemented by operators that emit at Seal alone and whose output has
// one row a key, so that they can tell themselves what a key has in the end.
type lastRows interface {
	// emitLast makes the operator emit the row that a key has lost only if the key
	// has no other one instead. It reports false if the given columns are not the
	// key of the output.
	emitLast(key []int) bool
}

// askLast tells the operator that the sink's rows come from, perhaps under
// projections, that the sink needs the last row of each key alone.
func (s *sink) askLast(n *treeNode) {
	if s.key == nil {
		return
	}
	key := s.key
	for {
		switch op := n.op.(type) {
		case *project:
			if !op.rearranges(len(n.kids[0].plan.Schema())) {
				return // rows that differ below may be the same here, or fail
			}
			below := make([]int, len(key))
			for i, k := range key {
				below[i] = op.refs[k]
			}
			n, key = n.kids[0], below
		case lastRows:
			s.direct = op.emitLast(key)
			return
		default:
			return
		}
	}
}

// sameColumns reports whether two lists name the same columns.
func sameColumns(a, b []int) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
