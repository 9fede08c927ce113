package exec_test

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/exec/exectest"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

func upsertPlan(keep bool, cols ...plan.Column) plan.Node {
	return &plan.Upsert{Input: &plan.Scan{Rel: 1, Kind: plan.RelSource, Out: cols}, Key: []int{0}, Keep: keep}
}

// The last row of each key is what there is, whatever the epochs, with restores
// between them; keys of several types and NULLs in the rest.
func TestUpsertModel(t *testing.T) {
	for _, typ := range []types.T{types.TInt4, types.TText, types.TNumeric} {
		key := func(n int) types.Datum {
			switch typ.ID {
			case types.Text:
				return fmt.Sprint("k", n)
			case types.Numeric:
				d, _ := types.ParseText(types.TNumeric, fmt.Sprintf("%d.%0*d", n, 1+n%2, 0), &types.Options{})
				return d
			}
			return int32(n)
		}
		root := upsertPlan(false, plan.Column{Name: "k", Typ: typ}, plan.Column{Name: "v", Typ: types.TText})
		for _, rows := range []int{1, 3, 1024} {
			for _, restore := range []bool{false, true} {
				s := exectest.NewStream(t, root, exectest.Options{ChunkRows: rows, Restore: restore})
				r, last := rand.New(rand.NewSource(1)), map[int]types.Datum{}
				for range 30 {
					var cs []exectest.Change
					for range r.Intn(12) {
						k := r.Intn(6)
						if r.Intn(3) == 0 {
							delete(last, k)
							cs = append(cs, exectest.Change{W: -1, Row: []types.Datum{key(k), nil}})
							continue
						}
						var v types.Datum
						if n := r.Intn(4); n > 0 {
							v = fmt.Sprint(n)
						}
						last[k] = v
						cs = append(cs, exectest.Change{W: 1, Row: []types.Datum{key(k), v}})
					}
					s.Epoch(cs)
					want := exectest.Bag{}
					for k, v := range last {
						want.Add([]types.T{typ, types.TText}, []types.Datum{key(k), v}, 1)
					}
					if d := s.Out.Diff(want); d != "" {
						t.Fatalf("%s, chunks of %d, restore %v:%s", typ, rows, restore, d)
					}
				}
				if restore && s.Saved() != len(last) {
					t.Errorf("%d saved entries for %d keys", s.Saved(), len(last))
				}
			}
		}
	}
}

// What an update leaves out stays as it was, in an earlier epoch or this one; of
// an unknown row it is an error and nothing else.
func TestUpsertKeepsUnavailableValues(t *testing.T) {
	ts := []types.T{types.TInt4, types.TText, types.TBytea, types.TJSONB, {ID: types.Array, Elem: types.Text, Mod: -1}}
	cols := make([]plan.Column, len(ts))
	for i, x := range ts {
		cols[i] = plan.Column{Name: fmt.Sprint("c", i), Typ: x}
	}
	parse := func(i int, s string) types.Datum {
		d, err := types.ParseText(ts[i], s, &types.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const u = connector.Unavailable
	row := func(k int32, text, bin, doc, arr string) []types.Datum {
		return []types.Datum{k, text, bin, parse(3, doc), parse(4, arr)}
	}
	left := func(k int32, text string) []types.Datum { return row(k, text, u, `"`+u+`"`, "{"+u+"}") }
	for _, restore := range []bool{false, true} {
		var failed []error
		s := exectest.NewStream(t, upsertPlan(true, cols...), exectest.Options{ChunkRows: 2, Restore: restore,
			RowError: func(_ int, _ *vec.Chunk, _ int, _ int64, err error) error { failed = append(failed, err); return nil }})
		s.Epoch([]exectest.Change{{W: 1, Row: row(1, "a", "\x01", `{"x": 1}`, "{p}")}, {W: 1, Row: row(2, "b", "\x02", `[2]`, "{q}")}, {W: 1, Row: left(2, "bb")}})
		s.Epoch([]exectest.Change{{W: 1, Row: left(1, u)}, {W: 1, Row: left(1, "aa")}, {W: 1, Row: left(9, "?")}})
		want := exectest.Bag{}
		want.Add(ts, row(1, "aa", "\x01", `{"x": 1}`, "{p}"), 1)
		want.Add(ts, row(2, "bb", "\x02", `[2]`, "{q}"), 1)
		if d := s.Out.Diff(want); d != "" {
			t.Errorf("restore %v:%s", restore, d)
		}
		if len(failed) != 1 || pgerr.CodeOf(failed[0]) != pgerr.DataException {
			t.Error(failed)
		}
	}
}
