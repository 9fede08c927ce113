package expr

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// Coerce makes the conversion of e to type to explicit in the tree. An untyped
// literal is read as a value of the type at once, so that its errors come at
// planning time (as PostgreSQL's do), unless the reading depends on the session.
func Coerce(e Expr, to types.T, ctx CastContext) (Expr, error) {
	from := e.Type()
	if k, ok := e.(*Const); ok {
		if k.Val == nil {
			return &Const{Typ: to}, nil
		}
		if from.ID == types.Unknown {
			return literal(k, to.Underlying(), ctx)
		}
	}
	if from.Ref != 0 && from.IsDomain() && !from.SameType(to) {
		e = outOfDomain(e, ctx)
		from = e.Type()
	}
	if from.SameType(to) {
		if to.Mod < 0 || to.Mod == from.Mod {
			return e, nil
		}
		return &Cast{Arg: e, To: to, Explicit: ctx == Explicit}, nil
	}
	if to.ID == types.Record && to.Ref == 0 && from.ID == types.Record {
		return e, nil // a row of known shape is a record, and keeps its names
	}
	if !CanCast(from, to, ctx) {
		return nil, cannotCast(from, to, ctx)
	}
	if to.Underlying().ID == types.Timetz && to.Ref == 0 && (from.ID == types.Time || isString(from)) {
		return toTimetz(e, to)
	}
	return &Cast{Arg: e, To: to, Explicit: ctx == Explicit}, nil
}

func cannotCast(from, to types.T, ctx CastContext) error {
	if ctx == Assignment {
		return pgerr.New(pgerr.DatatypeMismatch, "expression is of type %s but the target is of type %s", from.Base(), to.Base()).
			WithHint("You will need to rewrite or cast the expression.")
	}
	return pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", from.Base(), to.Base())
}

// literal reads an untyped literal as a value of type to.
func literal(k *Const, to types.T, ctx CastContext) (Expr, error) {
	s := k.Val.(string)
	base := to
	lengthLater := to.Mod >= 0 && (to.ID == types.Varchar || to.ID == types.Bpchar || to.ID == types.Bit || to.ID == types.Varbit || to.ID == types.Array)
	if lengthLater {
		base = to.Base()
	}
	if sessionText(to) && !plainDate(s, to) {
		// The value depends on the session's time zone or catalog.
		return &Cast{Arg: &Const{Val: s, Typ: types.TText}, To: to, Explicit: ctx == Explicit}, nil
	}
	v, err := parseText(s, base, nil)
	if err != nil {
		return nil, err
	}
	c := &Const{Val: v, Typ: base}
	if lengthLater {
		return &Cast{Arg: c, To: to, Explicit: ctx == Explicit}, nil
	}
	return c, nil
}

// plainDate reports whether a literal is a date or time whatever the session:
// digits with the year first, with an offset of its own where the type has a zone.
func plainDate(s string, t types.T) bool {
	switch t.ID {
	case types.Time:
	case types.Timetz: // begins with the time and has an offset
		if len(s) < 6 || s[2] != ':' || strings.LastIndexAny(s, "+-") < 0 || strings.IndexByte(s, ' ') >= 0 {
			return false
		}
	case types.Date, types.Timestamp, types.Timestamptz:
		if len(s) < 8 || s[4] != '-' {
			return false
		}
	case types.Interval:
		return !types.SignDependsOnStyle(s)
	default:
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= '0' && c <= '9' || c == '-' || c == ':' || c == '.' || c == '+' || c == ' ' || c == 'T' || c == 'Z') {
			return false
		}
	}
	if t.ID != types.Timestamptz {
		return true
	}
	return len(s) > 10 && (s[len(s)-1] == 'Z' || strings.LastIndexAny(s, "+-") > 10)
}

// sessionText reports whether reading text as t depends on the session.
func sessionText(t types.T) bool {
	id := t.ID
	if id == types.Array {
		id = t.Elem
	}
	if r := (types.T{ID: id, Ref: t.Ref}); r.IsRange() || r.IsMultirange() {
		id = r.RangeSub().ID
	}
	switch id {
	case types.Timestamptz, types.Timestamp, types.Date, types.Time, types.Timetz, types.Interval:
		return true
	}
	return isReg(id)
}

// CommonType returns the type that CASE branches, UNION columns, VALUES columns
// and ARRAY elements of the given types share, by PostgreSQL's rules. Untyped
// literals alone give text.
func CommonType(ts []types.T) (types.T, error) { return commonType("UNION", ts) }

// CommonTypeFor is CommonType with the construct's name for the error: CASE,
// COALESCE, VALUES, UNION, ARRAY, GREATEST, IN.
func CommonTypeFor(what string, ts []types.T) (types.T, error) { return commonType(what, ts) }

func commonType(what string, ts []types.T) (types.T, error) {
	if len(ts) > 0 && ts[0].ID != types.Unknown {
		all := true
		for _, t := range ts {
			all = all && t == ts[0]
		}
		if all {
			return ts[0], nil
		}
	}
	ts = underlyingAll(ts)
	p := types.TUnknown
	for _, t := range ts {
		if t.ID == types.Unknown || t.SameType(p) {
			continue
		}
		t = t.Base()
		switch {
		case p.ID == types.Unknown:
			p = t
		case p.ID == types.Record && t.ID == types.Record && !p.IsComposite() && !t.IsComposite():
			p = types.TRecord
		case t.Category() != p.Category():
			return t, pgerr.New(pgerr.DatatypeMismatch, "%s types %s and %s cannot be matched", what, p, t)
		case !preferred(p) && CanCast(p, t, Implicit) && !CanCast(t, p, Implicit):
			p = t
		}
	}
	if p.ID == types.Unknown {
		return types.TText, nil
	}
	for _, t := range ts {
		if !CanCast(t, p, Implicit) {
			return p, pgerr.New(pgerr.CannotCoerce, "%s could not convert type %s to %s", what, t.Base(), p)
		}
	}
	return p.Base(), nil
}
