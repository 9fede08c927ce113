package expr

import (
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Sample is the condition of TABLESAMPLE: it holds for about percent of a hundred
// rows. Which these are depends on the columns given and the seed alone, so that a row
// that is taken back leaves the sample that it is in. A nil seed is a new one each time
// that a query runs.
func Sample(method string, percent, seed Expr, cols []Expr) Expr {
	args := append([]Expr{percent}, cols...)
	f := &Func{Name: "sample_" + method, Ret: types.TBool, NotStrict: true, MayFail: true}
	if seed == nil {
		f.Volatility = Volatile
		f.New = func() Kernel {
			drawn := rand.Uint64()
			return func(_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
				return sampleRows(dst, args[0], args[1:], n, func(int) (uint64, error) { return drawn, nil })
			}
		}
	} else {
		args = append([]Expr{percent, seed}, cols...)
		f.Eval = func(_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
			seeds := args[1].(*vec.Col[float64])
			return sampleRows(dst, args[0], args[2:], n, func(i int) (uint64, error) {
				if seeds.IsNull(i) {
					return 0, pgerr.New(pgerr.InvalidTablesampleRepeat, "TABLESAMPLE REPEATABLE parameter cannot be null")
				}
				return math.Float64bits(seeds.Vals[i] + 0), nil
			})
		}
	}
	for _, a := range args {
		f.Args = append(f.Args, a.Type())
	}
	return &Call{Fn: f, Args: args, Typ: types.TBool}
}

// sampleRows decides for n rows of the columns cols. What is wrong with the arguments of
// TABLESAMPLE ends the query.
func sampleRows(dst, percent vec.Vector, cols []vec.Vector, n int, seed func(i int) (uint64, error)) error {
	out := dst.(*vec.Col[bool])
	out.Resize(n)
	in := &vec.Chunk{Cols: cols, Rows: n}
	var row []byte
	for i := range n {
		p := percent.(*vec.Col[float32])
		if err := CheckSample(p.Vals[i], p.IsNull(i)); err != nil {
			return err
		}
		h, err := seed(i)
		if err != nil {
			return err
		}
		row = vec.AppendRow(row[:0], in, nil, i)
		cutoff := uint64(math.RoundToEven(float64(1<<32) * float64(p.Vals[i]) / 100))
		out.Vals[i] = vec.HashBytes(h, row)>>32 < cutoff
	}
	return nil
}

// CheckSample refuses percentages that are none.
func CheckSample(percent float32, null bool) error {
	switch {
	case null:
		return pgerr.New(pgerr.InvalidTablesampleArgument, "TABLESAMPLE parameter cannot be null")
	case !(percent >= 0 && percent <= 100):
		return pgerr.New(pgerr.InvalidTablesampleArgument, "sample percentage must be between 0 and 100")
	}
	return nil
}

// NewSeed is a seed for REPEATABLE, as text.
func NewSeed() string { return strconv.Itoa(int(rand.Int32())) }
