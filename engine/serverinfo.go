package engine

import (
	"sort"

	"github.com/streamdb/streamdb/catalog"
)

// serverInfo tells the catalog tables, and SQL functions,
// about the running server, as one session sees it.
type serverInfo struct{ s *Session }

// Settings implements catalog.SettingsSource.
func (i serverInfo) Settings() []catalog.Setting {
	var out []catalog.Setting
	for _, n := range settingNames() {
		st := settings[n]
		v, err := i.s.show(n)
		if err != nil {
			continue
		}
		src := "default"
		if v != st.def {
			src = "session"
		}
		out = append(out, catalog.Setting{Name: st.name, Value: v, Category: "StreamDB", Description: st.doc,
			Context: st.context, Type: "string", Default: st.def, Source: src})
	}
	return out
}

// PreparedStatements implements catalog.SessionSource.
func (i serverInfo) PreparedStatements() []catalog.PreparedStatement {
	var out []catalog.PreparedStatement
	for _, st := range i.s.client.Statements().List() {
		p := catalog.PreparedStatement{Name: st.Name, Text: st.Text, FromSQL: st.FromSQL, At: st.At.UnixMicro() - pgEpochUnixMicros}
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
		out = append(out, catalog.Cursor{Name: n, Text: c.portal.p.st.Text, Hold: c.hold})
	}
	sort.Slice(out, func(a, b int) bool { return out[a].Name < out[b].Name })
	return out
}

// Roles implements catalog.RoleSource.
func (i serverInfo) Roles() []string {
	out := []string{catalog.Owner}
	if i.s.user != catalog.Owner {
		out = append(out, i.s.user)
	}
	return out
}

// StartMicros implements expr.ServerInfo.
func (i serverInfo) StartMicros() int64 { return i.s.eng.start.UnixMicro() - pgEpochUnixMicros }

// Transaction implements expr.ServerInfo.
func (i serverInfo) Transaction() int64 { return int64(i.s.eng.epoch.Load()) }

// DiskBytes implements expr.ServerInfo.
func (i serverInfo) DiskBytes() int64 {
	st := i.s.eng.store.Stats()
	return int64(st.DiskBytes + st.LogBytes)
}

// SignalBackend implements expr.ServerInfo.
func (i serverInfo) SignalBackend(pid int32, terminate bool) bool {
	e := i.s.eng
	e.mu.RLock()
	s := e.sessions[pid]
	e.mu.RUnlock()
	switch {
	case s == nil:
		return false
	case terminate:
		s.client.Terminate()
	default:
		s.client.Cancel()
	}
	return true
}
