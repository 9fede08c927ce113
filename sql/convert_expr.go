package sql

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// expr converts an expression; nil stays nil.
func (c *converter) expr(n *pg.Node) Expr {
	if n == nil || n.Node == nil {
		return nil
	}
	switch v := n.Node.(type) {
	case *pg.Node_ColumnRef:
		return c.columnRef(v.ColumnRef)
	case *pg.Node_AConst:
		return c.literal(v.AConst)
	case *pg.Node_ParamRef:
		c.maxParam = max(c.maxParam, int(v.ParamRef.Number))
		return &Param{c.at(v.ParamRef.Location), int(v.ParamRef.Number)}
	case *pg.Node_AExpr:
		return c.aExpr(v.AExpr)
	case *pg.Node_BoolExpr:
		return c.boolExpr(v.BoolExpr)
	case *pg.Node_FuncCall:
		return c.funcCall(v.FuncCall)
	case *pg.Node_TypeCast:
		k := v.TypeCast
		return &Cast{c.at(k.Location), c.expr(k.Arg), c.typeName(k.TypeName)}
	case *pg.Node_SubLink:
		return c.subLink(v.SubLink)
	case *pg.Node_NullTest:
		k := v.NullTest
		return &IsTest{c.at(k.Location), c.expr(k.Arg), TestNull, k.Nulltesttype == pg.NullTestType_IS_NOT_NULL}
	case *pg.Node_BooleanTest:
		return c.booleanTest(v.BooleanTest)
	case *pg.Node_CaseExpr:
		return c.caseExpr(v.CaseExpr)
	case *pg.Node_CoalesceExpr:
		return &CoalesceExpr{c.at(v.CoalesceExpr.Location), c.exprs(v.CoalesceExpr.Args)}
	case *pg.Node_MinMaxExpr:
		k := v.MinMaxExpr
		return &MinMax{c.at(k.Location), k.Op == pg.MinMaxOp_IS_LEAST, c.exprs(k.Args)}
	case *pg.Node_AArrayExpr:
		return &ArrayExpr{c.at(v.AArrayExpr.Location), c.exprs(v.AArrayExpr.Elements)}
	case *pg.Node_RowExpr:
		k := v.RowExpr
		return &RowExpr{c.at(k.Location), c.exprs(k.Args), k.RowFormat == pg.CoercionForm_COERCE_EXPLICIT_CALL}
	case *pg.Node_AIndirection:
		return c.indirection(v.AIndirection)
	case *pg.Node_CollateClause:
		k := v.CollateClause
		return &Collate{c.at(k.Location), c.expr(k.Arg), c.name(nodeStrings(k.Collname), c.at(k.Location))}
	}
	return c.rareExpr(n)
}

// rareExpr converts the forms that expr leaves.
func (c *converter) rareExpr(n *pg.Node) Expr {
	switch v := n.Node.(type) {
	case *pg.Node_SqlvalueFunction:
		return c.sqlValue(v.SqlvalueFunction)
	case *pg.Node_GroupingFunc:
		return &Grouping{c.at(v.GroupingFunc.Location), c.exprs(v.GroupingFunc.Args)}
	case *pg.Node_SetToDefault:
		return &DefaultExpr{c.at(v.SetToDefault.Location)}
	case *pg.Node_CurrentOfExpr:
		return &CurrentOf{At{NoPos}, v.CurrentOfExpr.CursorName}
	case *pg.Node_NamedArgExpr:
		return c.expr(v.NamedArgExpr.Arg)
	case *pg.Node_XmlExpr:
		c.unsupported(c.at(v.XmlExpr.Location), "XML", "Keep XML as text.")
	case *pg.Node_XmlSerialize:
		c.unsupported(c.at(v.XmlSerialize.Location), "XML", "Keep XML as text.")
	default:
		what := strings.TrimPrefix(typeWord(n), "Json")
		if what != typeWord(n) {
			c.unsupported(At{NoPos}, "an SQL/JSON constructor or query function",
				"Use the functions of PostgreSQL 15, such as jsonb_build_object, jsonb_agg and jsonb_path_query.")
		} else {
			c.unsupported(At{NoPos}, "this expression ("+typeWord(n)+")", "Compute it with the functions that pg_proc lists.")
		}
	}
	return &Literal{At: At{NoPos}}
}

// typeWord names the kind of a node.
func typeWord(n *pg.Node) string {
	return strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", n.Node), "*pg_query."), "Node_")
}

func (c *converter) exprs(ns []*pg.Node) []Expr {
	if len(ns) == 0 {
		return nil
	}
	out := make([]Expr, len(ns))
	for i, n := range ns {
		out[i] = c.expr(n)
	}
	return out
}

func (c *converter) columnRef(r *pg.ColumnRef) Expr {
	out := &ColumnRef{At: c.at(r.Location)}
	c.farName(nodeStrings(r.Fields), out.At, FarColumn, 3)
	for _, f := range r.Fields {
		if f.GetAStar() != nil {
			out.Star = true
		} else {
			out.Parts = append(out.Parts, nodeString(f))
		}
	}
	return out
}

func (c *converter) aExpr(e *pg.A_Expr) Expr {
	a := c.at(e.Location)
	schema, op := qualified(e.Name)
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		return &OpExpr{a, schema, op, c.expr(e.Lexpr), c.expr(e.Rexpr)}
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		return &QuantExpr{At: a, Arg: c.expr(e.Lexpr), Schema: schema, Op: op,
			All: e.Kind == pg.A_Expr_Kind_AEXPR_OP_ALL, Array: c.expr(e.Rexpr)}
	case pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		return &DistinctFrom{a, c.expr(e.Lexpr), c.expr(e.Rexpr), e.Kind == pg.A_Expr_Kind_AEXPR_NOT_DISTINCT}
	case pg.A_Expr_Kind_AEXPR_NULLIF:
		return &NullIf{a, c.expr(e.Lexpr), c.expr(e.Rexpr)}
	case pg.A_Expr_Kind_AEXPR_IN:
		return &InList{a, c.expr(e.Lexpr), c.exprs(e.Rexpr.GetList().GetItems()), op == "<>"}
	case pg.A_Expr_Kind_AEXPR_LIKE:
		return c.like(a, Like, e, "like_escape", op == "!~~")
	case pg.A_Expr_Kind_AEXPR_ILIKE:
		return c.like(a, ILike, e, "like_escape", op == "!~~*")
	case pg.A_Expr_Kind_AEXPR_SIMILAR:
		return c.like(a, Similar, e, "similar_to_escape", op == "!~")
	}
	b := &Between{At: a, Arg: c.expr(e.Lexpr)}
	if items := e.Rexpr.GetList().GetItems(); len(items) == 2 {
		b.Low, b.High = c.expr(items[0]), c.expr(items[1])
	}
	b.Not = e.Kind == pg.A_Expr_Kind_AEXPR_NOT_BETWEEN || e.Kind == pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM
	b.Symmetric = e.Kind == pg.A_Expr_Kind_AEXPR_BETWEEN_SYM || e.Kind == pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM
	return b
}

// like converts a pattern match; the grammar wraps the pattern of ESCAPE, and
// that of SIMILAR TO always, in a call of the function escape.
func (c *converter) like(a At, kind LikeKind, e *pg.A_Expr, escape string, not bool) Expr {
	out := &LikeExpr{At: a, Kind: kind, Arg: c.expr(e.Lexpr), Not: not}
	if f := e.Rexpr.GetFuncCall(); f != nil && len(f.Args) > 0 {
		if schema, name := qualified(f.Funcname); schema == "pg_catalog" && name == escape {
			out.Pattern = c.expr(f.Args[0])
			if len(f.Args) > 1 {
				out.Escape = c.expr(f.Args[1])
			}
			return out
		}
	}
	out.Pattern = c.expr(e.Rexpr)
	return out
}

func (c *converter) boolExpr(e *pg.BoolExpr) Expr {
	a := c.at(e.Location)
	if e.Boolop != pg.BoolExprType_NOT_EXPR {
		or := e.Boolop == pg.BoolExprType_OR_EXPR
		out := &BoolExpr{At: a, Or: or}
		for _, n := range e.Args { // brackets around a part leave nested nodes
			x := c.expr(n)
			if b, ok := x.(*BoolExpr); ok && b.Or == or {
				out.Args = append(out.Args, b.Args...)
			} else {
				out.Args = append(out.Args, x)
			}
		}
		return out
	}
	arg := c.expr(e.Args[0])
	if in, ok := arg.(*InSubquery); ok && !in.Not {
		in.Not = true
		return in
	}
	return &NotExpr{a, arg}
}

func (c *converter) booleanTest(t *pg.BooleanTest) Expr {
	out := &IsTest{At: c.at(t.Location), Arg: c.expr(t.Arg)}
	switch t.Booltesttype {
	case pg.BoolTestType_IS_TRUE, pg.BoolTestType_IS_NOT_TRUE:
		out.Kind = TestTrue
	case pg.BoolTestType_IS_FALSE, pg.BoolTestType_IS_NOT_FALSE:
		out.Kind = TestFalse
	default:
		out.Kind = TestUnknown
	}
	switch t.Booltesttype {
	case pg.BoolTestType_IS_NOT_TRUE, pg.BoolTestType_IS_NOT_FALSE, pg.BoolTestType_IS_NOT_UNKNOWN:
		out.Not = true
	}
	return out
}

func (c *converter) caseExpr(e *pg.CaseExpr) Expr {
	out := &CaseExpr{At: c.at(e.Location), Arg: c.expr(e.Arg), Else: c.expr(e.Defresult)}
	for _, n := range e.Args {
		w := n.GetCaseWhen()
		out.Whens = append(out.Whens, When{c.expr(w.GetExpr()), c.expr(w.GetResult())})
	}
	return out
}

func (c *converter) subLink(s *pg.SubLink) Expr {
	a := c.at(s.Location)
	q := c.query(s.Subselect, a)
	switch s.SubLinkType {
	case pg.SubLinkType_EXISTS_SUBLINK:
		return &ExistsExpr{a, q}
	case pg.SubLinkType_ARRAY_SUBLINK:
		return &ArraySubquery{a, q}
	case pg.SubLinkType_ANY_SUBLINK, pg.SubLinkType_ALL_SUBLINK:
		if len(s.OperName) == 0 {
			return &InSubquery{a, c.expr(s.Testexpr), q, false}
		}
		schema, op := qualified(s.OperName)
		return &QuantExpr{At: a, Arg: c.expr(s.Testexpr), Schema: schema, Op: op,
			All: s.SubLinkType == pg.SubLinkType_ALL_SUBLINK, Query: q}
	}
	return &SubqueryExpr{a, q}
}

// indirection makes subscripts and fields. Subscripts that follow one another are
// one; those of an argument in parentheses are its own.
func (c *converter) indirection(n *pg.A_Indirection) Expr {
	out := c.expr(n.Arg)
	arg := out
	for _, i := range n.Indirection {
		a := At{NoPos}
		if out != nil {
			a.Pos = out.Offset()
		}
		switch v := i.Node.(type) {
		case *pg.Node_AIndices:
			idx := Index{v.AIndices.IsSlice, c.expr(v.AIndices.Lidx), c.expr(v.AIndices.Uidx)}
			if s, ok := out.(*Subscript); ok && out != arg {
				s.Indexes = append(s.Indexes, idx)
			} else {
				out = &Subscript{a, out, []Index{idx}}
			}
		case *pg.Node_AStar:
			out = &FieldSelect{At: a, Arg: out, Star: true}
		default:
			out = &FieldSelect{At: a, Arg: out, Field: nodeString(i)}
		}
	}
	return out
}

func (c *converter) funcCall(f *pg.FuncCall) Expr {
	out := &FuncCall{
		At: c.at(f.Location), Star: f.AggStar, Distinct: f.AggDistinct, Variadic: f.FuncVariadic,
		OrderBy: c.sortItems(f.AggOrder), WithinGroup: f.AggWithinGroup, Filter: c.expr(f.AggFilter),
		SQLSyntax: f.Funcformat == pg.CoercionForm_COERCE_SQL_SYNTAX,
	}
	out.Schema, out.Name = qualified(f.Funcname)
	c.farName(nodeStrings(f.Funcname), out.At, FarFunction, 2)
	for _, n := range f.Args {
		arg := Arg{Value: c.expr(n)}
		if na := n.GetNamedArgExpr(); na != nil {
			arg.Name = na.Name
		}
		out.Args = append(out.Args, arg)
	}
	if f.Over != nil {
		out.Over = c.windowSpec(f.Over)
		if out.Over.Name != "" { // OVER w: the spec is only the name
			out.Over = &WindowSpec{At: out.Over.At, Name: f.Over.Name}
		}
	}
	return out
}

var sqlValueNames = map[pg.SQLValueFunctionOp]string{
	pg.SQLValueFunctionOp_SVFOP_CURRENT_DATE:        "current_date",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIME:        "current_time",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIME_N:      "current_time",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP:   "current_timestamp",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP_N: "current_timestamp",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIME:           "localtime",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIME_N:         "localtime",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP:      "localtimestamp",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP_N:    "localtimestamp",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_ROLE:        "current_role",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_USER:        "current_user",
	pg.SQLValueFunctionOp_SVFOP_USER:                "user",
	pg.SQLValueFunctionOp_SVFOP_SESSION_USER:        "session_user",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG:     "current_catalog",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:      "current_schema",
}

func (c *converter) sqlValue(f *pg.SQLValueFunction) Expr {
	out := &SQLValue{At: c.at(f.Location), Func: sqlValueNames[f.Op], Precision: -1}
	switch f.Op {
	case pg.SQLValueFunctionOp_SVFOP_CURRENT_TIME_N, pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP_N,
		pg.SQLValueFunctionOp_SVFOP_LOCALTIME_N, pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP_N:
		out.Precision = f.Typmod
	}
	return out
}
