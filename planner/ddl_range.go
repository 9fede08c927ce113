package planner

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// BindCreateRange makes the catalog objects of CREATE TYPE AS RANGE: the range type
// and its multirange type. Their numbers and references are the caller's to set.
func (p *Planner) BindCreateRange(s *sql.CreateType) (ranged, multi *catalog.Type, err error) {
	b := p.newBinder(false)
	h, err := b.head(s.Name)
	if err != nil {
		return nil, nil, err
	}
	if p.Cat.Other(catalog.KindType, h.Schema, h.Name, nil) != nil {
		return nil, nil, pgerr.New(pgerr.DuplicateObject, "type \"%s\" already exists", h.Name)
	}
	r := &catalog.Ranges{}
	mh := h
	mh.Name = multirangeName(h.Name)
	given, chosen := map[string]bool{}, false
	var diff *sql.TypeAttribute
	var order []*sql.TypeAttribute
	for i := range s.Attributes {
		a := &s.Attributes[i]
		if given[a.Name] {
			return nil, nil, b.errAt(a, pgerr.SyntaxError, "conflicting or redundant options")
		}
		given[a.Name] = true
		if !rangeAttributes[a.Name] {
			return nil, nil, pgerr.New(pgerr.SyntaxError, "type attribute \"%s\" not recognized", a.Name)
		}
		if a.Value == nil {
			return nil, nil, pgerr.New(pgerr.SyntaxError, "argument of %s must be a name", a.Name)
		}
		switch a.Name {
		case "subtype":
			if r.Sub.Type, err = b.subtype(a); err != nil {
				return nil, nil, err
			}
		case "subtype_diff":
			diff = a
		case "multirange_type_name":
			if mh, err = b.head(sql.Name{At: a.At, Schema: a.Value.Schema, Name: a.Value.Name}); err != nil {
				return nil, nil, err
			}
			chosen = true
		case "subtype_opclass", "collation":
			order = append(order, a)
		case "canonical":
			return nil, nil, b.unsupported(a, "a canonical function of a range type", "Leave it out; bounds stay as they are given.")
		}
	}
	if !given["subtype"] {
		return nil, nil, pgerr.New(pgerr.SyntaxError, "type attribute \"subtype\" is required")
	}
	if diff != nil {
		if err = b.subtypeDiff(diff, r); err != nil {
			return nil, nil, err
		}
	}
	if o := p.Cat.Other(catalog.KindType, mh.Schema, mh.Name, nil); !chosen && o != nil || mh.Schema == h.Schema && mh.Name == h.Name {
		err := pgerr.New(pgerr.DuplicateObject, "type \"%s\" already exists", mh.Name)
		if !chosen {
			err = err.WithDetail("Failed while creating a multirange type for type \"%s\".", h.Name).
				WithHint("You can manually specify a multirange type name using the \"multirange_type_name\" attribute.")
		}
		return nil, nil, err
	}
	for _, a := range order {
		if err := b.rangeOrder(a, r); err != nil {
			return nil, nil, err
		}
	}
	mr := *r
	mr.Multi = true
	return &catalog.Type{Head: h, Range: r}, &catalog.Type{Head: mh, Range: &mr}, nil
}

var rangeAttributes = map[string]bool{"subtype": true, "subtype_diff": true, "subtype_opclass": true, "collation": true, "canonical": true, "multirange_type_name": true}

// multirangeName is the name that a multirange type has by itself.
func multirangeName(ranged string) string {
	if strings.Contains(ranged, "range") {
		return strings.Replace(ranged, "range", "multirange", 1)
	}
	return ranged + "_multirange"
}

// subtype is the type of the bounds, which has an order.
func (b *binder) subtype(a *sql.TypeAttribute) (types.T, error) {
	t, err := b.typeName(a.Value)
	if err != nil {
		return t, err
	}
	if t.IsPseudo() || t.ID == types.Record && !t.IsComposite() {
		return t, b.errAt(a, pgerr.DatatypeMismatch, "range subtype cannot be %s", t)
	}
	if t.HoldsDomain() {
		return t, b.unsupported(a, "a range type over a domain", "Make the range over the type of the domain, and a domain over that.")
	}
	if err := orderable(t); err != nil {
		return t, b.placed(err.WithHint("You must specify an operator class for the range type or define a default operator class for the subtype."), nil)
	}
	return t.Base(), nil
}

// rangeOrder checks that a range type is ordered as its subtype is.
func (b *binder) rangeOrder(a *sql.TypeAttribute, r *catalog.Ranges) error {
	name, sub := a.Value.Name, r.Sub.Type
	if a.Name == "collation" {
		switch {
		case !sub.Underlying().IsString():
			return pgerr.New(pgerr.WrongObjectType, "range collation specified but subtype does not support collation")
		case catalog.CollationOID(name) == 0:
			return pgerr.New(pgerr.UndefinedObject, "collation \"%s\" for encoding \"UTF8\" does not exist", name)
		case name == "default" || name == "C" || name == "POSIX":
			r.Collation = catalog.CollationOID(name)
			return nil
		}
		return b.unsupported(a, "the collation \""+name+"\" of a range type", "Leave it out.")
	}
	exists, accepts, byDefault := catalog.OperatorClass(name, sub)
	switch {
	case !exists:
		return pgerr.New(pgerr.UndefinedObject, "operator class \"%s\" does not exist for access method \"btree\"", name)
	case !accepts:
		return pgerr.New(pgerr.DatatypeMismatch, "operator class \"%s\" does not accept data type %s", name, sub)
	case !byDefault:
		return b.unsupported(a, "the operator class \""+name+"\" of a range type", "Leave it out.")
	}
	return nil
}

// subtypeDiff checks the function that tells how far two bounds are apart. Only
// indexes of PostgreSQL call it.
func (b *binder) subtypeDiff(a *sql.TypeAttribute, r *catalog.Ranges) error {
	name, sub := a.Value.Name, r.Sub.Type
	fs, err := b.functionsNamed(a.Value.Schema, name)
	if err != nil {
		return err
	}
	if a.Value.Schema == "" || a.Value.Schema == "pg_catalog" {
		fs = slices.Concat(expr.FuncsNamed(name), fs)
	}
	for _, f := range fs {
		switch {
		case len(f.Args) != 2 || f.Args[0] != sub || f.Args[1] != sub:
			continue
		case f.Ret != types.TFloat8:
			return pgerr.New(pgerr.InvalidObjectDefinition, "range subtype diff function %s(%s, %s) must return type double precision", name, sub, sub)
		}
		if fn, ok := b.p.Cat.ByOID(f.UserOID).(*catalog.Function); f.UserOID != 0 && ok && fn.Volatility != "i" {
			return pgerr.New(pgerr.InvalidObjectDefinition, "range subtype diff function %s(%s, %s) must be immutable", name, sub, sub)
		}
		r.Diff, r.DiffOID = name, f.UserOID
		return nil
	}
	return pgerr.New(pgerr.UndefinedFunction, "function %s(%s, %s) does not exist", name, sub, sub)
}

// rangeCall binds a call of the constructor of a user's range or multirange type; x is
// nil if the call means none.
func (b *binder) rangeCall(ec *exprContext, e *sql.FuncCall) (x expr.Expr, err error) {
	if e.Schema == "pg_catalog" || e.Star || e.WithinGroup {
		return nil, nil
	}
	t, ok := b.p.Cat.Type(e.Schema, e.Name, b.searchPath())
	if !ok || t.ID != types.UserRange && t.ID != types.UserMultirange {
		return nil, nil
	}
	if err := b.checkPlainCall(e); err != nil {
		return nil, err
	}
	args, _, err := b.callArgs(ec, e)
	if err != nil {
		return nil, err
	}
	b.useType(t)
	if b.pins != nil {
		b.pins.calls[e] = t.Def().Schema
	}
	if len(args) == 1 && (args[0].Type().ID == types.Unknown || args[0].Type().SameType(t)) {
		return b.coerce(args[0], t, expr.Explicit, e)
	}
	var fs []*expr.Func
	for _, f := range expr.RangeConstructors(t.RangeType()) {
		if f.Ret == t {
			fs = append(fs, f)
		}
	}
	var f *expr.Func
	if e.Variadic {
		f, err = resolveVariadic(e.Name, fs, args)
		if err == nil {
			f, args, err = nil, nil, b.unsupported(e, "VARIADIC in a call of a multirange's constructor", "Write the ranges one by one, or use range_agg.")
		}
	} else {
		f, err = expr.ResolveAmong(e.Name, fs, typesOf(args))
	}
	if err != nil {
		return nil, b.placed(err, e)
	}
	return b.bindCall(f, args, e)
}

// useType notes that what is bound depends on a type.
func (b *binder) useType(t types.T) {
	for _, oid := range catalog.TypeOIDs(t) {
		b.deps[oid] = true
	}
}
