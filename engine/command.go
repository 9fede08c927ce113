package engine

import (
	"context"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
)

// run functions of commands: rows (nil: none) and the command tag.
type commandFunc = func(ctx context.Context, args []types.Datum) (*vec.Chunk, string, error)

// tagged makes a command of an action with a fixed tag.
func tagged(tag string, f func(ctx context.Context) error) commandFunc {
	return func(ctx context.Context, _ []types.Datum) (*vec.Chunk, string, error) {
		return nil, tag, f(ctx)
	}
}

// command sets up statements that are neither queries nor DML.
func (s *Session) command(ctx context.Context, p *prepared) error {
	switch st := p.st.Stmt.(type) {
	case *sql.Begin:
		tag := "BEGIN"
		if st.Start {
			tag = "START TRANSACTION"
		}
		p.command = tagged(tag, func(context.Context) error { return s.begin(st.Modes) })
	case *sql.Commit:
		p.command = func(ctx context.Context, _ []types.Datum) (*vec.Chunk, string, error) {
			tag, err := s.endBlock(ctx, false, st.Chain)
			return nil, tag, err
		}
	case *sql.Rollback:
		p.command = func(ctx context.Context, _ []types.Datum) (*vec.Chunk, string, error) {
			tag, err := s.endBlock(ctx, true, st.Chain)
			return nil, tag, err
		}
	case *sql.Savepoint, *sql.Release, *sql.RollbackTo:
		p.command = s.savepointCommand(st)
	case *sql.Set, *sql.SetTransaction, *sql.Reset, *sql.Discard:
		p.command = s.settingCommand(st)
	case *sql.Show, *sql.Describe:
		return s.showCommand(p)
	case *sql.Explain:
		return s.explainCommand(p, st)
	case *sql.Prepare, *sql.Execute, *sql.Deallocate:
		return s.preparedCommand(ctx, p)
	case *sql.DeclareCursor, *sql.Fetch, *sql.Close:
		return s.cursorCommand(p)
	case *sql.Copy:
		return s.copyCommand(ctx, p, st)
	case *sql.Check:
		return s.checkCommand(p, st)
	case *sql.Flush:
		p.command = tagged("FLUSH", func(context.Context) error { return nil })
	case *sql.Vacuum:
		tag := "VACUUM"
		if st.Analyze {
			tag = "ANALYZE"
		}
		p.command = tagged(tag, func(context.Context) error { return s.vacuum(st, strings.ToLower(tag)) })
	case *sql.Reindex:
		p.command = tagged("REINDEX", func(context.Context) error { return s.reindex(st) })
	case *sql.Refresh:
		p.command = tagged("REFRESH MATERIALIZED VIEW", func(context.Context) error { return s.refreshView(st) })
	case *sql.Checkpoint:
		p.command = tagged("CHECKPOINT", func(context.Context) error {
			if !s.snapshot().HasPrivsOf(s.who.current, catalog.RoleCheckpoint) {
				return forbidden("must be superuser or have privileges of pg_checkpoint to do CHECKPOINT")
			}
			return nil
		})
	case *sql.Listen:
		p.command = tagged("LISTEN", func(context.Context) error {
			s.listen(st.Channel, false)
			return nil
		})
	case *sql.Notify:
		p.command = tagged("NOTIFY", func(context.Context) error { return s.notify(st.Channel, st.Payload) })
	case *sql.Unlisten:
		p.command = tagged("UNLISTEN", func(context.Context) error {
			s.listen(st.Channel, true)
			return nil
		})
	case *sql.SetConstraints:
		p.command = s.setConstraintsCommand(st)
	case *sql.LockTable:
		p.command = tagged("LOCK TABLE", func(context.Context) error { return s.lockTables(st) })
	case *sql.Do:
		return pgerr.Unsupported("DO", "Send the statements of the block from the client.").At(int(st.Pos) + 1)
	case *sql.Unsupported:
		if st.Err != nil {
			return st.Err
		}
		return pgerr.Unsupported(st.What, st.Hint)
	default:
		return s.ddlCommand(p)
	}
	return nil
}

// lockTables is LOCK TABLE, which locks nothing but needs a right that goes with the
// mode.
func (s *Session) lockTables(st *sql.LockTable) error {
	if err := s.needBlock("LOCK TABLE"); err != nil {
		return err
	}
	any := catalog.Update | catalog.Delete | catalog.Truncate
	switch st.Mode {
	case accessShareLock:
		any = catalog.Select
	case rowExclusiveLock:
		any |= catalog.Insert
	}
	snap := s.snapshot()
	for _, n := range st.Tables {
		o, err := s.resolve(snap, n)
		if err != nil {
			return err
		}
		if snap.Held(s.who.current, o, any) == 0 {
			return catalog.Denied(o)
		}
	}
	return nil
}

// The modes of LOCK TABLE that need less than the others, by PostgreSQL's numbers.
const (
	accessShareLock  = 1
	rowExclusiveLock = 3
)

// vacuum is VACUUM and ANALYZE, which have nothing to do. Tables of others are
// passed over with a warning.
func (s *Session) vacuum(st *sql.Vacuum, verb string) error {
	snap := s.snapshot()
	for i, n := range st.Tables {
		o, err := s.resolve(snap, n)
		if err != nil {
			return err
		}
		if r, ok := o.(catalog.Relation); ok && i < len(st.Columns) {
			for _, c := range st.Columns[i] {
				if catalog.ColumnIndex(r.Cols(), c) < 0 {
					return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", c, n.Name)
				}
			}
		}
		if !snap.Owns(s.who.current, o) && !snap.Owns(s.who.current, snap.Database()) {
			s.notice("WARNING", pgerr.New(pgerr.Warning, "skipping \"%s\" --- only table or database owner can %s it", n.Name, verb))
		}
	}
	return nil
}

func (s *Session) savepointCommand(st sql.Stmt) commandFunc {
	switch st := st.(type) {
	case *sql.Savepoint:
		return tagged("SAVEPOINT", func(context.Context) error {
			if err := s.needBlock("SAVEPOINT"); err != nil {
				return err
			}
			s.setSavepoint(st.Name)
			return nil
		})
	case *sql.Release:
		return tagged("RELEASE", func(context.Context) error {
			if err := s.needBlock("RELEASE SAVEPOINT"); err != nil {
				return err
			}
			i, err := s.findSavepoint(st.Name)
			if err == nil {
				s.tx.modes.readOnly = s.tx.saves[i].modes.readOnly // SET TRANSACTION READ ONLY ends with its subtransaction
				s.tx.saves = s.tx.saves[:i]
			}
			return err
		})
	}
	name := st.(*sql.RollbackTo).Name
	return tagged("ROLLBACK", func(context.Context) error {
		if err := s.needBlock("ROLLBACK TO SAVEPOINT"); err != nil {
			return err
		}
		return s.rollbackTo(name)
	})
}

func (s *Session) settingCommand(st sql.Stmt) commandFunc {
	switch st := st.(type) {
	case *sql.Set:
		return tagged("SET", func(context.Context) error { return s.runSet(st) })
	case *sql.SetTransaction:
		return tagged("SET", func(context.Context) error { return s.setModes(st) })
	case *sql.Reset:
		name := strings.ToLower(st.Name)
		if name == "" { // RESET ALL
			name = "all"
		}
		return tagged("RESET", func(context.Context) error { return s.reset(name) })
	}
	what := strings.ToUpper(st.(*sql.Discard).What)
	return tagged("DISCARD "+what, func(context.Context) error {
		if what == "TEMP" || what == "ALL" {
			s.dropTemporary()
		}
		if what == "SEQUENCES" || what == "ALL" {
			s.given = given{}
		}
		if what != "ALL" {
			return nil
		}
		s.client.Statements().Clear()
		s.listen("", true)
		s.eng.advisory.putAll(s)
		for n, c := range s.cursors {
			c.close()
			delete(s.cursors, n)
		}
		if err := s.reset("session_authorization"); err != nil {
			return err
		}
		return s.reset("all")
	})
}

// setValue is the value of a SET as the setting takes it.
func setValue(st *sql.Set) (string, error) {
	var vs []string
	for _, v := range st.Values {
		t, err := settingText(v)
		if err != nil {
			return "", err
		}
		if len(st.Values) > 1 && strings.EqualFold(st.Name, "search_path") {
			t = sql.QuoteIdent(t)
		}
		vs = append(vs, t)
	}
	return strings.Join(vs, ", "), nil
}

func (s *Session) runSet(st *sql.Set) error {
	if st.Default {
		return s.reset(strings.ToLower(st.Name))
	}
	v, err := setValue(st)
	if err != nil {
		return err
	}
	if strings.EqualFold(st.Name, "timezone") && strings.EqualFold(v, "local") {
		return s.reset("timezone")
	}
	return s.set(st.Name, v, st.Scope == sql.SetLocal)
}

// settingText returns the text of a value of SET: a literal, a word, a negative
// number or an interval.
func settingText(e sql.Expr) (string, error) {
	switch e := e.(type) {
	case *sql.Literal:
		return e.Text, nil
	case *sql.ColumnRef:
		return strings.Join(e.Parts, "."), nil
	case *sql.OpExpr:
		if e.Left == nil && e.Op == "-" {
			t, err := settingText(e.Right)
			return "-" + t, err
		}
	case *sql.Cast:
		if e.Type != nil && e.Type.Name == "interval" {
			t, err := settingText(e.Arg)
			return "<" + t + ">" + t, err
		}
		return settingText(e.Arg)
	}
	return "", pgerr.New(pgerr.SyntaxError, "a setting's value must be a constant")
}

// preparedCommand runs PREPARE, EXECUTE and DEALLOCATE.
func (s *Session) preparedCommand(ctx context.Context, p *prepared) error {
	switch st := p.st.Stmt.(type) {
	case *sql.Prepare:
		p.command = tagged("PREPARE", func(ctx context.Context) error { return s.runPrepare(ctx, p.st, st) })
	case *sql.Deallocate:
		tag := "DEALLOCATE"
		if st.Name == "" {
			tag += " ALL"
		}
		p.command = tagged(tag, func(context.Context) error {
			if st.Name == "" {
				s.client.Statements().Clear()
				return nil
			}
			if !s.client.Statements().Delete(st.Name) {
				return pgerr.New(pgerr.InvalidSQLStatementName, "prepared statement \"%s\" does not exist", st.Name)
			}
			return nil
		})
	case *sql.Execute:
		return s.prepareExecute(ctx, p, st)
	}
	return nil
}

func (s *Session) runPrepare(ctx context.Context, whole *statement, st *sql.Prepare) error {
	oids := make([]uint32, len(st.Types))
	for i, tn := range st.Types {
		t, err := planner.ResolveTypeName(s.snapshot(), s.expr.SearchPath, tn)
		if err != nil {
			return err
		}
		oids[i] = t.OID()
	}
	inner := &statement{Parsed: whole.Parsed, whole: whole.whole}
	inner.Stmt = st.Stmt
	p, err := s.prepare(ctx, inner, oids)
	if err != nil {
		return err
	}
	return s.client.Statements().Put(&wire.NamedStatement{Name: st.Name, Text: whole.Text, Prepared: p, FromSQL: true, At: s.started})
}

// executed returns the prepared statement that an EXECUTE names (nil: none that
// was analysed) and its arguments.
func (s *Session) executed(p *prepared, st *sql.Execute) (*prepared, []types.Datum, error) {
	ns, err := s.client.Statements().Get(st.Name)
	if err != nil {
		return nil, nil, err
	}
	target, ok := ns.Prepared.(*prepared)
	if !ok {
		return nil, nil, nil
	}
	if len(st.Args) != len(target.params) {
		return nil, nil, pgerr.New(pgerr.SyntaxError, "wrong number of parameters for prepared statement \"%s\"", st.Name).
			WithDetail("Expected %d parameters but got %d.", len(target.params), len(st.Args))
	}
	args := make([]types.Datum, len(st.Args))
	for i, a := range st.Args {
		e, err := s.planner(p.st, nil).BindConst(a, target.params[i])
		if err != nil {
			return nil, nil, err
		}
		if args[i], err = expr.EvalConst(&expr.Ctx{Session: &s.expr}, e); err != nil {
			return nil, nil, err
		}
	}
	return target, args, nil
}

// prepareExecute makes EXECUTE behave as the statement it names.
func (s *Session) prepareExecute(_ context.Context, p *prepared, st *sql.Execute) error {
	target, args, err := s.executed(p, st)
	if err != nil || target == nil {
		return err
	}
	p.cols, p.wholeTag = target.cols, true
	p.command = func(ctx context.Context, _ []types.Datum) (*vec.Chunk, string, error) {
		po, err := target.Bind(ctx, args)
		if err != nil {
			return nil, "", err
		}
		return drain(ctx, po.(*portal))
	}
	return nil
}

// drain runs a portal to its end and returns its rows and its tag.
func drain(ctx context.Context, po *portal) (*vec.Chunk, string, error) {
	defer po.Close()
	var all *vec.Chunk
	for {
		c, err := po.Next(ctx)
		if err != nil {
			return nil, "", err
		}
		if c == nil {
			break
		}
		if all == nil {
			all = vec.NewChunk(c.Types(), c.Rows)
		}
		all.AppendRange(c, 0, c.Rows)
	}
	if all == nil && po.p.cols != nil {
		all = emptyChunk(po.p.cols)
	}
	var n int64
	if all != nil {
		for i := range all.Rows {
			n += all.Weight(i)
		}
	}
	return all, po.tag(n), nil
}

func emptyChunk(cols []wire.Column) *vec.Chunk {
	ts := make([]types.T, len(cols))
	for i, c := range cols {
		ts[i] = c.Type
	}
	return vec.NewChunk(ts, 1)
}
