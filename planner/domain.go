package planner

import (
	"cmp"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// intoDomain converts e to a type that holds a domain and holds it against the
// constraints.
func (b *binder) intoDomain(e expr.Expr, t types.T, ctx expr.CastContext, at sql.Node) (expr.Expr, error) {
	p, param := e.(*expr.Param)
	var x expr.Expr
	var err error
	switch {
	case param && p.Typ.ID == types.Unknown:
		x = b.setParam(p, t)
		if u := t.Underlying(); x.Type() == t { // the client gives a value of what the domain is over
			x = &expr.Param{Index: p.Index, Typ: u}
		} else {
			return b.coerce(x, t, ctx, at)
		}
	case t.IsDomain():
		x, err = b.coerce(e, t.Underlying(), ctx, at)
	default:
		if row, ok := e.(*expr.MakeRow); ok && t.IsComposite() && !row.Typ.IsComposite() {
			return b.rowToComposite(row, t, ctx, at) // field by field
		}
		x, err = b.convert(e, t, ctx, at)
	}
	if err != nil {
		return nil, err
	}
	return b.constrained(x, t)
}

// constrained holds values, of what a type is over, against the constraints of the type.
func (b *binder) constrained(x expr.Expr, t types.T) (expr.Expr, error) {
	t = t.Base()
	f := b.domains[t]
	if f == nil {
		d, err := b.domainRules(t)
		if err != nil {
			return nil, err
		}
		if d.Empty() {
			if x.Type().SameType(t) {
				return x, nil
			}
			return &expr.Cast{Arg: x, To: t}, nil
		}
		if b.stream && d.UsesClock() {
			return nil, pgerr.Unsupported("a domain whose constraint depends on the time, or on chance, in a materialized view or sink",
				"Cast to the type that the domain is over, and put the condition into WHERE.")
		}
		f = expr.DomainFunc(d)
		if b.domains == nil {
			b.domains = map[types.T]*expr.Func{}
		}
		b.domains[t] = f
	}
	return &expr.Call{Fn: f, Args: []expr.Expr{x}, Typ: t}, nil
}

// unconstrained is a value of a domain as one of what the domain is over. A value that
// was only just held against the constraints is not: where a statement assigns to
// several parts of a value, they hold for all of these together.
func (b *binder) unconstrained(x expr.Expr) expr.Expr {
	u := x.Type().Underlying()
	switch x := x.(type) {
	case *expr.Call:
		if x.Fn.Domain {
			return x.Args[0]
		}
	case *expr.Col:
		return &expr.Col{Index: x.Index, Typ: u}
	case *expr.Const:
		return &expr.Const{Val: x.Val, Typ: u}
	}
	return &expr.Cast{Arg: x, To: u}
}

// domainRules binds the constraints that values of a type are held against; nil: none.
func (b *binder) domainRules(t types.T) (*expr.DomainRules, error) {
	if !t.HoldsDomain() {
		return nil, nil
	}
	d := &expr.DomainRules{Typ: t}
	var err error
	switch {
	case t.IsDomain():
		err = b.ownRules(d, t)
		if u := t.Underlying(); err == nil && u.HoldsDomain() {
			var in *expr.DomainRules
			if in, err = b.domainRules(u); in != nil {
				d.Elem, d.Fields = in.Elem, in.Fields
			}
		}
	case t.ID == types.Array:
		d.Elem, err = b.domainRules(t.ElemType())
	default:
		for i, f := range t.Fields() {
			r, err := b.domainRules(f.Typ)
			if err != nil {
				return nil, err
			}
			if !r.Empty() {
				d.Fields = append(d.Fields, expr.FieldRules{Index: i, Rules: r})
			}
		}
	}
	if d.Elem.Empty() {
		d.Elem = nil
	}
	return d, err
}

// ownRules adds the constraints of a domain, those of the domain that it is over first.
func (b *binder) ownRules(d *expr.DomainRules, t types.T) error {
	if over := t.Over(); over.IsDomain() {
		if err := b.ownRules(d, over); err != nil {
			return err
		}
	}
	o, _ := b.p.Cat.ByOID(t.OID()).(*catalog.Type)
	if o == nil || o.Domain == nil {
		return nil
	}
	b.deps[o.OID] = true
	d.NotNull = d.NotNull || o.Domain.NotNull
	checks := slices.Clone(o.Checks)
	slices.SortFunc(checks, func(x, y catalog.Check) int { return cmp.Compare(x.Name, y.Name) })
	for _, k := range checks {
		e, err := b.domainCheck(o, k.Expr)
		if err != nil {
			return err
		}
		d.Checks = append(d.Checks, expr.DomainCheck{Name: k.Name, Cond: e})
	}
	return nil
}

// domainCheck binds a check of a domain over its value.
func (b *binder) domainCheck(o *catalog.Type, text string) (expr.Expr, error) {
	return b.storedExpr(text, domainValue(o), types.TBool)
}

// domainValue is a relation whose only column is the value of a domain.
func domainValue(o *catalog.Type) *catalog.Table {
	return &catalog.Table{Columns: []catalog.Column{{Name: "value", Type: o.Domain.Type}}}
}

// domainDefault is the default of the domain of a column; "": none.
func (b *binder) domainDefault(t types.T) string {
	if t.Ref == 0 || !t.IsDomain() {
		return ""
	}
	if o, _ := b.p.Cat.ByOID(t.OID()).(*catalog.Type); o != nil && o.Domain != nil {
		return o.Domain.Default
	}
	return ""
}
