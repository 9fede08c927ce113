package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
)

// late finds the outputs of a one-off query that are computed when its rows are in
// order, and, where they change from call to call, only for those that OFFSET and
// LIMIT come to: with ORDER BY, set-returning functions, unless the order needs one,
// and volatile functions; with LIMIT alone the latter. In other queries the order
// matters to DISTINCT ON only. nil: there are none.
func (s *selection) late(es []expr.Expr) []bool {
	q := s.q
	root := s.mode.root && !s.b.stream
	if !root && len(s.on) == 0 || len(q.OrderBy) == 0 && q.Limit == nil && q.Skip == nil || q.Distinct && len(s.on) == 0 {
		return nil
	}
	settled := map[int]bool{}
	for _, k := range s.order {
		settled[k.target] = true
	}
	for _, t := range s.on {
		settled[t] = true
	}
	sets := len(q.OrderBy) > 0
	for i := range settled {
		sets = sets && !hasSet(es[i])
	}
	var out []bool
	for i, e := range es[:s.visible] {
		set := hasSet(e)
		if settled[i] || set && !sets || !set && (!root || !plan.IsVolatile(e)) {
			continue
		}
		if out == nil {
			out = make([]bool, len(es))
		}
		out[i] = true
	}
	return out
}

// postpone takes late outputs out of es, over the row of the projection's input. That
// projection has NULL in their places, and the columns they read at its end.
func (s *selection) postpone(es []expr.Expr, late []bool) {
	s.latest = make([]expr.Expr, s.visible)
	for i, e := range es[:s.visible] {
		if !late[i] {
			continue
		}
		s.latest[i] = remap(e, func(c int) int {
			col := &expr.Col{Index: c, Typ: s.node.Schema()[c].Typ}
			at := slices.IndexFunc(s.targets[len(es):], func(t namedExpr) bool { return exprKey(t.e) == exprKey(col) })
			if at < 0 {
				at = len(s.targets) - len(es)
				s.targets = append(s.targets, namedExpr{e: col, at: s.q})
			}
			return len(es) + at
		})
		es[i] = &expr.Const{Typ: e.Type()}
	}
}

// computeLate adds the late outputs of a query that is not the client's.
func (s *selection) computeLate() error {
	if s.latest == nil || s.mode.root && !s.b.stream {
		return nil
	}
	out := s.node.Schema()
	es := identity(s.node)
	for i, e := range s.latest {
		if e != nil {
			es[i] = e
		}
	}
	s.latest = nil
	n, es, err := s.b.expandSets(s.node, es)
	s.node = &plan.Project{Input: n, Exprs: es, Out: out}
	return err
}

// ordered puts the rows of a query for the client in order, cuts them, and computes
// the outputs that wait for that.
func (b *binder) ordered(q *sql.Select, r *bound, lim, off expr.Expr, mode queryMode) error {
	if len(r.order) > 0 {
		r.node = &plan.Sort{Input: r.node, Order: r.order}
	}
	cut := func(lim, off expr.Expr) {
		if lim != nil || off != nil {
			r.node = &plan.Limit{Input: r.node, Limit: lim, Offset: off}
		}
	}
	if r.late == nil {
		cut(lim, off)
		b.lockRows(r, mode)
		return nil
	}
	es := identity(r.node)[:len(r.cols):len(r.cols)]
	volatile := false
	for i, e := range r.late {
		if e != nil {
			es[i] = e
			volatile = volatile || !hasSet(e)
		}
	}
	var err error
	if r.node, es, err = b.expandSets(r.node, es); err != nil {
		return err
	}
	switch {
	case volatile && off != nil: // the rows that are passed over are computed too
		cut(through(lim, off), nil)
	case volatile:
		cut(lim, nil)
		lim = nil
	}
	b.lockRows(r, queryMode{})
	r.node = &plan.Project{Input: r.node, Exprs: es, Out: r.cols}
	cut(lim, off)
	return nil
}

// through is the number of rows up to the last one that LIMIT lets through; nil: all,
// or not known.
func through(lim, off expr.Expr) expr.Expr {
	l, ok := lim.(*expr.Const)
	o, also := off.(*expr.Const)
	if !ok || !also {
		return nil
	}
	n := l.Val.(int64) + o.Val.(int64)
	if n < 0 {
		return nil
	}
	return &expr.Const{Val: n, Typ: l.Typ}
}
