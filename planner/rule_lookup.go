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

// colBounds is what a filter says of one column, with values of its type.
type colBounds struct{ eq, lo, hi expr.Expr }

func (b *binder) lookup(s *plan.Scan, cond expr.Expr) *plan.Scan {
	bounds := map[int]*colBounds{} // by the relation's column
	for _, c := range plan.Conjuncts(cond) {
		b.noteBound(s, c, bounds)
	}
	if len(bounds) == 0 {
		return nil
	}
	type candidate struct {
		oid  uint32
		cols []int
	}
	var cands []candidate
	switch rel := b.p.Cat.ByOID(s.Rel).(type) {
	case *catalog.Table:
		if rel.PrimaryKey != nil {
			cands = append(cands, candidate{0, rel.PrimaryKey.Columns})
		}
	case *catalog.MatView:
		if rel.Key != nil {
			cands = append(cands, candidate{0, rel.Key})
		}
	default:
		return nil
	}
	for _, ix := range b.p.Cat.Indexes(s.Rel) {
		c := candidate{oid: ix.OID}
		for _, k := range ix.Keys {
			c.cols = append(c.cols, k.Column)
		}
		cands = append(cands, c)
	}
	var best *plan.Scan
	score := 0
	for _, c := range cands {
		r := *s
		r.Index, r.Prefix, r.Lo, r.Hi = c.oid, nil, nil, nil
		points := 0
		for _, col := range c.cols {
			k := bounds[col]
			if k != nil && k.eq != nil {
				r.Prefix = append(r.Prefix, k.eq)
				points += 4
				continue
			}
			if k != nil && !descending(b.p.Cat, c.oid, col) {
				r.Lo, r.Hi = k.lo, k.hi
				points++
			}
			break
		}
		if len(r.Prefix) == len(c.cols) && c.oid == 0 && points > 0 {
			points += 1000 // a single row
		}
		if points > score {
			best, score = &r, points
		}
	}
	return best
}

func descending(s *catalog.Snapshot, index uint32, col int) bool {
	ix, ok := s.ByOID(index).(*catalog.Index)
	if !ok {
		return false
	}
	for _, k := range ix.Keys {
		if k.Column == col {
			return k.Desc || k.NullsFirst
		}
	}
	return false
}

// noteBound records column = constant and the orders, where the constant has the
// column's type.
func (b *binder) noteBound(s *plan.Scan, e expr.Expr, bounds map[int]*colBounds) {
	c, ok := e.(*expr.Call)
	if !ok || len(c.Args) != 2 {
		return
	}
	op, l, r := c.Fn.Name, c.Args[0], c.Args[1]
	if _, isCol := r.(*expr.Col); isCol {
		l, r = r, l
		op = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}[op]
	}
	col, ok := l.(*expr.Col)
	if !ok || !constantLike(r) || r.Type().Base() != col.Typ.Base() || col.Typ.ID == types.Bpchar {
		return
	}
	k := bounds[s.Cols[col.Index]]
	if k == nil {
		k = &colBounds{}
	}
	switch op {
	case "=":
		k.eq = r
	case ">", ">=":
		k.lo = r
	case "<", "<=":
		k.hi = r
	default:
		return
	}
	bounds[s.Cols[col.Index]] = k
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
