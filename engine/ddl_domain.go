package engine

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

func (s *Session) createDomain(pl *planner.Planner, st *sql.CreateDomain) error {
	t, err := pl.BindCreateDomain(st)
	if err != nil {
		return err
	}
	if _, err := s.place(&t.Head, false); err != nil {
		return err
	}
	if err := s.mayUseTypes(t.Domain.Type); err != nil {
		return err
	}
	s.furnish(t)
	t.Ref = rand.Uint64() | 1
	s.number(t)
	return s.changeCatalog(catalog.Change{Create: t})
}

// domainTarget finds the domain that DROP, ALTER or COMMENT names.
func (s *Session) domainTarget(snap *catalog.Snapshot, n sql.Name) (catalog.Object, error) {
	o, err := s.typeTarget(snap, n)
	if err != nil {
		if pgerr.CodeOf(err) == pgerr.DependentObjectsStillExist { // the row type of a relation
			return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a domain", n.Name)
		}
		if _, builtin := types.ByName(n.Name); builtin {
			return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a domain", n.Name)
		}
		return nil, err
	}
	if o.(*catalog.Type).Domain == nil {
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a domain", n.Name)
	}
	return o, nil
}

// alterDomain changes the default or the constraints of a domain.
func (s *Session) alterDomain(ctx context.Context, pl *planner.Planner, old *catalog.Type, a *sql.AlterAction) error {
	t := catalog.Clone(old).(*catalog.Type)
	at := slices.IndexFunc(t.Checks, func(k catalog.Check) bool { return k.Name == a.Column })
	unknown := func() error {
		return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" of domain \"%s\" does not exist", a.Column, t.Name)
	}
	var err error
	switch a.Kind {
	case sql.AlterSetDefault:
		if t.Domain.Default, err = pl.BindDomainDefault(t, a.Expr); err != nil {
			return err
		}
		return s.replaceDomain(t, nil)
	case sql.AlterDropDefault:
		t.Domain.Default = ""
		return s.replaceDomain(t, nil)
	case sql.AlterRenameConstraint:
		if at < 0 {
			return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for domain %s does not exist", a.Column, t.T())
		}
		if slices.ContainsFunc(t.Checks, func(k catalog.Check) bool { return k.Name == a.NewName }) {
			return pgerr.New(pgerr.DuplicateObject, "constraint \"%s\" for domain %s already exists", a.NewName, t.T())
		}
		t.Checks[at].Name = a.NewName
		if err := s.domainInUse(old); err != nil {
			return err
		}
		return s.replaceDomain(t, nil)
	case sql.AlterDropConstraint:
		if at < 0 && a.IfExists {
			s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "constraint \"%s\" of domain \"%s\" does not exist, skipping", a.Column, t.Name))
			return nil
		}
		if at < 0 {
			return unknown()
		}
		if err := s.domainInUse(old); err != nil {
			return err
		}
		t.Checks = slices.Delete(t.Checks, at, at+1)
		return s.replaceDomain(t, nil)
	case sql.AlterDropNotNull:
		if !t.Domain.NotNull {
			return nil
		}
		if err := s.domainInUse(old); err != nil {
			return err
		}
		t.Domain.NotNull = false
		return s.replaceDomain(t, nil)
	case sql.AlterSetNotNull:
		if t.Domain.NotNull {
			return nil
		}
		t.Domain.NotNull = true
		return s.tightenDomain(ctx, old, t, nil)
	case sql.AlterAddConstraint:
		if err := pl.AddDomainCheck(t, a.Constraint); err != nil {
			return err
		}
		s.number(t)
		if k := t.Checks[len(t.Checks)-1]; !k.NotValid {
			return s.tightenDomain(ctx, old, t, &k)
		}
		if err := s.domainInUse(old); err != nil {
			return err
		}
		return s.replaceDomain(t, s.domainColumns(old))
	case sql.AlterValidateConstraint:
		if at < 0 {
			return unknown()
		}
		if !t.Checks[at].NotValid {
			return nil
		}
		uses := s.domainColumns(t)
		if err := s.holdsDomain(ctx, t, &t.Checks[at], uses); err != nil {
			return err
		}
		t.Checks[at].NotValid = false
		return s.replaceDomain(t, nil)
	}
	return pgerr.Unsupported("this form of ALTER DOMAIN", "Create a new domain.")
}

// replaceDomain puts a domain in the place of its older form. Rows that were held
// against that one are not to be committed to the tables any more.
func (s *Session) replaceDomain(t *catalog.Type, uses []domainUse) error {
	changes := []catalog.Change{{Replace: t}}
	var last uint32
	for _, u := range uses {
		o, ok := s.snapshot().ByOID(u.rel.Header().OID).(*catalog.Table)
		if !ok || o.OID == last {
			continue
		}
		last = o.OID
		n := catalog.Clone(o).(*catalog.Table)
		n.Revision++
		changes = append(changes, catalog.Change{Replace: n})
	}
	return s.changeCatalog(changes...)
}

// tightenDomain adds a constraint, or with check nil NOT NULL. It holds for new values
// first; if the stored ones do not satisfy it, it goes again.
func (s *Session) tightenDomain(ctx context.Context, old, t *catalog.Type, check *catalog.Check) error {
	if err := s.domainInUse(old); err != nil {
		return err
	}
	uses := s.domainColumns(old)
	for _, u := range uses {
		if u.part {
			return pgerr.New(pgerr.FeatureNotSupported, "cannot alter type \"%s\" because column \"%s.%s\" uses it", t.Name,
				u.rel.Header().Name, u.rel.Cols()[u.column].Name)
		}
	}
	if s.tx.ddl != nil {
		if err := s.holdsDomain(ctx, t, check, uses); err != nil {
			return err
		}
		return s.replaceDomain(t, uses)
	}
	last := len(t.Checks) - 1
	if check != nil {
		t.Checks[last].NotValid = true // for the time until the rows have been read
	}
	if err := s.replaceDomain(t, uses); err != nil {
		return err
	}
	if err := s.holdsDomain(ctx, t, check, uses); err != nil {
		if undo := s.replaceDomain(old, uses); undo != nil {
			return undo
		}
		return err
	}
	if check == nil {
		return nil
	}
	n := catalog.Clone(t).(*catalog.Type)
	n.Checks[last].NotValid = false
	return s.replaceDomain(n, nil)
}

// domainInUse refuses changes of what running queries hold values against.
func (s *Session) domainInUse(t *catalog.Type) error {
	snap := s.snapshot()
	seen := map[uint32]bool{}
	var visit func(oid uint32) error
	visit = func(oid uint32) error {
		for _, d := range snap.Dependents(oid) {
			if seen[d.Header().OID] {
				continue
			}
			seen[d.Header().OID] = true
			switch d.Kind() {
			case catalog.KindMatView, catalog.KindSink:
				return pgerr.Unsupported("changing the constraints of a domain that a "+d.Kind().String()+" converts values to",
					"Drop "+d.Kind().String()+" "+d.Header().Name+" and create it again afterwards.")
			case catalog.KindType, catalog.KindView, catalog.KindFunction:
				if err := visit(d.Header().OID); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return visit(t.OID)
}

// domainUse is a column of a stored relation whose type is a domain, or one over it;
// with part its values only contain such values.
type domainUse struct {
	rel    catalog.Relation
	column int
	part   bool
}

// domainColumns finds the columns of tables and materialized views that hold values
// of a domain.
func (s *Session) domainColumns(t *catalog.Type) []domainUse {
	var out []domainUse
	s.snapshot().Objects(func(o catalog.Object) {
		r, ok := o.(catalog.Relation)
		if k := o.Kind(); !ok || k != catalog.KindTable && k != catalog.KindMatView {
			return
		}
		for i, c := range r.Cols() {
			switch {
			case isOver(c.Type, t.OID):
				out = append(out, domainUse{r, i, false})
			case contains(c.Type, t.OID):
				out = append(out, domainUse{r, i, true})
			}
		}
	})
	return out
}

// isOver reports whether a type is the domain with an OID, or a domain over it.
func isOver(t types.T, domain uint32) bool {
	for t.IsDomain() {
		if t.OID() == domain {
			return true
		}
		t = t.Over()
	}
	return false
}

// contains reports whether values of a type have values of a domain as parts.
func contains(t types.T, domain uint32) bool {
	t = t.Underlying()
	switch {
	case t.ID == types.Array:
		e := t.ElemType()
		return isOver(e, domain) || contains(e, domain)
	case t.ID == types.Record:
		for _, f := range t.Fields() {
			if isOver(f.Typ, domain) || contains(f.Typ, domain) {
				return true
			}
		}
	}
	return false
}

// holdsDomain holds the stored values of a domain against a check; nil: NOT NULL.
func (s *Session) holdsDomain(ctx context.Context, t *catalog.Type, check *catalog.Check, uses []domainUse) error {
	e := s.eng
	snap := s.catalog()
	for _, u := range uses {
		var p *expr.Program
		if check != nil {
			x, err := (&planner.Planner{Cat: snap, Session: &s.expr}).DomainCheck(t, *check, u.column)
			if err == nil {
				p, err = expr.Compile(x)
			}
			if err != nil {
				return err
			}
		}
		oid := u.rel.Header().OID
		if s.tx.ddl != nil {
			if err := s.holdsVisible(ctx, u, p); err != nil {
				return err
			}
			continue
		}
		// What was accepted before the constraint is stored by then.
		err := e.TableAtRest(ctx, oid, func(*jobs.Graph) error {
			sn := e.Store.Snapshot()
			defer sn.Close()
			return stage.ScanRelation(snap, sn, oid, e.Config.ChunkRows, func(c *vec.Chunk) error { return s.holdsColumn(u, p, c) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// holdsVisible is holdsDomain for what a transaction sees of one relation.
func (s *Session) holdsVisible(ctx context.Context, u domainUse, p *expr.Program) error {
	r := s.newRun(ctx)
	defer r.close()
	scan := &plan.Scan{Kind: plan.RelTable, Rel: u.rel.Header().OID, Name: u.rel.Header().Name, Cols: stage.AllColumns(stage.ColumnTypes(u.rel.Cols()))}
	if _, ok := u.rel.(*catalog.Table); ok {
		s.tx.ddl.held(scan.Rel, r.snap.Clock())
	}
	return r.scan(scan, func(c *vec.Chunk) error { return s.holdsColumn(u, p, c) })
}

func (s *Session) holdsColumn(u domainUse, p *expr.Program, c *vec.Chunk) error {
	bad := func(code pgerr.Code, what string) error {
		h := u.rel.Header()
		e := pgerr.New(code, "column \"%s\" of table \"%s\" contains %s", u.rel.Cols()[u.column].Name, h.Name, what)
		e.Schema, e.Table, e.Column = h.Schema, h.Name, u.rel.Cols()[u.column].Name
		return e
	}
	if p == nil {
		if c.Cols[u.column].Nulls().Any() {
			return bad(pgerr.NotNullViolation, "null values")
		}
		return nil
	}
	v, err := p.Eval(&expr.Ctx{Session: &s.expr}, c)
	if err != nil {
		return err
	}
	ok := v.(*vec.Col[bool])
	for i := range c.Rows {
		if !ok.IsNull(i) && !ok.Vals[i] {
			return bad(pgerr.CheckViolation, "values that violate the new constraint")
		}
	}
	return nil
}
