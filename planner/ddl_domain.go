package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// BindCreateDomain makes the catalog object of CREATE DOMAIN; its reference is the
// caller's to set.
func (p *Planner) BindCreateDomain(s *sql.CreateDomain) (*catalog.Type, error) {
	b := p.newBinder(false)
	h, err := b.head(s.Name)
	if err != nil {
		return nil, err
	}
	over, err := b.typeName(s.Def.Type)
	if err != nil {
		return nil, err
	}
	switch {
	case over.ID == types.Void, over.ID == types.Unknown, over.ID == types.Record && !over.IsComposite():
		return nil, b.errAt(s.Def.Type, pgerr.DatatypeMismatch, "\"%s\" is not a valid base type for a domain", over.Base())
	case over.IsVector():
		return nil, b.unsupported(s.Def.Type, "a domain over "+over.String(), "Use an array.")
	}
	if s.Def.Collation != nil {
		if err := b.checkCollation(*s.Def.Collation, over, s.Def.Collation); err != nil {
			return nil, err
		}
	}
	t := &catalog.Type{Head: h, Domain: &catalog.Column{Name: h.Name, Type: over, NotNull: s.Def.NotNull, Default: b.domainDefault(over)}}
	if s.Def.Collation != nil {
		t.Collation = catalog.CollationOID(s.Def.Collation.Name)
	} else if o, ok := b.p.Cat.ByOID(over.OID()).(*catalog.Type); ok && over.IsDomain() {
		t.Collation = o.Collation
	}
	if s.Def.Default != nil {
		if t.Domain.Default, err = b.defaultText(*t.Domain, s.Def.Default); err != nil {
			return nil, err
		}
	}
	for i := range s.Def.Checks {
		if err := b.addDomainCheck(t, &s.Def.Checks[i]); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// AddDomainCheck adds a check to a domain, which is changed.
func (p *Planner) AddDomainCheck(t *catalog.Type, c *sql.Constraint) error {
	return p.newBinder(false).addDomainCheck(t, c)
}

func (b *binder) addDomainCheck(t *catalog.Type, c *sql.Constraint) error {
	named := func(name string) bool {
		return slices.ContainsFunc(t.Checks, func(k catalog.Check) bool { return k.Name == name })
	}
	name := c.Name
	if name != "" && named(name) {
		return pgerr.New(pgerr.DuplicateObject, "constraint \"%s\" for domain \"%s\" already exists", name, t.Name)
	}
	if name == "" {
		name = freeCheck(t.Checks, func(n string) string { return catalog.ObjectName(t.Name, "", "_check"+n) })
	}
	sc := &scope{items: []*rangeItem{tableItem(domainValue(t), "", 0)}}
	x, err := b.expr(&exprContext{sc: sc, clause: "check constraints", noSub: "check constraint"}, c.Check)
	if err != nil {
		return err
	}
	if _, err := b.asBool(x, c.Check, "CHECK"); err != nil {
		return err
	}
	text := sql.FormatExpr(c.Check)
	if usesRelation(c.Check) {
		return pgerr.New(pgerr.InvalidColumnReference, "cannot use table references in domain check constraint").At(b.at(c.Check))
	}
	t.Checks = append(t.Checks, catalog.Check{Name: name, Expr: text, NotValid: c.NotValid})
	return nil
}

// usesRelation reports whether an expression names a column with its table.
func usesRelation(e sql.Node) bool {
	if ref, ok := e.(*sql.ColumnRef); ok && !ref.Value {
		return true
	}
	return slices.ContainsFunc(sql.Children(e), usesRelation)
}

// BindDomainDefault checks a default for a domain and returns its text.
func (p *Planner) BindDomainDefault(t *catalog.Type, e sql.Expr) (string, error) {
	return p.newBinder(false).defaultText(*t.Domain, e)
}

// DomainCheck binds a check of a domain over column i of a row, whose type is the
// domain or one over it.
func (p *Planner) DomainCheck(t *catalog.Type, k catalog.Check, i int) (expr.Expr, error) {
	e, err := p.newBinder(false).domainCheck(t, k.Expr)
	if err != nil {
		return nil, err
	}
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Col); ok {
			return &expr.Col{Index: i, Typ: c.Typ}
		}
		return x
	}), nil
}
