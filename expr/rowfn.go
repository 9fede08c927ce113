package expr

import (
	"unsafe"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// row is the view a row-at-a-time kernel has of one row: typed arguments in,
// one result out. It serves functions whose work outweighs a call a row; hot
// arithmetic and comparison have loops of their own.
type row struct {
	c    *Ctx
	dst  vec.Vector
	args []vec.Vector
	i    int
	buf  []byte // scratch that outlives the row, for the kernel's use
}

// rows makes a kernel of a function that computes one row. Rows with a NULL
// argument are NULL and do not reach f. f ends with exactly one put or null, or
// returns an error before any.
func rows(f func(r *row) error) Kernel { return rowKernel(f, true) }

// rowsNulls is rows for functions that see NULLs themselves.
func rowsNulls(f func(r *row) error) Kernel { return rowKernel(f, false) }

func rowKernel(f func(r *row) error, strict bool) Kernel {
	return func(c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		dst.Reset()
		r := row{c: c, dst: dst, args: args}
		hasNull := false
		if strict {
			for _, a := range args {
				hasNull = hasNull || len(a.Nulls()) > 0
			}
		}
		for i := range n {
			if hasNull && anyNull(args, i) {
				dst.AppendNull()
				continue
			}
			r.i = i
			if err := f(&r); err != nil {
				if err = c.Fail(i, err); err != nil {
					return err
				}
				dst.AppendNull()
			}
		}
		return nil
	}
}

func anyNull(args []vec.Vector, i int) bool {
	for _, a := range args {
		if a.IsNull(i) {
			return true
		}
	}
	return false
}

// failRow reports a failure at row i of a strict kernel over fixed-width
// results: none if an argument is NULL there.
func failRow(c *Ctx, dst vec.Vector, args []vec.Vector, i int, err error) error {
	if anyNull(args, i) {
		return nil
	}
	if err := c.Fail(i, err); err != nil {
		return err
	}
	dst.SetNull(i)
	return nil
}

func (r *row) isNull(k int) bool { return r.args[k].IsNull(r.i) }

// s returns argument k as a string that is valid during the call only.
func (r *row) s(k int) string {
	b := r.b(k)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

func (r *row) b(k int) []byte          { return r.args[k].(*vec.Bytes).At(r.i) }
func (r *row) bool(k int) bool         { return r.args[k].(*vec.Col[bool]).Vals[r.i] }
func (r *row) i4(k int) int            { return int(r.args[k].(*vec.Col[int32]).Vals[r.i]) }
func (r *row) i8(k int) int64          { return r.args[k].(*vec.Col[int64]).Vals[r.i] }
func (r *row) f8(k int) float64        { return r.args[k].(*vec.Col[float64]).Vals[r.i] }
func (r *row) dec(k int) types.Decimal { return types.DecodeDecimal(r.b(k)) }
func (r *row) iv(k int) types.IntervalValue {
	return r.args[k].(*vec.Col[types.IntervalValue]).Vals[r.i]
}
func (r *row) datum(k int) types.Datum { return r.args[k].Datum(r.i) }
func (r *row) typ(k int) types.T       { return r.args[k].Type() }

func (r *row) null() error { r.dst.AppendNull(); return nil }

func (r *row) putS(s string) error { r.dst.(*vec.Bytes).AppendString(s); return nil }
func (r *row) putB(b []byte) error { r.dst.(*vec.Bytes).Append(b); return nil }

// putAppended ends with what f appends, unless it fails.
func (r *row) putAppended(f func(dst []byte) ([]byte, error)) error {
	d := r.dst.(*vec.Bytes)
	b, err := f(d.Data)
	if err != nil {
		return err
	}
	d.Data = b
	d.Finish()
	return nil
}

func (r *row) putBool(b bool) error {
	d := r.dst.(*vec.Col[bool])
	d.Vals = append(d.Vals, b)
	return nil
}
func (r *row) putI4(n int) error {
	d := r.dst.(*vec.Col[int32])
	d.Vals = append(d.Vals, int32(n))
	return nil
}
func (r *row) putI8(n int64) error {
	d := r.dst.(*vec.Col[int64])
	d.Vals = append(d.Vals, n)
	return nil
}
func (r *row) putF8(x float64) error {
	d := r.dst.(*vec.Col[float64])
	d.Vals = append(d.Vals, x)
	return nil
}
func (r *row) putIv(x types.IntervalValue) error {
	d := r.dst.(*vec.Col[types.IntervalValue])
	d.Vals = append(d.Vals, x)
	return nil
}
func (r *row) putDec(x types.Decimal) error {
	d := r.dst.(*vec.Bytes)
	d.Data = types.AppendDecimal(d.Data, x)
	d.Finish()
	return nil
}
func (r *row) put(d types.Datum) error { r.dst.AppendDatum(d); return nil }

// fn makes a table row of a strict function.
func fn(name string, args []types.T, ret types.T, f func(r *row) error) *Func {
	return &Func{Name: name, Args: args, Ret: ret, MayFail: true, Eval: rows(f)}
}

// fnNulls makes a table row of a function that sees NULLs.
func fnNulls(name string, args []types.T, ret types.T, f func(r *row) error) *Func {
	return &Func{Name: name, Args: args, Ret: ret, MayFail: true, NotStrict: true, Eval: rowsNulls(f)}
}

// safe marks a function that never fails.
func safe(f *Func) *Func { f.MayFail = false; return f }

func stable(f *Func) *Func   { f.Volatility = Stable; return f }
func volatile(f *Func) *Func { f.Volatility = Volatile; return f }

func ts(t ...types.T) []types.T { return t }
