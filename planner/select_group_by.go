package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
)

// bindGroups binds GROUP BY and expands ROLLUP, CUBE and GROUPING SETS.
func (s *selection) bindGroups() error {
	if len(s.q.GroupBy) == 0 {
		return nil
	}
	sets := []groupSet{{}}
	for _, g := range s.q.GroupBy {
		alts, err := s.groupItem(g)
		if err != nil {
			return err
		}
		var next []groupSet
		for _, a := range sets {
			for _, x := range alts {
				next = append(next, union(a, x))
			}
		}
		if sets = next; len(sets) > 4096 {
			return s.b.errAt(g, pgerr.StatementTooComplex, "too many grouping sets present (maximum 4096)")
		}
	}
	if s.q.GroupDistinct {
		var uniq []groupSet
		for _, x := range sets {
			y := slices.Sorted(slices.Values(x))
			if !slices.ContainsFunc(uniq, func(o groupSet) bool { return slices.Equal(slices.Sorted(slices.Values(o)), y) }) {
				uniq = append(uniq, x)
			}
		}
		sets = uniq
	}
	s.groups = sets
	return nil
}

func union(a, b groupSet) groupSet {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// groupItem returns the alternatives of one item of GROUP BY.
func (s *selection) groupItem(g sql.GroupItem) ([]groupSet, error) {
	switch g.Kind {
	case sql.GroupExpr:
		set, err := s.groupExprs(g.Expr)
		return []groupSet{set}, err
	case sql.GroupEmpty:
		return []groupSet{{}}, nil
	case sql.GroupSets:
		var out []groupSet
		for _, x := range g.Items {
			alts, err := s.groupItem(x)
			if err != nil {
				return nil, err
			}
			out = append(out, alts...)
		}
		return out, nil
	}
	parts := make([]groupSet, len(g.Items))
	for i, x := range g.Items {
		set, err := s.groupExprs(x.Expr)
		if err != nil {
			return nil, err
		}
		parts[i] = set
	}
	var out []groupSet
	if g.Kind == sql.GroupRollup {
		for n := len(parts); n >= 0; n-- {
			set := groupSet{}
			for _, p := range parts[:n] {
				set = union(set, p)
			}
			out = append(out, set)
		}
		return out, nil
	}
	if len(parts) > 12 {
		return nil, s.b.errAt(g, pgerr.StatementTooComplex, "CUBE is limited to 12 elements")
	}
	for mask := 1<<len(parts) - 1; mask >= 0; mask-- {
		set := groupSet{}
		for i, p := range parts {
			if mask&(1<<(len(parts)-1-i)) != 0 {
				set = union(set, p)
			}
		}
		out = append(out, set)
	}
	return out, nil
}

// groupExprs binds a grouping expression, a row being several.
func (s *selection) groupExprs(e sql.Expr) (groupSet, error) {
	if r, ok := e.(*sql.RowExpr); ok && !r.Explicit {
		set := groupSet{}
		for _, f := range r.Fields {
			x, err := s.groupExprs(f)
			if err != nil {
				return nil, err
			}
			set = union(set, x)
		}
		return set, nil
	}
	x, target, err := s.groupExpr(e)
	if err != nil {
		return nil, err
	}
	if err := s.b.checkEquality([]plan.Column{{Typ: x.Type()}}, []sql.Node{e}); err != nil {
		return nil, err
	}
	key := exprKey(x)
	sets := slices.ContainsFunc(s.q.GroupBy, func(g sql.GroupItem) bool { return g.Kind != sql.GroupExpr })
	for i, k := range s.keys {
		if exprKey(k) == key && (!sets || s.keyTargets[i] == target) {
			return groupSet{i}, nil
		}
	}
	s.keys, s.keyTargets = append(s.keys, x), append(s.keyTargets, target)
	return groupSet{len(s.keys) - 1}, nil
}

// groupExpr resolves an ordinal, a column of the input, an output name, or an
// expression, in this order, and returns the target that it is, or the first that is
// equal; -1: none.
func (s *selection) groupExpr(e sql.Expr) (expr.Expr, int, error) {
	i, ok, err := s.b.ordinal(e, s.visible, "GROUP BY")
	if err != nil {
		return nil, 0, err
	}
	if c, isRef := e.(*sql.ColumnRef); !ok && isRef && len(c.Parts) == 1 && !c.Star {
		if x, err := s.b.unqualified(s.sc, c.Parts[0], c); x != nil || err != nil {
			return x, s.equalTarget(x), err
		}
		if i, ok, err = s.namedTarget(c); err != nil {
			return nil, 0, err
		}
	}
	if ok {
		t := s.targets[i]
		switch kind := findCall(t.e); kind {
		case "aggregate":
			return nil, 0, s.b.errAt(t.at, pgerr.GroupingError, "aggregate functions are not allowed in GROUP BY")
		case "window":
			return nil, 0, s.b.errAt(t.at, pgerr.WindowingError, "window functions are not allowed in GROUP BY")
		}
		x, err := s.b.toText(t.e)
		s.targets[i].e = x
		return x, i, err
	}
	x, err := s.b.expr(&exprContext{sc: s.sc, clause: "GROUP BY", allowSet: true}, e)
	if err != nil {
		return nil, 0, err
	}
	x, err = s.b.toText(x)
	return x, s.equalTarget(x), err
}

// namedTarget is the visible target of c's name.
func (s *selection) namedTarget(c *sql.ColumnRef) (i int, ok bool, err error) {
	for k, t := range s.targets[:s.visible] {
		if t.name != c.Parts[0] {
			continue
		}
		if ok && exprKey(s.targets[i].e) != exprKey(t.e) {
			return 0, false, s.b.errAt(c, pgerr.AmbiguousColumn, "GROUP BY \"%s\" is ambiguous", t.name)
		}
		if !ok {
			i, ok = k, true
		}
	}
	return i, ok, nil
}

// equalTarget is the first target that is x; -1: none.
func (s *selection) equalTarget(x expr.Expr) int {
	if x == nil {
		return -1
	}
	key := exprKey(x)
	return slices.IndexFunc(s.targets, func(t namedExpr) bool { return exprKey(t.e) == key })
}

func findCall(e expr.Expr) string {
	kind := ""
	expr.Walk(e, func(x expr.Expr) bool {
		switch x.(type) {
		case *aggRef:
			kind = "aggregate"
		case *winRef:
			kind = "window"
		}
		return kind == ""
	})
	return kind
}
