package planner

import (
	"fmt"
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
)

// each applies f to all expressions of the call.
func (w *winItem) each(f func(expr.Expr) expr.Expr) {
	apply := func(es []expr.Expr) {
		for i := range es {
			es[i] = f(es[i])
		}
	}
	apply(w.args)
	apply(w.partition)
	for _, off := range []*expr.Expr{&w.frame.StartOffset, &w.frame.EndOffset} {
		if *off != nil {
			*off = f(*off)
		}
	}
	for i := range w.order {
		w.order[i].e = f(w.order[i].e)
	}
	if w.agg != nil {
		apply(w.agg.args)
		if w.agg.filter != nil {
			w.agg.filter = f(w.agg.filter)
		}
	}
}

// window adds a Window node for each distinct PARTITION BY and ORDER BY, and
// rewrites the outputs to its columns.
func (s *selection) window() error {
	if len(s.wins) == 0 {
		return nil
	}
	if err := s.expandWindowSets(); err != nil {
		return err
	}
	at := make([]int, len(s.wins))
	done := make([]bool, len(s.wins))
	for i, w := range s.wins {
		if done[i] {
			continue
		}
		var same []int
		for k := i; k < len(s.wins); k++ {
			if !done[k] && s.wins[k].spec() == w.spec() {
				same = append(same, k)
				done[k] = true
			}
		}
		if err := s.windowNode(same, at); err != nil {
			return err
		}
	}
	return s.each(func(e expr.Expr) (expr.Expr, error) {
		return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
			switch x := x.(type) {
			case *winRef:
				return &expr.Col{Index: at[x.index], Typ: x.typ}
			case *subRef:
				return mapOuterExpr(x, 0, func(o *expr.Outer, d int) expr.Expr {
					if w := windowOf(o.Index); w >= 0 && o.Level-d == 0 {
						return &expr.Outer{Level: o.Level, Index: at[w], Typ: o.Typ}
					}
					return o
				})
			}
			return x
		}), nil
	})
}

// expandWindowSets computes the set-returning functions in the definitions of windows:
// the windows are over the rows that these make. The same call in the select list is
// the same column.
func (s *selection) expandWindowSets() error {
	var parts []expr.Expr
	for _, w := range s.wins {
		w.each(func(e expr.Expr) expr.Expr { parts = append(parts, e); return e })
	}
	if !slices.ContainsFunc(parts, hasSet) {
		return nil
	}
	var err error
	if s.node, parts, err = s.b.planSubqueries(s.node, parts); err != nil {
		return err
	}
	own := len(parts)
	places := map[string]int{}
	for _, p := range parts[:own] {
		expr.Walk(p, func(x expr.Expr) bool {
			if _, ok := places[exprKey(x)]; isSet(x) && !ok {
				places[exprKey(x)] = len(parts)
				parts = append(parts, x)
			}
			return true
		})
	}
	if s.node, parts, err = s.b.expandSets(s.node, parts); err != nil {
		return err
	}
	k := 0
	for _, w := range s.wins {
		w.each(func(expr.Expr) expr.Expr { k++; return parts[k-1] })
	}
	return s.each(func(e expr.Expr) (expr.Expr, error) {
		return replace(e, func(x expr.Expr) (expr.Expr, bool) {
			i, ok := places[exprKey(x)]
			if !ok || !isSet(x) {
				return nil, false
			}
			return parts[i], true
		}), nil
	})
}

// spec is the text of PARTITION BY and ORDER BY.
func (w *winItem) spec() string {
	t := ""
	for _, p := range w.partition {
		t += exprKey(p) + ";"
	}
	for _, o := range w.order {
		t += fmt.Sprintf("order %s %v %v;", exprKey(o.e), o.desc, o.nullsFirst)
	}
	return t
}

// windowNode plans the calls which, which share their windows; at receives their
// columns.
func (s *selection) windowNode(which []int, at []int) error {
	for _, i := range which {
		w := s.wins[i]
		var all []expr.Expr
		w.each(func(e expr.Expr) expr.Expr { all = append(all, e); return e })
		n, planned, err := s.b.planSubqueries(s.node, all)
		if err != nil {
			return err
		}
		s.node = n
		k := 0
		w.each(func(expr.Expr) expr.Expr { k++; return planned[k-1] })
	}
	pre := newWidening(s.node)
	first := s.wins[which[0]]
	n := &plan.Window{}
	for _, p := range first.partition {
		if c := pre.add(p); !slices.Contains(n.Partition, c) {
			n.Partition = append(n.Partition, c)
		}
	}
	for _, o := range first.order {
		n.Order = append(n.Order, expr.SortKey{Col: pre.add(o.e), Desc: o.desc, NullsFirst: o.nullsFirst})
	}
	for _, i := range which {
		w := s.wins[i]
		f := plan.WindowFunc{Name: w.name, Frame: w.frame, Typ: w.typ}
		if w.agg != nil {
			c, err := s.b.aggColumns(pre, w.agg)
			if err != nil {
				return err
			}
			f.Agg, f.Args = &c, c.Args
		}
		for _, a := range w.args {
			f.Args = append(f.Args, pre.add(a))
		}
		varyingOffset(pre, n, &f.Frame.StartOffset, w.frame.Mode, "starting")
		varyingOffset(pre, n, &f.Frame.EndOffset, w.frame.Mode, "ending")
		n.Funcs = append(n.Funcs, f)
	}
	n.Input = pre.build()
	n.Out = slices.Clone(n.Input.Schema())
	for k, i := range which {
		at[i] = len(n.Out)
		n.Out = append(n.Out, plan.Column{Name: n.Funcs[k].Name, Typ: n.Funcs[k].Typ})
	}
	s.node = n
	return nil
}

// varyingOffset makes an offset that is no constant a column of the input. It is a
// partition column too, so that all rows of a partition have the same.
func varyingOffset(pre *preProject, n *plan.Window, off *expr.Expr, mode plan.FrameMode, what string) {
	switch (*off).(type) {
	case nil, *expr.Const, *expr.Param:
		return
	}
	t := (*off).Type()
	c := pre.add(&expr.Call{Fn: expr.FrameOffset(t, mode == plan.Range, what), Args: []expr.Expr{*off}, Typ: t})
	if !slices.Contains(n.Partition, c) {
		n.Partition = append(n.Partition, c)
	}
	*off = &expr.Col{Index: c, Typ: t}
}
