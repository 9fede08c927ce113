package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/streamdb/streamdb/pgerr"
)

// stmt converts a statement that stands at a.
func (c *converter) stmt(n *pg.Node, a At) Stmt {
	switch v := n.GetNode().(type) {
	case *pg.Node_SelectStmt:
		if into := takeInto(v.SelectStmt); into != nil {
			return c.selectInto(v.SelectStmt, into, a)
		}
		return c.selectStmt(v.SelectStmt, a)
	case *pg.Node_InsertStmt:
		return c.insert(v.InsertStmt, a)
	case *pg.Node_UpdateStmt:
		return c.update(v.UpdateStmt, a)
	case *pg.Node_DeleteStmt:
		k := v.DeleteStmt
		return &Delete{a, c.with(k.WithClause), c.tableRef(k.Relation), c.fromList(k.UsingClause), c.expr(k.WhereClause), c.targets(k.ReturningList)}
	case *pg.Node_MergeStmt:
		return c.merge(v.MergeStmt, a)
	case *pg.Node_TruncateStmt:
		k := v.TruncateStmt
		return &Truncate{a, c.rangeNames(k.Relations), k.RestartSeqs, k.Behavior == pg.DropBehavior_DROP_CASCADE}
	case *pg.Node_TransactionStmt:
		return c.transaction(v.TransactionStmt, a)
	case *pg.Node_VariableSetStmt:
		return c.set(v.VariableSetStmt, a)
	case *pg.Node_VariableShowStmt:
		return &Show{At: a, Name: lowerASCII(v.VariableShowStmt.Name)}
	case *pg.Node_ExplainStmt:
		return c.explain(v.ExplainStmt, a)
	case *pg.Node_PrepareStmt:
		k := v.PrepareStmt
		out := &Prepare{At: a, Name: k.Name, Stmt: c.stmt(k.Query, a)}
		for _, t := range k.Argtypes {
			out.Types = append(out.Types, c.typeName(t.GetTypeName()))
		}
		return out
	case *pg.Node_ExecuteStmt:
		return &Execute{a, v.ExecuteStmt.Name, c.exprs(v.ExecuteStmt.Params)}
	case *pg.Node_DeallocateStmt:
		return &Deallocate{a, v.DeallocateStmt.Name}
	case *pg.Node_DeclareCursorStmt:
		return c.declareCursor(v.DeclareCursorStmt, a)
	case *pg.Node_FetchStmt:
		return c.fetch(v.FetchStmt, a)
	case *pg.Node_ClosePortalStmt:
		return &Close{a, v.ClosePortalStmt.Portalname}
	case *pg.Node_CopyStmt:
		return c.copyStmt(v.CopyStmt, a)
	}
	if s := c.ddl(n, a); s != nil {
		return s
	}
	return c.utility(n, a)
}

// utility converts the rarer statements.
func (c *converter) utility(n *pg.Node, a At) Stmt {
	switch v := n.GetNode().(type) {
	case *pg.Node_DiscardStmt:
		what := map[pg.DiscardMode]string{pg.DiscardMode_DISCARD_ALL: "ALL", pg.DiscardMode_DISCARD_PLANS: "PLANS",
			pg.DiscardMode_DISCARD_SEQUENCES: "SEQUENCES", pg.DiscardMode_DISCARD_TEMP: "TEMP"}
		return &Discard{a, what[v.DiscardStmt.Target]}
	case *pg.Node_ListenStmt:
		return &Listen{a, v.ListenStmt.Conditionname}
	case *pg.Node_UnlistenStmt:
		return &Unlisten{a, v.UnlistenStmt.Conditionname}
	case *pg.Node_NotifyStmt:
		return &Notify{a, v.NotifyStmt.Conditionname, v.NotifyStmt.Payload}
	case *pg.Node_CheckPointStmt:
		return &Checkpoint{a}
	case *pg.Node_RefreshMatViewStmt:
		r := v.RefreshMatViewStmt
		return &Refresh{a, c.rangeName(r.Relation), r.Concurrent, r.SkipData}
	case *pg.Node_VacuumStmt:
		out := &Vacuum{At: a, Analyze: !v.VacuumStmt.IsVacuumcmd, Options: c.options(v.VacuumStmt.Options)}
		for _, r := range v.VacuumStmt.Rels {
			out.Tables = append(out.Tables, c.rangeName(r.GetVacuumRelation().GetRelation()))
			out.Columns = append(out.Columns, nodeStrings(r.GetVacuumRelation().GetVaCols()))
		}
		return out
	case *pg.Node_ReindexStmt:
		return c.reindex(v.ReindexStmt, a)
	case *pg.Node_ClusterStmt:
		out := &Cluster{At: a, Index: v.ClusterStmt.Indexname}
		if r := v.ClusterStmt.Relation; r != nil {
			n := c.rangeName(r)
			out.Table = &n
		}
		return out
	case *pg.Node_LockStmt:
		return &LockTable{a, c.rangeNames(v.LockStmt.Relations), v.LockStmt.Mode, v.LockStmt.Nowait}
	case *pg.Node_ConstraintsSetStmt:
		return &SetConstraints{a, c.rangeNames(v.ConstraintsSetStmt.Constraints), v.ConstraintsSetStmt.Deferred}
	case *pg.Node_DoStmt:
		out := &Do{At: a, Language: "plpgsql"}
		for _, o := range c.options(v.DoStmt.Args) {
			if o.Name == "language" {
				out.Language = o.Value
			} else {
				out.Body = o.Value
			}
		}
		return out
	case *pg.Node_CommentStmt:
		return c.comment(v.CommentStmt, a)
	}
	if out := c.roleStmt(n, a); out != nil {
		return out
	}
	if d := n.GetDropSubscriptionStmt(); d != nil {
		return &Drop{At: a, Kind: "subscription", IfExists: d.MissingOk, Cascade: d.Behavior == pg.DropBehavior_DROP_CASCADE,
			Targets: []DropTarget{{Name: Name{At: a, Name: d.Subname}}}}
	}
	what := statementWords(typeWord(n))
	if n.GetDefineStmt().GetKind() == pg.ObjectType_OBJECT_COLLATION {
		what = "CREATE COLLATION"
	}
	c.unsupported(a, what, statementHint(what))
	return &Unsupported{At: a, What: what}
}

// statementHint tells what to do instead of a statement that is not there.
func statementHint(what string) string {
	for _, h := range statementHints {
		if strings.HasPrefix(what, h[0]) || strings.HasSuffix(what, h[0]) {
			return h[1]
		}
	}
	return "docs/COMPATIBILITY.md lists the statements that are there."
}

// statementHints are hints by the first or last words of statements, the first that
// fits.
var statementHints = [][2]string{
	{"CREATE COLLATION", "Text is ordered by its bytes: use COLLATE \"C\"."},
	{"TRIGGER", "Keep what follows from a table in a materialized view, or send its changes out by a sink."},
	{"RULE", "Keep what follows from a table in a materialized view."},
	{"CALL", "Send the statements of the procedure."},
	{"POLICY", "Give out views of the rows, and grant those."},
	{"EXTENSION", "The functions that are there need no extension."},
	{"CREATE AGGREGATE", "Use a function in SQL over array_agg, or an enum or composite type."},
	{"CREATE LANGUAGE", "Functions are written in SQL."},
	{"TABLESPACE", "All data lives in the data directory."},
	{"SUBSCRIPTION", "Read changes from Kafka with CREATE SOURCE ... FORMAT DEBEZIUM."},
	{"PUBLICATION", "Send changes to Kafka with CREATE SINK."},
	{"SERVER", "Use CREATE SOURCE or CREATE SINK."},
	{"FOREIGN DATA WRAPPER", "Use CREATE SOURCE or CREATE SINK."},
	{"FOREIGN TABLE", "Use CREATE SOURCE or CREATE SINK."},
	{"IMPORT FOREIGN SCHEMA", "Use CREATE SOURCE for each topic."},
	{"USER MAPPING", "Use CREATE SECRET, and name the secret in the options."},
	{"STATISTICS", "Joins are ordered by the sizes of relations; there are no statistics to make."},
	{"LOAD", "There are no libraries to load."},
	{"ALTER SYSTEM", "Start the server with the flag or setting."},
	{"CONVERSION", "Text is UTF8."},
	{"CREATE CAST", "Use a function."},
	{"OPERATOR", "Use a function."},
	{"ACCESS METHOD", "Tables and indexes have one kind of storage."},
	{"EVENT", "There are no triggers."},
	{"SECURITY LABEL", "Use COMMENT ON."},
}

// statementWords turns a node's name into words: CreateTrigStmt is CREATE TRIG.
func statementWords(s string) string {
	if w := statementNames[s]; w != "" {
		return w
	}
	var out strings.Builder
	for i, r := range strings.TrimSuffix(s, "Stmt") {
		if i > 0 && r >= 'A' && r <= 'Z' {
			out.WriteByte(' ')
		}
		out.WriteRune(r)
	}
	return strings.ToUpper(out.String())
}

var statementNames = map[string]string{
	"CreateTrigStmt":          "CREATE TRIGGER",
	"CompositeTypeStmt":       "CREATE TYPE",
	"CreateEnumStmt":          "CREATE TYPE AS ENUM",
	"DefineStmt":              "CREATE AGGREGATE, OPERATOR or TYPE",
	"CreatePlangStmt":         "CREATE LANGUAGE",
	"CreateFdwStmt":           "CREATE FOREIGN DATA WRAPPER",
	"CreateForeignServerStmt": "CREATE SERVER",
	"CreateForeignTableStmt":  "CREATE FOREIGN TABLE",
	"CreatePolicyStmt":        "CREATE POLICY",
	"CreateStatsStmt":         "CREATE STATISTICS",
	"CallStmt":                "CALL",
	"LoadStmt":                "LOAD",
}

func (c *converter) insert(s *pg.InsertStmt, a At) Stmt {
	out := &Insert{At: a, With: c.with(s.WithClause), Table: c.rangeName(s.Relation), Returning: c.targets(s.ReturningList)}
	if s.Relation.GetAlias() != nil {
		out.Alias = s.Relation.Alias.Aliasname
	}
	out.Columns, out.Overriding = c.insertColumns(s.Cols), overriding[s.Override]
	if s.SelectStmt != nil {
		out.Source = c.query(s.SelectStmt, a)
	}
	if o := s.OnConflictClause; o != nil {
		k := &OnConflict{At: c.at(o.Location), Nothing: o.Action == pg.OnConflictAction_ONCONFLICT_NOTHING,
			Update: c.setClauses(o.TargetList), Where: c.expr(o.WhereClause)}
		if i := o.Infer; i != nil {
			k.Constraint, k.TargetWhere = i.Conname, c.expr(i.WhereClause)
			for _, n := range i.IndexElems {
				k.Columns = append(k.Columns, c.indexColumn(n.GetIndexElem(), c.at(i.Location)).Sort)
			}
		}
		if k.Nothing == (len(k.Update) > 0) || !k.Nothing && len(k.Columns) == 0 && k.Constraint == "" {
			c.syntax(k.At, pgerr.SyntaxError, "ON CONFLICT DO UPDATE requires inference specification or constraint name")
			c.err = c.err.WithHint("For example, ON CONFLICT (column_name).")
		}
		out.Conflict = k
	}
	return out
}

var overriding = map[pg.OverridingKind]string{pg.OverridingKind_OVERRIDING_USER_VALUE: "USER", pg.OverridingKind_OVERRIDING_SYSTEM_VALUE: "SYSTEM"}

// insertColumns converts the column list of INSERT.
func (c *converter) insertColumns(ns []*pg.Node) []InsertColumn {
	var out []InsertColumn
	for _, n := range ns {
		r := n.GetResTarget()
		out = append(out, InsertColumn{c.at(r.Location), r.Name, c.path(r)})
	}
	return out
}

func (c *converter) update(s *pg.UpdateStmt, a At) Stmt {
	return &Update{a, c.with(s.WithClause), c.tableRef(s.Relation), c.setClauses(s.TargetList),
		c.fromList(s.FromClause), c.expr(s.WhereClause), c.targets(s.ReturningList)}
}

// setClauses converts SET; the grammar repeats the source of (a, b) = source in
// each of its columns.
func (c *converter) setClauses(ns []*pg.Node) []SetClause {
	var out []SetClause
	for i := 0; i < len(ns); i++ {
		r := ns[i].GetResTarget()
		m := r.Val.GetMultiAssignRef()
		if m == nil {
			set := SetClause{At: c.at(r.Location), Columns: []string{r.Name}, Value: c.expr(r.Val)}
			if p := c.path(r); p != nil {
				set.Paths = [][]PathStep{p}
			}
			out = append(out, set)
			continue
		}
		set := SetClause{At: c.at(r.Location), Value: c.expr(m.Source), Multi: true}
		var paths [][]PathStep
		for k := 0; k < int(m.Ncolumns) && i+k < len(ns); k++ {
			set.Columns = append(set.Columns, ns[i+k].GetResTarget().GetName())
			if paths = append(paths, c.path(ns[i+k].GetResTarget())); paths[k] != nil {
				set.Paths = paths
			}
		}
		if set.Paths != nil {
			set.Paths = paths
		}
		i += int(m.Ncolumns) - 1
		out = append(out, set)
	}
	return out
}

// path converts what stands behind a column that is assigned to.
func (c *converter) path(r *pg.ResTarget) []PathStep {
	var out []PathStep
	for _, n := range r.GetIndirection() {
		switch v := n.Node.(type) {
		case *pg.Node_AIndices:
			out = append(out, PathStep{Index: &Index{v.AIndices.IsSlice, c.expr(v.AIndices.Lidx), c.expr(v.AIndices.Uidx)}})
		case *pg.Node_AStar:
			c.syntax(c.at(r.Location), pgerr.FeatureNotSupported, "row expansion via \"*\" is not supported here")
		default:
			out = append(out, PathStep{Field: nodeString(n)})
		}
	}
	return out
}

func (c *converter) txModes(ns []*pg.Node) (m TxModes, snapshot string) {
	for _, n := range ns {
		d := n.GetDefElem()
		k := d.GetArg().GetAConst()
		flag := k.GetIval().GetIval() != 0
		switch d.GetDefname() {
		case "transaction_isolation":
			m.Isolation = k.GetSval().GetSval()
		case "transaction_read_only":
			m.ReadOnly = &flag
		case "transaction_deferrable":
			m.Deferrable = &flag
		}
	}
	if len(ns) == 1 {
		snapshot = ns[0].GetAConst().GetSval().GetSval()
	}
	return m, snapshot
}

func (c *converter) transaction(s *pg.TransactionStmt, a At) Stmt {
	switch s.Kind {
	case pg.TransactionStmtKind_TRANS_STMT_BEGIN, pg.TransactionStmtKind_TRANS_STMT_START:
		m, _ := c.txModes(s.Options)
		return &Begin{a, s.Kind == pg.TransactionStmtKind_TRANS_STMT_START, m}
	case pg.TransactionStmtKind_TRANS_STMT_COMMIT:
		return &Commit{a, s.Chain}
	case pg.TransactionStmtKind_TRANS_STMT_ROLLBACK:
		return &Rollback{a, s.Chain}
	case pg.TransactionStmtKind_TRANS_STMT_SAVEPOINT:
		return &Savepoint{a, s.SavepointName}
	case pg.TransactionStmtKind_TRANS_STMT_RELEASE:
		return &Release{a, s.SavepointName}
	case pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
		return &RollbackTo{a, s.SavepointName}
	}
	c.unsupported(a, "a prepared (two-phase) transaction", "Use COMMIT.")
	return &Unsupported{At: a, What: "PREPARE TRANSACTION"}
}

func (c *converter) set(s *pg.VariableSetStmt, a At) Stmt {
	out := &Set{At: a, Name: lowerASCII(s.Name)}
	if s.IsLocal {
		out.Scope = SetLocal
	}
	switch s.Kind {
	case pg.VariableSetKind_VAR_SET_VALUE:
		out.Values = c.exprs(s.Args)
	case pg.VariableSetKind_VAR_SET_DEFAULT:
		out.Default = true
	case pg.VariableSetKind_VAR_RESET:
		return &Reset{a, out.Name}
	case pg.VariableSetKind_VAR_RESET_ALL:
		return &Reset{At: a}
	case pg.VariableSetKind_VAR_SET_MULTI:
		m, snapshot := c.txModes(s.Args)
		return &SetTransaction{a, s.Name == "SESSION CHARACTERISTICS", m, snapshot}
	default:
		c.unsupported(a, "SET ... FROM CURRENT", "Name the value.")
	}
	return out
}

func (c *converter) explain(s *pg.ExplainStmt, a At) Stmt {
	out := &Explain{At: a, Options: c.options(s.Options), Stmt: c.stmt(s.Query, a)}
	for _, o := range out.Options {
		on := o.Kind == OptNone || isTrueWord(o.Value)
		switch o.Name {
		case "analyze":
			out.Analyze = on
		case "verbose":
			out.Verbose = on
		}
	}
	return out
}

func isTrueWord(s string) bool {
	switch lowerASCII(s) {
	case "true", "on", "1", "yes", "t", "y":
		return true
	}
	return false
}

// The bits of PostgreSQL's cursor options.
const (
	cursorBinary      = 0x1
	cursorScroll      = 0x2
	cursorNoScroll    = 0x4
	cursorInsensitive = 0x8
	cursorHold        = 0x20
)

func (c *converter) declareCursor(s *pg.DeclareCursorStmt, a At) Stmt {
	o := s.Options
	return &DeclareCursor{At: a, Name: s.Portalname, Binary: o&cursorBinary != 0, Hold: o&cursorHold != 0,
		Scroll: o&cursorScroll != 0, NoScroll: o&cursorNoScroll != 0, Insensitive: o&cursorInsensitive != 0,
		Query: c.query(s.Query, a)}
}

func (c *converter) fetch(s *pg.FetchStmt, a At) Stmt {
	out := &Fetch{At: a, Count: s.HowMany, Cursor: s.Portalname, Move: s.Ismove}
	switch s.Direction {
	case pg.FetchDirection_FETCH_BACKWARD:
		out.Dir = FetchBackward
	case pg.FetchDirection_FETCH_ABSOLUTE:
		out.Dir = FetchAbsolute
	case pg.FetchDirection_FETCH_RELATIVE:
		out.Dir = FetchRelative
	}
	return out
}

func (c *converter) copyStmt(s *pg.CopyStmt, a At) Stmt {
	out := &Copy{At: a, Columns: nodeStrings(s.Attlist), From: s.IsFrom, Program: s.IsProgram, File: s.Filename,
		Options: c.options(s.Options), Where: c.expr(s.WhereClause)}
	if s.Relation != nil {
		n := c.rangeName(s.Relation)
		out.Table = &n
	}
	if s.Query != nil {
		out.Query = c.stmt(s.Query, a)
	}
	return out
}

func (c *converter) comment(s *pg.CommentStmt, a At) Stmt {
	out := &Comment{At: a, Kind: objectKind(s.Objtype), Text: s.Comment, Null: s.Comment == ""}
	if s.Objtype == pg.ObjectType_OBJECT_DOMCONSTRAINT {
		parts := s.Object.GetList().GetItems()
		out.Kind, out.Name, out.Column = "domain constraint", c.objectName(parts[0]), parts[1].GetString_().GetSval()
		return out
	}
	if !namedKinds[out.Kind] {
		c.unsupported(a, "COMMENT ON "+strings.ToUpper(out.Kind), "Tables, columns, views, indexes, sources, sinks, schemas, types and sequences have comments.")
	}
	if s.Object.GetObjectWithArgs() != nil {
		out.Target = c.target(s.Object)
	}
	if s.Objtype == pg.ObjectType_OBJECT_COLUMN || s.Objtype == pg.ObjectType_OBJECT_TABCONSTRAINT {
		parts := nodeStrings(s.Object.GetList().GetItems())
		if len(parts) > 1 {
			out.Name, out.Column = c.name(parts[:len(parts)-1], a), parts[len(parts)-1]
		}
		return out
	}
	out.Name = c.objectName(s.Object)
	return out
}

var reindexKinds = map[pg.ReindexObjectType]string{
	pg.ReindexObjectType_REINDEX_OBJECT_INDEX: "index", pg.ReindexObjectType_REINDEX_OBJECT_TABLE: "table",
	pg.ReindexObjectType_REINDEX_OBJECT_SCHEMA: "schema", pg.ReindexObjectType_REINDEX_OBJECT_DATABASE: "database",
	pg.ReindexObjectType_REINDEX_OBJECT_SYSTEM: "system",
}

func (c *converter) reindex(s *pg.ReindexStmt, a At) Stmt {
	out := &Reindex{At: a, Kind: reindexKinds[s.Kind], Name: Name{Name: s.Name}}
	if s.Relation != nil {
		out.Name = c.rangeName(s.Relation)
	}
	for _, o := range c.options(s.Params) {
		out.Concurrently = out.Concurrently || o.Name == "concurrently" && o.Value != "false" && o.Value != "off"
	}
	return out
}
