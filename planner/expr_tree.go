package planner

import (
	"fmt"
	"github.com/streamdb/streamdb/sql"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// replace rebuilds e top-down: where f answers, its answer stands for the whole
// subtree; elsewhere the parts are visited.
func replace(e expr.Expr, f func(expr.Expr) (expr.Expr, bool)) expr.Expr {
	if e == nil {
		return nil
	}
	if r, ok := f(e); ok {
		return r
	}
	all := func(es []expr.Expr) []expr.Expr {
		out := make([]expr.Expr, len(es))
		for i, x := range es {
			out[i] = replace(x, f)
		}
		return out
	}
	switch x := e.(type) {
	case *expr.Call:
		return &expr.Call{Fn: x.Fn, Args: all(x.Args), Typ: x.Typ}
	case *expr.Cast:
		return &expr.Cast{Arg: replace(x.Arg, f), To: x.To, Explicit: x.Explicit}
	case *expr.And:
		return &expr.And{Args: all(x.Args)}
	case *expr.Or:
		return &expr.Or{Args: all(x.Args)}
	case *expr.Not:
		return &expr.Not{Arg: replace(x.Arg, f)}
	case *expr.IsNull:
		return &expr.IsNull{Arg: replace(x.Arg, f), Negate: x.Negate}
	case *expr.IsBool:
		return &expr.IsBool{Arg: replace(x.Arg, f), Want: x.Want, Negate: x.Negate}
	case *expr.Distinct:
		return &expr.Distinct{L: replace(x.L, f), R: replace(x.R, f), Negate: x.Negate}
	case *expr.Case:
		c := &expr.Case{Typ: x.Typ, Else: replace(x.Else, f)}
		for _, w := range x.Whens {
			c.Whens = append(c.Whens, expr.When{Cond: replace(w.Cond, f), Then: replace(w.Then, f)})
		}
		return c
	case *expr.Coalesce:
		return &expr.Coalesce{Args: all(x.Args), Typ: x.Typ}
	case *expr.MinMax:
		return &expr.MinMax{Args: all(x.Args), Greatest: x.Greatest, Typ: x.Typ}
	case *expr.In:
		return &expr.In{Arg: replace(x.Arg, f), List: all(x.List), Negate: x.Negate}
	case *expr.AnyAll:
		return &expr.AnyAll{Arg: replace(x.Arg, f), Array: replace(x.Array, f), Op: x.Op, All: x.All}
	case *expr.MakeArray:
		return &expr.MakeArray{Args: all(x.Args), Typ: x.Typ}
	case *expr.MakeRow:
		return &expr.MakeRow{Args: all(x.Args), Names: x.Names, Typ: x.Typ, Whole: x.Whole}
	case *expr.Field:
		return &expr.Field{Arg: replace(x.Arg, f), Index: x.Index, Typ: x.Typ}
	}
	return e
}

// exprKey returns a text that two expressions share exactly when they are the
// same expression.
func exprKey(e expr.Expr) string {
	var sb strings.Builder
	writeKey(&sb, e)
	return sb.String()
}

func writeKey(sb *strings.Builder, e expr.Expr) {
	switch x := e.(type) {
	case nil:
		sb.WriteString("nil")
		return
	case *expr.Col:
		fmt.Fprintf(sb, "$%d", x.Index)
		return
	case *expr.Const:
		fmt.Fprintf(sb, "%#v:%d.%d.%d.%d", x.Val, x.Typ.ID, x.Typ.Elem, x.Typ.Mod, x.Typ.Ref)
		return
	case *expr.Param:
		fmt.Fprintf(sb, "param%d", x.Index)
		return
	case *expr.Outer:
		fmt.Fprintf(sb, "outer%d.%d", x.Level, x.Index)
		return
	case *aggRef:
		fmt.Fprintf(sb, "agg%d", x.index)
		return
	case *winRef:
		fmt.Fprintf(sb, "win%d", x.index)
		return
	case *groupingRef:
		fmt.Fprintf(sb, "%p", x)
		return
	case *subRef:
		writeSubqueryKey(sb, x)
		return
	case *expr.Call:
		fmt.Fprintf(sb, "%s@%p", x.Fn.Name, x.Fn)
	case *expr.Cast:
		fmt.Fprintf(sb, "cast%d.%d.%d.%d.%v", x.To.ID, x.To.Elem, x.To.Mod, x.To.Ref, x.Explicit)
	case *expr.IsNull:
		fmt.Fprintf(sb, "isnull%v", x.Negate)
	case *expr.IsBool:
		fmt.Fprintf(sb, "isbool%v%v", x.Want, x.Negate)
	case *expr.Distinct:
		fmt.Fprintf(sb, "distinct%v", x.Negate)
	case *expr.Case:
		fmt.Fprintf(sb, "case%d", len(x.Whens))
	case *expr.MinMax:
		fmt.Fprintf(sb, "minmax%v", x.Greatest)
	case *expr.In:
		fmt.Fprintf(sb, "in%v", x.Negate)
	case *expr.AnyAll:
		fmt.Fprintf(sb, "any%v%p", x.All, x.Op)
	case *expr.Field:
		fmt.Fprintf(sb, "field%d", x.Index)
	case *expr.MakeRow:
		fmt.Fprintf(sb, "row%d", x.Typ.Ref)
	default:
		fmt.Fprintf(sb, "%T", x)
	}
	sb.WriteByte('(')
	for i, c := range expr.Children(e) {
		if i > 0 {
			sb.WriteByte(',')
		}
		writeKey(sb, c)
	}
	sb.WriteByte(')')
}

// writeSubqueryKey tells subqueries apart by their text: within one scope, equal
// texts mean the same rows, as in a GROUP BY key that the select list repeats.
func writeSubqueryKey(sb *strings.Builder, r *subRef) {
	e, ok := r.at.(sql.Expr)
	if !ok {
		fmt.Fprintf(sb, "%p", r)
		return
	}
	fmt.Fprintf(sb, "sub%d %s", r.kind, sql.FormatExpr(e))
}

// text is the key of an aggregate call.
func (a *aggItem) text() string {
	s := fmt.Sprintf("%p %v", a.fn, a.distinct)
	for _, x := range a.args {
		s += " " + exprKey(x)
	}
	if a.filter != nil {
		s += " filter " + exprKey(a.filter)
	}
	if a.rank != nil {
		s += " rank"
		for _, x := range a.rank.args {
			s += " " + exprKey(x)
		}
	}
	for _, o := range a.order {
		s += fmt.Sprintf(" order %s %v %v", exprKey(o.e), o.desc, o.nullsFirst)
	}
	return s
}

// identity is the list of all columns of a node.
func identity(n plan.Node) []expr.Expr {
	sc := n.Schema()
	out := make([]expr.Expr, len(sc), len(sc)+4)
	for i, c := range sc {
		out[i] = &expr.Col{Index: i, Typ: c.Typ}
	}
	return out
}

// narrowTo keeps the first n columns.
func narrowTo(in plan.Node, n int) plan.Node {
	if len(in.Schema()) == n {
		return in
	}
	return &plan.Project{Input: in, Exprs: identity(in)[:n:n], Out: slices.Clone(in.Schema()[:n])}
}

// pick keeps the given columns in the given order.
func pick(in plan.Node, cols []int) plan.Node {
	sc := in.Schema()
	same := len(cols) == len(sc)
	for i, c := range cols {
		same = same && i == c
	}
	if same {
		return in
	}
	p := &plan.Project{Input: in}
	for _, c := range cols {
		p.Exprs = append(p.Exprs, &expr.Col{Index: c, Typ: sc[c].Typ})
		p.Out = append(p.Out, sc[c])
	}
	return p
}

// usedCols marks the columns that e reads.
func usedCols(e expr.Expr, used map[int]bool) {
	expr.Walk(e, func(x expr.Expr) bool {
		if c, ok := x.(*expr.Col); ok {
			used[c.Index] = true
		}
		return true
	})
}

// remap renames columns of e by at.
func remap(e expr.Expr, at func(int) int) expr.Expr {
	if e == nil {
		return nil
	}
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Col); ok {
			return &expr.Col{Index: at(c.Index), Typ: c.Typ}
		}
		return x
	})
}

// setResult describes the columns of a set-returning function, if it has more
// than one or names them.
func setResult(c *expr.Call) ([]string, []types.T) {
	if c.Fn.Set && c.Fn.Cols != nil {
		return c.Fn.Cols(typesOf(c.Args))
	}
	return nil, nil
}

func typeList(ts []types.T) string {
	s := make([]string, len(ts))
	for i, t := range ts {
		s[i] = t.Base().String()
	}
	return strings.Join(s, ", ")
}

func sortOIDs(s []uint32) { slices.Sort(s) }
