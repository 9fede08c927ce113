package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// part is a part of a column that a statement assigns to.
type part struct {
	column string
	steps  []sql.PathStep
	ec     *exprContext // of the subscripts
	at     sql.Node     // of the column in the text
}

// assignPart makes of the value base, of which a part is assigned to, the one with
// that part replaced by val, whose place is at. What is on the way and NULL comes to
// be.
func (b *binder) assignPart(p part, base, val expr.Expr, at sql.Node) (expr.Expr, error) {
	if len(p.steps) == 0 {
		return val, nil
	}
	t := base.Type()
	if t.IsDomain() {
		v, err := b.assignPart(p, b.unconstrained(base), val, at)
		if err != nil {
			return nil, err
		}
		return b.constrained(v, t)
	}
	if p.steps[0].Index == nil {
		return b.assignField(p, base, val, at)
	}
	n := slices.IndexFunc(p.steps, func(s sql.PathStep) bool { return s.Index == nil })
	if n < 0 {
		n = len(p.steps)
	}
	switch {
	case t.ID == types.JSONB && n == len(p.steps):
		return b.assignJSON(p, base, val, at)
	case t.ID == types.Array:
		return b.assignElement(p, n, base, val, at)
	}
	err := pgerr.New(pgerr.DatatypeMismatch, "cannot subscript type %s because it does not support subscripting", t.Base())
	if _, missing := base.(*expr.Const); !missing { // of INSERT
		err = err.At(b.at(p.at))
	}
	return nil, err
}

// partsMade holds a value of which parts were assigned against the constraints of its
// type, once.
func (b *binder) partsMade(v expr.Expr, t types.T) (expr.Expr, error) {
	if c, ok := v.(*expr.Call); !t.HoldsDomain() || ok && c.Fn == b.domains[t.Base()] {
		return v, nil
	}
	return b.constrained(v, t)
}

// defaultPart is the error of assigning DEFAULT to a part of a column.
func (b *binder) defaultPart(steps []sql.PathStep, at sql.Node) error {
	return b.errAt(at, pgerr.FeatureNotSupported, "cannot set %s to DEFAULT", map[bool]string{true: "a subfield", false: "an array element"}[steps[0].Index == nil])
}

func (b *binder) assignField(p part, base, val expr.Expr, at sql.Node) (expr.Expr, error) {
	t, name := base.Type(), p.steps[0].Field
	if !t.IsComposite() {
		return nil, b.errAt(p.at, pgerr.DatatypeMismatch, "cannot assign to field \"%s\" of column \"%s\" because its type %s is not a composite type", name, p.column, t)
	}
	fields := t.Fields()
	i := slices.IndexFunc(fields, func(f types.RowField) bool { return f.Name == name })
	if i < 0 {
		return nil, b.errAt(p.at, pgerr.UndefinedColumn, "cannot assign to field \"%s\" of column \"%s\" because there is no such column in data type %s", name, p.column, t)
	}
	row := &expr.MakeRow{Typ: t}
	for k := range fields {
		row.Args, row.Names = append(row.Args, &expr.Field{Arg: base, Index: k, Typ: fields[k].Typ}), append(row.Names, fields[k].Name)
	}
	inner := p
	inner.steps = p.steps[1:]
	v, err := b.assignPart(inner, row.Args[i], val, at)
	if err == nil && len(inner.steps) == 0 {
		v, err = b.partValue(v, fields[i].Typ, "subfield \""+name+"\" is of type ", p.at, at)
	}
	row.Args[i] = v
	return row, err
}

// partValue converts a value to the type of the part that it is assigned to. what
// begins the error that it cannot be.
func (b *binder) partValue(v expr.Expr, t types.T, what string, column, at sql.Node) (expr.Expr, error) {
	if f := v.Type(); f.ID != types.Unknown && !expr.CanCast(f, t, expr.Assignment) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "%s%s but expression is of type %s", what, t.Base(), f.Base()).
			WithHint("You will need to rewrite or cast the expression.").At(b.at(column))
	}
	return b.coerce(v, t, expr.Assignment, at)
}

func (b *binder) assignElement(p part, n int, base, val expr.Expr, at sql.Node) (expr.Expr, error) {
	t := base.Type()
	args := []expr.Expr{base}
	var bounds []types.Bounds
	slice := slices.ContainsFunc(p.steps[:n], func(s sql.PathStep) bool { return s.Index.Slice })
	var elem []expr.Expr // the subscripts of an element
	for _, s := range p.steps[:n] {
		lo, hi := s.Index.Lower, s.Index.Upper
		open := types.Bounds{OpenLo: s.Index.Slice && lo == nil, OpenHi: s.Index.Slice && hi == nil}
		h, err := b.partSubscript(p.ec, hi)
		if err != nil {
			return nil, err
		}
		l := h
		switch {
		case s.Index.Slice:
			l, err = b.partSubscript(p.ec, lo)
		case slice:
			l = &expr.Const{Val: int32(1), Typ: types.TInt4}
		}
		if err != nil {
			return nil, err
		}
		args, bounds, elem = append(args, l, h), append(bounds, open), append(elem, h)
	}
	want := t.ElemType()
	if slice {
		want = t
	}
	if n < len(p.steps) {
		if slice {
			return nil, b.unsupported(p.at, "assigning to a part of the elements of a slice", "Assign the elements whole.")
		}
		old, err := b.call("array_subscript", p.at, append([]expr.Expr{base}, elem...)...)
		if err != nil {
			return nil, err
		}
		inner := p
		inner.steps = p.steps[n:]
		if val, err = b.assignPart(inner, old, val, at); err != nil {
			return nil, err
		}
	}
	v, err := b.partValue(val, want, "subscripted assignment to \""+p.column+"\" requires type ", p.at, at)
	if err != nil {
		return nil, err
	}
	return &expr.Call{Fn: expr.AssignArray(t, bounds, slice), Args: append(args, v), Typ: t}, nil
}

// partSubscript binds a subscript; nil is NULL.
func (b *binder) partSubscript(ec *exprContext, e sql.Expr) (expr.Expr, error) {
	if e == nil {
		return &expr.Const{Typ: types.TInt4}, nil
	}
	i, err := b.expr(ec, e)
	if err != nil {
		return nil, err
	}
	if t := i.Type(); t.ID != types.Unknown && !expr.CanCast(t, types.TInt4, expr.Assignment) {
		return nil, b.errAt(leftmost(e), pgerr.DatatypeMismatch, "array subscript must have type integer")
	}
	return b.coerce(i, types.TInt4, expr.Assignment, e)
}

func (b *binder) assignJSON(p part, base, val expr.Expr, at sql.Node) (expr.Expr, error) {
	path := &expr.MakeArray{Typ: types.ArrayOf(types.Text)}
	array := false
	for k, s := range p.steps {
		if s.Index.Slice {
			return nil, b.errAt(p.at, pgerr.DatatypeMismatch, "jsonb subscript does not support slices")
		}
		i, err := b.expr(p.ec, s.Index.Upper)
		if err != nil {
			return nil, err
		}
		if t := i.Type(); k == 0 && t.ID != types.Unknown && expr.CanCast(t, types.TInt4, expr.Implicit) {
			array = true
		}
		if i, err = b.jsonSubscript(i, s.Index.Upper); err != nil {
			return nil, err
		}
		path.Args = append(path.Args, i)
	}
	v, err := b.partValue(val, types.TJSONB, "subscripted assignment to \""+p.column+"\" requires type ", p.at, at)
	if err != nil {
		return nil, err
	}
	return &expr.Call{Fn: expr.AssignJSON(array), Args: []expr.Expr{base, path, v}, Typ: types.TJSONB}, nil
}

// insertTarget is what a value of INSERT goes to: a column, or with steps a part.
type insertTarget struct {
	column int
	steps  []sql.PathStep
	at     sql.Node
	fixed  error // of a view's column that takes no value
}

// wholeColumns are targets for values of columns.
func wholeColumns(cols []int) []insertTarget {
	out := make([]insertTarget, len(cols))
	for i, c := range cols {
		out[i].column = c
	}
	return out
}

// assignTarget is assign for a target of INSERT; was is what the row has of the column
// by now, or nil.
func (b *binder) assignTarget(t insertTarget, was, v expr.Expr, c catalog.Column, at sql.Node) (expr.Expr, error) {
	if t.steps == nil {
		return b.assign(v, c, at)
	}
	if was == nil {
		was = &expr.Const{Typ: c.Type}
	}
	return b.assignPart(part{c.Name, t.steps, &exprContext{sc: &scope{}, clause: "INSERT"}, t.at}, was, v, at)
}
