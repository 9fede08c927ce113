package sql

// Children returns the parts of a query, table expression or expression that may
// hold table references, in the order in which PostgreSQL visits them. The WITH
// clause of a query is left out, since its names change what the rest means.
func Children(n Node) []Node {
	switch n := n.(type) {
	case *Select:
		return selectChildren(n)
	case TableExpr:
		return tableChildren(n)
	case Expr:
		return exprChildren(n)
	}
	return nil
}

// parts gathers children and leaves out what is not there.
type parts []Node

func (p *parts) exprs(es ...Expr) {
	for _, e := range es {
		if e != nil {
			*p = append(*p, e)
		}
	}
}

func (p *parts) sorts(ss []SortItem) {
	for _, s := range ss {
		p.exprs(s.Expr)
	}
}

func (p *parts) query(q *Select) {
	if q != nil {
		*p = append(*p, q)
	}
}

func (p *parts) group(gs []GroupItem) {
	for _, g := range gs {
		p.exprs(g.Expr)
		p.group(g.Items)
	}
}

func (p *parts) window(w *WindowSpec) {
	if w == nil {
		return
	}
	p.exprs(w.PartitionBy...)
	p.sorts(w.OrderBy)
	if w.Frame != nil {
		p.exprs(w.Frame.Start.Offset, w.Frame.End.Offset)
	}
}

func selectChildren(n *Select) []Node {
	var p parts
	p.exprs(n.DistinctOn...)
	for _, t := range n.Targets {
		p.exprs(t.Expr)
	}
	for _, t := range n.From {
		p = append(p, t)
	}
	p.exprs(n.Where)
	p.group(n.GroupBy)
	p.exprs(n.Having)
	for _, w := range n.Windows {
		p.window(w.Spec)
	}
	for _, r := range n.Values {
		p.exprs(r...)
	}
	p.sorts(n.OrderBy)
	p.exprs(n.Skip, n.Limit)
	p.query(n.Left)
	p.query(n.Right)
	return p
}

func tableChildren(n TableExpr) []Node {
	var p parts
	switch n := n.(type) {
	case *TableRef:
		p.exprs(n.AsOf)
		if n.Sample != nil {
			p.exprs(n.Sample.Args...)
			p.exprs(n.Sample.Repeatable)
		}
	case *SubqueryTable:
		p.query(n.Query)
	case *FuncTable:
		for _, f := range n.Funcs {
			p.exprs(f.Call)
		}
	case *WindowTable:
		p = append(p, n.Table)
		p.exprs(n.PartitionBy...)
		p.exprs(n.Args...)
	case *JoinTable:
		p = append(p, n.Left, n.Right)
		p.exprs(n.On)
	}
	return p
}

func exprChildren(e Expr) []Node {
	var p parts
	switch e := e.(type) {
	case *OpExpr:
		p.exprs(e.Left, e.Right)
	case *BoolExpr:
		p.exprs(e.Args...)
	case *NotExpr:
		p.exprs(e.Arg)
	case *IsTest:
		p.exprs(e.Arg)
	case *DistinctFrom:
		p.exprs(e.Left, e.Right)
	case *Between:
		p.exprs(e.Arg, e.Low, e.High)
	case *InList:
		p.exprs(e.Arg)
		p.exprs(e.List...)
	case *InSubquery:
		p.query(e.Query)
		p.exprs(e.Arg)
	case *LikeExpr:
		p.exprs(e.Arg, e.Pattern, e.Escape)
	case *QuantExpr:
		p.query(e.Query)
		p.exprs(e.Arg, e.Array)
	case *ExistsExpr:
		p.query(e.Query)
	case *SubqueryExpr:
		p.query(e.Query)
	case *ArraySubquery:
		p.query(e.Query)
	case *ArrayExpr:
		p.exprs(e.Elems...)
	case *RowExpr:
		p.exprs(e.Fields...)
	case *CaseExpr:
		p.exprs(e.Arg)
		for _, w := range e.Whens {
			p.exprs(w.Cond, w.Then)
		}
		p.exprs(e.Else)
	case *CoalesceExpr:
		p.exprs(e.Args...)
	case *NullIf:
		p.exprs(e.Left, e.Right)
	case *MinMax:
		p.exprs(e.Args...)
	case *FuncCall:
		for _, a := range e.Args {
			p.exprs(a.Value)
		}
		p.sorts(e.OrderBy)
		p.exprs(e.Filter)
		p.window(e.Over)
	case *Cast:
		p.exprs(e.Arg)
	case *Subscript:
		p.exprs(e.Arg)
		for _, x := range e.Indexes {
			p.exprs(x.Lower, x.Upper)
		}
	case *FieldSelect:
		p.exprs(e.Arg)
	case *Collate:
		p.exprs(e.Arg)
	case *Grouping:
		p.exprs(e.Args...)
	}
	return p
}

// IsSubquery reports whether an expression holds a query whose rows are not part
// of the enclosing one's FROM clause.
func IsSubquery(e Expr) (*Select, bool) {
	var q *Select
	switch e := e.(type) {
	case *InSubquery:
		q = e.Query
	case *QuantExpr:
		q = e.Query
	case *ExistsExpr:
		q = e.Query
	case *SubqueryExpr:
		q = e.Query
	case *ArraySubquery:
		q = e.Query
	}
	return q, q != nil
}
