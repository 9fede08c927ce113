package expr

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// AdvisoryKey names an advisory lock of a database: one number, or two of 32 bits.
type AdvisoryKey struct {
	N   int64
	Two bool // N is made of two numbers, the first above
}

// AdvisoryMode is how an advisory lock is held.
type AdvisoryMode struct {
	Shared bool
	Tx     bool // to the end of the transaction, else of the session
}

// AdvisoryLocks are the advisory locks as a session uses them.
type AdvisoryLocks interface {
	// Take takes a lock. With wait it returns when it has it, or with the error of a
	// cancelled statement or a deadlock; without it tells whether it has it.
	Take(k AdvisoryKey, m AdvisoryMode, wait bool) (bool, error)
	// Free gives a lock of the session back once; false: it is not held.
	Free(k AdvisoryKey, shared bool) bool
	// FreeAll gives all locks of the session back.
	FreeAll()
}

// advisoryFuncs take and free advisory locks.
func advisoryFuncs() []*Func {
	locks := func(r *row) (AdvisoryLocks, error) {
		if a := r.c.session().Advisory; a != nil {
			return a, nil
		}
		return nil, pgerr.Unsupported("an advisory lock in a materialized view or sink", "Take it in a query.")
	}
	var out []*Func
	add := func(name string, ret types.T, f func(r *row, a AdvisoryLocks, k AdvisoryKey) error) {
		with := func(args []types.T, key func(r *row) AdvisoryKey) {
			out = append(out, volatile(fn(name, args, ret, func(r *row) error {
				a, err := locks(r)
				if err != nil {
					return err
				}
				return f(r, a, key(r))
			})))
		}
		with(ts(tI8), func(r *row) AdvisoryKey { return AdvisoryKey{N: r.i8(0)} })
		with(ts(tI4, tI4), func(r *row) AdvisoryKey {
			return AdvisoryKey{N: int64(r.i4(0))<<32 | int64(uint32(r.i4(1))), Two: true}
		})
	}
	for _, m := range []AdvisoryMode{{}, {Shared: true}, {Tx: true}, {Shared: true, Tx: true}} {
		name := "advisory"
		if m.Tx {
			name += "_xact"
		}
		name += "_lock"
		if m.Shared {
			name += "_shared"
		}
		add("pg_"+name, types.TVoid, func(r *row, a AdvisoryLocks, k AdvisoryKey) error {
			if _, err := a.Take(k, m, true); err != nil {
				return err
			}
			return r.putS("")
		})
		add("pg_try_"+name, tBool, func(r *row, a AdvisoryLocks, k AdvisoryKey) error {
			got, err := a.Take(k, m, false)
			if err != nil {
				return err
			}
			return r.putBool(got)
		})
	}
	add("pg_advisory_unlock", tBool, func(r *row, a AdvisoryLocks, k AdvisoryKey) error { return r.putBool(a.Free(k, false)) })
	add("pg_advisory_unlock_shared", tBool, func(r *row, a AdvisoryLocks, k AdvisoryKey) error { return r.putBool(a.Free(k, true)) })
	return append(out, volatile(fn("pg_advisory_unlock_all", nil, types.TVoid, func(r *row) error {
		a, err := locks(r)
		if err != nil {
			return err
		}
		a.FreeAll()
		return r.putS("")
	})))
}
