package expr

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// ServerInfo is what scalar functions may ask about, and of, the running server.
type ServerInfo interface {
	// StartMicros is when the server started, µs since 2000-01-01 UTC.
	StartMicros() int64
	// Transaction is the number of the last epoch.
	Transaction() int64
	// DiskBytes is what the data directory takes on disk.
	DiskBytes() int64
	// DatabaseBytes is about what the relations of a database take; known is false
	// if there is none of that number, or of that name if there is one.
	DatabaseBytes(oid uint32, name string) (n int64, known bool, err error)
	// SignalBackend cancels the statement of a session, or ends the session, and
	// reports whether there is one of that process id.
	SignalBackend(pid int32, terminate bool) (bool, error)
}

// withServer makes a function that is NULL without a server.
func withServer(name string, args []types.T, ret types.T, f func(r *row, s ServerInfo) error) *Func {
	return readsCatalog(fn(name, args, ret, func(r *row) error {
		s := r.c.session().Server
		if s == nil {
			return r.null()
		}
		return f(r, s)
	}))
}

func serverFuncs() []*Func {
	start := func(r *row, s ServerInfo) error { return r.putI8(s.StartMicros()) }
	transaction := func(r *row, s ServerInfo) error { return r.putI8(s.Transaction()) }
	out := append(databaseSizeFuncs(),
		safe(withServer("pg_postmaster_start_time", nil, tTSTZ, start)), safe(withServer("pg_conf_load_time", nil, tTSTZ, start)),
		volatile(safe(withServer("txid_current", nil, tI8, transaction))), volatile(safe(withServer("pg_current_xact_id", nil, types.TXid8, func(r *row, s ServerInfo) error { return r.putWord(s.Transaction()) }))))
	for _, name := range []string{"pg_terminate_backend", "pg_cancel_backend"} {
		out = append(out, volatile(withServer(name, ts(tI4), tBool, func(r *row, s ServerInfo) error {
			done, err := s.SignalBackend(int32(r.i4(0)), name == "pg_terminate_backend")
			if err != nil {
				return err
			}
			return r.putBool(done)
		})))
	}
	return out
}

// databaseSizeFuncs measure databases, and the one tablespace.
func databaseSizeFuncs() []*Func {
	size := func(r *row, s ServerInfo) error { return r.putI8(s.DiskBytes()) }
	database := func(r *row, s ServerInfo, oid uint32, name string) error {
		switch n, known, err := s.DatabaseBytes(oid, name); {
		case err != nil:
			return err
		case known:
			return r.putI8(n)
		}
		if name != "" {
			return pgerr.New(pgerr.InvalidCatalogName, "database \"%s\" does not exist", name)
		}
		return r.null()
	}
	return []*Func{
		withServer("pg_database_size", ts(tOid), tI8, func(r *row, s ServerInfo) error { return database(r, s, uint32(r.i8(0)), "") }),
		safe(withServer("pg_tablespace_size", ts(tOid), tI8, size)),
		withServer("pg_database_size", ts(tName), tI8, func(r *row, s ServerInfo) error { return database(r, s, 0, r.s(0)) }),
		withServer("pg_tablespace_size", ts(tName), tI8, func(r *row, s ServerInfo) error {
			if given := r.s(0); given != "pg_default" && given != "pg_global" {
				return pgerr.New(pgerr.UndefinedObject, "tablespace \"%s\" does not exist", given)
			}
			return size(r, s)
		}),
	}
}
