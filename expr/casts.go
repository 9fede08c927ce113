package expr

import "github.com/streamdb/streamdb/types"

// CastContext says who asks for a cast. A cast allowed in one context is
// allowed in every later one.
type CastContext uint8

// The contexts of pg_cast.castcontext.
const (
	Implicit   CastContext = iota // inside expressions
	Assignment                    // storing into a column
	Explicit                      // CAST or ::
	noCast
)

func isReg(id types.ID) bool {
	return id.IsReg()
}

func isInt(id types.ID) bool { return id == types.Int2 || id == types.Int4 || id == types.Int8 }

func isString(t types.T) bool { return t.Category() == 'S' }

// castContext returns the weakest context in which from converts to to.
func castContext(from, to types.T) CastContext {
	if to.ID == types.Unknown || to.IsPseudo() || from.IsPseudo() {
		return noCast
	}
	switch types.CastOf(from, to) {
	case types.CastImplicit:
		return Implicit
	case types.CastAssignment:
		return Assignment
	case types.CastExplicit:
		return Explicit
	}
	return noCast
}

// CanCast reports whether a value of type from converts to type to in ctx.
func CanCast(from, to types.T, ctx CastContext) bool {
	c := castContext(from, to)
	return c != noCast && c <= ctx
}

// preferred reports whether t is the preferred type of its category.
func preferred(t types.T) bool {
	switch t.ID {
	case types.Float8, types.Oid, types.Text, types.Bool, types.Timestamptz, types.Interval, types.Inet, types.Varbit:
		return true
	}
	return false
}
