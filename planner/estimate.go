package planner

import (
	"math"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// SettingSizes is the setting in which a view or sink keeps the sizes that its
// relations had when it was created, as "oid=bytes oid=bytes".
const SettingSizes = "relation_sizes"

// Guesses of the estimator. Nothing depends on them but the order of joins.
const (
	leastRows   = 100  // of a stored relation: what is small may not be on disk yet
	unknownRows = 1000 // of what has no size: sources, functions
	rangeShare  = 1.0 / 3
	likeShare   = 0.1
)

// estimator guesses how many rows plans yield, from the sizes of relations, their
// unique keys and the shapes of conditions.
type estimator struct {
	bytes  func(rel uint32) int64         // nil: none known
	counts func(rel uint32) (int64, bool) // exact rows of some relations; nil: none known
	rows   map[plan.Node]float64
}

// newEstimator reads the sizes that belong to the plan at hand.
func (b *binder) newEstimator() *estimator {
	e := &estimator{bytes: b.p.Bytes, counts: b.p.Rows, rows: map[plan.Node]float64{}}
	if !b.stream {
		return e
	}
	e.bytes, e.counts = nil, nil
	if b.p.Session == nil || b.p.Session.Setting == nil {
		return e
	}
	text, _ := b.p.Session.Setting(SettingSizes)
	sizes := map[uint32]int64{}
	for _, f := range strings.Fields(text) {
		rel, n, _ := strings.Cut(f, "=")
		r, err1 := strconv.ParseUint(rel, 10, 32)
		v, err2 := strconv.ParseInt(n, 10, 64)
		if err1 == nil && err2 == nil {
			sizes[uint32(r)] = v
		}
	}
	if len(sizes) > 0 {
		e.bytes = func(rel uint32) int64 { return sizes[rel] }
	}
	return e
}

// of returns the rows that n yields, at least one.
func (e *estimator) of(n plan.Node) float64 {
	if r, ok := e.rows[n]; ok {
		return r
	}
	r := math.Max(e.guess(n), 1)
	e.rows[n] = r
	return r
}

func (e *estimator) guess(n plan.Node) float64 {
	switch n := n.(type) {
	case *plan.Scan:
		return e.scan(n)
	case *plan.Values:
		return float64(len(n.Rows))
	case *plan.Filter:
		return e.of(n.Input) * e.filter(n)
	case *plan.Aggregate:
		if len(n.Group) == 0 {
			return 1
		}
		return e.of(n.Input) / 3
	case *plan.Join:
		l, r := e.of(n.Left), e.of(n.Right)
		switch n.Kind {
		case plan.Semi, plan.Anti, plan.NullAnti:
			return l / 2
		case plan.Left:
			return l
		case plan.Right:
			return r
		}
		if len(n.LeftKeys) == 0 && n.Residual == nil {
			return l * r
		}
		return math.Max(l, r)
	case *plan.Union:
		sum := 0.0
		for _, in := range n.Inputs {
			sum += e.of(in)
		}
		return sum
	case *plan.TopN:
		if n.Limit >= 0 && len(n.Partition) == 0 {
			return math.Min(float64(n.Limit), e.of(n.Input))
		}
		return e.of(n.Input)
	case *plan.Threshold:
		return e.of(n.Input) / 3
	case *plan.SingleRow, *plan.Clock:
		return 1
	}
	if ch := n.Children(); len(ch) > 0 {
		return e.of(ch[0])
	}
	return unknownRows
}

// scan guesses a relation's rows from its bytes, which are compressed.
func (e *estimator) scan(n *plan.Scan) float64 {
	if e.bytes == nil || n.Kind != plan.RelTable && n.Kind != plan.RelView {
		return unknownRows
	}
	if e.counts != nil {
		if n, ok := e.counts(n.Rel); ok {
			return float64(n)
		}
	}
	return math.Max(float64(e.bytes(n.Rel))/storedRow, leastRows)
}

// storedRow is what a row takes on disk, in bytes, for want of better knowledge.
const storedRow = 60

func (e *estimator) filter(f *plan.Filter) float64 {
	share := 1.0
	for _, c := range plan.Conjuncts(f.Cond) {
		share *= e.share(c, f.Input)
	}
	return share
}

// share guesses which part of n's rows a condition lets through.
func (e *estimator) share(c expr.Expr, n plan.Node) float64 {
	switch x := c.(type) {
	case *expr.Or:
		sum := 0.0
		for _, a := range x.Args {
			s := 1.0
			for _, k := range plan.Conjuncts(a) {
				s *= e.share(k, n)
			}
			sum += s
		}
		return math.Min(sum, 1)
	case *expr.And:
		s := 1.0
		for _, a := range x.Args {
			s *= e.share(a, n)
		}
		return s
	case *expr.Not:
		return 1 - math.Min(e.share(x.Arg, n), 0.9)
	case *expr.In:
		s := math.Min(float64(len(x.List))/e.distinct(x.Arg, n), 1)
		if x.Negate {
			return 1 - s/2
		}
		return s
	case *expr.IsNull:
		if x.Negate {
			return 1
		}
		return 0.1
	case *expr.Call:
		if len(x.Args) == 2 {
			return e.compare(x, n)
		}
	}
	return rangeShare
}

func (e *estimator) compare(x *expr.Call, n plan.Node) float64 {
	switch x.Fn.Name {
	case "=":
		return 1 / math.Max(e.distinct(x.Args[0], n), e.distinct(x.Args[1], n))
	case "<>":
		return 0.9
	case "~~", "~~*", "like", "~", "~*":
		return likeShare
	case "!~~", "!~~*", "!~", "!~*":
		return 1 - likeShare
	}
	return rangeShare
}

// distinct guesses how many values an expression has over the rows of n, before
// n's filters.
func (e *estimator) distinct(x expr.Expr, n plan.Node) float64 {
	switch y := x.(type) {
	case *expr.Const, *expr.Param:
		return 1
	case *expr.Col:
		n, col := origin(n, y.Index)
		rows := e.of(n)
		for _, k := range n.Props().Keys {
			if len(k) == 1 && k[0] == col {
				return rows
			}
		}
		return math.Min(typeValues(y.Typ), math.Max(math.Sqrt(rows), 10))
	}
	return math.Max(math.Sqrt(e.of(n)), 10)
}

// typeValues bounds the values of short types.
func typeValues(t types.T) float64 {
	switch {
	case t.ID == types.Bool:
		return 2
	case t.ID == types.Bpchar && t.Mod == 5, t.ID == types.Char:
		return 4
	}
	return math.Inf(1)
}

// origin follows a column through filters and projections down.
func origin(n plan.Node, col int) (plan.Node, int) {
	for {
		switch x := n.(type) {
		case *plan.Filter:
			n = x.Input
			continue
		case *plan.Project:
			if c, ok := x.Exprs[col].(*expr.Col); ok {
				n, col = x.Input, c.Index
				continue
			}
		}
		return n, col
	}
}
