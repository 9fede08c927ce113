package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/streamdb/streamdb/pgerr"
)

// query converts the query of a subquery, view, cursor and so on.
func (c *converter) query(n *pg.Node, a At) *Select {
	s := n.GetSelectStmt()
	if s == nil {
		c.unsupported(a, "a data-modifying statement in this place", "Write a query here.")
		return &Select{At: a}
	}
	return c.selectStmt(s, a)
}

func (c *converter) selectStmt(s *pg.SelectStmt, a At) *Select {
	out := &Select{
		At: a, With: c.with(s.WithClause), All: s.All,
		OrderBy: c.sortItems(s.SortClause), Limit: c.limit(s.LimitCount), Skip: c.limit(s.LimitOffset),
		WithTies: s.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES,
	}
	for _, n := range s.LockingClause {
		out.Locks = append(out.Locks, c.lock(n.GetLockingClause()))
	}
	if s.IntoClause != nil {
		c.syntax(c.at(s.IntoClause.Rel.GetLocation()), pgerr.SyntaxError, "SELECT ... INTO is not allowed here")
	}
	switch {
	case s.Op == pg.SetOperation_SETOP_UNION:
		out.Op = Union
	case s.Op == pg.SetOperation_SETOP_INTERSECT:
		out.Op = Intersect
	case s.Op == pg.SetOperation_SETOP_EXCEPT:
		out.Op = Except
	case len(s.ValuesLists) > 0:
		out.Values = make([][]Expr, len(s.ValuesLists))
		for i, n := range s.ValuesLists {
			out.Values[i] = c.exprs(n.GetList().GetItems())
		}
		return out
	default:
		c.selectBody(s, out)
		return out
	}
	out.Left, out.Right = c.selectStmt(s.Larg, a), c.selectStmt(s.Rarg, a)
	return out
}

// selectBody fills in the clauses of a plain SELECT.
func (c *converter) selectBody(s *pg.SelectStmt, out *Select) {
	if len(s.DistinctClause) > 0 {
		out.Distinct = true
		if s.DistinctClause[0].GetNode() != nil {
			out.DistinctOn = c.exprs(s.DistinctClause)
		}
	}
	out.Targets = c.targets(s.TargetList)
	out.From = c.fromList(s.FromClause)
	out.Where = c.expr(s.WhereClause)
	out.GroupBy = c.groupItems(s.GroupClause)
	out.GroupDistinct = s.GroupDistinct
	out.Having = c.expr(s.HavingClause)
	for _, n := range s.WindowClause {
		w := n.GetWindowDef()
		spec := c.windowSpec(w)
		spec.Name = ""
		out.Windows = append(out.Windows, WindowDef{w.Name, spec})
	}
}

// limit converts a row count; NULL and ALL are none.
func (c *converter) limit(n *pg.Node) Expr {
	if n == nil || n.GetAConst().GetIsnull() {
		return nil
	}
	return c.expr(n)
}

func (c *converter) with(w *pg.WithClause) *With {
	if w == nil {
		return nil
	}
	out := &With{At: c.at(w.Location), Recursive: w.Recursive}
	for _, n := range w.Ctes {
		e := n.GetCommonTableExpr()
		cte := CTE{At: c.at(e.Location), Name: e.Ctename, Columns: nodeStrings(e.Aliascolnames)}
		switch e.Ctematerialized {
		case pg.CTEMaterialize_CTEMaterializeAlways:
			cte.Hint = MaterializeAlways
		case pg.CTEMaterialize_CTEMaterializeNever:
			cte.Hint = MaterializeNever
		}
		if s := e.SearchClause; s != nil {
			cte.Search = &Search{At: c.at(s.Location), Breadth: s.SearchBreadthFirst, Columns: nodeStrings(s.SearchColList), Set: s.SearchSeqColumn}
		}
		if s := e.CycleClause; s != nil {
			cte.Cycle = &Cycle{At: c.at(s.Location), Columns: nodeStrings(s.CycleColList), Mark: s.CycleMarkColumn,
				Value: c.expr(s.CycleMarkValue), Default: c.expr(s.CycleMarkDefault), Path: s.CyclePathColumn}
		}
		cte.Query = c.stmt(e.Ctequery, cte.At)
		out.CTEs = append(out.CTEs, cte)
	}
	return out
}

func (c *converter) targets(ns []*pg.Node) []Target {
	var out []Target
	for _, n := range ns {
		r := n.GetResTarget()
		out = append(out, Target{c.at(r.GetLocation()), c.expr(r.GetVal()), r.GetName()})
	}
	return out
}

func (c *converter) groupItems(ns []*pg.Node) []GroupItem {
	var out []GroupItem
	for _, n := range ns {
		g := n.GetGroupingSet()
		if g == nil {
			e := c.expr(n)
			out = append(out, GroupItem{At: At{e.Offset()}, Expr: e})
			continue
		}
		item := GroupItem{At: c.at(g.Location), Items: c.groupItems(g.Content)}
		switch g.Kind {
		case pg.GroupingSetKind_GROUPING_SET_EMPTY:
			item.Kind = GroupEmpty
		case pg.GroupingSetKind_GROUPING_SET_ROLLUP:
			item.Kind = GroupRollup
		case pg.GroupingSetKind_GROUPING_SET_CUBE:
			item.Kind = GroupCube
		default:
			item.Kind = GroupSets
		}
		out = append(out, item)
	}
	return out
}

func (c *converter) sortItems(ns []*pg.Node) []SortItem {
	var out []SortItem
	for _, n := range ns {
		s := n.GetSortBy()
		item := SortItem{Expr: c.expr(s.GetNode()), Nulls: nullsOf(s.GetSortbyNulls())}
		item.At = c.at(s.GetLocation())
		if item.Pos < 0 && item.Expr != nil {
			item.Pos = item.Expr.Offset()
		}
		switch s.GetSortbyDir() {
		case pg.SortByDir_SORTBY_ASC:
			item.Asc = true
		case pg.SortByDir_SORTBY_DESC:
			item.Desc = true
		case pg.SortByDir_SORTBY_USING:
			item.UsingSchema, item.Using = qualified(s.UseOp)
		}
		out = append(out, item)
	}
	return out
}

func nullsOf(n pg.SortByNulls) Nulls {
	switch n {
	case pg.SortByNulls_SORTBY_NULLS_FIRST:
		return NullsFirst
	case pg.SortByNulls_SORTBY_NULLS_LAST:
		return NullsLast
	}
	return NullsDefault
}

func (c *converter) lock(l *pg.LockingClause) Lock {
	out := Lock{Strength: "UPDATE", Tables: c.rangeNames(l.LockedRels)}
	switch l.Strength {
	case pg.LockClauseStrength_LCS_FORKEYSHARE:
		out.Strength = "KEY SHARE"
	case pg.LockClauseStrength_LCS_FORSHARE:
		out.Strength = "SHARE"
	case pg.LockClauseStrength_LCS_FORNOKEYUPDATE:
		out.Strength = "NO KEY UPDATE"
	}
	switch l.WaitPolicy {
	case pg.LockWaitPolicy_LockWaitSkip:
		out.Wait = "SKIP LOCKED"
	case pg.LockWaitPolicy_LockWaitError:
		out.Wait = "NOWAIT"
	}
	return out
}

// The bits of PostgreSQL's frameOptions.
const (
	frameNonDefault         = 0x1
	frameRowsBit            = 0x4
	frameGroupsBit          = 0x8
	frameStartUnbounded     = 0x20
	frameEndUnbounded       = 0x100
	frameStartOffsetBefore  = 0x800
	frameEndOffsetBefore    = 0x1000
	frameStartOffsetAfter   = 0x2000
	frameEndOffsetAfter     = 0x4000
	frameExcludeCurrentBits = 0x8000
	frameExcludeGroupBit    = 0x10000
	frameExcludeTiesBit     = 0x20000
)

func (c *converter) windowSpec(w *pg.WindowDef) *WindowSpec {
	out := &WindowSpec{
		At: c.at(w.Location), Name: w.Name, Ref: w.Refname,
		PartitionBy: c.exprs(w.PartitionClause), OrderBy: c.sortItems(w.OrderClause),
	}
	o := w.FrameOptions
	if o&frameNonDefault == 0 {
		return out
	}
	f := &Frame{Start: Bound{Kind: CurrentRow}, End: Bound{Kind: CurrentRow}}
	switch {
	case o&frameRowsBit != 0:
		f.Mode = FrameRows
	case o&frameGroupsBit != 0:
		f.Mode = FrameGroups
	}
	switch {
	case o&frameStartUnbounded != 0:
		f.Start.Kind = UnboundedPreceding
	case o&frameStartOffsetBefore != 0:
		f.Start = Bound{OffsetPreceding, c.expr(w.StartOffset)}
	case o&frameStartOffsetAfter != 0:
		f.Start = Bound{OffsetFollowing, c.expr(w.StartOffset)}
	}
	switch {
	case o&frameEndUnbounded != 0:
		f.End.Kind = UnboundedFollowing
	case o&frameEndOffsetBefore != 0:
		f.End = Bound{OffsetPreceding, c.expr(w.EndOffset)}
	case o&frameEndOffsetAfter != 0:
		f.End = Bound{OffsetFollowing, c.expr(w.EndOffset)}
	}
	switch {
	case o&frameExcludeCurrentBits != 0:
		f.Exclude = ExcludeCurrentRow
	case o&frameExcludeGroupBit != 0:
		f.Exclude = ExcludeGroup
	case o&frameExcludeTiesBit != 0:
		f.Exclude = ExcludeTies
	}
	out.Frame = f
	return out
}
