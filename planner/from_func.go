package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// funcTable binds functions in FROM.
func (b *binder) funcTable(te *sql.FuncTable, outer *scope) (*fromPart, error) {
	if part, err := b.userTable(te, outer); part != nil || err != nil {
		return part, err
	}
	ec := &exprContext{sc: &scope{parent: outer, ctes: outer.ctes}, clause: "functions in FROM", allowSet: true}
	var parts []expr.Expr
	var names []string
	defined := false
	for _, f := range manyUnnest(te.Funcs) {
		e, err := b.tableFunction(ec, f)
		if err != nil {
			return nil, err
		}
		parts, names = append(parts, e), append(names, figureName(f.Call))
		defined = defined || len(f.Columns) > 0
	}
	node, cols, err := b.rowsOf(parts, names, te.Ordinality)
	if err != nil {
		return nil, err
	}
	it, err := b.alias(te.Alias, names[0], cols, te)
	if err != nil {
		return nil, err
	}
	single := (len(cols) == 1 || len(cols) == 2 && te.Ordinality) && parts[0].Type().ID != types.Record
	if single && !defined && !namesResult(parts[0]) && te.Alias != nil && len(te.Alias.Columns) == 0 {
		it.cols[0].name = te.Alias.Name // a scalar function's column takes the alias
	}
	it.scalar = len(cols) == 1 && parts[0].Type().ID != types.Record
	return &fromPart{node: node, items: []*rangeItem{it}}, nil
}

// namesResult reports whether a function names its one column itself.
func namesResult(e expr.Expr) bool {
	c, ok := e.(*expr.Call)
	if !ok || !c.Fn.Set || c.Fn.Cols == nil {
		return false
	}
	names, _ := setResult(c)
	return len(names) == 1 && names[0] != ""
}

// manyUnnest makes an unnest of several arrays one function each.
func manyUnnest(fs []sql.TableFunc) []sql.TableFunc {
	var out []sql.TableFunc
	for _, f := range fs {
		c, ok := f.Call.(*sql.FuncCall)
		if !ok || c.Name != "unnest" || c.Schema != "" && c.Schema != "pg_catalog" || len(c.Args) < 2 || c.Variadic || len(f.Columns) > 0 {
			out = append(out, f)
			continue
		}
		for _, a := range c.Args {
			one := *c
			one.Args = []sql.Arg{a}
			out = append(out, sql.TableFunc{Call: &one})
		}
	}
	return out
}

// tableFunction binds one function of FROM with its column definition list.
func (b *binder) tableFunction(ec *exprContext, f sql.TableFunc) (expr.Expr, error) {
	names, ts, err := b.columnDefinitions(f.Columns)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		if b.defined == nil {
			b.defined = map[sql.Node]types.T{}
		}
		b.defined[f.Call] = rowType(names, ts)
	}
	e, err := b.expr(ec, f.Call)
	if err != nil {
		return nil, err
	}
	if _, open := b.defined[f.Call]; len(names) > 0 && !open {
		return underNames(e, names, ts), nil
	}
	call, isSet := e.(*expr.Call)
	if isSet = isSet && call.Fn.Set; !isSet {
		if e, err = b.toText(e); err != nil {
			return nil, err
		}
	}
	needs := isSet && call.Fn.NeedsColumns
	switch {
	case len(f.Columns) == 0 && needs:
		return nil, b.errAt(f.Call, pgerr.SyntaxError, "a column definition list is required for functions returning \"record\"")
	case len(f.Columns) == 0:
		return e, nil
	case isSet && call.Fn.Cols != nil && e.Type().ID == types.Record:
		return nil, b.errAt(f.Columns[0], pgerr.SyntaxError, "a column definition list is redundant for a function with OUT parameters")
	case !needs:
		return nil, b.errAt(f.Columns[0], pgerr.SyntaxError, "a column definition list is only allowed for functions returning \"record\"")
	}
	return &expr.Call{Fn: expr.WithColumns(call.Fn, names, ts), Args: call.Args, Typ: types.TRecord}, nil
}

func (b *binder) columnDefinitions(cols []sql.ColumnDef) (names []string, ts []types.T, err error) {
	for i := range cols {
		c := &cols[i]
		t, err := b.typeName(c.Type)
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(names, c.Name) {
			return nil, nil, b.errAt(c, pgerr.DuplicateColumn, "column name \"%s\" specified more than once", c.Name)
		}
		names, ts = append(names, c.Name), append(ts, t)
	}
	return names, ts, nil
}

// rowToFill settles the type of the rows that a function fills from JSON. That of a
// row without names comes from the column definition list of the call.
func (b *binder) rowToFill(f *expr.Func, args []expr.Expr, at sql.Node) ([]expr.Expr, error) {
	t := args[0].Type()
	want, given := b.defined[at]
	have := t.Fields()
	switch {
	case t.ID != types.Record && len(have) == 0:
		return nil, expr.NotRow(f.Name)
	case t.IsComposite() || !given && len(have) > 0:
		return args, nil
	case !given:
		return nil, pgerr.New(pgerr.FeatureNotSupported, "could not determine row type for result of %s", f.Name).
			WithHint("Provide a non-null record argument, or call the function in the FROM clause using a column definition list.")
	}
	delete(b.defined, at)
	if len(have) > 0 {
		return args, sameRow(have, want.Fields())
	}
	return append([]expr.Expr{&expr.Cast{Arg: args[0], To: want}}, args[1:]...), nil
}

// underNames gives the columns of a function that has its types from a column
// definition list the names of the list.
func underNames(e expr.Expr, names []string, ts []types.T) expr.Expr {
	call, ok := e.(*expr.Call)
	if !ok || !call.Fn.Set {
		return &expr.Cast{Arg: e, To: rowType(names, ts)}
	}
	f := *call.Fn
	f.Cols = func([]types.T) ([]string, []types.T) { return names, ts }
	return &expr.Call{Fn: &f, Args: call.Args, Typ: call.Typ}
}

// sameRow compares the row a function returns with the one the query asks for.
func sameRow(have, want []types.RowField) error {
	mismatch := pgerr.New(pgerr.DatatypeMismatch, "function return row and query-specified return row do not match")
	if len(have) != len(want) {
		noun := "attributes"
		if len(have) == 1 {
			noun = "attribute"
		}
		return mismatch.WithDetail("Returned row contains %d %s, but query expects %d.", len(have), noun, len(want))
	}
	for i, f := range have {
		if !f.Typ.SameType(want[i].Typ) {
			return mismatch.WithDetail("Returned type %s at ordinal position %d, but query expects %s.", f.Typ, i+1, want[i].Typ)
		}
	}
	return nil
}

// rowsOf makes the plan of the functions of one item. Subqueries in their arguments
// make a row first, which the functions then read.
func (b *binder) rowsOf(parts []expr.Expr, names []string, ordinality bool) (plan.Node, []plan.Column, error) {
	if !slices.ContainsFunc(parts, hasSubquery) {
		n, cols := rowsOfFunctions(parts, names, ordinality)
		return n, cols, nil
	}
	row, parts, err := b.planSubqueries(oneRow(), parts)
	if err != nil {
		return nil, nil, err
	}
	for i, p := range parts {
		parts[i] = outward(p, 1)
	}
	n, cols := rowsOfFunctions(parts, names, ordinality)
	width := len(row.Schema())
	return pick(&plan.Apply{Kind: plan.Inner, Left: row, Right: n}, span(width, len(cols))), cols, nil
}

func rowsOfFunctions(parts []expr.Expr, names []string, ordinality bool) (plan.Node, []plan.Column) {
	call, isSet := parts[0].(*expr.Call)
	isSet = isSet && call.Fn.Set
	if len(parts) > 1 {
		call, isSet = expr.RowsFrom(parts, names, false), true
	}
	ord := plan.Column{Name: "ordinality", Typ: types.TInt8}
	if isSet {
		cols := setColumns(call, names[0])
		if ordinality {
			cols = append(cols, ord)
		}
		return &plan.TableFunc{Fn: call.Fn, Args: call.Args, Ordinality: ordinality, Out: cols}, cols
	}
	row := []expr.Expr{parts[0]}
	cols := []plan.Column{{Name: names[0], Typ: parts[0].Type()}}
	if fields := parts[0].Type().Fields(); parts[0].Type().ID == types.Record && len(fields) > 0 {
		row, cols = nil, nil // a row stands for its columns
		for i, f := range fields {
			row = append(row, fieldOf(parts[0], i))
			cols = append(cols, plan.Column{Name: f.Name, Typ: f.Typ})
		}
	}
	if ordinality {
		cols = append(cols, ord)
		row = append(row, &expr.Const{Val: int64(1), Typ: types.TInt8})
	}
	return &plan.Values{Rows: [][]expr.Expr{row}, Out: cols}, cols
}

// setColumns are the output columns of a set-returning function.
func setColumns(c *expr.Call, name string) []plan.Column {
	if names, ts := setResult(c); len(names) > 0 {
		out := make([]plan.Column, len(names))
		for i := range names {
			out[i] = plan.Column{Name: names[i], Typ: ts[i]}
		}
		return out
	}
	return []plan.Column{{Name: name, Typ: c.Typ}}
}
