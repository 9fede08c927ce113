package sql

import (
	"strconv"
	"strings"
)

// The binding strengths of operators, as far as brackets are left out.
const (
	precCompare = iota + 1
	precOther
	precAdd
	precMul
	precPower
)

// precedence returns the strength of a binary operator call; 0 for other
// expressions, which get brackets as operands unless they are atoms.
func precedence(e Expr) int {
	o, ok := e.(*OpExpr)
	if !ok || o.Left == nil {
		return 0
	}
	if o.Schema != "" {
		return precOther
	}
	switch o.Op {
	case "=", "<", ">", "<=", ">=", "<>":
		return precCompare
	case "+", "-":
		return precAdd
	case "*", "/", "%":
		return precMul
	case "^":
		return precPower
	}
	return precOther
}

// isAtom reports whether an expression can be an operand as it is.
func isAtom(e Expr) bool {
	switch v := e.(type) {
	case *Literal:
		return !strings.HasPrefix(v.Text, "-") || v.Kind == LitString
	case *ColumnRef, *Param, *CaseExpr, *CoalesceExpr, *NullIf, *MinMax, *ArrayExpr, *ArraySubquery, *SubqueryExpr,
		*ExistsExpr, *RowExpr, *SQLValue, *Grouping, *Subscript, *DefaultExpr, *Cast:
		return true
	case *FuncCall:
		return !(v.SQLSyntax && v.Schema == "pg_catalog" && infixSyntax[v.Name])
	}
	return false
}

// infixSyntax has the functions whose SQL syntax is not call-like.
var infixSyntax = map[string]bool{"timezone": true, "overlaps": true, "is_normalized": true}

// operand writes an expression with brackets unless it is an atom.
func (f *formatter) operand(e Expr) {
	if isAtom(e) {
		f.expr(e)
		return
	}
	f.w("(")
	f.expr(e)
	f.w(")")
}

// operandOf writes an operand of a binary operator of strength prec; right
// operands must bind closer, since operators associate to the left.
func (f *formatter) operandOf(e Expr, prec int, right bool) {
	p := precedence(e)
	if p > prec || p == prec && !right && p != precCompare {
		f.expr(e)
		return
	}
	f.operand(e)
}

func operatorText(schema, op string) string {
	if schema != "" {
		return "OPERATOR(" + QuoteIdent(schema) + "." + op + ")"
	}
	return op
}

func not(n bool, positive, negative string) string {
	if n {
		return negative
	}
	return positive
}

// expr writes an expression without brackets around it.
func (f *formatter) expr(e Expr) {
	switch v := e.(type) {
	case *Literal:
		f.literal(v)
	case *ColumnRef:
		f.columnRef(v)
	case *Param:
		f.w("$", strconv.Itoa(v.N))
	case *OpExpr:
		f.opExpr(v)
	case *BoolExpr:
		for i, a := range v.Args {
			f.wIf(i > 0, not(v.Or, " AND ", " OR "))
			f.boolArg(a)
		}
	case *NotExpr:
		f.w("NOT ")
		f.boolArg(v.Arg)
	case *FuncCall:
		f.funcCall(v)
	case *Cast:
		f.operand(v.Arg)
		f.w("::")
		f.typeName(v.Type)
	case *CaseExpr:
		f.caseExpr(v)
	case *Subscript:
		f.subscript(v)
	case *FieldSelect:
		f.w("(")
		f.expr(v.Arg)
		f.w(").", not(v.Star, QuoteIdent(v.Field), "*"))
	case *Collate:
		f.operand(v.Arg)
		f.w(" COLLATE ", QuoteName(v.Collation))
	default:
		if !f.predicate(e) && !f.subqueryExpr(e) {
			f.listExpr(e)
		}
	}
}

// boolArg writes an argument of AND, OR or NOT, which bind weakest.
func (f *formatter) boolArg(e Expr) {
	if _, ok := e.(*BoolExpr); ok {
		f.operand(e)
		return
	}
	f.expr(e)
}

func (f *formatter) literal(l *Literal) {
	switch l.Kind {
	case LitNull:
		f.w("NULL")
	case LitString:
		f.w(QuoteLiteral(l.Text))
	case LitBit:
		f.w("B'", l.Text, "'")
	case LitHex:
		f.w("X'", l.Text, "'")
	default:
		f.w(l.Text)
	}
}

func (f *formatter) columnRef(c *ColumnRef) {
	if c.Value {
		f.w("VALUE")
		return
	}
	for i, p := range c.Parts {
		f.wIf(i > 0, ".")
		f.w(QuoteIdent(p))
	}
	if c.Star {
		f.w(not(len(c.Parts) > 0, "*", ".*"))
	}
}

func (f *formatter) opExpr(o *OpExpr) {
	op := operatorText(o.Schema, o.Op)
	if o.Left == nil {
		f.w(op, " ")
		f.operand(o.Right)
		return
	}
	prec := precedence(o)
	f.operandOf(o.Left, prec, false)
	f.w(" ", op, " ")
	f.operandOf(o.Right, prec, true)
}

var testWords = [...]string{TestNull: "NULL", TestTrue: "TRUE", TestFalse: "FALSE", TestUnknown: "UNKNOWN"}

var likeWords = [...]string{Like: "LIKE ", ILike: "ILIKE ", Similar: "SIMILAR TO "}

// predicate writes the tests that yield a boolean; false for other expressions.
func (f *formatter) predicate(e Expr) bool {
	switch v := e.(type) {
	case *IsTest:
		f.operand(v.Arg)
		f.w(not(v.Not, " IS ", " IS NOT "), testWords[v.Kind])
	case *DistinctFrom:
		f.operand(v.Left)
		f.w(not(v.Not, " IS DISTINCT FROM ", " IS NOT DISTINCT FROM "))
		f.operand(v.Right)
	case *Between:
		f.operand(v.Arg)
		f.w(not(v.Not, " BETWEEN ", " NOT BETWEEN "), not(v.Symmetric, "", "SYMMETRIC "))
		f.operand(v.Low)
		f.w(" AND ")
		f.operand(v.High)
	case *InList:
		f.operand(v.Arg)
		f.w(not(v.Not, " IN (", " NOT IN ("))
		f.exprs(v.List)
		f.w(")")
	case *InSubquery:
		f.operand(v.Arg)
		f.w(not(v.Not, " IN ", " NOT IN "))
		f.brackets(v.Query)
	case *LikeExpr:
		f.operand(v.Arg)
		f.w(not(v.Not, " ", " NOT "), likeWords[v.Kind])
		f.operand(v.Pattern)
		if v.Escape != nil {
			f.w(" ESCAPE ")
			f.operand(v.Escape)
		}
	case *QuantExpr:
		f.operand(v.Arg)
		f.w(" ", operatorText(v.Schema, v.Op), not(v.All, " ANY ", " ALL "))
		if v.Query != nil {
			f.brackets(v.Query)
			return true
		}
		f.w("(")
		f.expr(v.Array)
		f.w(")")
	case *CurrentOf:
		f.w("CURRENT OF ", QuoteIdent(v.Cursor))
	default:
		return false
	}
	return true
}

// brackets writes (query).
func (f *formatter) brackets(q *Select) {
	f.w("(")
	f.query(q)
	f.w(")")
}

// subqueryExpr writes the expressions made of a query; false for others.
func (f *formatter) subqueryExpr(e Expr) bool {
	switch v := e.(type) {
	case *ExistsExpr:
		f.w("EXISTS ")
		f.brackets(v.Query)
	case *SubqueryExpr:
		f.brackets(v.Query)
	case *ArraySubquery:
		f.w("ARRAY")
		f.brackets(v.Query)
	default:
		return false
	}
	return true
}

// listExpr writes the expressions that are a word and a list.
func (f *formatter) listExpr(e Expr) {
	list := func(open string, args []Expr, close string) {
		f.w(open)
		f.exprs(args)
		f.w(close)
	}
	switch v := e.(type) {
	case *CoalesceExpr:
		list("COALESCE(", v.Args, ")")
	case *NullIf:
		list("NULLIF(", []Expr{v.Left, v.Right}, ")")
	case *MinMax:
		list(not(v.Least, "GREATEST(", "LEAST("), v.Args, ")")
	case *ArrayExpr:
		list("ARRAY[", v.Elems, "]")
	case *RowExpr:
		list(not(v.Explicit, "(", "ROW("), v.Fields, ")")
	case *Grouping:
		list("GROUPING(", v.Args, ")")
	case *DefaultExpr:
		f.w("DEFAULT")
	case *SQLValue:
		f.w(strings.ToUpper(v.Func))
		if v.Precision >= 0 {
			f.w("(", strconv.Itoa(int(v.Precision)), ")")
		}
	}
}

func (f *formatter) caseExpr(c *CaseExpr) {
	f.w("CASE")
	f.clause(" ", c.Arg)
	for _, w := range c.Whens {
		f.w(" WHEN ")
		f.expr(w.Cond)
		f.w(" THEN ")
		f.expr(w.Then)
	}
	f.clause(" ELSE ", c.Else)
	f.w(" END")
}

func (f *formatter) subscript(s *Subscript) {
	switch s.Arg.(type) {
	case *ColumnRef, *Param:
		f.expr(s.Arg)
	default:
		f.w("(")
		f.expr(s.Arg)
		f.w(")")
	}
	for _, i := range s.Indexes {
		f.w("[")
		if i.Slice {
			f.clause("", i.Lower)
			f.w(" : ")
		}
		f.clause("", i.Upper)
		f.w("]")
	}
}

func (f *formatter) funcCall(c *FuncCall) {
	if c.SQLSyntax && c.Schema == "pg_catalog" && f.sqlSyntax(c) {
		return
	}
	f.w(QuoteName(Name{Schema: c.Schema, Name: c.Name}), "(")
	f.wIf(c.Star, "*")
	f.wIf(c.Distinct, "DISTINCT ")
	for i, a := range c.Args {
		f.wIf(i > 0, ", ")
		f.wIf(c.Variadic && i == len(c.Args)-1, "VARIADIC ")
		if a.Name != "" {
			f.w(QuoteIdent(a.Name), " => ")
		}
		f.expr(a.Value)
	}
	if c.WithinGroup {
		f.w(") WITHIN GROUP (")
		f.sortItems("ORDER BY ", c.OrderBy)
	} else {
		f.sortItems(" ORDER BY ", c.OrderBy)
	}
	f.w(")")
	if c.Filter != nil {
		f.w(" FILTER (WHERE ")
		f.expr(c.Filter)
		f.w(")")
	}
	if c.Over != nil {
		f.w(" OVER ")
		f.window(c.Over)
	}
}

// sqlSyntax writes a call in the syntax that the SQL standard has for it; false
// if there is none.
func (f *formatter) sqlSyntax(c *FuncCall) bool {
	words := func(parts ...any) {
		for _, p := range parts {
			switch v := p.(type) {
			case string:
				f.w(v)
			case int:
				f.operand(c.Args[v].Value)
			}
		}
	}
	switch n := len(c.Args); {
	case c.Name == "timezone" && n == 2:
		words(1, " AT TIME ZONE ", 0)
	case c.Name == "timezone" && n == 1:
		words(0, " AT LOCAL")
	case c.Name == "overlaps" && n == 4:
		words("(", 0, ", ", 1, ") OVERLAPS (", 2, ", ", 3, ")")
	case c.Name == "extract" && n == 2:
		words("EXTRACT(", 0, " FROM ", 1, ")")
	case c.Name == "position" && n == 2:
		words("POSITION(", 1, " IN ", 0, ")")
	case c.Name == "overlay" && n == 3:
		words("OVERLAY(", 0, " PLACING ", 1, " FROM ", 2, ")")
	case c.Name == "overlay" && n == 4:
		words("OVERLAY(", 0, " PLACING ", 1, " FROM ", 2, " FOR ", 3, ")")
	case c.Name == "substring" && n == 2:
		words("SUBSTRING(", 0, " FROM ", 1, ")")
	case c.Name == "substring" && n == 3:
		words("SUBSTRING(", 0, " FROM ", 1, " FOR ", 2, ")")
	case c.Name == "pg_collation_for" && n == 1:
		words("COLLATION FOR (", 0, ")")
	case c.Name == "system_user" && n == 0:
		words("SYSTEM_USER")
	default:
		return f.trimSyntax(c) || f.normalizeSyntax(c)
	}
	return true
}

func (f *formatter) trimSyntax(c *FuncCall) bool {
	side := map[string]string{"btrim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}[c.Name]
	if side == "" || len(c.Args) == 0 {
		return false
	}
	f.w("TRIM(", side)
	for i, a := range c.Args[1:] {
		f.w(not(i > 0, " ", ", "))
		f.operand(a.Value)
	}
	f.w(" FROM ")
	f.operand(c.Args[0].Value)
	f.w(")")
	return true
}

func (f *formatter) normalizeSyntax(c *FuncCall) bool {
	form := ""
	if len(c.Args) == 2 {
		if l, ok := c.Args[1].Value.(*Literal); ok {
			form = l.Text
		}
	}
	switch c.Name {
	case "normalize":
		f.w("NORMALIZE(")
		f.expr(c.Args[0].Value)
		if form != "" {
			f.w(", ", form)
		}
		f.w(")")
	case "is_normalized":
		f.operand(c.Args[0].Value)
		f.w(" IS ", strings.TrimPrefix(form+" ", " "), "NORMALIZED")
	default:
		return false
	}
	return true
}
