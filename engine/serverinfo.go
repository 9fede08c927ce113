package engine

import (
	"sort"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/settings"
	"github.com/streamdb/streamdb/pgerr"
)

// serverInfo tells the catalog tables, and SQL functions,
// about the running server, as one session sees it.
type serverInfo struct{ s *Session }

// Settings implements catalog.SettingsSource.
func (i serverInfo) Settings() []catalog.Setting {
	var out []catalog.Setting
	for _, n := range settings.Names() {
		st := settings.All[n]
		v, err := i.s.show(n)
		if err != nil {
			continue
		}
		src := "default"
		if v != st.Default {
			src = "session"
		}
		if isTimeout(n) {
			ms, _ := settings.ParseMillis(v)
			out = append(out, catalog.Setting{Name: st.Name, Value: itoa(ms), Unit: "ms", Category: "Client Connection Defaults / Statement Behavior", Description: st.Doc,
				Context: st.Context, Type: "integer", Default: st.Default, Min: "0", Max: "2147483647", Source: src})
			continue
		}
		out = append(out, catalog.Setting{Name: st.Name, Value: v, Category: "StreamDB", Description: st.Doc,
			Context: st.Context, Type: "string", Default: st.Default, Source: src})
	}
	return out
}

// PreparedStatements implements catalog.SessionSource.
func (i serverInfo) PreparedStatements() []catalog.PreparedStatement {
	var out []catalog.PreparedStatement
	for _, st := range i.s.client.Statements().List() {
		p := catalog.PreparedStatement{Name: st.Name, Text: st.Text, FromSQL: st.FromSQL, At: st.At.UnixMicro() - jobs.EpochUnixMicros}
		if st.Prepared != nil {
			p.Params = st.Prepared.Params()
		}
		out = append(out, p)
	}
	return out
}

// Cursors implements catalog.SessionSource.
func (i serverInfo) Cursors() []catalog.Cursor {
	var out []catalog.Cursor
	for n, c := range i.s.cursors {
		out = append(out, catalog.Cursor{Name: n, Text: c.portal.p.st.Text, Hold: c.hold, Free: c.scroll})
	}
	sort.Slice(out, func(a, b int) bool { return out[a].Name < out[b].Name })
	return out
}

// StartMicros implements expr.ServerInfo.
func (i serverInfo) StartMicros() int64 { return i.s.eng.Started.UnixMicro() - jobs.EpochUnixMicros }

// Transaction implements expr.ServerInfo.
func (i serverInfo) Transaction() int64 { return int64(i.s.eng.Epoch.Load()) }

// DiskBytes implements expr.ServerInfo.
func (i serverInfo) DiskBytes() int64 {
	st := i.s.eng.Store.Stats()
	return int64(st.DiskBytes + st.LogBytes)
}

// DatabaseBytes implements expr.ServerInfo.
func (i serverInfo) DatabaseBytes(oid uint32, name string) (n int64, known bool, err error) {
	snap := i.s.snapshot()
	d := snap.DatabaseNamed(name)
	if name == "" {
		d, _ = snap.ByOID(oid).(*catalog.Database)
	}
	if d == nil {
		return 0, false, nil
	}
	if !snap.Can(i.s.who.current, d, catalog.Connect) && !snap.HasPrivsOf(i.s.who.current, catalog.RoleReadAllStats) {
		return 0, false, catalog.Denied(d)
	}
	own := snap.In(d.OID)
	own.Objects(func(o catalog.Object) {
		switch o.Kind() {
		case catalog.KindTable, catalog.KindMatView, catalog.KindIndex:
			n += info{own, i.s}.RelationSize(o.Header().OID)
		}
	})
	return n, true, nil
}

// SignalBackend implements expr.ServerInfo.
func (i serverInfo) SignalBackend(pid int32, terminate bool) (bool, error) {
	e, snap := i.s.eng, i.s.snapshot()
	e.sessionsMu.RLock()
	x := e.sessions[pid]
	e.sessionsMu.RUnlock()
	if x == nil {
		i.s.notice("WARNING", pgerr.New(pgerr.Warning, "PID %d is not a PostgreSQL backend process", pid))
		return false, nil
	}
	whose := x.who.authenticated
	if snap.Superuser(whose) && !snap.Superuser(i.s.who.current) {
		if terminate {
			return false, forbidden("must be a superuser to terminate superuser process")
		}
		return false, forbidden("must be a superuser to cancel superuser query")
	}
	if !snap.HasPrivsOf(i.s.who.current, whose) && !snap.HasPrivsOf(i.s.who.current, catalog.RoleSignalBackend) {
		if terminate {
			return false, forbidden("must be a member of the role whose process is being terminated or member of pg_signal_backend")
		}
		return false, forbidden("must be a member of the role whose query is being canceled or member of pg_signal_backend")
	}
	if terminate {
		x.client.Terminate()
	} else {
		x.client.Cancel()
	}
	return true, nil
}
