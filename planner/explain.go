package planner

import (
	"fmt"
	"strings"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// Explain describes a plan as an indented tree, in the manner of PostgreSQL.
// Streaming plans also show what is known of each stream, what each operator keeps
// and a warning where that or a change is costly; bytes estimates the sizes of
// relations and may be nil.
func Explain(n plan.Node, bytes func(rel uint32) int64) *Explained {
	e := &explainer{est: &estimator{bytes: bytes, rows: map[plan.Node]float64{}}, known: map[plan.Node]labels{}}
	switch n.(type) {
	case *plan.Materialize, *plan.Sink:
		e.stream = true
	}
	return e.node(n)
}

type explainer struct {
	stream bool
	est    *estimator
	known  map[plan.Node]labels
}

func (e *explainer) node(n plan.Node) *Explained {
	title, details := e.describe(n)
	if e.stream {
		title += e.props(n)
		details = append(details, e.stateLines(n)...)
		if w := warning(n); w != "" {
			details = append(details, w)
		}
	}
	x := &Explained{Of: n, Title: title, Details: details}
	for _, c := range n.Children() {
		x.Inputs = append(x.Inputs, e.node(c))
	}
	return x
}

// props names what comes out of a node, and its key.
func (e *explainer) props(n plan.Node) string {
	switch n.(type) {
	case *plan.Exchange, *plan.Materialize, *plan.Sink:
		return ""
	}
	p := n.Props()
	parts := []string{streamKind(p)}
	if len(p.Keys) > 0 {
		parts = append(parts, "key: "+e.labels(n).list(p.Keys[0]))
	}
	return "  [" + strings.Join(parts, ", ") + "]"
}

var joinWords = [...]string{plan.Inner: "Join", plan.Left: "Left Join", plan.Right: "Right Join", plan.Full: "Full Join",
	plan.Semi: "Semi Join", plan.Anti: "Anti Join", plan.NullAnti: "Null-aware Anti Join"}

// describe returns a node's title and detail lines.
func (e *explainer) describe(n plan.Node) (string, []string) {
	switch n := n.(type) {
	case *plan.Scan:
		return describeScan(n)
	case *plan.Values:
		if len(n.Rows) == 1 && len(n.Out) == 0 {
			return "Result", nil
		}
		return fmt.Sprintf("Values (%d rows)", len(n.Rows)), nil
	case *plan.Clock:
		return "Clock", []string{"Output: " + exprList(n.Exprs, nil)}
	case *plan.TableFunc:
		return "Function Scan on " + n.Fn.Name + "(" + exprList(n.Args, nil) + ")", nil
	case *plan.Filter:
		return "Filter", []string{"Cond: " + exprText(n.Cond, e.labels(n.Input))}
	case *plan.Project:
		if len(n.Exprs) == 0 {
			return "Project", nil // its rows count, for EXISTS or count(*)
		}
		return "Project", []string{"Output: " + outputs(n.Exprs, n.Out, e.labels(n.Input))}
	case *plan.ProjectSet:
		return "ProjectSet", []string{"Output: " + outputs(n.Exprs, n.Out, e.labels(n.Input))}
	case *plan.Join:
		return e.describeJoin(n)
	case *plan.Aggregate:
		return e.describeAggregate(n)
	case *plan.Union:
		return "Append", nil
	case *plan.SetOp:
		word := [...]string{plan.Intersect: "Intersect", plan.Except: "Except"}[n.Kind]
		if n.All {
			word += " All"
		}
		return word, nil
	case *plan.Recursive:
		if n.All {
			return "Recursive Union All", nil
		}
		return "Recursive Union", nil
	case *plan.WorkTable:
		return "WorkTable Scan on " + sql.QuoteIdent(n.Name) + " " + columnLabels(n.Out).list(all(len(n.Out))), nil
	case *plan.TopN:
		return e.describeTopN(n)
	case *plan.Sort:
		return "Sort", []string{"Sort Key: " + sortText(n.Order, e.labels(n.Input))}
	case *plan.Limit:
		var d []string
		if n.Limit != nil {
			d = append(d, "Limit: "+exprText(n.Limit, nil))
		}
		if n.Offset != nil {
			d = append(d, "Offset: "+exprText(n.Offset, nil))
		}
		return "Limit", d
	case *plan.Window:
		return e.describeWindow(n)
	case *plan.Apply:
		t := "Apply " + strings.TrimSuffix(joinWords[n.Kind], " Join")
		if n.Scalar {
			t += " (at most one row)"
		}
		if n.On != nil {
			return t, []string{"Cond: " + exprText(n.On, e.both(n.Left, n.Right))}
		}
		return t, nil
	case *plan.Upsert:
		return "Upsert", []string{"Key: " + e.labels(n).list(n.Key)}
	case *plan.Threshold:
		return "Threshold Filter", []string{"Cond: " + e.labels(n.Input).at(n.Col) + " " + n.Op.String() + " the value of " + e.labels(n.Bound).at(0)}
	case *plan.SingleRow:
		return "Single Row", nil
	case *plan.Exchange:
		switch n.Dist {
		case plan.Hash:
			return "Exchange Hash " + e.labels(n).list(n.Keys), nil
		case plan.Singleton:
			return "Exchange Single", nil
		}
		return "Exchange Broadcast", nil
	case *plan.Materialize:
		if n.Key == nil {
			return "Materialize", []string{"Key: whole row, with a count"}
		}
		return "Materialize", []string{"Key: " + e.labels(n).list(n.Key)}
	case *plan.Sink:
		if n.Key == nil {
			return "Sink (append-only)", nil
		}
		return "Sink", []string{"Key: " + e.labels(n).list(n.Key)}
	}
	return fmt.Sprintf("%T", n), nil
}

func describeScan(n *plan.Scan) (string, []string) {
	kind := [...]string{plan.RelTable: "Scan", plan.RelView: "Scan", plan.RelSource: "Source Scan", plan.RelVirtual: "Catalog Scan", plan.RelGiven: "CTE Scan"}[n.Kind]
	var d []string
	if len(n.Prefix) > 0 || n.Lo != nil || n.Hi != nil {
		if n.Index != 0 {
			kind = "Index Scan"
		} else {
			kind = "Key Scan"
		}
		if len(n.Prefix) > 0 {
			d = append(d, "Prefix: ("+exprList(n.Prefix, nil)+")")
		}
		if n.Lo != nil {
			d = append(d, "From: "+exprText(n.Lo, nil))
		}
		if n.Hi != nil {
			d = append(d, "To: "+exprText(n.Hi, nil))
		}
	}
	return kind + " on " + sql.QuoteIdent(n.Name) + " " + columnLabels(n.Out).list(all(len(n.Out))), d
}

func (e *explainer) describeJoin(n *plan.Join) (string, []string) {
	l, r := e.labels(n.Left), e.labels(n.Right)
	var d []string
	kind := "Nested Loop "
	if len(n.LeftKeys) > 0 {
		kind = "Hash "
		var ks []string
		for i := range n.LeftKeys {
			op := " = "
			if i < len(n.NullSafe) && n.NullSafe[i] {
				op = " IS NOT DISTINCT FROM "
			}
			ks = append(ks, l.at(n.LeftKeys[i])+op+r.at(n.RightKeys[i]))
		}
		d = append(d, "Hash Cond: "+strings.Join(ks, " AND "))
	}
	if n.Residual != nil {
		d = append(d, "Join Filter: "+exprText(n.Residual, e.both(n.Left, n.Right)))
	}
	if k := n.Lookup; k != nil {
		d = append(d, "Lookup: "+[2]string{"left", "right"}[k.Side]+" in "+sql.QuoteIdent(k.Name))
	}
	return kind + joinWords[n.Kind], d
}

func (e *explainer) describeAggregate(n *plan.Aggregate) (string, []string) {
	sc := e.labels(n.Input)
	title := "Hash Aggregate"
	if len(n.Aggs) == 0 && len(n.Group) > 0 {
		title = "Distinct"
	}
	var d []string
	if len(n.Group) > 0 {
		d = append(d, "Group Key: "+sc.list(n.Group))
	} else {
		title = "Aggregate"
	}
	var as []string
	for _, a := range n.Aggs {
		as = append(as, aggText(a, sc))
	}
	if len(as) > 0 {
		d = append(d, "Aggregates: "+strings.Join(as, ", "))
	}
	return title, d
}

func aggText(a expr.AggCall, sc labels) string {
	s := a.Fn.Name + "("
	if a.Distinct {
		s += "DISTINCT "
	}
	if len(a.Args) == 0 {
		s += "*"
	}
	for i, c := range a.Args {
		if i > 0 {
			s += ", "
		}
		s += sc.at(c)
	}
	if len(a.OrderBy) > 0 {
		s += " ORDER BY " + sortText(a.OrderBy, sc)
	}
	s += ")"
	if a.Filter >= 0 {
		s += " FILTER (WHERE " + sc.at(a.Filter) + ")"
	}
	return s
}

func (e *explainer) describeTopN(n *plan.TopN) (string, []string) {
	sc := e.labels(n.Input)
	t := "TopN"
	if n.Limit >= 0 {
		t += fmt.Sprintf(" Limit %d", n.Limit)
	}
	if n.Offset > 0 {
		t += fmt.Sprintf(" Offset %d", n.Offset)
	}
	if n.WithTies {
		t += " With Ties"
	}
	if n.RankCol {
		t += " with row_number"
	}
	var d []string
	if len(n.Partition) > 0 {
		d = append(d, "Partition By: "+sc.list(n.Partition))
	}
	if len(n.Order) > 0 {
		d = append(d, "Sort Key: "+sortText(n.Order, sc))
	}
	return t, d
}

func (e *explainer) describeWindow(n *plan.Window) (string, []string) {
	sc := e.labels(n.Input)
	var d []string
	if len(n.Partition) > 0 {
		d = append(d, "Partition By: "+sc.list(n.Partition))
	}
	if len(n.Order) > 0 {
		d = append(d, "Sort Key: "+sortText(n.Order, sc))
	}
	var fs []string
	for _, f := range n.Funcs {
		fs = append(fs, windowText(f, sc))
	}
	return "Window", append(d, "Functions: "+strings.Join(fs, ", "))
}

func windowText(f plan.WindowFunc, sc labels) string {
	if f.Agg != nil {
		return aggText(*f.Agg, sc)
	}
	return f.Name + sc.list(f.Args)
}

func sortText(ks []expr.SortKey, sc labels) string {
	var s []string
	for _, k := range ks {
		t := sc.at(k.Col)
		if k.Desc {
			t += " DESC"
		}
		if k.NullsFirst != k.Desc {
			t += map[bool]string{true: " NULLS FIRST", false: " NULLS LAST"}[k.NullsFirst]
		}
		s = append(s, t)
	}
	return strings.Join(s, ", ")
}

func outputs(es []expr.Expr, out []plan.Column, sc labels) string {
	s := make([]string, len(es))
	for i, e := range es {
		s[i] = exprText(e, sc)
		if n := out[i].Name; !lacksName(out[i]) && s[i] != sql.QuoteIdent(n) {
			s[i] += " AS " + sql.QuoteIdent(n)
		}
	}
	return strings.Join(s, ", ")
}

func exprList(es []expr.Expr, sc labels) string {
	s := make([]string, len(es))
	for i, e := range es {
		if i == 20 && len(es) > 24 {
			return strings.Join(append(s[:i], fmt.Sprintf("... %d more", len(es)-i)), ", ")
		}
		s[i] = exprText(e, sc)
	}
	return strings.Join(s, ", ")
}

// exprText writes an expression with the names of sc.
func exprText(e expr.Expr, sc labels) string {
	t := func(x expr.Expr) string { return exprText(x, sc) }
	join := func(es []expr.Expr, sep string) string {
		s := make([]string, len(es))
		for i, x := range es {
			s[i] = t(x)
		}
		return "(" + strings.Join(s, sep) + ")"
	}
	not := func(n bool) string {
		if n {
			return "NOT "
		}
		return ""
	}
	switch e := e.(type) {
	case *expr.Col:
		return sc.at(e.Index)
	case *expr.Const:
		return constText(e)
	case *expr.Param:
		return fmt.Sprintf("$%d", e.Index)
	case *expr.Outer:
		return fmt.Sprintf("outer%d.$%d", e.Level, e.Index)
	case *expr.Call:
		if e.Fn.Domain {
			return t(e.Args[0]) + "::" + e.Typ.String()
		}
		if isOperator(e.Fn.Name) {
			if len(e.Args) == 1 {
				return "(" + e.Fn.Name + " " + t(e.Args[0]) + ")"
			}
			return "(" + t(e.Args[0]) + " " + e.Fn.Name + " " + t(e.Args[1]) + ")"
		}
		return e.Fn.Name + "(" + exprList(e.Args, sc) + ")"
	case *expr.Cast:
		return t(e.Arg) + "::" + e.To.String()
	case *expr.And:
		return join(e.Args, " AND ")
	case *expr.Or:
		return join(e.Args, " OR ")
	case *expr.Not:
		return "(NOT " + t(e.Arg) + ")"
	case *expr.IsNull:
		return "(" + t(e.Arg) + " IS " + not(e.Negate) + "NULL)"
	case *expr.IsBool:
		return "(" + t(e.Arg) + " IS " + not(e.Negate) + strings.ToUpper(fmt.Sprint(e.Want)) + ")"
	case *expr.Distinct:
		return "(" + t(e.L) + " IS " + not(e.Negate) + "DISTINCT FROM " + t(e.R) + ")"
	case *expr.Case:
		s := "CASE"
		for _, w := range e.Whens {
			s += " WHEN " + t(w.Cond) + " THEN " + t(w.Then)
		}
		if e.Else != nil {
			s += " ELSE " + t(e.Else)
		}
		return s + " END"
	case *expr.Coalesce:
		return "COALESCE(" + exprList(e.Args, sc) + ")"
	case *expr.MinMax:
		return map[bool]string{true: "GREATEST", false: "LEAST"}[e.Greatest] + "(" + exprList(e.Args, sc) + ")"
	case *expr.In:
		return "(" + t(e.Arg) + " " + not(e.Negate) + "IN (" + exprList(e.List, sc) + "))"
	case *expr.AnyAll:
		return "(" + t(e.Arg) + " " + e.Op.Name + map[bool]string{true: " ALL (", false: " ANY ("}[e.All] + t(e.Array) + "))"
	case *expr.MakeArray:
		return "ARRAY[" + exprList(e.Args, sc) + "]"
	case *expr.MakeRow:
		return "ROW(" + exprList(e.Args, sc) + ")"
	case *expr.Field:
		return fmt.Sprintf("(%s).%d", t(e.Arg), e.Index+1)
	}
	return fmt.Sprintf("%T", e)
}

func isOperator(name string) bool {
	return name != "" && strings.Trim(name, "+-*/<>=~!@#%^&|`?") == ""
}

func constText(c *expr.Const) string {
	if c.Val == nil {
		return "NULL"
	}
	t := c.Typ
	if t.ID == types.Unknown {
		t = types.TText
	}
	s := string(types.AppendText(nil, t, c.Val, nil))
	if c.Typ.ID == types.Money || c.Typ.ID.IsReg() {
		return sql.QuoteLiteral(s) + "::" + c.Typ.String()
	}
	switch c.Typ.Category() {
	case 'N':
		return s
	case 'B':
		return map[string]string{"t": "true", "f": "false"}[s]
	}
	return sql.QuoteLiteral(s) + "::" + c.Typ.String()
}
