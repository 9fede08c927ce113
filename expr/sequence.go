package expr

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// Sequences are the sequences of a server as a session uses them.
type Sequences interface {
	NextValue(oid uint32) (int64, error)
	// CurrentValue is the value that the session has taken last; 55000 if none.
	CurrentValue(oid uint32) (int64, error)
	// LastValue is the value that the session has taken last from any sequence.
	LastValue() (int64, error)
	// SetValue sets the value last given out, or the next one if called is false.
	SetValue(oid uint32, v int64, called bool) error
	// LastGiven is the value that anybody has taken last; found is false if none.
	LastGiven(oid uint32) (v int64, found bool, err error)
}

// sequenceFuncs are the functions over sequences. They are volatile and have an
// effect that no rollback undoes.
func sequenceFuncs() []*Func {
	with := func(name string, args []types.T, f func(r *row, s Sequences) error) *Func {
		return volatile(fn(name, args, tI8, func(r *row) error {
			s := r.c.session().Sequences
			if s == nil {
				return pgerr.Unsupported(name+"() outside a session", "Views cannot take values of sequences.")
			}
			return f(r, s)
		}))
	}
	put := func(r *row, n int64, err error) error {
		if err != nil {
			return err
		}
		return r.putI8(n)
	}
	seq := types.TRegclass
	return []*Func{
		with("nextval", ts(seq), func(r *row, s Sequences) error {
			n, err := s.NextValue(uint32(r.i8(0)))
			return put(r, n, err)
		}),
		with("currval", ts(seq), func(r *row, s Sequences) error {
			n, err := s.CurrentValue(uint32(r.i8(0)))
			return put(r, n, err)
		}),
		with("lastval", nil, func(r *row, s Sequences) error {
			n, err := s.LastValue()
			return put(r, n, err)
		}),
		with("setval", ts(seq, tI8), func(r *row, s Sequences) error {
			return put(r, r.i8(1), s.SetValue(uint32(r.i8(0)), r.i8(1), true))
		}),
		with("setval", ts(seq, tI8, tBool), func(r *row, s Sequences) error {
			return put(r, r.i8(1), s.SetValue(uint32(r.i8(0)), r.i8(1), r.bool(2)))
		}),
		with("pg_sequence_last_value", ts(seq), func(r *row, s Sequences) error {
			n, found, err := s.LastGiven(uint32(r.i8(0)))
			if err == nil && !found {
				return r.null()
			}
			return put(r, n, err)
		}),
		withCatalog("pg_get_serial_sequence", ts(tText, tText), tText, func(r *row, c CatalogInfo) error {
			name, found, err := c.SerialSequence(strings.Clone(r.s(0)), strings.Clone(r.s(1)))
			if err != nil {
				return err
			}
			return r.found(name, found)
		}),
	}
}
