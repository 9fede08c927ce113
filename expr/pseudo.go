package expr

import (
	"slices"

	"github.com/streamdb/streamdb/types"
)

// The polymorphic pseudo types. They stand only in the parameter lists of
// function tables; a value never has one, so their IDs lie beyond those of
// package types.
const (
	anyElementID types.ID = 240 + iota
	anyArrayID
	anyNonArrayID
	anyCompatibleID
	anyCompatibleArrayID
	anyID
	anyEnumID
	anyRangeID
	anyMultirangeID
)

// Parameter types that match more than one type.
var (
	AnyElement         = types.T{ID: anyElementID, Mod: -1}
	AnyArray           = types.T{ID: anyArrayID, Mod: -1}
	AnyNonArray        = types.T{ID: anyNonArrayID, Mod: -1}
	AnyCompatible      = types.T{ID: anyCompatibleID, Mod: -1}
	AnyCompatibleArray = types.T{ID: anyCompatibleArrayID, Mod: -1}
	Any                = types.T{ID: anyID, Mod: -1}
	AnyEnum            = types.T{ID: anyEnumID, Mod: -1}
	AnyRange           = types.T{ID: anyRangeID, Mod: -1}
	AnyMultirange      = types.T{ID: anyMultirangeID, Mod: -1}
)

// IsPseudo reports whether t is one of the polymorphic parameter types.
func IsPseudo(t types.T) bool { return t.ID >= anyElementID }

// ParamName returns the name of a parameter type, as PostgreSQL prints it.
func ParamName(t types.T) string {
	switch t.ID {
	case anyElementID:
		return "anyelement"
	case anyArrayID:
		return "anyarray"
	case anyNonArrayID:
		return "anynonarray"
	case anyCompatibleID:
		return "anycompatible"
	case anyCompatibleArrayID:
		return "anycompatiblearray"
	case anyID:
		return `"any"`
	case anyEnumID:
		return "anyenum"
	case anyRangeID:
		return "anyrange"
	case anyMultirangeID:
		return "anymultirange"
	}
	return t.String()
}

// ParamOID returns the type OID of a parameter type, for pg_proc.
func ParamOID(t types.T) uint32 {
	switch t.ID {
	case anyElementID:
		return 2283
	case anyArrayID:
		return 2277
	case anyNonArrayID:
		return 2776
	case anyCompatibleID:
		return 5077
	case anyCompatibleArrayID:
		return 5078
	case anyID:
		return 2276
	case anyEnumID:
		return 3500
	case anyRangeID:
		return 3831
	case anyMultirangeID:
		return 4537
	}
	return t.OID()
}

// bindPoly finds the types that the polymorphic parameters of a candidate stand
// for and returns the parameter list with them put in. ok is false when the
// arguments contradict each other.
func bindPoly(params, in []types.T) (out []types.T, ok bool) {
	var elem types.T // anyelement family
	var ranged types.T
	var common []types.T
	poly := false
	for i, p := range params {
		if !IsPseudo(p) {
			continue
		}
		poly = true
		if p == Any {
			continue
		}
		a := in[i]
		if a.ID == types.Unknown {
			continue
		}
		if p == AnyEnum && a.IsDomain() { // as in PostgreSQL
			return nil, false
		}
		if p != AnyElement && p != AnyCompatible && p != AnyNonArray {
			a = a.Underlying()
		}
		if p == AnyRange || p == AnyMultirange {
			if p == AnyRange && !a.IsRange() || p == AnyMultirange && !a.IsMultirange() ||
				ranged.ID != types.Invalid && ranged != a.RangeType() {
				return nil, false
			}
			ranged = a.RangeType()
			a = ranged.RangeSub()
		}
		if p == AnyArray || p == AnyCompatibleArray {
			if a.ID != types.Array {
				return nil, false
			}
			a = a.ElemType()
		} else if p == AnyNonArray && a.ID == types.Array || p == AnyEnum && a.ID != types.Enum {
			return nil, false
		}
		if p == AnyCompatible || p == AnyCompatibleArray {
			common = append(common, a.Base())
			continue
		}
		if elem.ID != types.Invalid && elem != a.Base() {
			return nil, false
		}
		elem = a.Base()
	}
	if !poly {
		return params, true
	}
	comp := types.TText
	if len(common) > 0 {
		t, err := CommonType(common)
		if err != nil {
			return nil, false
		}
		comp = t
	}
	if elem.ID == types.Invalid {
		elem = types.TText
	}
	needsRange := func(p types.T) bool { return p == AnyRange || p == AnyMultirange }
	if ranged.ID == types.Invalid && slices.ContainsFunc(params, needsRange) {
		return nil, false
	}
	out = make([]types.T, len(params))
	for i, p := range params {
		switch p {
		case AnyElement, AnyNonArray, AnyEnum:
			out[i] = elem
		case AnyRange:
			out[i] = ranged
		case AnyMultirange:
			out[i] = ranged.MultirangeType()
		case AnyArray:
			out[i] = arrayOf(elem)
		case AnyCompatible:
			out[i] = comp
		case AnyCompatibleArray:
			out[i] = arrayOf(comp)
		case Any:
			out[i] = in[i]
			if in[i].ID == types.Unknown {
				out[i] = types.TText
			}
		default:
			out[i] = p
		}
	}
	return out, true
}

func arrayOf(t types.T) types.T {
	if t.ID == types.Array {
		return t
	}
	return t.Base().ArrayType()
}
