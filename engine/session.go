package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/streamdb/streamdb/engine/settings"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/wire"
)

// Session is one client's session: its settings, transaction and cursors. It
// belongs to one goroutine at a time.
type Session struct {
	eng     *Engine
	client  wire.Client
	values  map[string]string
	initial map[string]string
	expr    expr.Session
	tx      transaction
	// defaults are the modes of the next transaction.
	defaults modes
	temp     temporary
	hushed   bool  // notices are kept back
	made     int64 // rows that CREATE TABLE AS has stored; -1: it was none
	cursors  map[string]*cursor
	declared int // cursors so far
	given    given
	started  time.Time
	remote   string
	// user and database never change; query is the text last run. Other sessions
	// read them for pg_stat_activity.
	user, database string
	db             uint32 // the database's OID
	query          atomic.Pointer[string]
	who            identity
	doing          doing

	limits timeouts

	// Of Quick: the hash of what plans depend on, empty if it is to be computed,
	// and what the statements of the simple protocol reuse.
	planState []byte
	template  sql.Template
	quick     quickPortal
}

var reported = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range wire.ReportedParams {
		m[n] = true
	}
	return m
}()

// NewSession implements wire.Backend.
func (e *Engine) NewSession(_ context.Context, st wire.Startup) (wire.Session, error) {
	role, d, err := e.admit(st)
	if err != nil {
		return nil, err
	}
	s := &Session{eng: e, client: st.Client, values: map[string]string{}, cursors: map[string]*cursor{},
		started: time.Now(), remote: st.Remote, user: st.User, database: d.Name, db: d.OID}
	s.who = identity{authenticated: role.OID, login: role.OID, current: role.OID}
	s.expr = expr.Session{User: role.Name, Login: role.Name, UserOID: role.OID, Database: d.Name, BackendPID: st.Client.PID(), Random: &expr.Seeded{}}
	s.expr.Setting = func(n string) (string, bool) { v, err := s.show(n); return v, err == nil }
	s.expr.SetSetting = s.set
	s.expr.Sequences = sequenceUse{s}
	s.expr.Notify, s.expr.Channels = s.notify, s.channels
	s.expr.Server = serverInfo{s}
	s.expr.Options.Now = func() int64 { return s.expr.NowMicros }
	s.expr.Options.Resolve, s.expr.Options.Name = s.resolveReg, s.regName
	for _, n := range settings.Names() {
		d := settings.All[n]
		s.values[n] = d.Default
		if err := s.refresh(n, d.Default); err != nil {
			return nil, err
		}
	}
	s.values["session_authorization"] = role.Name
	s.sync()
	s.applySettings(d.Settings)
	s.applySettings(role.SettingsIn(0))
	s.applySettings(role.SettingsIn(d.OID))
	for _, p := range st.Params {
		if d, err := settings.Lookup(p.Name); err == nil && d.Context == "internal" {
			continue
		}
		if err := s.set(p.Name, p.Value, false); err != nil {
			return nil, err
		}
	}
	s.initial = make(map[string]string, len(s.values))
	for k, v := range s.values {
		s.initial[k] = v
	}
	for _, n := range wire.ReportedParams {
		v, _ := s.show(n)
		s.client.ParameterStatus(n, v)
	}
	return s, e.enter(s, role)
}

// Close implements wire.Session.
func (s *Session) Close() {
	s.abort()
	s.eng.advisory.putAll(s)
	s.dropTemporary()
	s.unlisten()
	s.eng.sessionsMu.Lock()
	delete(s.eng.sessions, s.expr.BackendPID)
	s.eng.sessionsMu.Unlock()
}

// Options implements wire.Session.
func (s *Session) Options() *types.Options { return &s.expr.Options }

// Parse implements wire.Session.
func (s *Session) Parse(_ context.Context, text string) ([]wire.Statement, error) {
	if out := s.knownParts(text); out != nil {
		return out, nil
	}
	ps, err := sql.Parse(text)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Statement, len(ps))
	for i := range ps {
		out[i] = &statement{Parsed: ps[i], whole: text, part: len(ps) > 1, index: i}
	}
	return out, nil
}

// statement is a parsed statement with the whole text, which error positions
// refer to.
type statement struct {
	sql.Parsed // Stmt is nil where the text's template is known
	whole      string
	part       bool // there are others in the text
	index      int  // how many are before it
}

// Prepare implements wire.Session.
func (s *Session) Prepare(ctx context.Context, st wire.Statement, oids []uint32) (wire.Prepared, error) {
	p := st.(*statement)
	if s.tx.failed && !endsBlock(p.Stmt) {
		return nil, pgerr.New(pgerr.InFailedSQLTransaction, "current transaction is aborted, commands ignored until end of transaction block")
	}
	if err := s.tx.ddl.failed(); err != nil && !endsBlock(p.Stmt) {
		return nil, err
	}
	return s.prepare(ctx, p, oids)
}

func endsBlock(st sql.Stmt) bool {
	switch st.(type) {
	case *sql.Commit, *sql.Rollback, *sql.RollbackTo:
		return true
	}
	return false
}

func (s *Session) notice(severity string, n *pgerr.Error) {
	if !s.hushed && severityRank(severity) >= severityRank(s.values["client_min_messages"]) {
		s.client.Notice(severity, n)
	}
}

func severityRank(v string) int {
	switch v {
	case "error", "ERROR":
		return 5
	case "warning", "WARNING":
		return 4
	case "notice", "NOTICE":
		return 3
	case "log", "LOG":
		return 2
	case "INFO":
		return 9
	}
	return 1
}
