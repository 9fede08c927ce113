package planner

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// isRow reports whether e is ROW(...), which comparisons take field by field.
func isRow(e expr.Expr) bool {
	r, ok := e.(*expr.MakeRow)
	return ok && !r.Whole
}

// rowType is the type of rows with the given fields.
func rowType(names []string, ts []types.T) types.T {
	fs := make([]types.RowField, len(names))
	for i := range fs {
		fs[i] = types.RowField{Name: names[i], Typ: ts[i]}
	}
	return types.RowOf(fs)
}

// rowFields binds the fields of ROW(...), where t.* and (r).* stand for all of theirs.
func (b *binder) rowFields(ec *exprContext, fields []sql.Expr) ([]expr.Expr, error) {
	var out []expr.Expr
	for _, f := range fields {
		if ref, ok := f.(*sql.ColumnRef); ok && ref.Star {
			cols, err := b.star(ec.sc, ref)
			if err != nil {
				return nil, err
			}
			for _, c := range cols {
				out = append(out, c.e)
			}
			continue
		}
		if r, ok := f.(*sql.FieldSelect); ok && r.Star {
			cols, err := b.recordFields(ec, r)
			if err != nil {
				return nil, err
			}
			for _, c := range cols {
				out = append(out, c.e)
			}
			continue
		}
		e, err := b.expr(ec, f)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// recordFields expands (r).*.
func (b *binder) recordFields(ec *exprContext, f *sql.FieldSelect) ([]namedExpr, error) {
	e, err := b.expr(ec, f.Arg)
	if err != nil {
		return nil, err
	}
	fields := e.Type().Fields()
	if fields == nil {
		if e.Type().ID == types.Record {
			return nil, b.errAt(f, pgerr.UndefinedObject, "record type has not been registered")
		}
		return nil, b.errAt(f, pgerr.WrongObjectType, "type %s is not composite", e.Type().Base())
	}
	out := make([]namedExpr, len(fields))
	for i := range fields {
		out[i] = namedExpr{name: fields[i].Name, e: fieldOf(e, i), at: f}
	}
	return out, nil
}

// finishRow gives the untyped parameters in a row that is needed as a value the
// type text. Untyped literals stay what they are, as in PostgreSQL, where a row
// can have a field of type unknown.
func (b *binder) finishRow(row *expr.MakeRow) (expr.Expr, error) {
	var args []expr.Expr
	for i, a := range row.Args {
		_, param := a.(*expr.Param)
		inner, nested := a.(*expr.MakeRow)
		if !nested && !(param && a.Type().ID == types.Unknown) {
			continue
		}
		var x expr.Expr
		var err error
		if nested {
			x, err = b.finishRow(inner)
		} else {
			x, err = b.coerce(a, types.TText, expr.Implicit, nil)
		}
		if err != nil {
			return nil, err
		}
		if x == a {
			continue
		}
		if args == nil {
			args = append(args, row.Args...)
		}
		args[i] = x
	}
	if args == nil {
		return row, nil
	}
	if row.Typ.IsComposite() {
		return &expr.MakeRow{Args: args, Names: row.Names, Typ: row.Typ, Whole: row.Whole}, nil
	}
	return expr.NewRow(args, row.Names), nil
}

// rowToComposite makes ROW(...) a value of a composite type.
func (b *binder) rowToComposite(row *expr.MakeRow, t types.T, ctx expr.CastContext, at sql.Node) (expr.Expr, error) {
	fields := t.Fields()
	bad := func(format string, args ...any) error {
		return b.placed(pgerr.New(pgerr.CannotCoerce, "cannot cast type record to %s", t.Base()).WithDetail(format, args...), at)
	}
	if len(row.Args) != len(fields) {
		if len(row.Args) < len(fields) {
			return nil, bad("Input has too few columns.")
		}
		return nil, bad("Input has too many columns.")
	}
	out := &expr.MakeRow{Args: make([]expr.Expr, len(fields)), Names: make([]string, len(fields)), Typ: t.Base(), Whole: true}
	for i, f := range fields {
		from := row.Args[i].Type()
		if from.ID != types.Unknown && !expr.CanCast(from, f.Typ, ctx) {
			return nil, bad("Cannot cast type %s to %s in column %d.", from.Base(), f.Typ.Base(), i+1)
		}
		var err error
		if out.Args[i], err = b.coerce(row.Args[i], f.Typ, ctx, at); err != nil {
			return nil, err
		}
		out.Names[i] = f.Name
	}
	return out, nil
}

// fieldOf takes field i of a composite value.
func fieldOf(e expr.Expr, i int) expr.Expr {
	x := e
	if c, ok := x.(*expr.Case); ok && len(c.Whens) == 1 && isMissingRow(c.Whens[0]) {
		x = c.Else // where the row is missing its columns are NULL
	}
	if row, ok := x.(*expr.MakeRow); ok {
		return row.Args[i]
	}
	return &expr.Field{Arg: e, Index: i, Typ: e.Type().Fields()[i].Typ}
}

// distinctRows: rows are distinct when any pair of their fields is.
func (b *binder) distinctRows(e *sql.DistinctFrom, l, r *expr.MakeRow) (expr.Expr, error) {
	if len(l.Args) != len(r.Args) {
		return nil, b.errAt(e, pgerr.SyntaxError, "unequal number of entries in row expressions")
	}
	pair := &sql.DistinctFrom{Left: e.Left, Right: e.Right}
	var cs []expr.Expr
	for i := range l.Args {
		d, err := b.distinct(pair, l.Args[i], r.Args[i])
		if err != nil {
			return nil, err
		}
		cs = append(cs, d)
	}
	var out expr.Expr = &expr.Const{Val: false, Typ: types.TBool}
	switch len(cs) {
	case 0:
	case 1:
		out = cs[0]
	default:
		out = &expr.Or{Args: cs}
	}
	if e.Not {
		return &expr.Not{Arg: out}, nil
	}
	return out, nil
}

// itemRow is the row of an item of FROM as one value, level queries up.
func (b *binder) itemRow(it *rangeItem, level int, at sql.Node) (expr.Expr, error) {
	var args []expr.Expr
	var names []string
	for i := range it.cols {
		if it.cols[i].system {
			continue
		}
		b.noteUse(&it.cols[i])
		v := it.cols[i].value()
		if c, ok := v.(*expr.Col); ok && level == 0 {
			b.colAt[c] = colRef{b.at(at), it.name + "." + it.cols[i].name}
		}
		args = append(args, outward(v, level))
		names = append(names, it.cols[i].name)
	}
	row := expr.NewRow(args, names)
	row.Whole = true
	if it.rel != nil {
		if t, ok := catalog.RowType(it.rel); ok {
			row.Typ = t
		}
	}
	if !it.nullable {
		return row, nil
	}
	if it.witness == nil {
		b.needWitness = true
		return nil, b.unsupported(at, "the row of \""+it.name+"\" as a value beside an outer join here", "Name its columns.")
	}
	missing := expr.When{Cond: &expr.IsNull{Arg: outward(it.witness.value(), level)}, Then: &expr.Const{Typ: row.Typ}}
	return &expr.Case{Whens: []expr.When{missing}, Else: row, Typ: row.Typ}, nil
}

// isMissingRow recognises the branch that itemRow makes.
func isMissingRow(w expr.When) bool {
	k, ok := w.Then.(*expr.Const)
	_, null := w.Cond.(*expr.IsNull)
	return ok && null && k.Val == nil && k.Typ.ID == types.Record
}

// markNullable notes that an outer join may put NULLs in the place of items, the
// columns of n. A column that is never NULL tells such a row; where there is none
// and a query needs to tell, one is added.
func (b *binder) markNullable(n plan.Node, items []*rangeItem) plan.Node {
	added := -1
	for _, it := range items {
		it.nullable = true
		if it.witness != nil || it.name == "" {
			continue
		}
		if it.rel != nil {
			for i, c := range it.rel.Cols() {
				if c.NotNull && i < len(it.cols) && it.cols[i].e == nil {
					it.witness = &scopeCol{typ: it.cols[i].typ, index: it.cols[i].index, system: true}
					break
				}
			}
		}
		if it.witness == nil && b.witness {
			if added < 0 {
				added = len(n.Schema())
				p := &plan.Project{Input: n, Exprs: append(identity(n), &expr.Const{Val: true, Typ: types.TBool})}
				p.Out = append(append(p.Out, n.Schema()...), plan.Column{Name: "present", Typ: types.TBool})
				n = p
			}
			it.witness = &scopeCol{typ: types.TBool, index: added, system: true}
		}
	}
	return n
}
