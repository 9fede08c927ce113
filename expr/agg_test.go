package expr

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// aggCase is one aggregate over one column of literals.
type aggCase struct {
	fn, typ string
	vals    []string
	extra   string // a second, text argument
	direct  string // a direct argument of an ordered-set aggregate
	dist    bool
	want    string
}

// chunkOf makes a chunk of a column of literals and of the case's extra column.
func (k aggCase) chunk(t *testing.T) *vec.Chunk {
	ty, _ := types.ByName(k.typ)
	c := vec.NewChunk([]types.T{ty, types.TText, types.TFloat8}, len(k.vals))
	for _, v := range k.vals {
		var d types.Datum
		var err error
		if v != "NULL" {
			if d, err = types.ParseText(ty, v, nil); err != nil {
				t.Fatal(err)
			}
		}
		f := types.Datum(0.0)
		if k.direct != "" {
			f, _ = types.ParseText(types.TFloat8, k.direct, nil)
		}
		c.AppendRow(1, d, k.extra, f)
	}
	return c
}

func (k aggCase) call(t *testing.T, c *vec.Chunk) *AggCall {
	args := []types.T{c.Cols[0].Type()}
	a := &AggCall{Filter: -1, Args: []int{0}, Distinct: k.dist}
	if k.extra != "" {
		args, a.Args = append(args, types.TText), []int{0, 1}
	}
	if k.direct != "" || k.fn == "mode" {
		a.Args, a.OrderBy = nil, []SortKey{{Col: 0}}
		if k.direct != "" {
			args, a.Args = []types.T{types.TFloat8, args[0]}, []int{2}
		}
	}
	f, err := ResolveAgg(k.fn, args)
	if err != nil {
		t.Fatal(err)
	}
	a.Fn, a.Typ = f, f.Result(f.ParamTypes(args))
	return a
}

func cols(c *vec.Chunk, idx []int) []vec.Vector {
	var out []vec.Vector
	for _, i := range idx {
		out = append(out, c.Cols[i])
	}
	return out
}

func result(t *testing.T, a Acc, typ types.T) string {
	t.Helper()
	dst := vec.New(typ, 1)
	if err := a.Result(&Ctx{}, dst); err != nil {
		return err.Error()
	}
	if dst.Len() != 1 {
		t.Fatalf("result has %d rows", dst.Len())
	}
	if dst.IsNull(0) {
		return "NULL"
	}
	return string(types.AppendText(nil, typ, dst.Datum(0), nil))
}

func state(a Acc) map[string]string {
	m := map[string]string{}
	a.Delta(func(sub, val []byte) {
		if val != nil {
			m[string(sub)] = string(val)
		}
	})
	return m
}

var aggCases = []aggCase{
	{fn: "count", typ: "int4", vals: []string{"1", "NULL", "2", "2"}, want: "3"},
	{fn: "count", typ: "int4", vals: []string{"1", "NULL", "2", "2"}, dist: true, want: "2"},
	{fn: "sum", typ: "int4", vals: []string{"2147483647", "2147483647", "NULL"}, want: "4294967294"},
	{fn: "sum", typ: "int8", vals: []string{"9223372036854775807", "9223372036854775807"}, want: "18446744073709551614"},
	{fn: "sum", typ: "int4", vals: []string{"5", "5", "3"}, dist: true, want: "8"},
	{fn: "sum", typ: "numeric", vals: []string{"1.50", "2.250", "3"}, want: "6.750"},
	{fn: "sum", typ: "numeric", vals: []string{"1", "NaN", "3"}, want: "NaN"},
	{fn: "sum", typ: "float8", vals: []string{"1e300", "1", "-1e300", "1e-300"}, want: "1"},
	{fn: "sum", typ: "float8", vals: []string{"0.1", "0.2", "0.3"}, want: "0.6"},
	{fn: "sum", typ: "float4", vals: []string{"1.5", "Infinity"}, want: "Infinity"},
	{fn: "sum", typ: "interval", vals: []string{"1 day", "2 mons 03:00"}, want: "2 mons 1 day 03:00:00"},
	{fn: "avg", typ: "int4", vals: []string{"1", "2", "2"}, want: "1.6666666666666667"},
	{fn: "avg", typ: "numeric", vals: []string{"1.5", "2"}, want: "1.7500000000000000"},
	{fn: "avg", typ: "float8", vals: []string{"1", "2"}, want: "1.5"},
	{fn: "avg", typ: "interval", vals: []string{"1 day", "2 days"}, want: "1 day 12:00:00"},
	{fn: "min", typ: "text", vals: []string{"b", "a", "NULL", "c"}, want: "a"},
	{fn: "max", typ: "text", vals: []string{"b", "a", "NULL", "c"}, want: "c"},
	{fn: "max", typ: "numeric", vals: []string{"1.5", "NaN"}, want: "NaN"},
	{fn: "min", typ: "timestamp", vals: []string{"2020-01-02", "2020-01-01"}, want: "2020-01-01 00:00:00"},
	{fn: "max", typ: "float8", vals: []string{"1", "NaN", "Infinity"}, want: "NaN"},
	{fn: "bool_and", typ: "bool", vals: []string{"t", "f", "NULL"}, want: "f"},
	{fn: "bool_or", typ: "bool", vals: []string{"t", "f", "NULL"}, want: "t"},
	{fn: "bit_and", typ: "int4", vals: []string{"-1", "6"}, want: "6"},
	{fn: "bit_or", typ: "int2", vals: []string{"1", "-32768"}, want: "-32767"},
	{fn: "string_agg", typ: "text", vals: []string{"b", "a", "NULL", "b"}, extra: ",", want: "a,b,b"},
	{fn: "string_agg", typ: "text", vals: []string{"b", "a", "b"}, extra: ",", dist: true, want: "a,b"},
	{fn: "array_agg", typ: "int4", vals: []string{"3", "NULL", "1"}, want: "{1,3,NULL}"},
	{fn: "array_agg", typ: "int4", vals: []string{"3", "3", "1"}, dist: true, want: "{1,3}"},
	{fn: "jsonb_agg", typ: "int4", vals: []string{"3", "NULL", "1"}, want: "[1, 3, null]"},
	{fn: "var_samp", typ: "int4", vals: []string{"1", "2", "3", "4"}, want: "1.6666666666666667"},
	{fn: "stddev", typ: "int4", vals: []string{"1", "2", "3", "4"}, want: "1.2909944487358056"},
	{fn: "var_pop", typ: "float8", vals: []string{"1", "2", "3", "4"}, want: "1.25"},
	{fn: "stddev_pop", typ: "float8", vals: []string{"0.1", "0.1", "0.1"}, want: "0"},
	{fn: "variance", typ: "int4", vals: []string{"1"}, want: "NULL"},
	{fn: "mode", typ: "int4", vals: []string{"1", "2", "2", "3"}, want: "2"},
	{fn: "percentile_cont", typ: "float8", vals: []string{"1", "2", "3", "4", "NULL"}, direct: "0.5", want: "2.5"},
	{fn: "percentile_disc", typ: "int4", vals: []string{"1", "2", "3", "4"}, direct: "0.5", want: "2"},
}

// TestAggregates checks the result, that taking every row away in a random order
// leaves nothing behind, and that a state rebuilt from its deltas agrees.
func TestAggregates(t *testing.T) {
	for _, k := range aggCases {
		t.Run(fmt.Sprintf("%s_%s_%v", k.fn, k.typ, k.vals), func(t *testing.T) {
			c := k.chunk(t)
			call := k.call(t, c)
			impl := call.Make(c.Types(), false)
			in := cols(c, call.Columns())
			a, empty := impl.Acc(), impl.Acc()
			for i := range c.Rows {
				if err := a.Add(&Ctx{}, in, i, 1); err != nil {
					t.Fatal(err)
				}
			}
			if got := result(t, a, call.Typ); got != k.want {
				t.Errorf("got %s, want %s", got, k.want)
			}
			b := impl.Acc()
			for sub, val := range state(a) {
				if err := b.Load([]byte(sub), []byte(val)); err != nil {
					t.Fatal(err)
				}
			}
			if got := result(t, b, call.Typ); got != k.want {
				t.Errorf("after Load: %s, want %s", got, k.want)
			}
			for _, i := range rand.Perm(c.Rows) {
				if err := b.Add(&Ctx{}, in, i, -1); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := result(t, b, call.Typ), result(t, empty, call.Typ); got != want {
				t.Errorf("emptied: %s, want %s", got, want)
			}
			b.Delta(func(sub, val []byte) {
				if val != nil {
					t.Errorf("emptied state keeps %q=%x", sub, val)
				}
			})
			anyOrder(t, impl.Acc, in, c.Rows, func(a Acc) {
				if got := result(t, a, call.Typ); got != k.want {
					t.Errorf("with changes in another order: %s, want %s", got, k.want)
				}
			})
			app := call.Make(c.Types(), true).Acc()
			for i := range c.Rows {
				if err := app.Add(&Ctx{}, in, i, 1); err != nil {
					t.Fatal(err)
				}
			}
			if got := result(t, app, call.Typ); got != k.want {
				t.Errorf("append-only: %s, want %s", got, k.want)
			}
		})
	}
}

// anyOrder gives every row once in the end, by changes in which a row may be taken
// away before it is added, and fewer rows than none be left in between.
func anyOrder(t *testing.T, acc func() Acc, in []vec.Vector, rows int, check func(Acc)) {
	t.Helper()
	var changes []int // row+1, or its negative to take it away
	for i := range rows {
		changes = append(changes, i+1, -i-1, i+1, -i-1, i+1)
	}
	r := rand.New(rand.NewPCG(7, uint64(rows)))
	for range 30 {
		r.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		a := acc()
		for _, ch := range changes {
			w := int64(1)
			if ch < 0 {
				ch, w = -ch, -1
			}
			if err := a.Add(&Ctx{}, in, ch-1, w); err != nil {
				t.Fatal(err)
			}
		}
		check(a)
	}
}

func TestExactSumReturnsToZero(t *testing.T) {
	var s exactSum
	r := rand.New(rand.NewPCG(1, 2))
	var xs []float64
	for len(xs) < 5000 {
		x := math.Float64frombits(r.Uint64())
		if x-x == 0 {
			xs = append(xs, x)
		}
	}
	for _, w := range []int64{1, -1} {
		for _, i := range r.Perm(len(xs)) {
			m, e := mantissa(xs[i])
			sign := w
			if xs[i] < 0 {
				sign = -w
			}
			s.add(0, m, e, sign)
		}
	}
	if s.normalize(); len(s.digits) != 0 {
		t.Errorf("%d digits remain", len(s.digits))
	}
}

func TestMultisetOrder(t *testing.T) {
	var m multiset
	r := rand.New(rand.NewPCG(3, 4))
	want := map[string]int64{}
	for range 20000 {
		k := fmt.Sprintf("%04d", r.IntN(3000))
		w := int64(r.IntN(3) - 1)
		m.add([]byte(k), 4, w)
		if want[k] += w; want[k] == 0 {
			delete(want, k)
		}
	}
	n, last := 0, ""
	for _, blk := range m.blocks {
		for _, e := range blk {
			if e.key <= last || want[e.key] != e.w {
				t.Fatalf("%s after %s: weight %d, want %d", e.key, last, e.w, want[e.key])
			}
			last = e.key
			n++
		}
	}
	if n != len(want) {
		t.Errorf("%d entries, want %d", n, len(want))
	}
}

func TestRegression(t *testing.T) {
	c := vec.NewChunk([]types.T{types.TFloat8, types.TFloat8}, 4)
	for _, p := range [][2]float64{{1, 2}, {2, 3}, {3, 5}, {5, 7}} {
		c.AppendRow(1, p[0], p[1])
	}
	c.AppendRow(1, nil, 1.0)
	for name, want := range map[string]string{
		"regr_count": "4", "covar_pop": "2.8125", "covar_samp": "3.75", "regr_avgx": "4.25", "regr_avgy": "2.75",
		"regr_sxx": "14.75", "regr_syy": "8.75", "regr_sxy": "11.25", "regr_slope": "0.7627118644067796",
		"regr_intercept": "-0.4915254237288136", "regr_r2": "0.9806295399515739", "corr": "0.9902674083052385",
	} {
		f, err := ResolveAgg(name, c.Types())
		if err != nil {
			t.Fatal(err)
		}
		call := &AggCall{Fn: f, Args: []int{0, 1}, Filter: -1, Typ: f.Result(f.Args)}
		a := call.Make(c.Types(), false).Acc()
		for _, w := range []int64{1, 1, -1} {
			for i := range c.Rows {
				if err := a.Add(&Ctx{}, c.Cols, i, w); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := result(t, a, call.Typ); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
}
