package expr

import (
	"strings"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// RowsFrom is a call of several functions side by side: row k has the kth row
// of each, NULL where one has no more. A part that is no call of a set-returning
// function has one row, its value. names are the names of such parts' columns,
// one for each part. With ordinality the rows are numbered in a last column.
func RowsFrom(parts []Expr, names []string, ordinality bool) *Call {
	var ps []rowsPart
	var args []Expr
	var cols []string
	var typs []types.T
	var called []string
	for i, e := range parts {
		p := rowsPart{first: len(args)}
		if c, ok := e.(*Call); ok && c.Fn.Set {
			p.fn, p.args = c.Fn, len(c.Args)
			args = append(args, c.Args...)
			n, t := []string{names[i]}, []types.T{c.Typ}
			if c.Fn.Cols != nil {
				if n, t = c.Fn.Cols(typesOf(c.Args)); len(n) == 1 {
					n = []string{names[i]}
				}
			}
			cols, typs, p.cols = append(cols, n...), append(typs, t...), len(n)
			called = append(called, c.Fn.Name)
		} else {
			args = append(args, e)
			cols, typs, p.args, p.cols = append(cols, names[i]), append(typs, e.Type()), 1, 1
			called = append(called, names[i])
		}
		ps = append(ps, p)
	}
	if ordinality {
		cols, typs = append(cols, "ordinality"), append(typs, types.TInt8)
	}
	f := &Func{Name: "rows from(" + strings.Join(called, ", ") + ")", Args: typesOf(args), Ret: types.TRecord, Set: true, NotStrict: true, MayFail: true,
		Volatility: worstOf(ps), Cols: func([]types.T) ([]string, []types.T) { return cols, typs }}
	f.EvalSet = func(c *Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
		return evalParts(c, ps, ordinality, dst, args, i)
	}
	return &Call{Fn: f, Args: args, Typ: types.TRecord}
}

// rowsPart is a function of ROWS FROM; fn nil: a plain value.
type rowsPart struct {
	fn          *Func
	first, args int // its arguments among all
	cols        int
}

func worstOf(ps []rowsPart) Volatility {
	v := Immutable
	for _, p := range ps {
		if p.fn != nil {
			v = max(v, p.fn.Volatility)
		}
	}
	return v
}

func evalParts(c *Ctx, ps []rowsPart, ordinality bool, dst, args []vec.Vector, i int) error {
	before := dst[0].Len()
	at, most := 0, 0
	for _, p := range ps {
		own, in := dst[at:at+p.cols], args[p.first:p.first+p.args]
		switch {
		case p.fn == nil:
			own[0].AppendFrom(in[0], i)
		case p.fn.NotStrict || !anyNull(in, i):
			if err := p.fn.EvalSet(c, own, in, i); err != nil {
				return err
			}
		}
		for _, v := range own {
			most = max(most, v.Len()-before)
		}
		at += p.cols
	}
	for _, v := range dst[:at] {
		for v.Len() < before+most {
			v.AppendNull()
		}
	}
	if ordinality {
		for k := range most {
			dst[at].AppendDatum(int64(k + 1))
		}
	}
	return nil
}
