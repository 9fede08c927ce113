package exec_test

import (
	"errors"
	"testing"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/exec/exectest"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// A replay leaves out what failed and does not report it again.
func TestReplayAfterFailures(t *testing.T) {
	quotient := op(t, "/", col(1, types.TInt8), col(2, types.TInt8))
	one := &expr.Const{Val: int64(1), Typ: types.TInt8}
	join := &plan.Join{Kind: plan.Left, Left: scan(types.TInt8, types.TInt8), Right: scan(types.TInt8, types.TInt8),
		LeftKeys: []int{0}, RightKeys: []int{1}, Residual: op(t, "=", quotient, one)}
	reported := 0
	o := exectest.Options{ChunkRows: 2, Restore: true, RowError: func(int, *vec.Chunk, int, int64, error) error { reported++; return nil }}
	h := exectest.Parse(t, join, `
		+ 1 7
		+ 2 5
		+ null 4
		@1
		+ 7 1
		+ 0 1
		+ 5 2
		+ 0 2
		|
		- 0 1
		|`)
	s := exectest.NewStream(t, join, o)
	s.Epoch(h[0])
	was := reported
	if was == 0 {
		t.Fatal("nothing failed")
	}
	s.Epoch(nil) // saves, restores and replays
	if reported != was {
		t.Fatalf("%d errors were reported by a replay", reported-was)
	}
	s.Epoch(h[1])
	if d := s.Out.Diff(exectest.ParseBag("1 7 7 1\n2 5 5 2\nnull 4 null null")); d != "" {
		t.Fatal(d)
	}
}

// An error of what is above ends the replay, and so does Close.
func TestReplayEnds(t *testing.T) {
	p := &plan.Aggregate{Input: scan(types.TInt8), Group: []int{0}, Out: []plan.Column{{Typ: types.TInt8}}}
	broken := errors.New("no more")
	rows := 0
	build := func() *exec.Tree {
		tree, err := exec.Build(p, &exec.BuildCtx{ChunkRows: 1, Out: func(c *vec.Chunk) error {
			if rows += c.Rows; rows > 2 {
				return broken
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	saved := map[string]string{}
	from := build()
	for i := range int64(3) {
		c := vec.NewChunk([]types.T{types.TInt8}, 1)
		c.AppendRow(1, i)
		if err := from.Push(0, c); err != nil {
			t.Fatal(err)
		}
	}
	rows = -3
	if err := from.Seal(1); err != nil {
		t.Fatal(err)
	}
	if err := from.Save(func(int) exec.StateWriter { return saver(saved) }); err != nil {
		t.Fatal(err)
	}
	for _, whole := range []bool{true, false} {
		to := build()
		for k, v := range saved {
			if err := to.Load(0, []byte(k), []byte(v)); err != nil {
				t.Fatal(err)
			}
		}
		to.Keep([]int{0, 1}, []int{0})
		rows = 0
		for range 2 {
			if more, err := to.Replay(1); !more || err != nil {
				t.Fatal(more, err)
			}
		}
		if whole {
			if more, err := to.Replay(1); more || err != broken {
				t.Fatal(more, err)
			}
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

type saver map[string]string

func (s saver) Put(_ int, key, val []byte) { s[string(key)] = string(val) }

func (s saver) PutNew(vnode int, key, val []byte) { s.Put(vnode, key, val) }

func (s saver) Delete(_ int, key []byte) { delete(s, string(key)) }
