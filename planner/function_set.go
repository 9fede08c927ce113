package planner

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// setRows are the rows of a function: its columns, then hidden ones that order them.
type setRows struct {
	node  plan.Node
	cols  []plan.Column
	order []expr.SortKey // over node's columns
	fn    *catalog.Function
}

// functionSet binds a function's query to the columns of its result; to one row at
// most if first is set.
func (b *binder) functionSet(q *sql.Select, sc *scope, fn *catalog.Function, first bool) (*setRows, error) {
	void := fn.Returns.Type.ID == types.Void
	if void {
		q = counted(q, fn.Name)
	}
	r, err := b.boundQuery(q, sc, queryMode{order: true})
	if err != nil {
		return nil, err
	}
	n := r.node
	if void {
		none := expr.Nothing(&expr.Col{Index: 0, Typ: types.TInt8})
		out := []plan.Column{{Name: fn.Name, Typ: types.TVoid}}
		return &setRows{node: &plan.Project{Input: n, Exprs: []expr.Expr{none}, Out: out}, cols: out, fn: fn}, nil
	}
	if first && !oneAtMost(n) {
		n = &plan.TopN{Input: n, Order: r.order, Limit: 1}
	}
	es, out, err := b.functionColumns(n, r.cols, fn)
	if err != nil {
		return nil, err
	}
	f := &setRows{cols: out, fn: fn}
	p := &plan.Project{Input: n, Exprs: es, Out: out}
	for _, k := range r.order {
		f.order = append(f.order, expr.SortKey{Col: len(p.Exprs), Desc: k.Desc, NullsFirst: k.NullsFirst})
		p.Exprs = append(p.Exprs, &expr.Col{Index: k.Col, Typ: n.Schema()[k.Col].Typ})
		p.Out = append(p.Out[:len(p.Out):len(p.Out)], n.Schema()[k.Col])
	}
	f.node = p
	return f, nil
}

// rows are the columns of the function alone.
func (f *setRows) rows() plan.Node { return narrowTo(f.node, len(f.cols)) }

// row is a row of the function, of type t, as a value.
func (f *setRows) row(cols []expr.Expr, t types.T) expr.Expr {
	names := make([]string, len(f.cols))
	for i, c := range f.cols {
		names[i] = c.Name
	}
	row := expr.NewRow(cols[:len(names):len(names)], names)
	row.Whole, row.Typ = true, t
	return row
}

// typ is what a call of the function is worth.
func (f *setRows) typ() types.T {
	t := f.fn.Returns.Type.Base()
	if t.IsComposite() || t.ID != types.Record && len(f.cols) == 1 {
		return t
	}
	names, ts := make([]string, len(f.cols)), make([]types.T, len(f.cols))
	for i, c := range f.cols {
		names[i], ts[i] = c.Name, c.Typ.Base()
	}
	return rowType(names, ts)
}

// asRow tells that a call is worth a row, not the value of the only column.
func (f *setRows) asRow() bool { return f.typ().ID == types.Record }

// numbered is the function's columns with a number for each row at the right. The
// order must be known: rows of tables have none, so any will do, but those that a
// query makes up come in the order in which it makes them.
func (f *setRows) numbered(b *binder, at sql.Node) (plan.Node, error) {
	if len(f.order) == 0 && !oneAtMost(f.node) && makesRows(f.node) {
		return nil, b.unsupported(at, "numbering the rows of function "+f.fn.Name+", whose query has no ORDER BY",
			"Add one to the query of the function.")
	}
	w := &plan.Window{Input: f.node, Order: f.order, Out: append(f.node.Schema()[:len(f.node.Schema()):len(f.node.Schema())], ordinality)}
	w.Funcs = []plan.WindowFunc{{Name: "row_number", Typ: types.TInt8,
		Frame: plan.Frame{Mode: plan.Range, Start: plan.UnboundedPreceding, End: plan.CurrentRow}}}
	return pick(w, append(span(0, len(f.cols)), len(w.Out)-1)), nil
}

var ordinality = plan.Column{Name: "ordinality", Typ: types.TInt8}

// makesRows reports whether a plan has rows that it does not read from a relation.
func makesRows(n plan.Node) bool {
	found := false
	plan.Walk(n, func(x plan.Node) bool {
		switch x := x.(type) {
		case *plan.TableFunc, *plan.ProjectSet, *plan.Union, *plan.Recursive:
			found = true
		case *plan.Values:
			found = found || len(x.Rows) > 1
		}
		return !found
	})
	return found
}

// setOf binds a call of a user's function to its rows. Their plan sees the row of
// caller as outer level 1.
func (b *binder) setOf(fn *catalog.Function, args []expr.Expr, caller *scope, at sql.Node) (*setRows, error) {
	var f *setRows
	err := b.inlined(fn, args, caller, at, func(q *sql.Select, sc *scope) error {
		var err error
		f, err = b.functionSet(q, sc, fn, !fn.Set)
		return err
	})
	if err != nil {
		return nil, err
	}
	if fn.Strict && len(args) > 0 {
		width := len(f.node.Schema())
		n, err := b.filter(f.node, &expr.Not{Arg: outward(anyNull(args), 1)})
		if err != nil {
			return nil, err
		}
		f.node = narrowTo(n, width)
	}
	if !fn.Set { // such a function has a row in any case
		f.node = &plan.Apply{Kind: plan.Left, Left: oneRow(), Right: shiftOuter(f.node, 1)}
	}
	return f, nil
}

// setCall binds a call of a function that returns rows in a select list.
func (b *binder) setCall(ec *exprContext, e *sql.FuncCall, fn *catalog.Function, args []expr.Expr) (expr.Expr, error) {
	for _, a := range args {
		if hasSet(a) {
			return nil, b.unsupported(e, "a set-returning function as an argument of a function of CREATE FUNCTION", "Call it in a subquery of FROM.")
		}
	}
	f, err := b.setOf(fn, args, ec.sc, e)
	if err != nil {
		return nil, err
	}
	return &subRef{kind: subSet, node: f.node, set: f, typ: f.typ(), name: fn.Name, at: e}, nil
}

// sideBySide puts rows that are numbered at the right of each part next to one
// another, NULL where a part has no more; the number of the row comes last.
func sideBySide(parts []plan.Node) plan.Node {
	n := parts[0]
	for i, p := range parts[1:] {
		l, r := len(n.Schema()), len(p.Schema())
		if i == 0 {
			n = pick(n, append(span(0, l), l-1))
			l++
		}
		j := &plan.Join{Kind: plan.Full, Left: n, Right: p, LeftKeys: []int{l - 1}, RightKeys: []int{r - 1}}
		number := &expr.Coalesce{Typ: types.TInt8, Args: []expr.Expr{&expr.Col{Index: l - 1, Typ: types.TInt8}, &expr.Col{Index: l + r - 1, Typ: types.TInt8}}}
		out := pick(j, append(append(span(0, l-1), span(l, r)...), l-1)).(*plan.Project)
		out.Exprs[l-1+r] = number
		n = out
	}
	return n
}

// userTable binds functions of FROM among which one is a user's; nil: none is.
func (b *binder) userTable(te *sql.FuncTable, outer *scope) (*fromPart, error) {
	ec := &exprContext{sc: outer, clause: "functions in FROM"}
	fns, args := make([]*catalog.Function, len(te.Funcs)), make([][]expr.Expr, len(te.Funcs))
	found := false
	for i, f := range te.Funcs {
		e, ok := f.Call.(*sql.FuncCall)
		if !ok {
			continue
		}
		var err error
		if fns[i], args[i], err = b.resolveUser(ec, e); err != nil {
			return nil, err
		}
		if fns[i] != nil && len(f.Columns) > 0 {
			return nil, b.columnsGiven(fns[i], f.Columns[0])
		}
		found = found || fns[i] != nil
	}
	if !found {
		return nil, nil
	}
	if len(te.Funcs) > 1 || te.Ordinality {
		return b.numberedTable(te, outer, fns, args)
	}
	f, err := b.setOf(fns[0], args[0], outer, te)
	if err != nil {
		return nil, err
	}
	it, err := b.alias(te.Alias, fns[0].Name, f.cols, te)
	if err != nil {
		return nil, err
	}
	if it.scalar = len(it.cols) == 1 && !f.asRow() && len(fns[0].Columns) == 0; it.scalar {
		nameScalar(it, te)
	}
	return &fromPart{node: f.rows(), items: []*rangeItem{it}}, nil
}

// columnsGiven is the error of a column definition list at a function that has none
// to be told.
func (b *binder) columnsGiven(fn *catalog.Function, at sql.Node) error {
	switch {
	case len(fn.Columns) > 0:
		return b.errAt(at, pgerr.SyntaxError, "a column definition list is redundant for a function with OUT parameters")
	case fn.Returns.Type.IsComposite():
		return b.errAt(at, pgerr.SyntaxError, "a column definition list is redundant for a function returning a named composite type")
	}
	return b.errAt(at, pgerr.SyntaxError, "a column definition list is only allowed for functions returning \"record\"")
}

// nameScalar: the column of a function of one takes the alias.
func nameScalar(it *rangeItem, te *sql.FuncTable) {
	if te.Alias != nil && len(te.Alias.Columns) == 0 {
		it.cols[0].name = te.Alias.Name
	}
}

// numberedTable binds ROWS FROM and WITH ORDINALITY where users' functions are among
// the functions: fns are these, nil for others.
func (b *binder) numberedTable(te *sql.FuncTable, outer *scope, fns []*catalog.Function, args [][]expr.Expr) (*fromPart, error) {
	var parts []plan.Node
	var cols []plan.Column
	var keep []int
	scalar, width, name := false, 0, ""
	add := func(n plan.Node, out []plan.Column) {
		parts, cols = append(parts, n), append(cols, out...)
		keep = append(keep, span(width, len(out))...)
		width += len(out) + 1
	}
	for i, f := range te.Funcs {
		if i == 0 {
			name = figureName(f.Call)
		}
		if fns[i] != nil {
			rows, err := b.setOf(fns[i], args[i], outer, te)
			if err != nil {
				return nil, err
			}
			n, err := rows.numbered(b, te)
			if err != nil {
				return nil, err
			}
			scalar = !rows.asRow() && len(fns[i].Columns) == 0
			add(n, rows.cols)
			continue
		}
		inner := &exprContext{sc: &scope{parent: outer, ctes: outer.ctes}, clause: "functions in FROM", allowSet: true}
		for _, one := range manyUnnest([]sql.TableFunc{f}) {
			e, err := b.tableFunction(inner, one)
			if err != nil {
				return nil, err
			}
			n, out, err := b.rowsOf([]expr.Expr{e}, []string{figureName(one.Call)}, true)
			if err != nil {
				return nil, err
			}
			add(n, out[:len(out)-1])
		}
	}
	if te.Ordinality {
		last := width - 1 // the number of the only part
		if len(parts) > 1 {
			last = width
		}
		cols, keep = append(cols, ordinality), append(keep, last)
	}
	it, err := b.alias(te.Alias, name, cols, te)
	if err != nil {
		return nil, err
	}
	if len(te.Funcs) == 1 && scalar {
		nameScalar(it, te)
	}
	return &fromPart{node: pick(sideBySide(parts), keep), items: []*rangeItem{it}}, nil
}
