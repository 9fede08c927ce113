package vec

import (
	"testing"

	"github.com/streamdb/streamdb/types"
)

// TestRowReader reads every choice of columns of rows with and without NULLs.
func TestRowReader(t *testing.T) {
	ts := []types.T{types.TInt4, types.TText, types.TBool, types.TInterval, types.TInt8, types.TText, types.TInt2, types.TFloat8, types.TUUID}
	c := NewChunk(ts, 4)
	c.AppendRow(1, int32(7), "seven", true, types.IntervalValue{Months: 1, Days: 2, Micros: 3}, int64(-9), "", int16(4), 1.5, types.UUIDValue{1, 2})
	c.AppendRow(1, nil, nil, nil, nil, nil, nil, nil, nil, nil)
	c.AppendRow(1, nil, "x", false, nil, int64(1), nil, int16(-1), nil, types.UUIDValue{})
	for mask := range 1 << len(ts) {
		var cols []int
		var sub []types.T
		for i := len(ts) - 1; i >= 0; i-- { // out of order, too
			if mask>>i&1 == 1 {
				cols, sub = append(cols, i), append(sub, ts[i])
			}
		}
		r, out := NewRowReader(ts, cols), NewChunk(sub, 4)
		for i := range c.Rows {
			if err := r.Read(out, AppendRow(nil, c, nil, i)); err != nil {
				t.Fatal(err)
			}
			out.AddWeight(1)
		}
		for k, col := range cols {
			for i := range c.Rows {
				if got, want := out.Cols[k].Datum(i), c.Cols[col].Datum(i); got != want {
					t.Fatalf("columns %v: column %d row %d is %v, want %v", cols, col, i, got, want)
				}
			}
		}
	}
	row := AppendRow(nil, c, nil, 0)
	for n := range len(row) { // cut rows are errors, never a crash
		if err := NewRowReader(ts, []int{8}).Read(NewChunk([]types.T{types.TUUID}, 1), row[:n]); err == nil {
			t.Fatalf("no error for %d of %d bytes", n, len(row))
		}
	}
}
