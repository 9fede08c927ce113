package planner

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// The settings by which a view or sink decides which of its joins read a side
// from storage: the user's choice, and the indexes there were when it was created,
// as OIDs with spaces between. Indexes made later do not change its plan.
const (
	SettingShared  = "shared_arrangements"
	SettingIndexes = "relation_indexes"
)

// sharedFrom is the size in bytes from which on a relation's own key is used
// without being asked: below it the memory saved is not worth the reading.
const sharedFrom = 8 << 20

// lookups finds joins of which one side is a stored relation with a key or an
// index that begins with the join's keys.
type lookups struct {
	cat     *catalog.Snapshot
	est     *estimator
	always  bool
	indexes map[uint32]bool
}

// chooseStored makes such joins read that side from storage. It comes last, when
// fragments are cut.
func (b *binder) chooseStored(root plan.Node) plan.Node {
	mode, list := b.setting(SettingShared), b.setting(SettingIndexes)
	if mode == "off" || mode == "" {
		return root
	}
	l := &lookups{cat: b.p.Cat, est: b.newEstimator(), always: mode == "on", indexes: map[uint32]bool{}}
	for _, f := range strings.Fields(list) {
		if oid, err := strconv.ParseUint(f, 10, 32); err == nil {
			l.indexes[uint32(oid)] = true
		}
	}
	return l.rewrite(root)
}

func (b *binder) setting(name string) string {
	if b.p.Session == nil || b.p.Session.Setting == nil {
		return ""
	}
	v, _ := b.p.Session.Setting(name)
	return v
}

func (l *lookups) rewrite(n plan.Node) plan.Node {
	ch := n.Children()
	if len(ch) == 0 {
		return n
	}
	out := make([]plan.Node, len(ch))
	for i, c := range ch {
		out[i] = l.rewrite(c)
	}
	n = plan.WithChildren(n, out)
	if j, ok := n.(*plan.Join); ok {
		if k := l.choose(j); k != nil {
			c := *j
			c.Lookup = k
			return &c
		}
	}
	return n
}

// choose returns how to read a side of the join, the larger one if both can be
// read. The rows of that side must not be part of the output by themselves.
func (l *lookups) choose(j *plan.Join) *plan.Lookup {
	if len(j.LeftKeys) == 0 || slices.Contains(j.NullSafe, true) {
		return nil
	}
	var sides []int
	switch j.Kind {
	case plan.Inner:
		sides = []int{1, 0}
		if l.est.of(j.Left) > l.est.of(j.Right) {
			sides = []int{0, 1}
		}
	case plan.Left, plan.Semi, plan.Anti:
		sides = []int{1}
	case plan.Right:
		sides = []int{0}
	}
	for _, side := range sides {
		if k := l.side(j, side); k != nil {
			return k
		}
	}
	return nil
}

func (l *lookups) side(j *plan.Join, side int) *plan.Lookup {
	own, keys, otherKeys := j.Children()[side], j.RightKeys, j.LeftKeys
	if side == 0 {
		keys, otherKeys = otherKeys, keys
	}
	other := j.Children()[1-side]
	s, k := storedSide(own)
	if s == nil || !l.always && readsSource(other) {
		return nil
	}
	rel, ok := l.cat.ByOID(s.Rel).(catalog.Relation)
	if !ok {
		return nil
	}
	for _, c := range rel.Cols() {
		k.Stored = append(k.Stored, c.Type)
	}
	// The relation's columns that the join's keys are.
	var cols []int
	for i, c := range keys {
		col := s.Cols[k.Out[c]]
		t, u := k.Stored[col], other.Schema()[otherKeys[i]].Typ
		if slices.Contains(cols, col) || t.Base() != u.Base() || t.ID == types.Bpchar {
			return nil
		}
		cols = append(cols, col)
	}
	k.Side = side
	if !l.storage(rel, cols, k) {
		return nil
	}
	return k
}

// storedSide takes a side of a join apart: a scan under filters that cannot fail
// and projections to columns.
func storedSide(n plan.Node) (*plan.Scan, *plan.Lookup) {
	k := &plan.Lookup{Out: all(len(n.Schema()))}
	var conds []expr.Expr
	for {
		switch x := n.(type) {
		case *plan.Exchange:
			n = x.Input
		case *plan.Filter:
			if mayFail(x.Cond) || plan.IsVolatile(x.Cond) {
				return nil, nil
			}
			conds, n = append(conds, x.Cond), x.Input
		case *plan.Project:
			for _, e := range x.Exprs {
				if _, ok := e.(*expr.Col); !ok {
					return nil, nil
				}
			}
			for i, c := range k.Out {
				k.Out[i] = x.Exprs[c].(*expr.Col).Index
			}
			for i, c := range conds {
				conds[i] = substitute(c, x.Exprs)
			}
			n = x.Input
		case *plan.Scan:
			if x.Kind != plan.RelTable && x.Kind != plan.RelView || len(x.Prefix) > 0 || x.Lo != nil || x.Hi != nil {
				return nil, nil
			}
			k.Cols = x.Cols
			switch len(conds) {
			case 0:
			case 1:
				k.Cond = conds[0]
			default:
				k.Cond = &expr.And{Args: conds}
			}
			return x, k
		default:
			return nil, nil
		}
	}
}

// storage finds what has the relation's rows by the columns, in any order.
func (l *lookups) storage(rel catalog.Relation, cols []int, k *plan.Lookup) bool {
	key := catalog.StorageKey(rel)
	if l.always || l.est.bytes != nil && l.est.bytes(rel.Header().OID) >= sharedFrom {
		if order := leading(key, cols); order != nil {
			k.Rel, k.Name, k.Keys = rel.Header().OID, rel.Header().Name, order
			k.Form, k.Whole = plan.Keyed, len(order) == len(key)
			return true
		}
	}
	for _, ix := range l.cat.Indexes(rel.Header().OID) {
		if !l.indexes[ix.OID] || ix.Where != "" {
			continue
		}
		order := leading(ix.Columns(), cols)
		if order == nil {
			continue
		}
		k.Rel, k.Name, k.Keys, k.Form = ix.OID, ix.Name, order, plan.Keyed
		if key == nil {
			k.Form = plan.Ordered
		}
		return true
	}
	return false
}

// leading returns the positions in cols of the first columns of key, if these are
// all of cols.
func leading(key, cols []int) []int {
	if len(key) < len(cols) {
		return nil
	}
	var order []int
	for _, c := range key[:len(cols)] {
		i := slices.Index(cols, c)
		if i < 0 {
			return nil
		}
		order = append(order, i)
	}
	return order
}

// readsSource reports whether rows come straight from a source, too fast for a
// look into storage each.
func readsSource(n plan.Node) bool {
	found := false
	plan.Walk(n, func(x plan.Node) bool {
		s, ok := x.(*plan.Scan)
		found = found || ok && s.Kind == plan.RelSource
		return !found
	})
	return found
}

// LookupIndexes returns the indexes that a plan reads.
func LookupIndexes(root plan.Node) (oids []uint32) {
	plan.Walk(root, func(n plan.Node) bool {
		if j, ok := n.(*plan.Join); ok && j.Lookup != nil && j.Lookup.Rel != j.StoredScan().Rel && !slices.Contains(oids, j.Lookup.Rel) {
			oids = append(oids, j.Lookup.Rel)
		}
		return true
	})
	return oids
}
