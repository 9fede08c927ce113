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

type castPair struct{ from, to types.ID }

// castTable holds PostgreSQL's pg_cast for the types there are; conversions
// through text are added by castContext.
var castTable = map[castPair]CastContext{
	{types.Int2, types.Int4}: Implicit, {types.Int2, types.Int8}: Implicit, {types.Int2, types.Numeric}: Implicit,
	{types.Int2, types.Float4}: Implicit, {types.Int2, types.Float8}: Implicit,
	{types.Int4, types.Int2}: Assignment, {types.Int4, types.Int8}: Implicit, {types.Int4, types.Numeric}: Implicit,
	{types.Int4, types.Float4}: Implicit, {types.Int4, types.Float8}: Implicit, {types.Int4, types.Bool}: Explicit,
	{types.Int4, types.Char}: Explicit, {types.Char, types.Int4}: Explicit,
	{types.Int8, types.Int2}: Assignment, {types.Int8, types.Int4}: Assignment, {types.Int8, types.Numeric}: Implicit,
	{types.Int8, types.Float4}: Implicit, {types.Int8, types.Float8}: Implicit,
	{types.Numeric, types.Int2}: Assignment, {types.Numeric, types.Int4}: Assignment, {types.Numeric, types.Int8}: Assignment,
	{types.Numeric, types.Float4}: Implicit, {types.Numeric, types.Float8}: Implicit,
	{types.Float4, types.Int2}: Assignment, {types.Float4, types.Int4}: Assignment, {types.Float4, types.Int8}: Assignment,
	{types.Float4, types.Numeric}: Assignment, {types.Float4, types.Float8}: Implicit,
	{types.Float8, types.Int2}: Assignment, {types.Float8, types.Int4}: Assignment, {types.Float8, types.Int8}: Assignment,
	{types.Float8, types.Numeric}: Assignment, {types.Float8, types.Float4}: Assignment,
	{types.Bool, types.Int4}: Explicit, {types.Bool, types.Text}: Assignment, {types.Bool, types.Varchar}: Assignment,
	{types.Bool, types.Bpchar}:  Assignment,
	{types.Text, types.Varchar}: Implicit, {types.Text, types.Bpchar}: Implicit, {types.Text, types.Name}: Implicit,
	{types.Text, types.Char}: Assignment, {types.Text, types.Regclass}: Implicit,
	{types.Varchar, types.Text}: Implicit, {types.Varchar, types.Bpchar}: Implicit, {types.Varchar, types.Name}: Implicit,
	{types.Varchar, types.Char}: Assignment, {types.Varchar, types.Regclass}: Implicit,
	{types.Bpchar, types.Text}: Implicit, {types.Bpchar, types.Varchar}: Implicit, {types.Bpchar, types.Name}: Implicit,
	{types.Bpchar, types.Char}: Assignment,
	{types.Name, types.Text}:   Implicit, {types.Name, types.Varchar}: Assignment, {types.Name, types.Bpchar}: Assignment,
	{types.Char, types.Text}: Implicit, {types.Char, types.Varchar}: Assignment, {types.Char, types.Bpchar}: Assignment,
	{types.Date, types.Timestamp}: Implicit, {types.Date, types.Timestamptz}: Implicit,
	{types.Timestamp, types.Timestamptz}: Implicit, {types.Timestamp, types.Date}: Assignment, {types.Timestamp, types.Time}: Assignment,
	{types.Timestamptz, types.Timestamp}: Assignment, {types.Timestamptz, types.Date}: Assignment, {types.Timestamptz, types.Time}: Assignment,
	{types.Time, types.Interval}: Implicit, {types.Interval, types.Time}: Assignment,
	{types.JSON, types.JSONB}: Assignment, {types.JSONB, types.JSON}: Assignment,
	{types.JSONB, types.Bool}: Explicit, {types.JSONB, types.Numeric}: Explicit, {types.JSONB, types.Int2}: Explicit,
	{types.JSONB, types.Int4}: Explicit, {types.JSONB, types.Int8}: Explicit, {types.JSONB, types.Float4}: Explicit,
	{types.JSONB, types.Float8}: Explicit,
	{types.Oid, types.Int4}:     Assignment, {types.Oid, types.Int8}: Assignment,
}

func isReg(id types.ID) bool {
	return id == types.Regclass || id == types.Regtype || id == types.Regproc || id == types.Regnamespace
}

func isInt(id types.ID) bool { return id == types.Int2 || id == types.Int4 || id == types.Int8 }

func isString(t types.T) bool { return t.Category() == 'S' }

// castContext returns the weakest context in which from converts to to.
func castContext(from, to types.T) CastContext {
	if from.ID == to.ID && from.Elem == to.Elem || from.ID == types.Unknown {
		return Implicit
	}
	if c, ok := castTable[castPair{from.ID, to.ID}]; ok {
		return c
	}
	switch {
	case (isInt(from.ID) || isReg(from.ID)) && to.ID == types.Oid,
		(isInt(from.ID) || from.ID == types.Oid) && isReg(to.ID):
		return Implicit
	case isReg(from.ID) && (to.ID == types.Int4 || to.ID == types.Int8):
		return Assignment
	case from.ID == types.Array && to.ID == types.Array:
		return castContext(types.T{ID: from.Elem, Mod: -1}, types.T{ID: to.Elem, Mod: -1})
	case from.ID == types.Void || to.ID == types.Void || to.ID == types.Unknown:
		return noCast
	case isString(to):
		return Assignment
	case isString(from):
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
	case types.Float8, types.Oid, types.Text, types.Bool, types.Timestamptz, types.Interval:
		return true
	}
	return false
}

// VisitCasts calls f for every row of the cast table, for pg_cast.
func VisitCasts(f func(from, to types.T, ctx CastContext)) {
	types.All(func(a types.T) {
		types.All(func(b types.T) {
			if c, ok := castTable[castPair{a.ID, b.ID}]; ok {
				f(a, b, c)
			}
		})
	})
}
