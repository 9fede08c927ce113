package exec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// gathered is an output that keeps the rows it gets.
type gathered struct {
	rows []string
	net  map[string]int64
}

func (g *gathered) Send(c *vec.Chunk) error {
	for i := range c.Rows {
		r := fmt.Sprint(c.Row(i))
		g.rows = append(g.rows, fmt.Sprint(c.Weight(i))+" "+r)
		g.net[r] += c.Weight(i)
	}
	return nil
}
func (g *gathered) Barrier(*Barrier) error { return nil }

type weighted struct {
	w int64
	k int32
	s string
	f float64
}

func weightedRows(rows ...weighted) *vec.Chunk {
	c := vec.NewChunk([]types.T{types.TInt4, types.TText, types.TFloat8}, len(rows))
	for _, r := range rows {
		var s types.Datum
		if r.s != "" {
			s = r.s
		}
		c.AppendRow(r.w, r.k, s, r.f)
	}
	return c
}

// An update that changes none of the columns that are read is not passed on; one
// that changes the look of a value is.
func TestColumnsOutputDropsWhatDoesNotChange(t *testing.T) {
	for _, c := range []struct {
		name string
		cols []int
		in   []weighted
		want []string
	}{
		{"another column", []int{0, 1}, []weighted{{-1, 1, "a", 1}, {1, 1, "a", 2}}, nil},
		{"this column", []int{0, 2}, []weighted{{-1, 1, "a", 1}, {1, 1, "a", 2}}, []string{"-1 [1 1]", "1 [1 2]"}},
		{"NULL stays NULL", []int{1}, []weighted{{-1, 1, "", 1}, {1, 1, "", 2}}, nil},
		{"NULL becomes a value", []int{1}, []weighted{{-1, 1, "", 1}, {1, 1, "a", 1}}, []string{"-1 [<nil>]", "1 [a]"}},
		{"two rows of a statement", []int{0}, []weighted{{-1, 1, "a", 1}, {-1, 2, "a", 1}, {1, 1, "b", 1}, {1, 2, "b", 1}}, nil},
		{"a delete before", []int{0}, []weighted{{-1, 7, "a", 1}, {-1, 2, "a", 1}, {1, 2, "b", 1}}, []string{"-1 [7]"}},
		{"an insert after", []int{0}, []weighted{{-1, 2, "a", 1}, {1, 2, "b", 1}, {1, 7, "b", 1}}, []string{"1 [7]"}},
		{"other weights", []int{0}, []weighted{{-2, 1, "a", 1}, {1, 1, "b", 1}}, []string{"-2 [1]", "1 [1]"}},
		{"inserts", []int{0}, []weighted{{1, 1, "a", 1}, {1, 1, "a", 1}}, []string{"1 [1]", "1 [1]"}},
	} {
		g := &gathered{net: map[string]int64{}}
		o := NewColumnsOutput(c.cols, g)
		for range 2 { // its memory is used again
			g.rows = nil
			if err := o.Send(weightedRows(c.in...)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(g.rows, c.want) {
				t.Errorf("%s: passed on %v, want %v", c.name, g.rows, c.want)
			}
		}
	}
}

// Whatever is left out, the sum of what is passed on stays.
func TestColumnsOutputKeepsTheSum(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 500 {
		var in []weighted
		for range r.IntN(12) {
			in = append(in, weighted{int64(r.IntN(5) - 2), int32(r.IntN(2)), string(rune('a' + r.IntN(2))), float64(r.IntN(2))})
		}
		cols := []int{r.IntN(3)}
		got, want := &gathered{net: map[string]int64{}}, &gathered{net: map[string]int64{}}
		c := weightedRows(in...)
		if err := NewColumnsOutput(cols, got).Send(c); err != nil {
			t.Fatal(err)
		}
		_ = want.Send(&vec.Chunk{Rows: c.Rows, Cols: []vec.Vector{c.Cols[cols[0]]}, Diff: c.Diff})
		for k, n := range want.net {
			if got.net[k] != n {
				t.Fatalf("column %d of %v: row %s comes to %d, want %d", cols[0], in, k, got.net[k], n)
			}
		}
	}
}
