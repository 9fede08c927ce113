package expr

import (
	"fmt"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// DomainRules are the constraints that values of a type are held against: its own,
// if it is a domain, and those of its parts, if it is an array of domains or a row
// with domains among its fields.
type DomainRules struct {
	Typ     types.T
	NotNull bool
	Checks  []DomainCheck
	Elem    *DomainRules
	Fields  []FieldRules
}

// DomainCheck is a CHECK of a domain. Cond is a condition over column 0, the value.
type DomainCheck struct {
	Name string
	Cond Expr
}

// FieldRules are the rules for field Index of a row.
type FieldRules struct {
	Index int
	Rules *DomainRules
}

// Empty reports whether every value is allowed.
func (d *DomainRules) Empty() bool {
	return d == nil || !d.NotNull && len(d.Checks) == 0 && d.Elem == nil && len(d.Fields) == 0
}

// volatility is the highest of the conditions'.
func (d *DomainRules) volatility() Volatility {
	if d == nil {
		return Immutable
	}
	v := d.Elem.volatility()
	for _, k := range d.Checks {
		v = max(v, Worst(k.Cond))
	}
	for _, f := range d.Fields {
		v = max(v, f.Rules.volatility())
	}
	return v
}

// UsesClock reports whether a condition reads the time, or is volatile.
func (d *DomainRules) UsesClock() bool {
	if d == nil {
		return false
	}
	found := d.Elem.UsesClock()
	for _, k := range d.Checks {
		Walk(k.Cond, func(x Expr) bool {
			c, ok := x.(*Call)
			found = found || ok && (c.Fn.Clock || c.Fn.Volatility == Volatile)
			return !found
		})
	}
	for _, f := range d.Fields {
		found = found || f.Rules.UsesClock()
	}
	return found
}

// DomainFunc makes the function that gives values their place in a type with rules:
// it returns its argument, or fails with 23502 or 23514. Two expressions are the
// same only if they call the same DomainFunc.
func DomainFunc(d *DomainRules) *Func {
	return &Func{Name: fmt.Sprintf("domain_%d", d.Typ.OID()), Args: ts(d.Typ.Underlying()), Ret: d.Typ, NotStrict: true, MayFail: true, Domain: true,
		Volatility: d.volatility(), New: func() Kernel {
			k, err := newDomainKernel(d)
			return func(c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
				if err != nil {
					return err
				}
				dst.AppendRange(args[0], 0, n)
				return k.check(c, args[0], n, func(i int) { dst.SetNull(i) })
			}
		}}
}

// domainKernel holds vectors against rules.
type domainKernel struct {
	*DomainRules
	conds  []node
	in     vec.Chunk
	elem   *domainKernel
	fields []*domainKernel
	// part has the elements, or one field, of the rows in rows.
	part vec.Vector
	rows []int32
}

func newDomainKernel(d *DomainRules) (*domainKernel, error) {
	k := &domainKernel{DomainRules: d, in: vec.Chunk{Cols: make([]vec.Vector, 1)}}
	for _, c := range d.Checks {
		n, err := compile(c.Cond)
		if err != nil {
			return nil, err
		}
		k.conds = append(k.conds, n)
	}
	var err error
	if d.Elem != nil {
		if k.elem, err = newDomainKernel(d.Elem); err != nil {
			return nil, err
		}
	}
	for _, f := range d.Fields {
		x, err := newDomainKernel(f.Rules)
		if err != nil {
			return nil, err
		}
		k.fields = append(k.fields, x)
	}
	return k, nil
}

// check fails the rows of v that break a rule, and calls null for each.
func (k *domainKernel) check(c *Ctx, v vec.Vector, n int, null func(i int)) error {
	fail := func(i int, err *pgerr.Error) error {
		if err := c.Fail(i, err); err != nil {
			return err
		}
		null(i)
		return nil
	}
	if k.NotNull && v.Nulls().Any() {
		for i := range n {
			if v.IsNull(i) {
				if err := fail(i, k.typed(pgerr.New(pgerr.NotNullViolation, "domain %s does not allow null values", k.Typ))); err != nil {
					return err
				}
			}
		}
	}
	k.in.Cols[0], k.in.Rows = v, n
	for j, cond := range k.conds {
		out, err := cond.eval(c, &k.in)
		if err != nil {
			return err
		}
		ok := out.(*vec.Col[bool])
		for i := range n {
			if ok.Vals[i] || ok.IsNull(i) {
				continue
			}
			e := k.typed(pgerr.New(pgerr.CheckViolation, "value for domain %s violates check constraint \"%s\"", k.Typ, k.Checks[j].Name))
			e.Constraint = k.Checks[j].Name
			if err := fail(i, e); err != nil {
				return err
			}
		}
	}
	if k.elem != nil {
		k.gatherElements(v, n)
		if err := k.checkPart(c, k.elem, null); err != nil {
			return err
		}
	}
	for j, f := range k.fields {
		k.gatherField(v, n, k.Fields[j].Index, f.Typ)
		if err := k.checkPart(c, f, null); err != nil {
			return err
		}
	}
	return nil
}

// typed names the domain in the fields of an error.
func (k *domainKernel) typed(e *pgerr.Error) *pgerr.Error {
	if d := k.Typ.Def(); d != nil {
		e.Schema, e.DataType = d.Schema, d.Name
	}
	return e
}

func (k *domainKernel) startPart(t types.T, n int) {
	if k.part == nil || k.part.Type() != t {
		k.part = vec.New(t, n)
	}
	k.part.Reset()
	k.rows = k.rows[:0]
}

func (k *domainKernel) gatherElements(v vec.Vector, n int) {
	k.startPart(k.elem.Typ, n)
	kind, b := k.elem.Typ.Kind(), v.(*vec.Bytes)
	for i := range n {
		if b.IsNull(i) {
			continue
		}
		a := types.ViewArray(b.At(i))
		for j := range a.Len() {
			e, null := a.At(j)
			appendElem(k.part, kind, e, null)
			k.rows = append(k.rows, int32(i))
		}
	}
}

func (k *domainKernel) gatherField(v vec.Vector, n, index int, t types.T) {
	k.startPart(t, n)
	b := v.(*vec.Bytes)
	for i := range n {
		if b.IsNull(i) {
			continue
		}
		r := types.ViewRecord(b.At(i))
		f, null := r.At(index)
		appendElem(k.part, t.Kind(), f, null)
		k.rows = append(k.rows, int32(i))
	}
}

// checkPart holds the part against its rules; a failure is one of the row it is of.
func (k *domainKernel) checkPart(c *Ctx, rules *domainKernel, null func(i int)) error {
	if len(k.rows) == 0 {
		return nil
	}
	outer := c.rows
	rows := k.rows
	if outer != nil {
		rows = make([]int32, len(k.rows))
		for i, r := range k.rows {
			rows[i] = outer[r]
		}
	}
	c.rows = rows
	err := rules.check(c, k.part, len(k.rows), func(i int) { null(int(k.rows[i])) })
	c.rows = outer
	return err
}

// underlyingAll returns the types with domains replaced by what they are over.
func underlyingAll(in []types.T) []types.T {
	for i, t := range in {
		if t.Ref == 0 || !t.IsDomain() {
			continue
		}
		out := append([]types.T(nil), in...)
		for j := i; j < len(out); j++ {
			out[j] = out[j].Underlying()
		}
		return out
	}
	return in
}

// outOfDomain gives a value of a domain the type that the domain is over.
func outOfDomain(e Expr, ctx CastContext) Expr {
	u := e.Type().Underlying()
	switch x := e.(type) {
	case *Col:
		if ctx != Explicit {
			return &Col{Index: x.Index, Typ: u}
		}
	case *Outer:
		return &Outer{Level: x.Level, Index: x.Index, Typ: u}
	case *Const:
		return &Const{Val: x.Val, Typ: u}
	}
	return &Cast{Arg: e, To: u, Explicit: ctx == Explicit}
}
