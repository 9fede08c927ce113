package datagen

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

func numeric(p, s int32) types.T { return types.T{ID: types.Numeric, Mod: p<<16 | s + 4} }

func options(kv ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return m
}

func open(t *testing.T, opts map[string]string, cols []connector.Column, instance, instances int, offsets map[string]string) connector.Reader {
	t.Helper()
	s, err := newSource(connector.SourceSpec{Name: "s", Options: opts, Columns: cols})
	if err != nil {
		t.Fatal(err)
	}
	ask := make([]int, len(cols))
	for i := range ask {
		ask[i] = i
	}
	r, err := s.Open(context.Background(), ask, instance, instances, offsets)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// read returns up to n batches' rows as text.
func read(t *testing.T, r connector.Reader, n int, offsets map[string]string) (rows []string) {
	t.Helper()
	for range n {
		b, err := r.Read(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Chunk.Rows {
			var row []string
			for _, c := range b.Chunk.Cols {
				row = append(row, string(types.AppendText(nil, c.Type(), c.Datum(i), nil)))
			}
			rows = append(rows, strings.Join(row, "|"))
		}
		maps.Copy(offsets, b.Offsets)
		if b.End {
			break
		}
	}
	return rows
}

func TestSequences(t *testing.T) {
	cols := []connector.Column{{Name: "a", Typ: types.TInt4}, {Name: "b.c", Typ: numeric(6, 2)}, {Name: "d", Typ: types.TDate},
		{Name: "ts", Typ: types.TTimestamp}, {Name: "f", Typ: types.TFloat8}, {Name: "s", Typ: types.TText}, {Name: "n", Typ: types.TNumeric}}
	opts := options("fields.a.kind", "sequence", "fields.a.start", "10", "fields.a.end", "4", "fields.a.step", "-2",
		"fields.b.c.kind", "sequence", "fields.b.c.start", "9999.00", "fields.b.c.step", "0.25",
		"fields.d.kind", "sequence", "fields.d.start", "2024-02-28", "fields.ts.kind", "sequence", "fields.ts.step", "1 hour",
		"fields.f.kind", "sequence", "fields.f.step", "0.5", "fields.s.kind", "sequence", "fields.n.kind", "sequence", "fields.n.step", "0.10")
	got := read(t, open(t, opts, cols, 0, 1, nil), 100, map[string]string{})
	want := []string{
		"10|9999.00|2024-02-28|2024-01-01 00:00:00|1|1|1.00",
		"8|9999.25|2024-02-29|2024-01-01 01:00:00|1.5|2|1.10",
		"6|9999.50|2024-03-01|2024-01-01 02:00:00|2|3|1.20",
		"4|9999.75|2024-03-02|2024-01-01 03:00:00|2.5|4|1.30"}
	if !slices.Equal(got, want) {
		t.Error(strings.Join(got, "\n"))
	}
}

func TestRandomIsInRangeAndRepeatable(t *testing.T) {
	cols := []connector.Column{{Name: "a", Typ: types.TInt2}, {Name: "n", Typ: numeric(5, 2)}, {Name: "ts", Typ: types.T{ID: types.Timestamptz, Mod: 0}},
		{Name: "s", Typ: types.TText}, {Name: "v", Typ: types.T{ID: types.Bpchar, Mod: 8}}, {Name: "b", Typ: types.TBool}, {Name: "u", Typ: types.TUUID},
		{Name: "f", Typ: types.TFloat4}, {Name: "i", Typ: types.TInt8}, {Name: "a2", Typ: types.TInt2}}
	opts := options("rows", "2000", "fields.a.min", "-3", "fields.a.max", "3", "fields.n.min", "1", "fields.n.max", "1.5", "fields.s.length", "11",
		"fields.v.length", "2", "fields.f.min", "5", "fields.f.max", "6", "fields.i.min", "-9223372036854775808",
		"fields.a2.min", "-3", "fields.a2.max", "3", "fields.a2.seed", "7")
	rows := read(t, open(t, opts, cols, 0, 1, nil), 100, map[string]string{})
	if len(rows) != 2000 {
		t.Fatal(len(rows))
	}
	seen := map[string]bool{}
	differ := false
	for _, r := range rows {
		p := strings.Split(r, "|")
		seen[p[0]] = true
		differ = differ || p[0] != p[9]
		if p[1] < "1.00" || p[1] > "1.50" || len(p[1]) != 4 || !strings.HasPrefix(p[2], "202") || strings.Contains(p[2], ".") || len(p[3]) != 11 ||
			len(p[4]) != 4 || p[4][2:] != "  " || p[5] != "t" && p[5] != "f" || p[6][14] != '4' || p[7] < "5" || p[7] > "6" {
			t.Fatal(r)
		}
	}
	if len(seen) != 7 || !differ {
		t.Error(slices.Sorted(maps.Keys(seen)), differ)
	}
	if again := read(t, open(t, opts, cols, 0, 1, nil), 100, map[string]string{}); !slices.Equal(again, rows) {
		t.Error("the rows are not the same again")
	}
}

// Rows are the same whoever makes them, and each is made once, also when the
// number of readers changes at a restart.
func TestSplits(t *testing.T) {
	cols := []connector.Column{{Name: "n", Typ: types.TInt8}}
	opts := options("rows", "40000", "fields.n.kind", "sequence")
	offsets := map[string]string{}
	var got []string
	for i := range 3 {
		got = append(got, read(t, open(t, opts, cols, i, 3, nil), 5, offsets)...)
	}
	if len(got) != 15*blockRows {
		t.Fatal(len(got))
	}
	stored := maps.Clone(offsets)
	for i := range 20 { // more than there are splits
		got = append(got, read(t, open(t, opts, cols, i, 20, stored), 100, offsets)...)
	}
	slices.Sort(got)
	if n := len(slices.Compact(slices.Clone(got))); n != 40000 || len(got) != 40000 {
		t.Fatal(n, len(got))
	}
	one := read(t, open(t, opts, cols, 0, 1, nil), 100, map[string]string{})
	if one[0] != "1" || one[39999] != "40000" {
		t.Error("a single reader does not keep the order")
	}
}

func TestPaceAndEnd(t *testing.T) {
	cols := []connector.Column{{Name: "n", Typ: types.TInt8}}
	r := open(t, options("rows", "30", "rows_per_second", "100"), cols, 0, 1, nil)
	begin := time.Now()
	if rows := read(t, r, 100, map[string]string{}); len(rows) != 30 {
		t.Fatal(len(rows))
	}
	if d := time.Since(begin); d < 250*time.Millisecond {
		t.Errorf("30 rows at 100 a second took %v", d)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := r.Read(ctx); err != context.DeadlineExceeded {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		typ  types.T
		opts []string
		want string
	}{
		{types.TInt4, []string{"fields.x.kind", "random"}, `option "fields.x.kind" names no column of the source`},
		{types.TInt4, []string{"fields.kind", "random"}, `option "fields.kind" names no column of the source`},
		{types.TInt4, []string{"fields.c.kind", "odd"}, `invalid value for option "fields.c.kind": "odd"`},
		{types.TInt4, []string{"fields.c.length", "3"}, `option "fields.c.length" does not apply to a random column of type integer`},
		{types.TInt4, []string{"fields.c.start", "3"}, `option "fields.c.start" does not apply to a random column of type integer`},
		{types.TInt2, []string{"fields.c.max", "40000"}, `invalid value for option "fields.c.max": "40000"`},
		{types.TInt4, []string{"fields.c.min", "4", "fields.c.max", "3"}, `option "fields.c.max" is less than "fields.c.min"`},
		{types.TInt4, []string{"fields.c.kind", "sequence", "fields.c.step", "0"}, `invalid value for option "fields.c.step": "0"`},
		{types.TTimestamp, []string{"fields.c.kind", "sequence", "fields.c.step", "1 month"}, `invalid value for option "fields.c.step": "1 month"`},
		{types.TTimestamp, []string{"fields.c.min", "infinity"}, `invalid value for option "fields.c.min": "infinity"`},
		{types.TFloat8, []string{"fields.c.min", "NaN"}, `invalid value for option "fields.c.min": "NaN"`},
		{types.TUUID, []string{"fields.c.kind", "sequence"}, `invalid value for option "fields.c.kind": "sequence"`},
		{types.T{ID: types.Varchar, Mod: 7}, []string{"fields.c.length", "4"}, `invalid value for option "fields.c.length": "4"`},
		{types.TJSONB, nil, `type jsonb in a datagen source is not supported`},
		{types.TInt4, []string{"rows", "-1"}, `invalid value for option "rows": "-1"`},
	} {
		_, err := newSource(connector.SourceSpec{Name: "s", Options: options(c.opts...), Columns: []connector.Column{{Name: "c", Typ: c.typ}}})
		if err == nil || pgerr.From(err).Msg != c.want {
			t.Errorf("%s %v: %v", c.typ, c.opts, err)
		}
	}
	if _, err := newSource(connector.SourceSpec{Name: "s"}); err == nil {
		t.Error("no columns")
	}
}

func FuzzOptions(f *testing.F) {
	f.Add(uint8(0), true, "1", "5", "2")
	f.Add(uint8(6), false, "-1e3", "9223372036854775807", "")
	var ts []types.T
	types.All(func(t types.T) { ts = append(ts, t) })
	f.Fuzz(func(t *testing.T, typ uint8, sequence bool, a, b, step string) {
		opts := map[string]string{"fields.c.min": a, "fields.c.max": b}
		if sequence {
			opts = map[string]string{"fields.c.kind": "sequence", "fields.c.start": a, "fields.c.end": b, "fields.c.step": step}
		}
		s, err := newSource(connector.SourceSpec{Options: opts, Columns: []connector.Column{{Name: "c", Typ: ts[int(typ)%len(ts)]}}})
		if err != nil {
			return
		}
		r, err := s.Open(context.Background(), []int{0}, 0, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		batch, err := r.Read(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Chunk.Rows {
			v := batch.Chunk.Cols[0]
			text := string(types.AppendText(nil, v.Type(), v.Datum(i), nil))
			if _, err := types.ParseText(v.Type(), text, nil); err != nil {
				t.Fatalf("%s is no %s: %v", text, v.Type(), err)
			}
		}
	})
}
