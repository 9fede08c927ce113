package expr

import (
	"math/rand/v2"
	"testing"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// randomDecimal is short or long, of any sign and scale, or special.
func randomDecimal(t testing.TB, r *rand.Rand) types.Decimal {
	text := ""
	switch r.IntN(12) {
	case 0:
		text = []string{"NaN", "Infinity", "-Infinity", "0", "0.000"}[r.IntN(5)]
	case 1:
		text = []string{"9223372036854775807", "-9223372036854775807", "9223372036854775808", "-9223372036854775808",
			"18446744073709551615", "4294967296.5", "-65536", "255", "256.00", "0." + string(make0(254)) + "1", "0." + string(make0(253)) + "1"}[r.IntN(11)]
	default:
		n := 1 + r.IntN([]int{4, 9, 18, 40}[r.IntN(4)])
		dot := r.IntN(n + 1)
		if r.IntN(2) == 0 {
			text = "-"
		}
		for i := range n {
			if i == dot && i > 0 {
				text += "."
			}
			text += string(rune('0' + r.IntN(10)))
		}
	}
	d, err := types.ParseDecimal(text)
	if err != nil {
		t.Fatal(text, err)
	}
	return d
}

func make0(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0'
	}
	return b
}

// TestShortNumerics holds the kernels for short numerics to what Decimal computes.
func TestShortNumerics(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 4))
	ops := map[string]func(a, b types.Decimal) types.Decimal{"+": types.Decimal.Add, "-": types.Decimal.Sub, "*": types.Decimal.Mul}
	for name, want := range ops {
		f, err := ResolveOp(name, types.TNumeric, types.TNumeric)
		if err != nil {
			t.Fatal(err)
		}
		a, b, out := vec.New(types.TNumeric, 0).(*vec.Bytes), vec.New(types.TNumeric, 0).(*vec.Bytes), vec.New(types.TNumeric, 0).(*vec.Bytes)
		var xs, ys []types.Decimal
		for range 4000 {
			x, y := randomDecimal(t, r), randomDecimal(t, r)
			xs, ys = append(xs, x), append(ys, y)
			a.AppendDatum(types.DecimalDatum(x))
			b.AppendDatum(types.DecimalDatum(y))
		}
		if err := f.Eval(&Ctx{}, out, []vec.Vector{a, b}, len(xs)); err != nil {
			t.Fatal(err)
		}
		for i := range xs {
			if w := types.DecimalDatum(want(xs[i], ys[i])); string(out.At(i)) != w {
				t.Fatalf("%s %s %s is %s, not %s", xs[i], name, ys[i], types.DecodeDecimal(out.At(i)), want(xs[i], ys[i]))
			}
			if got, w := compareNumerics(a.At(i), b.At(i)), xs[i].Cmp(ys[i]); got != w {
				t.Fatalf("%s compares to %s as %d, not %d", xs[i], ys[i], got, w)
			}
		}
	}
}

// TestSumsOfShortNumerics adds and takes away in any order, and compares with the
// sum of what is left.
func TestSumsOfShortNumerics(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	for range 60 {
		a := &decimalSum{finish: finishDecimalSum}
		in := vec.New(types.TNumeric, 0)
		var ds []types.Decimal
		for range 1 + r.IntN(80) {
			d := randomDecimal(t, r)
			ds = append(ds, d)
			in.AppendDatum(types.DecimalDatum(d))
		}
		left := make([]int64, len(ds))
		for range 300 {
			i := r.IntN(len(ds))
			w := int64(1 + r.IntN(3))
			if left[i] >= w && r.IntN(2) == 0 {
				w = -w
			}
			left[i] += w
			if err := a.Add(&Ctx{}, []vec.Vector{in}, i, w); err != nil {
				t.Fatal(err)
			}
			if r.IntN(20) == 0 {
				saved := &decimalSum{finish: finishDecimalSum}
				a.dirty = true
				a.Delta(func(_, val []byte) {
					if val != nil {
						if err := saved.Load(nil, val); err != nil {
							t.Fatal(err)
						}
					}
				})
				a = saved
			}
		}
		want, any := types.Decimal{}, false
		for i, n := range left {
			for range n {
				want, any = want.Add(ds[i]), true
			}
		}
		out := vec.New(types.TNumeric, 0).(*vec.Bytes)
		if err := a.Result(&Ctx{}, out); err != nil {
			t.Fatal(err)
		}
		if out.IsNull(0) == any || any && types.DecodeDecimal(out.At(0)).String() != want.String() {
			t.Fatalf("the sum is %s, not %s", types.DecodeDecimal(out.At(0)), want)
		}
	}
}
