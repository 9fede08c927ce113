package sql

// query writes a query without brackets around it.
func (f *formatter) query(q *Select) {
	f.with(q.With)
	switch {
	case q.Op != SetNone:
		f.arm(q.Left, q.Op, true)
		f.w(" ", [...]string{Union: "UNION", Intersect: "INTERSECT", Except: "EXCEPT"}[q.Op], not(q.All, " ", " ALL "))
		f.arm(q.Right, q.Op, false)
	case q.Values != nil:
		f.w("VALUES ")
		for i, row := range q.Values {
			f.w(not(i > 0, "(", ", ("))
			f.exprs(row)
			f.w(")")
		}
	default:
		f.selectBody(q)
	}
	f.sortItems(" ORDER BY ", q.OrderBy)
	if q.WithTies {
		f.clause(" OFFSET ", q.Skip)
		f.w(" FETCH FIRST (")
		f.expr(q.Limit)
		f.w(") ROWS WITH TIES")
	} else {
		f.clause(" LIMIT ", q.Limit)
		f.clause(" OFFSET ", q.Skip)
	}
	for _, l := range q.Locks {
		f.w(" FOR ", l.Strength)
		if len(l.Tables) > 0 {
			f.w(" OF ")
			f.names(l.Tables)
		}
		f.wIf(l.Wait != "", " "+l.Wait)
	}
}

// arm writes a side of a set operation, in brackets where it has clauses of its
// own or would bind otherwise.
func (f *formatter) arm(q *Select, parent SetOp, left bool) {
	bare := q.With == nil && q.OrderBy == nil && q.Limit == nil && q.Skip == nil && q.Locks == nil
	if bare && q.Op != SetNone {
		bare = left && (parent != Intersect || q.Op == Intersect)
	}
	if bare {
		f.query(q)
		return
	}
	f.brackets(q)
}

func (f *formatter) selectBody(q *Select) {
	f.w("SELECT")
	if q.Distinct {
		f.w(" DISTINCT")
		if q.DistinctOn != nil {
			f.w(" ON (")
			f.exprs(q.DistinctOn)
			f.w(")")
		}
	}
	f.targets(" ", q.Targets)
	f.from(" FROM ", q.From)
	f.clause(" WHERE ", q.Where)
	if len(q.GroupBy) > 0 {
		f.w(" GROUP BY ", not(q.GroupDistinct, "", "DISTINCT "))
		f.groupItems(q.GroupBy)
	}
	f.clause(" HAVING ", q.Having)
	for i, w := range q.Windows {
		f.w(not(i > 0, " WINDOW ", ", "), QuoteIdent(w.Name), " AS ")
		f.window(w.Spec)
	}
}

func (f *formatter) targets(keyword string, ts []Target) {
	for i, t := range ts {
		f.w(not(i > 0, keyword, ", "))
		f.expr(t.Expr)
		f.wIf(t.Alias != "", " AS "+QuoteIdent(t.Alias))
	}
}

func (f *formatter) with(w *With) {
	if w == nil {
		return
	}
	f.w("WITH ", not(w.Recursive, "", "RECURSIVE "))
	for i, c := range w.CTEs {
		f.wIf(i > 0, ", ")
		f.w(QuoteIdent(c.Name))
		f.identList(c.Columns)
		f.w(" AS ", [...]string{"", "MATERIALIZED ", "NOT MATERIALIZED "}[c.Hint], "(")
		f.stmt(c.Query)
		f.w(")")
		f.search(c.Search)
		f.cycle(c.Cycle)
	}
	f.w(" ")
}

func (f *formatter) search(s *Search) {
	if s == nil {
		return
	}
	f.w(" SEARCH ", not(s.Breadth, "DEPTH", "BREADTH"), " FIRST BY ")
	f.idents(s.Columns)
	f.w(" SET ", QuoteIdent(s.Set))
}

func (f *formatter) cycle(c *Cycle) {
	if c == nil {
		return
	}
	f.w(" CYCLE ")
	f.idents(c.Columns)
	f.w(" SET ", QuoteIdent(c.Mark), " TO ")
	f.expr(c.Value)
	f.w(" DEFAULT ")
	f.expr(c.Default)
	f.w(" USING ", QuoteIdent(c.Path))
}

func (f *formatter) groupItems(items []GroupItem) {
	for i, g := range items {
		f.wIf(i > 0, ", ")
		switch g.Kind {
		case GroupExpr:
			f.expr(g.Expr)
			continue
		case GroupRollup:
			f.w("ROLLUP ")
		case GroupCube:
			f.w("CUBE ")
		case GroupSets:
			f.w("GROUPING SETS ")
		}
		f.w("(")
		f.groupItems(g.Items)
		f.w(")")
	}
}

func (f *formatter) sortItems(keyword string, items []SortItem) {
	for i, s := range items {
		f.w(not(i > 0, keyword, ", "))
		f.expr(s.Expr)
		f.sortTail(s)
	}
}

func (f *formatter) sortTail(s SortItem) {
	switch {
	case s.Using != "":
		f.w(" USING ", operatorText(s.UsingSchema, s.Using))
	case s.Desc:
		f.w(" DESC")
	case s.Asc:
		f.w(" ASC")
	}
	f.w([...]string{"", " NULLS FIRST", " NULLS LAST"}[s.Nulls])
}

func (f *formatter) window(w *WindowSpec) {
	if w.Name != "" {
		f.w(QuoteIdent(w.Name))
		return
	}
	sep := ""
	part := func() { f.w(sep); sep = " " }
	f.w("(")
	if w.Ref != "" {
		part()
		f.w(QuoteIdent(w.Ref))
	}
	if len(w.PartitionBy) > 0 {
		part()
		f.w("PARTITION BY ")
		f.exprs(w.PartitionBy)
	}
	if len(w.OrderBy) > 0 {
		part()
		f.sortItems("ORDER BY ", w.OrderBy)
	}
	if w.Frame != nil {
		part()
		f.frame(w.Frame)
	}
	f.w(")")
}

func (f *formatter) frame(fr *Frame) {
	f.w([...]string{"RANGE", "ROWS", "GROUPS"}[fr.Mode], " BETWEEN ")
	f.bound(fr.Start)
	f.w(" AND ")
	f.bound(fr.End)
	f.w([...]string{"", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"}[fr.Exclude])
}

func (f *formatter) bound(b Bound) {
	switch b.Kind {
	case UnboundedPreceding:
		f.w("UNBOUNDED PRECEDING")
	case CurrentRow:
		f.w("CURRENT ROW")
	case UnboundedFollowing:
		f.w("UNBOUNDED FOLLOWING")
	default:
		f.operand(b.Offset)
		f.w(not(b.Kind == OffsetFollowing, " PRECEDING", " FOLLOWING"))
	}
}

func (f *formatter) from(keyword string, ts []TableExpr) {
	for i, t := range ts {
		f.w(not(i > 0, keyword, ", "))
		f.table(t)
	}
}

func (f *formatter) alias(a *Alias) {
	if a != nil {
		f.w(" AS ", QuoteIdent(a.Name))
		f.identList(a.Columns)
	}
}

func (f *formatter) table(t TableExpr) {
	switch v := t.(type) {
	case *TableRef:
		f.wIf(v.Only, "ONLY ")
		f.w(QuoteName(v.Name))
		if v.AsOf != nil {
			f.w(" FOR SYSTEM_TIME AS OF (")
			f.expr(v.AsOf)
			f.w(")")
		}
		f.alias(v.Alias)
		if s := v.Sample; s != nil {
			f.w(" TABLESAMPLE ", QuoteName(s.Method), " (")
			f.exprs(s.Args)
			f.w(")")
			if s.Repeatable != nil {
				f.w(" REPEATABLE (")
				f.expr(s.Repeatable)
				f.w(")")
			}
		}
	case *SubqueryTable:
		f.wIf(v.Lateral, "LATERAL ")
		f.brackets(v.Query)
		f.alias(v.Alias)
	case *FuncTable:
		f.funcTable(v)
	case *WindowTable:
		f.w([...]string{"TUMBLE(", "HOP(", "CUMULATE(", "SESSION("}[v.Kind])
		f.table(v.Table)
		f.w(", ")
		f.columnRef(v.Time)
		for _, a := range v.Args {
			f.clause(", ", a)
		}
		for _, a := range v.PartitionBy {
			f.clause(", ", a)
		}
		f.w(")")
		f.alias(v.Alias)
	case *JoinTable:
		f.join(v)
	}
}

func (f *formatter) funcTable(t *FuncTable) {
	f.wIf(t.Lateral, "LATERAL ")
	f.wIf(t.RowsFrom, "ROWS FROM (")
	for i, fn := range t.Funcs {
		f.wIf(i > 0, ", ")
		f.expr(fn.Call)
		if t.RowsFrom && len(fn.Columns) > 0 {
			f.w(" AS (")
			f.columnDefs(fn.Columns)
			f.w(")")
		}
	}
	f.wIf(t.RowsFrom, ")")
	f.wIf(t.Ordinality, " WITH ORDINALITY")
	if t.RowsFrom || len(t.Funcs) != 1 || len(t.Funcs[0].Columns) == 0 {
		f.alias(t.Alias)
		return
	}
	f.w(" AS ")
	if t.Alias != nil {
		f.w(QuoteIdent(t.Alias.Name), " ")
	}
	f.w("(")
	f.columnDefs(t.Funcs[0].Columns)
	f.w(")")
}

func (f *formatter) join(j *JoinTable) {
	f.wIf(j.Alias != nil, "(")
	f.table(j.Left)
	cross := !j.Natural && j.Using == nil && j.On == nil
	f.w(not(j.Natural, " ", " NATURAL "))
	if cross {
		f.w("CROSS JOIN ")
	} else {
		f.w([...]string{"JOIN ", "LEFT JOIN ", "RIGHT JOIN ", "FULL JOIN "}[j.Kind])
	}
	if r, ok := j.Right.(*JoinTable); ok && r.Alias == nil {
		f.w("(")
		f.table(r)
		f.w(")")
	} else {
		f.table(j.Right)
	}
	if j.Using != nil {
		f.w(" USING (")
		f.idents(j.Using)
		f.w(")")
		f.wIf(j.UsingAlias != "", " AS "+QuoteIdent(j.UsingAlias))
	}
	f.clause(" ON ", j.On)
	if j.Alias != nil {
		f.w(")")
		f.alias(j.Alias)
	}
}
