package sql

import pg "github.com/pganalyze/pg_query_go/v6"

func (c *converter) fromList(ns []*pg.Node) []TableExpr {
	var out []TableExpr
	for _, n := range ns {
		out = append(out, c.table(n))
	}
	return out
}

// table converts an item of FROM.
func (c *converter) table(n *pg.Node) TableExpr {
	switch v := n.GetNode().(type) {
	case *pg.Node_RangeVar:
		return c.tableRef(v.RangeVar)
	case *pg.Node_RangeSubselect:
		r := v.RangeSubselect
		q := c.query(r.Subquery, At{NoPos})
		if r.Alias == nil && c.unnamed == nil {
			c.unnamed = &unnamedQuery{int(queryOffset(q)), q.Values != nil}
		}
		return &SubqueryTable{At{queryOffset(q)}, q, r.Lateral, aliasOf(r.Alias)}
	case *pg.Node_RangeFunction:
		return c.rangeFunction(v.RangeFunction)
	case *pg.Node_JoinExpr:
		return c.join(v.JoinExpr)
	case *pg.Node_RangeTableSample:
		if out, ok := c.table(v.RangeTableSample.Relation).(*TableRef); ok {
			out.Sample = c.sample(v.RangeTableSample)
			return out
		}
	case *pg.Node_RangeTableFunc:
		c.unsupported(c.at(v.RangeTableFunc.Location), "XMLTABLE", "Keep XML as text.")
	default:
		c.unsupported(At{NoPos}, "this kind of table expression ("+typeWord(n)+")", "Use a table, a subquery or a function.")
	}
	return &TableRef{At: At{NoPos}}
}

// queryOffset finds a place for a query, which has none of its own: that of its
// first output column.
func queryOffset(q *Select) int32 {
	for q != nil && q.Left != nil {
		q = q.Left
	}
	switch {
	case q == nil:
	case len(q.Targets) > 0 && q.Targets[0].Pos != NoPos:
		return q.Targets[0].Pos
	case len(q.Values) > 0 && len(q.Values[0]) > 0:
		return q.Values[0][0].Offset()
	case len(q.From) > 0:
		return q.From[0].Offset()
	}
	return NoPos
}

func (c *converter) tableRef(r *pg.RangeVar) *TableRef {
	if r == nil {
		return nil
	}
	name := c.rangeName(r)
	return &TableRef{At: name.At, Name: name, Only: !r.Inh, Alias: aliasOf(r.Alias), AsOf: c.asOf[name.Pos]}
}

func (c *converter) sample(s *pg.RangeTableSample) *Sample {
	at := c.at(s.Location)
	out := &Sample{At: at, Method: c.name(nodeStrings(s.Method), at), Repeatable: c.expr(s.Repeatable)}
	for _, a := range s.Args {
		out.Args = append(out.Args, c.expr(a))
	}
	return out
}

func (c *converter) join(j *pg.JoinExpr) TableExpr {
	out := &JoinTable{
		Left: c.table(j.Larg), Right: c.table(j.Rarg), Natural: j.IsNatural,
		Using: nodeStrings(j.UsingClause), On: c.expr(j.Quals), Alias: aliasOf(j.Alias),
	}
	out.Pos = out.Left.Offset()
	if j.JoinUsingAlias != nil {
		out.UsingAlias = j.JoinUsingAlias.Aliasname
	}
	switch j.Jointype {
	case pg.JoinType_JOIN_LEFT:
		out.Kind = LeftJoin
	case pg.JoinType_JOIN_RIGHT:
		out.Kind = RightJoin
	case pg.JoinType_JOIN_FULL:
		out.Kind = FullJoin
	}
	return out
}

func (c *converter) rangeFunction(r *pg.RangeFunction) TableExpr {
	if w := c.windowTable(r); w != nil {
		return w
	}
	out := &FuncTable{At: At{NoPos}, RowsFrom: r.IsRowsfrom, Ordinality: r.Ordinality, Lateral: r.Lateral, Alias: aliasOf(r.Alias)}
	for _, n := range r.Functions {
		items := n.GetList().GetItems()
		f := TableFunc{Call: c.expr(items[0])}
		if len(items) > 1 {
			f.Columns = c.columnDefs(items[1].GetList().GetItems())
		}
		if out.Pos < 0 && f.Call != nil {
			out.Pos = f.Call.Offset()
		}
		out.Funcs = append(out.Funcs, f)
	}
	if len(r.Coldeflist) > 0 && len(out.Funcs) == 1 {
		out.Funcs[0].Columns = c.columnDefs(r.Coldeflist)
	}
	return out
}

var windowKinds = map[string]WindowKind{"tumble": Tumble, "hop": Hop, "cumulate": Cumulate, "session": Session}

// windowTable recognises TUMBLE(relation, column, ...) and its kin: an
// unqualified call whose first argument is a bare name or a subquery and whose
// second is a column, or DESCRIPTOR(column). SESSION takes its keys behind the
// gap. Any other call stays a function.
func (c *converter) windowTable(r *pg.RangeFunction) TableExpr {
	if r.IsRowsfrom || r.Ordinality || r.Lateral || len(r.Coldeflist) > 0 || len(r.Functions) != 1 {
		return nil
	}
	f := r.Functions[0].GetList().GetItems()[0].GetFuncCall()
	if f == nil || len(f.Funcname) != 1 || len(f.Args) < 3 || f.Over != nil || len(f.AggOrder) > 0 {
		return nil
	}
	kind, ok := windowKinds[nodeString(f.Funcname[0])]
	if !ok {
		return nil
	}
	out := &WindowTable{At: c.at(f.Location), Kind: kind, Alias: aliasOf(r.Alias)}
	switch v := f.Args[0].Node.(type) {
	case *pg.Node_ColumnRef:
		ref := c.columnRef(v.ColumnRef).(*ColumnRef)
		if ref.Star || len(ref.Parts) > 3 {
			return nil
		}
		out.Table = &TableRef{At: ref.At, Name: c.name(ref.Parts, ref.At)}
	case *pg.Node_SubLink:
		if v.SubLink.SubLinkType != pg.SubLinkType_EXPR_SUBLINK {
			return nil
		}
		a := c.at(v.SubLink.Location)
		out.Table = &SubqueryTable{At: a, Query: c.query(v.SubLink.Subselect, a)}
	default:
		return nil
	}
	time := f.Args[1]
	if d := time.GetFuncCall(); d != nil && len(d.Args) == 1 && len(d.Funcname) == 1 && nodeString(d.Funcname[0]) == "descriptor" {
		time = d.Args[0]
	}
	if time.GetColumnRef() == nil {
		return nil
	}
	out.Time = c.columnRef(time.GetColumnRef()).(*ColumnRef)
	out.Args = c.exprs(f.Args[2:])
	if kind == Session {
		out.PartitionBy, out.Args = out.Args[1:len(out.Args):len(out.Args)], out.Args[:1]
		if len(out.PartitionBy) == 0 {
			out.PartitionBy = nil
		}
	}
	return out
}
