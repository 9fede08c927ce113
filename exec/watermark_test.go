package exec_test

import (
	"testing"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// countWriter counts live entries.
type countWriter map[string]bool

func (m countWriter) Put(_ int, key, _ []byte)    { m[string(key)] = true }
func (m countWriter) PutNew(_ int, key, _ []byte) { m[string(key)] = true }
func (m countWriter) Delete(_ int, key []byte)    { delete(m, string(key)) }

func TestWatermarkFreesGroups(t *testing.T) {
	in := scan(types.TTimestamp, types.TInt8)
	in.P.AppendOnly = true
	for _, group := range [][]int{{0}, {1, 0}} {
		p := aggregate(in, group, false, agg(t, in, "count", false))
		rows := int64(0)
		tree, err := exec.Build(p, &exec.BuildCtx{Expr: &expr.Ctx{}, Out: func(c *vec.Chunk) error {
			for i := range c.Rows {
				rows += c.Weight(i)
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		saved := countWriter{}
		const n = 20_000
		for at := int64(0); at < n; at += 1000 {
			c := vec.NewChunk(plan.Types(in.Out), 0)
			for k := range int64(1000) {
				c.AppendRow(1, at+k, int64(7))
			}
			if err := tree.Push(0, c); err != nil {
				t.Fatal(err)
			}
			if err := tree.Advance(0, exec.Watermark{Col: 0, At: at + 900}); err != nil {
				t.Fatal(err)
			}
			if err := tree.Seal(types.Epoch(at/1000 + 1)); err != nil {
				t.Fatal(err)
			}
			if err := tree.Save(func(int) exec.StateWriter { return saved }); err != nil {
				t.Fatal(err)
			}
		}
		if rows != n || len(saved) > 6000 || len(saved) < 100 {
			t.Errorf("group by %v: %d rows out, want %d; %d groups left", group, rows, n, len(saved))
		}
	}
}
