package exec_test

import (
	"encoding/binary"
	"testing"

	"github.com/streamdb/streamdb/exec/exectest"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// picky sums integers and refuses 13.
type picky struct{}

func (picky) Size() int { return 8 }

func (picky) Add(c *expr.Ctx, st [][]byte, off int, args []vec.Vector, diff []int64, skip vec.Bitmap) error {
	for i, x := range args[0].(*vec.Col[int64]).Vals {
		w := int64(1)
		if diff != nil {
			w = diff[i]
		}
		if w == 0 || skip.Get(i) {
			continue
		}
		if x == 13 {
			if err := c.Fail(i, pgerr.New(pgerr.DataException, "unlucky number")); err != nil {
				return err
			}
			continue
		}
		s := st[i][off:]
		binary.LittleEndian.PutUint64(s, binary.LittleEndian.Uint64(s)+uint64(w*x))
	}
	return nil
}

func (picky) Result(_ *expr.Ctx, st []byte, dst vec.Vector) error {
	dst.AppendDatum(int64(binary.LittleEndian.Uint64(st)))
	return nil
}

func TestRowRefusedByOneAggregate(t *testing.T) {
	in := scan(types.TInt8)
	f := &expr.AggFunc{Name: "picky", Args: []types.T{types.TInt8}, Ret: types.TInt8,
		Make: func(expr.MakeArgs) expr.AggImpl { return expr.AggImpl{Flat: picky{}} }}
	call := expr.AggCall{Fn: f, Args: []int{0}, Filter: -1, Typ: types.TInt8}
	p := aggregate(in, nil, true, agg(t, in, "count", false), call, agg(t, in, "max", false, 0))
	rest := int64(0)
	s := exectest.NewStream(t, p, exectest.Options{ChunkRows: 8,
		RowError: func(_ int, _ *vec.Chunk, _ int, w int64, err error) error {
			rest += w
			return nil
		}})
	h := exectest.Parse(t, p, "+ 1\n+2 13\n+ 5\n|\n- 13\n- 5\n|\n- 13\n+ 6")
	outs := []string{"2 6 5", "1 1 1", "2 7 6"}
	rests := []int64{2, 1, 0}
	for e, changes := range h {
		s.Epoch(changes)
		if d := s.Out.Diff(exectest.ParseBag(outs[e])); d != "" || rest != rests[e] {
			t.Fatalf("epoch %d: %d failures left, want %d; result differs:%s", e, rest, rests[e], d)
		}
	}
}
