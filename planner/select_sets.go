package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// isSet reports whether e itself is a call of a function that returns rows: one of
// the server's, or of a user's (a subRef of kind subSet).
func isSet(e expr.Expr) bool {
	switch e := e.(type) {
	case *expr.Call:
		return e.Fn.Set
	case *subRef:
		return e.kind == subSet
	}
	return false
}

func hasSet(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		found = found || isSet(x)
		return !found
	})
	return found
}

// expandSets computes set-returning functions inside es, innermost first; the input's
// columns stay. Those of one level go side by side: row k has the kth row of each.
func (b *binder) expandSets(n plan.Node, es []expr.Expr) (plan.Node, []expr.Expr, error) {
	for {
		var calls []expr.Expr
		for _, e := range es {
			expr.Walk(e, func(x expr.Expr) bool {
				if isSet(x) && !slices.ContainsFunc(expr.Children(x), hasSet) {
					if !slices.ContainsFunc(calls, func(o expr.Expr) bool { return exprKey(o) == exprKey(x) }) {
						calls = append(calls, x)
					}
				}
				return true
			})
		}
		if len(calls) == 0 {
			return n, es, nil
		}
		if !slices.ContainsFunc(calls, func(e expr.Expr) bool { return !ofOneColumn(e) }) {
			n, es = projectSets(n, es, calls)
			continue
		}
		var err error
		if n, es, err = b.applySets(n, es, calls); err != nil {
			return nil, nil, err
		}
	}
}

// ofOneColumn tells a function of the server's whose rows are values.
func ofOneColumn(e expr.Expr) bool {
	c, ok := e.(*expr.Call)
	if !ok {
		return false
	}
	names, _ := setResult(c)
	return len(names) <= 1
}

// projectSets computes calls of functions of one column by a ProjectSet.
func projectSets(n plan.Node, es, calls []expr.Expr) (plan.Node, []expr.Expr) {
	width := len(n.Schema())
	ps := &plan.ProjectSet{Input: n, Exprs: identity(n), Out: slices.Clone(n.Schema())}
	at := map[string]expr.Expr{}
	for i, c := range calls {
		at[exprKey(c)] = &expr.Col{Index: width + i, Typ: c.Type()}
		ps.Exprs = append(ps.Exprs, c)
		ps.Out = append(ps.Out, plan.Column{Name: c.(*expr.Call).Fn.Name, Typ: c.Type()})
	}
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		out[i] = replace(e, func(x expr.Expr) (expr.Expr, bool) {
			if !isSet(x) {
				return nil, false
			}
			c, ok := at[exprKey(x)]
			return c, ok
		})
	}
	return ps, out
}

// applySets computes calls for every row of n by an Apply; es then take its columns.
func (b *binder) applySets(n plan.Node, es, calls []expr.Expr) (plan.Node, []expr.Expr, error) {
	at := len(n.Schema())
	rows := map[string]expr.Expr{}
	fields := map[string][]expr.Expr{}
	parts := make([]plan.Node, len(calls))
	for i, call := range calls {
		part, cols, err := b.setPart(call, len(calls) > 1)
		if err != nil {
			return nil, nil, err
		}
		parts[i] = part
		var fs []expr.Expr
		for k, c := range cols {
			fs = append(fs, &expr.Col{Index: at + k, Typ: c.Typ})
		}
		at += len(cols)
		row := rowOfSet(call, fs, cols)
		if len(calls) > 1 {
			if _, isRow := row.(*expr.MakeRow); isRow { // no row of NULLs where the function has no more
				gone := &expr.IsNull{Arg: &expr.Col{Index: at, Typ: types.TInt8}}
				row = &expr.Case{Whens: []expr.When{{Cond: gone, Then: &expr.Const{Typ: row.Type()}}}, Else: row, Typ: row.Type()}
			}
			at++
		}
		rows[exprKey(call)], fields[exprKey(call)] = row, fs
	}
	right := parts[0]
	if len(parts) > 1 {
		right = sideBySide(parts)
	}
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		out[i] = replace(e, func(x expr.Expr) (expr.Expr, bool) {
			if f, ok := x.(*expr.Field); ok && isSet(f.Arg) && fields[exprKey(f.Arg)] != nil {
				return fields[exprKey(f.Arg)][f.Index], true
			}
			if !isSet(x) {
				return nil, false
			}
			row, ok := rows[exprKey(x)]
			return row, ok
		})
	}
	return &plan.Apply{Kind: plan.Inner, Left: n, Right: right}, out, nil
}

// setPart is the plan of a call for the row around, numbered if it is to stand beside
// others, and its columns without the number.
func (b *binder) setPart(call expr.Expr, number bool) (plan.Node, []plan.Column, error) {
	if s, ok := call.(*subRef); ok {
		rows := *s.set
		rows.node = s.node
		if !number {
			return rows.rows(), rows.cols, nil
		}
		n, err := rows.numbered(b, s.at)
		return n, rows.cols, err
	}
	c := call.(*expr.Call)
	f := &plan.TableFunc{Fn: c.Fn, Ordinality: number, Out: setColumns(c, c.Fn.Name)}
	for _, a := range c.Args {
		f.Args = append(f.Args, outward(a, 1))
	}
	cols := f.Out
	if number {
		f.Out = append(slices.Clone(cols), ordinality)
	}
	return f, cols, nil
}

// rowOfSet is what a call is worth, of the columns that it yields.
func rowOfSet(call expr.Expr, fs []expr.Expr, cols []plan.Column) expr.Expr {
	if s, ok := call.(*subRef); ok {
		if s.set.asRow() {
			return s.set.row(fs, s.typ)
		}
		return fs[0]
	}
	if len(cols) == 1 {
		return fs[0]
	}
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.Name
	}
	return expr.NewRow(fs, names)
}
