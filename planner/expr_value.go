package planner

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// commonArgs binds arguments that must share a type.
func (b *binder) commonArgs(ec *exprContext, es []sql.Expr, what string, at sql.Node) ([]expr.Expr, types.T, error) {
	args, err := b.exprs(ec, es)
	if err != nil {
		return nil, types.T{}, err
	}
	return b.unify(args, what, func(i int) sql.Node { return es[i] }, at)
}

// unify coerces expressions to their common type.
func (b *binder) unify(args []expr.Expr, what string, place func(int) sql.Node, at sql.Node) ([]expr.Expr, types.T, error) {
	t, err := expr.CommonTypeFor(what, typesOf(args))
	if err != nil {
		return nil, t, b.placed(err, leftmost(mismatch(args, place, at)))
	}
	out := make([]expr.Expr, len(args))
	for i, a := range args {
		if out[i], err = b.coerce(a, t, expr.Implicit, place(i)); err != nil {
			return nil, t, err
		}
	}
	return out, t, nil
}

// mismatch is the first argument whose type cannot go with those before it,
// where PostgreSQL puts the cursor.
func mismatch(args []expr.Expr, place func(int) sql.Node, at sql.Node) sql.Node {
	for i := range args {
		if _, err := expr.CommonType(typesOf(args[:i+1])); err != nil {
			return place(i)
		}
	}
	return at
}

func typesOf(es []expr.Expr) []types.T {
	ts := make([]types.T, len(es))
	for i, e := range es {
		ts[i] = e.Type()
	}
	return ts
}

func (b *binder) caseExpr(ec *exprContext, e *sql.CaseExpr) (expr.Expr, error) {
	var arg expr.Expr
	var err error
	if e.Arg != nil {
		if arg, err = b.expr(ec, e.Arg); err != nil {
			return nil, err
		}
		if arg, err = b.toText(arg); err != nil {
			return nil, err
		}
	}
	ec = ec.withoutSets("CASE")
	out := &expr.Case{}
	var results []expr.Expr
	var places []sql.Node
	for _, w := range e.Whens {
		var cond expr.Expr
		if arg != nil {
			v, err := b.expr(ec, w.Cond)
			if err != nil {
				return nil, err
			}
			if cond, err = b.compare("=", w.Cond, arg, v); err != nil {
				return nil, err
			}
		} else if cond, err = b.boolArg(ec, w.Cond, "CASE/WHEN"); err != nil {
			return nil, err
		}
		then, err := b.expr(ec, w.Then)
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, expr.When{Cond: cond})
		results, places = append(results, then), append(places, w.Then)
	}
	// PostgreSQL takes the ELSE first when it looks for the common type.
	if e.Else != nil {
		x, err := b.expr(ec, e.Else)
		if err != nil {
			return nil, err
		}
		results, places = slices.Insert(results, 0, x), slices.Insert(places, 0, sql.Node(e.Else))
	}
	results, out.Typ, err = b.unify(results, "CASE", func(i int) sql.Node { return places[i] }, e)
	if err != nil {
		return nil, err
	}
	if e.Else != nil {
		out.Else, results = results[0], results[1:]
	}
	for i := range out.Whens {
		out.Whens[i].Then = results[i]
	}
	return out, nil
}

func (b *binder) nullIf(ec *exprContext, e *sql.NullIf) (expr.Expr, error) {
	xs, err := b.exprs(ec, []sql.Expr{e.Left, e.Right})
	if err != nil {
		return nil, err
	}
	eq, err := b.op("=", e, xs[0], xs[1])
	if err != nil {
		return nil, err
	}
	// The value is the left argument as the operator takes it: 1 is numeric in
	// NULLIF(1, 2.2), and varchar is text.
	l := xs[0]
	if call, ok := eq.(*expr.Call); ok && len(call.Args) == 2 {
		switch to := call.Args[0].Type(); {
		case l.Type().ID == types.Unknown, to.ID == types.Numeric, to.ID == types.Float8 && l.Type().ID != types.Float4:
			l = call.Args[0]
		case to.ID == types.Oid, to.ID == types.Text, to.ID == types.Bpchar, to.ID == types.Inet, to.ID == types.Varbit:
			l = call.Args[0]
		}
	}
	if l.Type().ID == types.Varchar {
		l = &expr.Cast{Arg: l, To: types.TText}
	}
	return &expr.Case{Whens: []expr.When{{Cond: eq, Then: &expr.Const{Typ: l.Type()}}}, Else: l, Typ: l.Type()}, nil
}

// arrayExpr binds ARRAY[...]; want is the array type a cast asks for.
func (b *binder) arrayExpr(ec *exprContext, e *sql.ArrayExpr, want types.T) (expr.Expr, error) {
	args := make([]expr.Expr, len(e.Elems))
	nested := false
	for i, x := range e.Elems {
		var err error
		if sub, ok := x.(*sql.ArrayExpr); ok {
			nested = true
			args[i], err = b.arrayExpr(ec, sub, want)
		} else {
			args[i], err = b.expr(ec, x)
		}
		if err != nil {
			return nil, err
		}
		nested = nested || args[i].Type().ID == types.Array
	}
	place := func(i int) sql.Node { return e.Elems[i] }
	if want.ID == types.Array {
		to := want.ElemType()
		if nested {
			to = want
		}
		for i, a := range args {
			var err error
			if args[i], err = b.coerce(a, to, expr.Explicit, place(i)); err != nil {
				return nil, err
			}
		}
		return &expr.MakeArray{Args: args, Typ: want.Base()}, nil
	}
	if len(args) == 0 {
		return nil, pgerr.New(pgerr.IndeterminateDatatype, "cannot determine type of empty array").
			WithHint("Explicitly cast to the desired type, for example ARRAY[]::integer[].").At(b.at(e))
	}
	args, t, err := b.unify(args, "ARRAY", place, e)
	if err != nil {
		return nil, err
	}
	if t.ID == types.Array {
		return &expr.MakeArray{Args: args, Typ: t}, nil
	}
	at := t.Base().ArrayType()
	if at.OID() == 0 {
		return nil, b.errAt(e, pgerr.UndefinedObject, "could not find array type for data type %s", t)
	}
	return &expr.MakeArray{Args: args, Typ: at}, nil
}

func (b *binder) cast(ec *exprContext, e *sql.Cast) (expr.Expr, error) {
	t, err := b.typeName(e.Type)
	if err != nil {
		return nil, err
	}
	if a, ok := e.Arg.(*sql.ArrayExpr); ok && t.ID == types.Array {
		x, err := b.arrayExpr(ec, a, t.Underlying())
		if err != nil {
			return nil, err
		}
		return b.coerce(x, t, expr.Explicit, e)
	}
	x, err := b.expr(ec, e.Arg)
	if err != nil {
		return nil, err
	}
	if row, ok := x.(*expr.MakeRow); ok && t == types.TRecord { // a value, which comparisons do not take apart
		return &expr.MakeRow{Args: row.Args, Names: row.Names, Typ: row.Typ, Whole: true}, nil
	}
	at := sql.Node(e)
	if _, lit := e.Arg.(*sql.Literal); lit {
		at = e.Arg // a literal that cannot be read is marked itself
	}
	return b.coerce(x, t, expr.Explicit, at)
}

func (b *binder) typeName(n *sql.TypeName) (types.T, error) {
	t, err := ResolveTypeName(b.p.Cat, b.searchPath(), n)
	if err == nil {
		b.useType(t)
	}
	return t, b.placed(err, n)
}

// maxDimensions is how many dimensions an array has at most.
const maxDimensions = 6

func (b *binder) subscript(ec *exprContext, e *sql.Subscript) (expr.Expr, error) {
	x, err := b.expr(ec, e.Arg)
	if err != nil {
		return nil, err
	}
	t := x.Type()
	if t.ID != types.Array && t.ID != types.JSONB {
		return nil, b.errAt(e, pgerr.DatatypeMismatch, "cannot subscript type %s because it does not support subscripting", t.Base())
	}
	if t.ID == types.JSONB {
		var path []expr.Expr
		for _, ix := range e.Indexes {
			if ix.Slice {
				return nil, b.errAt(e, pgerr.DatatypeMismatch, "jsonb subscript does not support slices")
			}
			i, err := b.expr(ec, ix.Upper)
			if err != nil {
				return nil, err
			}
			if i, err = b.jsonSubscript(i, ix.Upper); err != nil {
				return nil, err
			}
			path = append(path, i)
		}
		return b.op("#>", e, x, &expr.MakeArray{Args: path, Typ: types.ArrayOf(types.Text)})
	}
	if n := len(e.Indexes); n > maxDimensions {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "number of array dimensions (%d) exceeds the maximum allowed (%d)", n, maxDimensions)
	}
	args, slice := []expr.Expr{x}, false
	for _, ix := range e.Indexes {
		slice = slice || ix.Slice
	}
	for _, ix := range e.Indexes {
		bounds := []sql.Expr{ix.Upper}
		if slice {
			bounds = []sql.Expr{ix.Lower, ix.Upper}
		}
		for k, s := range bounds {
			// A bound that is left out is beyond any an array has.
			i := expr.Expr(&expr.Const{Val: int32(math.MinInt32), Typ: types.TInt4})
			if k == 1 {
				i = &expr.Const{Val: int32(math.MaxInt32), Typ: types.TInt4}
			}
			if s != nil {
				if i, err = b.expr(ec, s); err != nil {
					return nil, err
				}
				t := i.Type()
				if i, err = b.coerce(i, types.TInt4, expr.Assignment, s); err != nil {
					if t.ID == types.Unknown {
						return nil, err
					}
					return nil, b.errAt(leftmost(s), pgerr.DatatypeMismatch, "array subscript must have type integer")
				}
			} else if slice && !ix.Slice {
				i = &expr.Const{Val: int32(1), Typ: types.TInt4}
			}
			args = append(args, i)
		}
	}
	if slice {
		return b.call("array_slice", e, args...)
	}
	return b.call("array_subscript", e, args...)
}

// jsonSubscript makes a subscript of jsonb a step of a path: a key or a number.
func (b *binder) jsonSubscript(i expr.Expr, at sql.Expr) (expr.Expr, error) {
	if t := i.Type(); t.ID != types.Unknown && !expr.CanCast(t, types.TInt4, expr.Implicit) && !expr.CanCast(t, types.TText, expr.Implicit) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "subscript type %s is not supported", t.Base()).
			WithHint("jsonb subscript must be coercible to either integer or text.").At(b.at(leftmost(at)))
	}
	return b.coerce(i, types.TText, expr.Explicit, at)
}

func (b *binder) fieldSelect(ec *exprContext, e *sql.FieldSelect) (expr.Expr, error) {
	x, err := b.expr(ec, e.Arg)
	if err != nil {
		return nil, err
	}
	if e.Star {
		return nil, b.unsupported(e, "row expansion here", "Name the fields.")
	}
	t := x.Type()
	fields := t.Fields()
	for i := range fields {
		if fields[i].Name == e.Field {
			return fieldOf(x, i), nil
		}
	}
	ref, isRef := e.Arg.(*sql.ColumnRef)
	at := sql.Node(leftmost(e.Arg))
	if k, ok := e.Arg.(*sql.Cast); ok {
		if _, ok := k.Arg.(*sql.RowExpr); ok {
			at = e
		}
	}
	switch row, _ := x.(*expr.MakeRow); {
	case isRef && row != nil && row.Whole:
		return nil, b.errAt(at, pgerr.UndefinedColumn, "column %s.%s does not exist", ref.Parts[len(ref.Parts)-1], e.Field)
	case t.ID != types.Record:
		return nil, b.errAt(at, pgerr.WrongObjectType, "column notation .%s applied to type %s, which is not a composite type", e.Field, t.Base())
	case t.IsComposite():
		return nil, b.errAt(at, pgerr.UndefinedColumn, "column \"%s\" not found in data type %s", e.Field, t.Base())
	}
	return nil, b.errAt(at, pgerr.UndefinedColumn, "could not identify column \"%s\" in record data type", e.Field)
}

func (b *binder) collate(ec *exprContext, e *sql.Collate) (expr.Expr, error) {
	x, err := b.expr(ec, e.Arg)
	if err != nil {
		return nil, err
	}
	if err := b.checkCollation(e.Collation, x.Type(), e); err != nil {
		return nil, err
	}
	if x.Type().ID == types.Unknown {
		return x, nil // what it is compared with may still give it its type
	}
	return b.toText(x)
}

// ofLanguage are the names that collations of languages have in PostgreSQL: de_DE.utf8,
// en-x-icu, C.utf8.
var ofLanguage = regexp.MustCompile(`^[a-z]{2,3}([_-][A-Za-z0-9]+)+([.@][\w@.-]+)?$|^C\.(utf8|UTF-8)$|^unicode$`)

// checkCollation checks that a collation is known and that a type has any.
func (b *binder) checkCollation(c sql.Name, t types.T, at sql.Node) error {
	switch c.Name {
	case "default", "C", "POSIX", "ucs_basic":
	default:
		if ofLanguage.MatchString(c.Name) {
			return b.unsupported(at, "the collation \""+c.Name+"\"", "Text is ordered by its bytes: use COLLATE \"C\", or order by another expression, such as lower(x).")
		}
		return b.errAt(at, pgerr.UndefinedObject, "collation \"%s\" for encoding \"UTF8\" does not exist", c.Name)
	}
	if t.ID == types.Array {
		t = t.ElemType()
	}
	if t.Category() != 'S' && t.ID != types.Unknown && t.ID != types.Char {
		return b.errAt(at, pgerr.DatatypeMismatch, "collations are not supported by type %s", t.Base())
	}
	return nil
}

func (b *binder) sqlValue(e *sql.SQLValue) (expr.Expr, error) {
	now := func(t types.T) (expr.Expr, error) {
		x, err := b.call("now", e)
		if err != nil {
			return nil, err
		}
		if e.Precision >= 0 {
			t.Mod = e.Precision
		}
		return b.coerce(x, t, expr.Explicit, e)
	}
	switch e.Func {
	case "current_date":
		return now(types.TDate)
	case "current_timestamp":
		return now(types.TTimestamptz)
	case "localtimestamp":
		return now(types.TTimestamp)
	case "localtime":
		return now(types.TTime)
	case "current_time":
		return now(types.TTimetz)
	case "current_catalog":
		return b.call("current_database", e)
	case "current_role", "user":
		return b.call("current_user", e)
	}
	return b.call(strings.ToLower(e.Func), e)
}
