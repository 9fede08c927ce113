package sql

import (
	"strconv"
	"strings"
)

// stmt writes any statement.
func (f *formatter) stmt(s Stmt) {
	switch v := s.(type) {
	case *Select:
		f.query(v)
	case *Insert:
		f.insert(v)
	case *Update:
		f.update(v)
	case *Delete:
		f.with(v.With)
		f.w("DELETE FROM ")
		f.table(v.Table)
		f.from(" USING ", v.Using)
		f.clause(" WHERE ", v.Where)
		f.targets(" RETURNING ", v.Returning)
	case *Merge:
		f.merge(v)
	case *Truncate:
		f.w("TRUNCATE ")
		f.names(v.Tables)
		f.w(not(v.RestartIdentity, "", " RESTART IDENTITY"), not(v.Cascade, "", " CASCADE"))
	case *Explain:
		f.w("EXPLAIN ")
		if len(v.Options) > 0 {
			f.options(v.Options, " ")
			f.w(" ")
		}
		f.stmt(v.Stmt)
	case *Copy:
		f.copyStmt(v)
	default:
		if !f.ddl(s) && !f.session(s) && !f.streamStmt(s) {
			f.admin(s)
		}
	}
}

func (f *formatter) insert(s *Insert) {
	f.with(s.With)
	f.w("INSERT INTO ", QuoteName(s.Table))
	f.wIf(s.Alias != "", " AS "+QuoteIdent(s.Alias))
	for i, c := range s.Columns {
		f.w(not(i > 0, " (", ", "), QuoteIdent(c.Name))
		f.path(c.Path)
	}
	f.wIf(len(s.Columns) > 0, ")")
	f.wIf(s.Overriding != "", " OVERRIDING "+s.Overriding+" VALUE")
	if s.Source == nil {
		f.w(" DEFAULT VALUES")
	} else {
		f.w(" ")
		f.query(s.Source)
	}
	if s.Conflict != nil {
		f.onConflict(s.Conflict)
	}
	f.targets(" RETURNING ", s.Returning)
}

func (f *formatter) onConflict(c *OnConflict) {
	f.w(" ON CONFLICT")
	switch {
	case c.Constraint != "":
		f.w(" ON CONSTRAINT ", QuoteIdent(c.Constraint))
	case len(c.Columns) > 0:
		f.w(" (")
		for i, s := range c.Columns {
			f.wIf(i > 0, ", ")
			f.indexKey(s)
		}
		f.w(")")
		f.clause(" WHERE ", c.TargetWhere)
	}
	if c.Nothing {
		f.w(" DO NOTHING")
		return
	}
	f.w(" DO UPDATE SET ")
	f.setClauses(c.Update)
	f.clause(" WHERE ", c.Where)
}

// path writes what leads to a part of a column.
func (f *formatter) path(steps []PathStep) {
	for _, s := range steps {
		if s.Index == nil {
			f.w(".", QuoteIdent(s.Field))
			continue
		}
		f.w("[")
		if s.Index.Slice {
			f.clause("", s.Index.Lower)
			f.w(":")
		}
		f.clause("", s.Index.Upper)
		f.w("]")
	}
}

func (f *formatter) setClauses(sets []SetClause) {
	for i, s := range sets {
		f.wIf(i > 0, ", ")
		f.w(not(s.Multi, "", "("))
		for k, n := range s.Columns {
			f.w(not(k > 0, "", ", "), QuoteIdent(n))
			if s.Paths != nil {
				f.path(s.Paths[k])
			}
		}
		f.w(not(s.Multi, "", ")"), " = ")
		f.expr(s.Value)
	}
}

func (f *formatter) update(s *Update) {
	f.with(s.With)
	f.w("UPDATE ")
	f.table(s.Table)
	f.w(" SET ")
	f.setClauses(s.Set)
	f.from(" FROM ", s.From)
	f.clause(" WHERE ", s.Where)
	f.targets(" RETURNING ", s.Returning)
}

func (f *formatter) merge(s *Merge) {
	f.with(s.With)
	f.w("MERGE INTO ")
	f.table(s.Table)
	f.w(" USING ")
	f.table(s.Source)
	f.clause(" ON ", s.On)
	for _, w := range s.Whens {
		f.w(" WHEN ", not(!w.Matched, "", "NOT "), "MATCHED")
		f.clause(" AND ", w.Cond)
		f.w(" THEN ")
		switch w.Action {
		case MergeNothing:
			f.w("DO NOTHING")
		case MergeDelete:
			f.w("DELETE")
		case MergeUpdate:
			f.w("UPDATE SET ")
			f.setClauses(w.Set)
		case MergeInsert:
			f.mergeInsert(w.Insert)
		}
	}
}

func (f *formatter) mergeInsert(s *Insert) {
	f.w("INSERT")
	for i, c := range s.Columns {
		f.w(not(i > 0, " (", ", "), QuoteIdent(c.Name))
		f.path(c.Path)
	}
	f.wIf(len(s.Columns) > 0, ")")
	f.wIf(s.Overriding != "", " OVERRIDING "+s.Overriding+" VALUE")
	if s.Source == nil {
		f.w(" DEFAULT VALUES")
		return
	}
	f.w(" ")
	f.query(s.Source)
}

func (f *formatter) copyStmt(s *Copy) {
	f.w("COPY ")
	if s.Table != nil {
		f.w(QuoteName(*s.Table))
		f.identList(s.Columns)
	} else {
		f.w("(")
		f.stmt(s.Query)
		f.w(")")
	}
	f.w(not(s.From, " TO ", " FROM "), not(s.Program, "", "PROGRAM "))
	switch {
	case s.File != "":
		f.w(QuoteLiteral(s.File))
	case s.From:
		f.w("STDIN")
	default:
		f.w("STDOUT")
	}
	if len(s.Options) > 0 {
		f.w(" WITH ")
		_, sub := s.Query.(*Subscribe)
		f.options(s.Options, not(sub, " ", " = "))
	}
	f.clause(" WHERE ", s.Where)
}

func (f *formatter) modes(m TxModes) {
	sep := " "
	mode := func(s string) { f.w(sep, s); sep = ", " }
	if m.Isolation != "" {
		mode("ISOLATION LEVEL " + strings.ToUpper(m.Isolation))
	}
	if m.ReadOnly != nil {
		mode(not(*m.ReadOnly, "READ WRITE", "READ ONLY"))
	}
	if m.Deferrable != nil {
		mode(not(*m.Deferrable, "NOT DEFERRABLE", "DEFERRABLE"))
	}
}

// session writes the statements on settings, transactions, prepared statements
// and cursors; false for others.
func (f *formatter) session(s Stmt) bool {
	switch v := s.(type) {
	case *Set:
		f.set(v)
	case *SetTransaction:
		f.w(not(v.Session, "SET TRANSACTION", "SET SESSION CHARACTERISTICS AS TRANSACTION"))
		f.wIf(v.Snapshot != "", " SNAPSHOT "+QuoteLiteral(v.Snapshot))
		f.modes(v.Modes)
	case *Reset:
		f.w("RESET ", not(v.Name == "", settingName(v.Name), "ALL"))
	case *Discard:
		f.w("DISCARD ", v.What)
	case *Begin:
		f.w(not(v.Start, "BEGIN", "START TRANSACTION"))
		f.modes(v.Modes)
	case *Commit:
		f.w("COMMIT", not(v.Chain, "", " AND CHAIN"))
	case *Rollback:
		f.w("ROLLBACK", not(v.Chain, "", " AND CHAIN"))
	case *Savepoint:
		f.w("SAVEPOINT ", QuoteIdent(v.Name))
	case *Release:
		f.w("RELEASE SAVEPOINT ", QuoteIdent(v.Name))
	case *RollbackTo:
		f.w("ROLLBACK TO SAVEPOINT ", QuoteIdent(v.Name))
	case *Prepare:
		f.w("PREPARE ", QuoteIdent(v.Name))
		for i, t := range v.Types {
			f.w(not(i > 0, " (", ", "))
			f.typeName(t)
		}
		f.w(not(len(v.Types) > 0, "", ")"), " AS ")
		f.stmt(v.Stmt)
	case *Execute:
		f.w("EXECUTE ", QuoteIdent(v.Name))
		if len(v.Args) > 0 {
			f.w("(")
			f.exprs(v.Args)
			f.w(")")
		}
	case *Deallocate:
		f.w("DEALLOCATE ", nameOrAll(v.Name))
	case *DeclareCursor:
		f.declareCursor(v)
	case *Fetch:
		f.fetch(v)
	case *Close:
		f.w("CLOSE ", nameOrAll(v.Cursor))
	default:
		return false
	}
	return true
}

func nameOrAll(s string) string {
	if s == "" {
		return "ALL"
	}
	return QuoteIdent(s)
}

// settingName writes the name of a setting, which may have dots.
func settingName(s string) string {
	parts := strings.Split(s, ".")
	for i, p := range parts {
		parts[i] = QuoteIdent(p)
	}
	return strings.Join(parts, ".")
}

func (f *formatter) set(s *Set) {
	f.w("SET ", not(s.Scope == SetLocal, "", "LOCAL "))
	if s.Default {
		f.w(settingName(s.Name), " TO DEFAULT")
		return
	}
	if c, ok := s.Values[0].(*Cast); ok { // only SET TIME ZONE INTERVAL has a cast
		f.w("TIME ZONE INTERVAL ")
		f.mods(c.Type.Mods)
		f.expr(c.Arg)
		f.w(" ", c.Type.Interval)
		return
	}
	f.w(settingName(s.Name), " TO ")
	f.exprs(s.Values)
}

func (f *formatter) declareCursor(s *DeclareCursor) {
	f.w("DECLARE ", QuoteIdent(s.Name), not(s.Binary, "", " BINARY"), not(s.Insensitive, "", " INSENSITIVE"),
		not(s.Scroll, "", " SCROLL"), not(s.NoScroll, "", " NO SCROLL"), " CURSOR", not(s.Hold, "", " WITH HOLD"), " FOR ")
	if s.Subscribe != nil {
		f.stmt(s.Subscribe)
		return
	}
	f.query(s.Query)
}

func (f *formatter) fetch(s *Fetch) {
	f.w(not(s.Move, "FETCH ", "MOVE "), [...]string{"FORWARD", "BACKWARD", "ABSOLUTE", "RELATIVE"}[s.Dir], " ")
	if s.Count == FetchAll {
		f.w("ALL")
	} else {
		f.w(strconv.FormatInt(s.Count, 10))
	}
	f.w(" FROM ", QuoteIdent(s.Cursor))
}

// lockModes are the modes of LOCK TABLE by PostgreSQL's numbers.
var lockModes = [...]string{1: "ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE", "SHARE",
	"SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"}

// admin writes the remaining statements.
func (f *formatter) admin(s Stmt) {
	switch v := s.(type) {
	case *Comment:
		f.comment(v)
	case *CreateRole, *AlterRole, *AlterRoleSet, *DropRole, *Grant, *GrantRole, *DefaultPrivileges, *ReassignOwned, *DropOwned, *DatabaseStmt:
		f.roleStmt(s)
	case *Listen:
		f.w("LISTEN ", QuoteIdent(v.Channel))
	case *Unlisten:
		f.w("UNLISTEN ", not(v.Channel == "", QuoteIdent(v.Channel), "*"))
	case *Notify:
		f.w("NOTIFY ", QuoteIdent(v.Channel))
		f.wIf(v.Payload != "", ", "+QuoteLiteral(v.Payload))
	case *Vacuum:
		f.w(not(v.Analyze, "VACUUM", "ANALYZE"), " ")
		if len(v.Options) > 0 {
			f.options(v.Options, " ")
			f.w(" ")
		}
		for i, n := range v.Tables {
			f.w(not(i > 0, "", ", "), QuoteName(n))
			if i < len(v.Columns) {
				f.identList(v.Columns[i])
			}
		}
	case *Reindex:
		f.w("REINDEX ", strings.ToUpper(v.Kind), " ", not(v.Concurrently, "", "CONCURRENTLY "), QuoteName(v.Name))
	case *Cluster:
		f.w("CLUSTER")
		if v.Table != nil {
			f.w(" ", QuoteName(*v.Table))
			f.wIf(v.Index != "", " USING "+QuoteIdent(v.Index))
		}
	case *SetConstraints:
		f.w("SET CONSTRAINTS ")
		f.wIf(len(v.Names) == 0, "ALL")
		f.names(v.Names)
		f.w(" ", not(v.Deferred, "IMMEDIATE", "DEFERRED"))
	case *LockTable:
		f.w("LOCK TABLE ")
		f.names(v.Tables)
		f.w(" IN ", lockModes[v.Mode], " MODE", not(v.NoWait, "", " NOWAIT"))
	case *Refresh:
		f.w("REFRESH MATERIALIZED VIEW ")
		f.wIf(v.Concurrently, "CONCURRENTLY ")
		f.w(QuoteName(v.Name))
		f.wIf(v.NoData, " WITH NO DATA")
	case *Checkpoint:
		f.w("CHECKPOINT")
	case *Do:
		f.w("DO LANGUAGE ", QuoteIdent(v.Language), " ", QuoteLiteral(v.Body))
	}
}

func (f *formatter) comment(s *Comment) {
	f.w("COMMENT ON ", strings.ToUpper(s.Kind), " ")
	switch {
	case s.Kind == "column":
		f.w(QuoteName(s.Name), ".", QuoteIdent(s.Column))
	case s.Kind == "constraint":
		f.w(QuoteIdent(s.Column), " ON ", QuoteName(s.Name))
	default:
		f.target(DropTarget{Name: s.Name, HasArgs: s.Target.HasArgs, Args: s.Target.Args})
	}
	f.w(" IS ", not(s.Null, QuoteLiteral(s.Text), "NULL"))
}
