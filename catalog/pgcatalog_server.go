package catalog

import (
	"fmt"
	"github.com/streamdb/streamdb/types"
)

// The interfaces of this file are implemented by Context.Server, in parts or
// not at all; what is missing makes empty or static tables.

// Setting is a row of pg_settings.
type Setting struct {
	Name, Value, Unit, Category, Description string
	Context                                  string // user, superuser, internal, postmaster, ...
	Type                                     string // bool, integer, real, string or enum
	Default, Min, Max                        string
	Enum                                     []string
	Source                                   string // default, session, client, ...
}

// SettingsSource knows the settings of the session.
type SettingsSource interface {
	Settings() []Setting
}

// Activity is a row of pg_stat_activity. Times are µs since 2000-01-01 UTC; 0:
// unknown.
type Activity struct {
	PID                                          int32
	UserOID                                      uint32
	User, Database, Application, State, Query    string
	ClientAddr                                   string
	ClientPort                                   int32
	BackendStart, XactStart, QueryStart, Changed int64
	WaitType, WaitEvent                          string
	QueryID                                      int64
	BackendType                                  string // empty: client backend
}

// ActivitySource knows the sessions.
type ActivitySource interface {
	Activity() []Activity
}

// PreparedStatement is a row of pg_prepared_statements.
type PreparedStatement struct {
	Name, Text string
	At         int64 // µs since 2000-01-01 UTC
	Params     []types.T
	FromSQL    bool
}

// Cursor is a row of pg_cursors.
type Cursor struct {
	Name, Text         string
	Hold, Binary, Free bool // Free: scrollable
	At                 int64
}

// SessionSource knows the session's own objects.
type SessionSource interface {
	PreparedStatements() []PreparedStatement
	Cursors() []Cursor
}

func serverDefs() []def {
	return []def{
		{"pg_catalog.pg_database", "oid datname datdba encoding datlocprovider datistemplate datallowconn datconnlimit dattablespace " +
			"datcollate datctype datacl", func(c *Context, r *rows) {
			for _, d := range c.Snapshot.Databases() {
				collate, ctype := d.Locale()
				r.add(d.OID, d.Name, d.Owner, 6, "c", d.Template, !d.NoConnect, d.ConnLimit(), 1663, collate, ctype, aclOf(c.Snapshot, d.ACL))
			}
		}},
		{"pg_catalog.pg_stat_database", "datid datname numbackends", func(c *Context, r *rows) {
			n := map[string]int{}
			if a, ok := c.Server.(ActivitySource); ok {
				for _, x := range a.Activity() {
					n[x.Database]++
				}
			}
			r.add(0, nil, 0) // of what all share
			for _, d := range c.Snapshot.Databases() {
				r.add(d.OID, d.Name, n[d.Name])
			}
		}},
		{"pg_catalog.pg_settings", "name setting unit category short_desc context vartype source min_val max_val enumvals boot_val " +
			"reset_val pending_restart", fillSettings},
		{"pg_catalog.pg_stat_activity", "datid datname pid usesysid usename application_name client_addr client_port backend_start " +
			"xact_start query_start state_change wait_event_type wait_event state query_id query backend_type", fillActivity},
		{"pg_catalog.pg_prepared_statements", "name statement prepare_time parameter_types from_sql generic_plans custom_plans", fillPrepared},
		{"pg_catalog.pg_locks", "locktype database classid objid objsubid virtualtransaction pid mode granted fastpath", fillLocks},
		{"pg_catalog.pg_cursors", "name statement is_holdable is_binary is_scrollable creation_time", func(c *Context, r *rows) {
			if s, ok := c.Server.(SessionSource); ok {
				for _, x := range s.Cursors() {
					r.add(x.Name, x.Text, x.Hold, x.Binary, x.Free, x.At)
				}
			}
		}},
	}
}

// addressOrNull is an address as inet; what is none is NULL.
func addressOrNull(addr string) any {
	d, err := types.ParseText(types.TInet, addr, nil)
	if err != nil {
		return nil
	}
	return d
}

func fillSettings(c *Context, r *rows) {
	if s, ok := c.Server.(SettingsSource); ok {
		for _, x := range s.Settings() {
			var enum any
			if x.Enum != nil {
				enum = textArray(x.Enum)
			}
			source := x.Source
			if source == "" {
				source = "default"
			}
			r.add(x.Name, x.Value, orNull(x.Unit), x.Category, x.Description, x.Context, x.Type, source,
				orNull(x.Min), orNull(x.Max), enum, x.Default, x.Default, false)
		}
		return
	}
	for _, f := range dataLines("settings", "|") {
		value := f[6]
		if c.Session != nil && c.Session.Setting != nil {
			if v, ok := c.Session.Setting(f[0]); ok {
				value = v
			}
		}
		r.add(f[0], value, orNull(f[1]), f[2], f[3], f[4], f[5], "default", orNull(f[7]), orNull(f[8]), nil, f[6], f[6], false)
	}
}

func fillActivity(c *Context, r *rows) {
	a, ok := c.Server.(ActivitySource)
	if !ok {
		return
	}
	for _, x := range a.Activity() {
		kind := x.BackendType
		if kind == "" {
			kind = "client backend"
		}
		var db any
		if d := c.Snapshot.DatabaseNamed(x.Database); d != nil {
			db = d.OID
		}
		r.add(db, x.Database, x.PID, x.UserOID, x.User, x.Application, addressOrNull(x.ClientAddr), orNull(x.ClientPort),
			orNull(x.BackendStart), orNull(x.XactStart), orNull(x.QueryStart), orNull(x.Changed), orNull(x.WaitType),
			orNull(x.WaitEvent), orNull(x.State), orNull(x.QueryID), x.Query, kind)
	}
}

func fillPrepared(c *Context, r *rows) {
	s, ok := c.Server.(SessionSource)
	if !ok {
		return
	}
	for _, x := range s.PreparedStatements() {
		ts := make([]types.Datum, len(x.Params))
		for i, t := range x.Params {
			ts[i] = int64(t.OID())
		}
		r.add(x.Name, x.Text, x.At, types.ArrayDatum(ts), x.FromSQL, 0, 0)
	}
}

// LocksSource is a Server that knows of advisory locks.
type LocksSource interface {
	Locks() []AdvisoryLock
}

// AdvisoryLock is an advisory lock that a session holds, or waits for.
type AdvisoryLock struct {
	Database uint32
	Key      int64
	Two      bool // Key is made of two numbers
	PID      int32
	Mode     string
	Granted  bool
}

func fillLocks(c *Context, r *rows) {
	s, ok := c.Server.(LocksSource)
	if !ok {
		return
	}
	for _, l := range s.Locks() {
		sub := 1
		if l.Two {
			sub = 2
		}
		r.add("advisory", l.Database, uint32(l.Key>>32), uint32(l.Key), sub, fmt.Sprintf("%d/1", l.PID), l.PID, l.Mode, l.Granted, false)
	}
}
