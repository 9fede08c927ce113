package expr

import (
	"slices"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// Parameter types that match more than one type, for the function tables.
var (
	AnyElement         = types.AnyElement
	AnyArray           = types.AnyArray
	AnyNonArray        = types.AnyNonArray
	AnyCompatible      = types.AnyCompatible
	AnyCompatibleArray = types.AnyCompatibleArray
	Any                = types.Any
	AnyEnum            = types.AnyEnum
	AnyRange           = types.AnyRange
	AnyMultirange      = types.AnyMultirange
)

// PolyTypes are the types that the polymorphic parameters of a function stand for in
// one call; Invalid where the arguments leave one open.
type PolyTypes struct {
	elem, ranged           types.T // of anyelement and its kin
	compatible, compRanged types.T // of anycompatible and its kin
}

// Of puts the type that t stands for in its place; ok is false if there is none.
func (p *PolyTypes) Of(t types.T) (out types.T, ok bool) {
	switch t {
	case types.AnyElement, types.AnyNonArray, types.AnyEnum:
		out = p.elem
	case types.AnyArray:
		out = arrayOf(p.elem)
	case types.AnyRange:
		out = p.ranged
	case types.AnyMultirange:
		out = multirangeOf(p.ranged)
	case types.AnyCompatible, types.AnyCompatibleNonArray:
		out = p.compatible
	case types.AnyCompatibleArray:
		out = arrayOf(p.compatible)
	case types.AnyCompatibleRange:
		out = p.compRanged
	case types.AnyCompatibleMultirange:
		out = multirangeOf(p.compRanged)
	default:
		return t, true
	}
	return out, out.ID != types.Invalid
}

func multirangeOf(t types.T) types.T {
	if t.ID == types.Invalid {
		return t
	}
	return t.MultirangeType()
}

// isCompatible reports whether t is of the family of anycompatible.
func isCompatible(t types.T) bool {
	switch t {
	case types.AnyCompatible, types.AnyCompatibleArray, types.AnyCompatibleNonArray, types.AnyCompatibleRange, types.AnyCompatibleMultirange:
		return true
	}
	return false
}

// elementOf finds what an argument of type a says about the element type of the family
// of a polymorphic parameter, and which range it is of.
func elementOf(param, a types.T) (elem, ranged types.T, ok bool) {
	switch param {
	case types.AnyElement, types.AnyCompatible:
		return a.Base(), ranged, true
	case types.AnyNonArray, types.AnyCompatibleNonArray:
		return a.Base(), ranged, a.ID != types.Array
	case types.AnyEnum:
		return a.Base(), ranged, a.ID == types.Enum && !a.IsDomain() // as in PostgreSQL
	case types.AnyArray, types.AnyCompatibleArray:
		a = a.Underlying()
		if a.ID != types.Array {
			return elem, ranged, false
		}
		return a.ElemType().Base(), ranged, true
	}
	a = a.Underlying()
	if multi := param == types.AnyMultirange || param == types.AnyCompatibleMultirange; multi && !a.IsMultirange() || !multi && !a.IsRange() {
		return elem, ranged, false
	}
	ranged = a.RangeType()
	return ranged.RangeSub(), ranged, true
}

// BindPoly finds the types that polymorphic parameters stand for. ok is false when
// the arguments contradict each other.
func BindPoly(params, in []types.T) (p PolyTypes, ok bool) {
	var common []types.T
	for i, param := range params {
		if !param.IsPseudo() || param == types.Any || in[i].ID == types.Unknown {
			continue
		}
		elem, ranged, ok := elementOf(param, in[i])
		if !ok {
			return p, false
		}
		known, of := &p.elem, &p.ranged
		if isCompatible(param) {
			known, of, common = &elem, &p.compRanged, append(common, elem)
		}
		if known.ID != types.Invalid && *known != elem || ranged.ID != types.Invalid && of.ID != types.Invalid && *of != ranged {
			return p, false
		}
		*known = elem
		if ranged.ID != types.Invalid {
			*of = ranged
		}
	}
	if p.elem.ID == types.Unknown || slices.Contains(params, types.AnyEnum) && p.elem.ID != types.Enum {
		return p, false
	}
	if !slices.ContainsFunc(params, isCompatible) {
		return p, true
	}
	p.compatible = types.TText
	if len(common) > 0 {
		t, err := CommonType(common)
		if err != nil {
			return p, false
		}
		p.compatible = t
	}
	if p.compRanged.ID != types.Invalid && p.compatible != p.compRanged.RangeSub() {
		return p, false
	}
	return p, !slices.Contains(params, types.AnyCompatibleNonArray) || p.compatible.ID != types.Array
}

// NotAlike is the error of arguments that contradict each other, where only those
// that defaults have added can.
func NotAlike(params, in []types.T) error {
	for i, p := range params {
		for j := range i {
			if !p.IsPseudo() || in[i].ID == types.Unknown || in[j].ID == types.Unknown {
				continue
			}
			if _, ok := BindPoly([]types.T{params[j], p}, []types.T{in[j], in[i]}); ok {
				continue
			}
			e := pgerr.New(pgerr.DatatypeMismatch, "argument declared %s is not consistent with argument declared %s", p, params[j])
			if p == params[j] {
				e = pgerr.New(pgerr.DatatypeMismatch, "arguments declared \"%s\" are not all alike", p)
			}
			return e.WithDetail("%s versus %s", in[j].Base(), in[i].Base())
		}
	}
	return pgerr.New(pgerr.DatatypeMismatch, "arguments of polymorphic parameters are not all alike")
}

// bindPoly is BindPoly with the parameter list that has the types put in. What the
// arguments leave open is text.
func bindPoly(params, in []types.T) (out []types.T, ok bool) {
	if !slices.ContainsFunc(params, types.T.IsPseudo) {
		return params, true
	}
	p, ok := BindPoly(params, in)
	if !ok {
		return nil, false
	}
	if p.elem.ID == types.Invalid {
		p.elem = types.TText
	}
	out = make([]types.T, len(params))
	for i, param := range params {
		if param != types.Any {
			if out[i], ok = p.Of(param); !ok {
				out[i] = types.TText
			}
			continue
		}
		if out[i] = in[i]; in[i].ID == types.Unknown {
			out[i] = types.TText
		}
	}
	return out, true
}

func arrayOf(t types.T) types.T {
	if t.ID == types.Array || t.ID == types.Invalid {
		return t
	}
	return t.Base().ArrayType()
}
