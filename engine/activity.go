package engine

import (
	"net"
	"sort"
	"strconv"
	"sync/atomic"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
)

// doing is what a session does, for pg_stat_activity. Other sessions read it while
// it changes, each field for itself. Times are µs since 2000-01-01 UTC.
type doing struct {
	app     atomic.Pointer[string] // application_name
	state   atomic.Int32
	query   atomic.Int64 // begin of the last statement
	changed atomic.Int64
	block   atomic.Int64 // begin of the open transaction; 0: none
}

// The states of a session.
const (
	idle int32 = iota
	active
	idleInBlock
	idleInFailedBlock
)

var stateNames = [...]string{idle: "idle", active: "active", idleInBlock: "idle in transaction", idleInFailedBlock: "idle in transaction (aborted)"}

// running notes that the session runs a statement.
func (s *Session) running(text *string) {
	now := jobs.NowMicros()
	s.query.Store(text)
	s.doing.query.Store(now)
	s.doing.changed.Store(now)
	if s.doing.block.Load() == 0 {
		s.doing.block.Store(now)
	}
	s.doing.state.Store(active)
}

// resting notes that the session waits for its client.
func (s *Session) resting() {
	st := idle
	switch s.TxStatus() {
	case 'T':
		st = idleInBlock
	case 'E':
		st = idleInFailedBlock
	default:
		s.doing.block.Store(0)
	}
	if s.doing.state.Swap(st) != st {
		s.doing.changed.Store(jobs.NowMicros())
	}
}

// Activity implements catalog.ActivitySource.
func (i serverInfo) Activity() []catalog.Activity {
	e, snap := i.s.eng, i.s.snapshot()
	e.sessionsMu.RLock()
	defer e.sessionsMu.RUnlock()
	var out []catalog.Activity
	for pid, s := range e.sessions {
		st := s.doing.state.Load()
		a := catalog.Activity{PID: pid, UserOID: s.who.authenticated, User: snap.RoleName(s.who.authenticated), Database: s.database, State: stateNames[st],
			BackendStart: s.started.UnixMicro() - jobs.EpochUnixMicros, XactStart: s.doing.block.Load(),
			QueryStart: s.doing.query.Load(), Changed: s.doing.changed.Load()}
		if st != active {
			a.WaitType, a.WaitEvent = "Client", "ClientRead"
		}
		if q := s.query.Load(); q != nil {
			a.Query = e.Redact(*q)
		}
		if !snap.HasPrivsOf(i.s.who.current, s.who.authenticated) && !snap.HasPrivsOf(i.s.who.current, catalog.RoleReadAllStats) {
			out = append(out, catalog.Activity{PID: pid, UserOID: a.UserOID, User: a.User, Database: a.Database, Query: "<insufficient privilege>"})
			continue
		}
		if app := s.doing.app.Load(); app != nil {
			a.Application = *app
		}
		a.ClientAddr, a.ClientPort = clientAddress(s.remote)
		out = append(out, a)
	}
	sort.Slice(out, func(a, b int) bool { return out[a].PID < out[b].PID })
	return out
}

// clientAddress takes host:port apart. What has none, such as a Unix socket, has
// port -1, as in PostgreSQL.
func clientAddress(remote string) (host string, port int32) {
	host, p, err := net.SplitHostPort(remote)
	if err != nil {
		return "", -1
	}
	n, err := strconv.ParseInt(p, 10, 32)
	if err != nil {
		return "", -1
	}
	return host, int32(n)
}
