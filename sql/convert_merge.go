package sql

import pg "github.com/pganalyze/pg_query_go/v6"

// merge converts MERGE.
func (c *converter) merge(s *pg.MergeStmt, a At) Stmt {
	out := &Merge{At: a, With: c.with(s.WithClause), Table: c.tableRef(s.Relation), Source: c.table(s.SourceRelation), On: c.expr(s.JoinCondition)}
	if len(s.ReturningList) > 0 {
		c.unsupported(a, "RETURNING in MERGE", "Use INSERT ... ON CONFLICT, UPDATE or DELETE, which have RETURNING.")
	}
	for _, n := range s.MergeWhenClauses {
		out.Whens = append(out.Whens, c.mergeWhen(n.GetMergeWhenClause(), a))
	}
	return out
}

func (c *converter) mergeWhen(w *pg.MergeWhenClause, a At) MergeWhen {
	out := MergeWhen{At: a, Cond: c.expr(w.Condition)}
	switch w.MatchKind {
	case pg.MergeMatchKind_MERGE_WHEN_MATCHED:
		out.Matched = true
	case pg.MergeMatchKind_MERGE_WHEN_NOT_MATCHED_BY_SOURCE:
		c.unsupported(a, "WHEN NOT MATCHED BY SOURCE", "Use UPDATE or DELETE with NOT EXISTS.")
	}
	switch w.CommandType {
	case pg.CmdType_CMD_UPDATE:
		out.Action, out.Set = MergeUpdate, c.setClauses(w.TargetList)
	case pg.CmdType_CMD_DELETE:
		out.Action = MergeDelete
	case pg.CmdType_CMD_INSERT:
		out.Action, out.Insert = MergeInsert, c.mergeInsert(w, a)
	}
	return out
}

func (c *converter) mergeInsert(w *pg.MergeWhenClause, a At) *Insert {
	out := &Insert{At: a, Columns: c.insertColumns(w.TargetList), Overriding: overriding[w.Override]}
	if len(w.Values) > 0 {
		out.Source = &Select{At: a, Values: [][]Expr{c.exprs(w.Values)}}
	}
	return out
}
