package planner

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// chooseLookups finds scans under filters that fix leading columns of the storage
// key or of an index, so that the engine reads a point or a range. The filter
// stays: the bounds may let through more rows than it does.
func (b *binder) chooseLookups(n plan.Node) plan.Node {
	return plan.Rewrite(n, func(x plan.Node) plan.Node {
		f, ok := x.(*plan.Filter)
		if !ok {
			return x
		}
		s, ok := f.Input.(*plan.Scan)
		if !ok {
			return x
		}
		if r := b.lookup(s, f.Cond); r != nil {
			return &plan.Filter{Input: r, Cond: f.Cond}
		}
		return x
	})
}

// keyBounds is what a filter says of one column or expression, with values of its
// type.
type keyBounds struct{ eq, lo, hi expr.Expr }

// lookupKey is a storage key or an index to read by; oid 0: the storage key. keys
// are the key columns as texts over the row of the relation.
type lookupKey struct {
	oid    uint32
	keys   []string
	unique bool
	// partial: it holds no more than rows that satisfy a condition.
	partial bool
}

func (b *binder) lookup(s *plan.Scan, cond expr.Expr) *plan.Scan {
	over := overRelation(s, cond)
	bounds := map[string]*keyBounds{}
	for _, c := range plan.Conjuncts(over) {
		noteBound(c, bounds)
	}
	var best *plan.Scan
	score := 0
	for _, c := range b.lookupKeys(s, over) {
		r := *s
		r.Index, r.Prefix, r.Lo, r.Hi = c.oid, nil, nil, nil
		points := 0
		for _, key := range c.keys {
			k := bounds[key]
			if k != nil && k.eq != nil {
				r.Prefix = append(r.Prefix, k.eq)
				points += 4
				continue
			}
			if k != nil {
				r.Lo, r.Hi = k.lo, k.hi
				points++
			}
			break
		}
		if len(r.Prefix) == len(c.keys) && c.unique {
			points += 500 // a single row
			if c.oid == 0 {
				points += 500
			}
		}
		if c.partial {
			points++
		}
		if points > score {
			best, score = &r, points
		}
	}
	return best
}

// overRelation is a scan's filter over the row of its relation.
func overRelation(s *plan.Scan, cond expr.Expr) expr.Expr {
	return expr.Rewrite(cond, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Col); ok {
			return &expr.Col{Index: s.Cols[c.Index], Typ: c.Typ}
		}
		return x
	})
}

// lookupKeys are the ways to read a relation's rows that satisfy a condition.
func (b *binder) lookupKeys(s *plan.Scan, cond expr.Expr) []lookupKey {
	rel, ok := b.p.Cat.ByOID(s.Rel).(catalog.Relation)
	if !ok {
		return nil
	}
	var out []lookupKey
	add := func(oid uint32, cols []int, unique bool) {
		c := lookupKey{oid: oid, unique: unique}
		for _, i := range cols {
			c.keys = append(c.keys, keyText(&expr.Col{Index: i, Typ: rel.Cols()[i].Type}))
		}
		out = append(out, c)
	}
	switch rel := rel.(type) {
	case *catalog.Table:
		if rel.PrimaryKey != nil {
			add(0, rel.PrimaryKey.Columns, true)
		}
	case *catalog.MatView:
		if rel.Key != nil {
			add(0, rel.Key, true)
		}
	default:
		return nil
	}
	for _, ix := range b.p.Cat.Indexes(s.Rel) {
		if cols := ix.Columns(); cols != nil && ix.Where == "" {
			add(ix.OID, cols, ix.Unique && !ix.Deferrable)
			continue
		}
		shape, err := b.p.BindIndex(ix)
		if err != nil || shape.Where != nil && !implies(cond, shape.Where) {
			continue
		}
		c := lookupKey{oid: ix.OID, unique: ix.Unique && !ix.Deferrable, partial: shape.Where != nil}
		for _, e := range shape.KeyExprs() {
			c.keys = append(c.keys, keyText(e))
		}
		out = append(out, c)
	}
	return out
}

// noteBound records key = constant and the orders, where the constant has the
// key's type.
func noteBound(e expr.Expr, bounds map[string]*keyBounds) {
	c, ok := comparisonOf(e)
	if !ok || constantLike(c.arg) || c.value.Type().Base() != c.arg.Type().Base() || c.arg.Type().ID == types.Bpchar {
		return
	}
	text := keyText(c.arg)
	k := bounds[text]
	if k == nil {
		k = &keyBounds{}
	}
	switch c.op {
	case "=":
		k.eq = c.value
	case ">", ">=":
		k.lo = c.value
	case "<", "<=":
		k.hi = c.value
	default:
		return
	}
	bounds[text] = k
}

// constantLike: fixed for the statement and free of columns.
func constantLike(e expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Const, *expr.Param:
		case *expr.Cast:
		case *expr.Call:
			ok = ok && x.Fn.Volatility != expr.Volatile && !x.Fn.Set
		default:
			ok = false
		}
		return ok
	})
	return ok
}
