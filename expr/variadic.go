package expr

import (
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// SpreadCall is f(fixed..., VARIADIC array): a call whose last arguments are the
// elements of an array. A NULL array gives NULL; format then has no arguments.
func SpreadCall(f *Func, fixed []Expr, array Expr) *Call {
	elem := array.Type().ElemType()
	n := len(fixed)
	sample := append(typesOf(fixed), elem)
	g := &Func{Name: f.Name, Args: append(typesOf(fixed), array.Type()), Ret: f.Result(sample), Volatility: f.Volatility, MayFail: true, NotStrict: true}
	g.New = func() Kernel {
		eval := f.Eval
		if f.New != nil {
			eval = f.New()
		}
		return rowsNulls(func(r *row) error {
			if r.isNull(n) && f.Name != "format" || !f.NotStrict && anyNull(r.args, r.i) {
				return r.null()
			}
			args, null := spreadRow(r, n, elem)
			if null && !f.NotStrict {
				return r.null()
			}
			out := vec.New(g.Ret, 1)
			one := Ctx{Session: r.c.Session}
			if err := eval(&one, out, args, 1); err != nil {
				return err
			}
			r.dst.AppendFrom(out, 0)
			return nil
		})
	}
	return &Call{Fn: g, Args: append(append([]Expr(nil), fixed...), array), Typ: g.Ret}
}

// spreadRow makes a row of its own of the fixed arguments and the elements.
func spreadRow(r *row, n int, elem types.T) (args []vec.Vector, hasNull bool) {
	for k := range n {
		v := vec.New(r.typ(k), 1)
		v.AppendFrom(r.args[k], r.i)
		args = append(args, v)
	}
	if r.isNull(n) {
		return args, false
	}
	view := r.view(n)
	for k := range view.Len() {
		b, null := view.At(k)
		v := vec.New(elem, 1)
		appendElem(v, elem.Kind(), b, null)
		hasNull = hasNull || null
		args = append(args, v)
	}
	return args, hasNull
}
