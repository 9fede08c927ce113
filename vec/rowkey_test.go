package vec

import (
	"bytes"
	"testing"

	"github.com/streamdb/streamdb/types"
)

// ordered lists values of one type in ascending order; values on one line are
// equal.
var ordered = []struct {
	typ  types.T
	vals [][]string
}{
	{types.TBool, [][]string{{"f"}, {"t"}}},
	{types.TInt2, [][]string{{"-32768"}, {"-1"}, {"0"}, {"32767"}}},
	{types.TInt4, [][]string{{"-2147483648"}, {"-1"}, {"0"}, {"1"}, {"2147483647"}}},
	{types.TInt8, [][]string{{"-9223372036854775808"}, {"0"}, {"256"}, {"9223372036854775807"}}},
	{types.TFloat4, [][]string{{"-Infinity"}, {"-1.5"}, {"0", "-0"}, {"1e-10"}, {"Infinity"}, {"NaN"}}},
	{types.TFloat8, [][]string{{"-Infinity"}, {"-1.5"}, {"0", "-0"}, {"1e-300"}, {"Infinity"}, {"NaN"}}},
	{types.TNumeric, [][]string{{"-Infinity"}, {"-100.5"}, {"-1"}, {"0", "0.000"}, {"0.001"}, {"1", "1.0", "1.00"}, {"12345678901234567890"}, {"NaN"}}},
	{types.TText, [][]string{{""}, {"a"}, {"a "}, {"aa"}, {"b"}, {"é"}}},
	{types.TBpchar, [][]string{{"", " "}, {"a", "a  "}, {"b"}}},
	{types.TBytea, [][]string{{`\x`}, {`\x00`}, {`\x0000`}, {`\x0001`}, {`\x01`}, {`\xff`}}},
	{types.TDate, [][]string{{"-infinity"}, {"1999-12-31"}, {"2000-01-01"}, {"infinity"}}},
	{types.TInterval, [][]string{{"-1 day"}, {"0"}, {"24 hours", "1 day"}, {"1 mon", "30 days"}}},
	{types.TUUID, [][]string{{"00000000-0000-0000-0000-000000000001"}, {"f0000000-0000-0000-0000-000000000000"}}},
	{types.ArrayOf(types.Int4), [][]string{{"{}"}, {"{1}"}, {"{1,2}"}, {"{1,NULL}"}, {"{2}"}}},
	{types.ArrayOf(types.Numeric), [][]string{{"{1,2}", "{1.0,2.00}"}, {"{1,3}"}}},
	{types.TJSONB, [][]string{{"null"}, {`"a"`}, {"1", "1.0"}, {"true"}, {"[1]", "[1.0]"}, {`{"a":1}`, `{"a":1.00}`}}},
}

func TestKeysOrderAsSQL(t *testing.T) {
	for _, o := range ordered {
		c := NewChunk([]types.T{o.typ}, 8)
		var class []int
		for k, same := range o.vals {
			for _, s := range same {
				d, err := types.ParseText(o.typ, s, nil)
				if err != nil {
					t.Fatal(o.typ, s, err)
				}
				c.AppendRow(1, d)
				class = append(class, k)
			}
		}
		c.AppendRow(1, nil)
		class = append(class, len(o.vals))
		hashes := HashCols(c, []int{0}, nil)
		for i := range class {
			for j := range class {
				checkPair(t, c, hashes, i, j, class[i]-class[j])
			}
		}
	}
}

// checkPair checks rows whose order is the sign of want; the last row is NULL,
// which is above all values.
func checkPair(t *testing.T, c *Chunk, hashes []uint64, i, j, want int) {
	t.Helper()
	cols := []int{0}
	sign := func(n int) int {
		if n < 0 {
			return -1
		} else if n > 0 {
			return 1
		}
		return 0
	}
	typ := c.Cols[0].Type()
	if got := bytes.Compare(AppendKey(nil, c, cols, nil, nil, i), AppendKey(nil, c, cols, nil, nil, j)); got != sign(want) {
		t.Errorf("%s %v %v: key order %d, want %d", typ, c.Row(i), c.Row(j), got, sign(want))
	}
	desc := bytes.Compare(AppendKey(nil, c, cols, []bool{true}, []bool{true}, i), AppendKey(nil, c, cols, []bool{true}, []bool{true}, j))
	if desc != -sign(want) {
		t.Errorf("%s %v %v: descending order %d, want %d", typ, c.Row(i), c.Row(j), desc, -sign(want))
	}
	equal := bytes.Equal(AppendGroupKey(nil, c, nil, i), AppendGroupKey(nil, c, cols, j))
	if equal != (want == 0) || EqualRows(c, i, cols, c, j, nil) != equal {
		t.Errorf("%s %v %v: group keys equal %v", typ, c.Row(i), c.Row(j), equal)
	}
	if equal && hashes[i] != hashes[j] {
		t.Errorf("%s %v %v: equal with different hashes", typ, c.Row(i), c.Row(j))
	}
}

func TestRowKeysAreSelfDelimiting(t *testing.T) {
	c := NewChunk([]types.T{types.TText, types.TText}, 2)
	c.AppendRow(1, "a", "bc")
	c.AppendRow(1, "ab", "c")
	if bytes.Equal(AppendKey(nil, c, []int{0, 1}, nil, nil, 0), AppendKey(nil, c, []int{0, 1}, nil, nil, 1)) ||
		bytes.Equal(AppendGroupKey(nil, c, nil, 0), AppendGroupKey(nil, c, nil, 1)) {
		t.Error("columns run into each other")
	}
}
