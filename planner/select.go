package planner

import (
	"slices"
	"strconv"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

func itoa(n int) string { return strconv.Itoa(n) }

// selection is the state of binding one SELECT: expressions over its FROM row,
// rewritten step by step to the rows of grouping, windows and projection.
type selection struct {
	b       *binder
	q       *sql.Select
	sc      *scope
	node    plan.Node
	aggs    []*aggItem
	wins    []*winItem
	marks   []*groupingRef
	targets []namedExpr // visible ones, then hidden ones for ORDER BY
	visible int
	having  expr.Expr
	groups  []groupSet
	keys    []expr.Expr // grouping expressions over the FROM row
	// keyTargets are the targets that the keys mean, -1 for those that are none. With
	// several grouping sets two equal targets are two keys.
	keyTargets []int
	order      []targetKey
	on         []int      // DISTINCT ON: targets
	onAt       []sql.Node // and their places
	mode       queryMode
	locks      []lockedRow // among the targets
	latest     []expr.Expr // see bound.late
	// pinned is the select list with every * spelled out, unless unpinned.
	pinned   []sql.Target
	unpinned bool
}

// targetKey is an ORDER BY key: a target with a direction.
type targetKey struct {
	target           int
	desc, nullsFirst bool
}

// selectCore binds a plain SELECT. Outer joins get columns that tell where a row
// is missing only if a first attempt shows that the query needs them.
func (b *binder) selectCore(q *sql.Select, outer *scope, env *cteEnv, mode queryMode) (*bound, error) {
	r, err := b.selectOnce(q, outer, env, mode)
	if err != nil && b.needWitness && !b.witness {
		b.needWitness, b.witness = false, true
		r, err = b.selectOnce(q, outer, env, mode)
		b.witness = false
	}
	return r, err
}

func (b *binder) selectOnce(q *sql.Select, outer *scope, env *cteEnv, mode queryMode) (*bound, error) {
	s := &selection{b: b, q: q, mode: mode, sc: &scope{parent: outer, ctes: env}}
	err := b.markLocked(q, mode, env)
	if err != nil {
		return nil, err
	}
	if s.node, err = b.fromList(q.From, s.sc); err != nil {
		return nil, err
	}
	// Of several errors the one that PostgreSQL finds first is told.
	steps := []func() error{s.bindTargets, s.where, s.bindHaving, s.bindOrder, s.bindGroups, s.bindDistinctOn, s.noAggregates, s.lockTargets,
		func() error { s.inheritOrder(mode); return nil },
		func() error { return s.settle(mode) }, s.group, s.window, s.project, s.distinct, s.computeLate}
	for _, f := range steps {
		if err := f(); err != nil {
			return nil, err
		}
	}
	r := &bound{node: s.node, sc: s.sc, late: s.latest, locks: s.locks}
	for i, t := range s.targets[:s.visible] {
		r.cols = append(r.cols, plan.Column{Name: t.name, Typ: s.node.Schema()[i].Typ, From: t.from})
		r.at = append(r.at, t.at)
	}
	for _, k := range s.order {
		r.order = append(r.order, expr.SortKey{Col: k.target, Desc: k.desc, NullsFirst: k.nullsFirst})
	}
	return r, nil
}

func (s *selection) where() error {
	if s.q.Where == nil {
		return nil
	}
	cond, err := s.b.condition(&exprContext{sc: s.sc, clause: "WHERE"}, s.q.Where, "WHERE")
	if err != nil {
		return err
	}
	s.node, err = s.b.filter(s.node, cond)
	return err
}

// outputContext is where aggregates and window functions may stand.
func (s *selection) outputContext(clause string) *exprContext {
	return &exprContext{sc: s.sc, clause: clause, aggs: &s.aggs, wins: &s.wins, windows: s.q.Windows, allowSet: true, grouping: &s.marks}
}

func (s *selection) bindTargets() error {
	defer s.pinTargets()
	for _, t := range s.q.Targets {
		if ref, ok := t.Expr.(*sql.ColumnRef); ok && ref.Star {
			cols, err := s.b.star(s.sc, ref)
			if err != nil {
				return err
			}
			s.noteTarget(t, cols)
			s.targets = append(s.targets, cols...)
			continue
		}
		s.noteTarget(t, nil)
		if f, ok := t.Expr.(*sql.FieldSelect); ok && f.Star {
			cols, err := s.b.recordFields(s.outputContext("SELECT"), f)
			if err != nil {
				return err
			}
			s.targets = append(s.targets, cols...)
			continue
		}
		e, err := s.b.expr(s.outputContext("SELECT"), t.Expr)
		if err != nil {
			return err
		}
		name := t.Alias
		if name == "" {
			name = figureName(t.Expr)
		}
		s.targets = append(s.targets, namedExpr{name: name, e: e, at: t.Expr, from: s.sc.origin(e)})
	}
	s.visible = len(s.targets)
	return nil
}

func (s *selection) bindHaving() error {
	if s.q.Having == nil {
		return nil
	}
	ec := s.outputContext("HAVING")
	ec.wins, ec.allowSet = nil, false
	var err error
	s.having, err = s.b.condition(ec, s.q.Having, "HAVING")
	return err
}

// targetOf finds or adds the output column that an ORDER BY or DISTINCT ON item
// means: an ordinal, an output name, or an expression over the input.
func (s *selection) targetOf(e sql.Expr, clause string) (int, error) {
	if i, ok, err := s.b.ordinal(e, s.visible, clause); ok || err != nil {
		return i, err
	}
	if c, ok := e.(*sql.ColumnRef); ok && len(c.Parts) == 1 && !c.Star {
		found := -1
		for i, t := range s.targets[:s.visible] {
			if t.name != c.Parts[0] {
				continue
			}
			if found >= 0 && exprKey(s.targets[found].e) != exprKey(t.e) {
				return 0, s.b.errAt(e, pgerr.AmbiguousColumn, "%s \"%s\" is ambiguous", clause, t.name)
			}
			if found < 0 {
				found = i
			}
		}
		if found >= 0 {
			return found, nil
		}
	}
	x, err := s.b.expr(s.outputContext(clause), e)
	if err != nil {
		return 0, err
	}
	if x, err = s.b.toText(x); err != nil {
		return 0, err
	}
	key := exprKey(x)
	for i, t := range s.targets {
		if exprKey(t.e) == key {
			return i, nil
		}
	}
	s.targets = append(s.targets, namedExpr{e: x, at: e})
	return len(s.targets) - 1, nil
}

func (s *selection) bindOrder() error {
	for _, item := range s.q.OrderBy {
		i, err := s.targetOf(item.Expr, "ORDER BY")
		if err != nil {
			return err
		}
		if i >= s.visible && s.q.Distinct && len(s.q.DistinctOn) == 0 {
			return s.b.errAt(leftmost(item.Expr), pgerr.InvalidColumnReference, "for SELECT DISTINCT, ORDER BY expressions must appear in select list")
		}
		k, err := s.b.sortKey(s.targets[i].e, item)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(s.order, func(o targetKey) bool { return o.target == i }) {
			s.order = append(s.order, targetKey{i, k.desc, k.nullsFirst})
		}
	}
	return nil
}

func (s *selection) bindDistinctOn() error {
	for _, e := range s.q.DistinctOn {
		i, err := s.targetOf(e, "DISTINCT ON")
		if err != nil {
			return err
		}
		if !slices.Contains(s.on, i) {
			s.on, s.onAt = append(s.on, i), append(s.onAt, leftmost(e))
		}
	}
	for i, k := range s.order {
		if i < len(s.on) && !slices.Contains(s.on, k.target) {
			return s.b.errAt(s.unordered(), pgerr.InvalidColumnReference, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions")
		}
	}
	// PostgreSQL sorts by all of them to find the first rows, which is then the order
	// of the result; a LIMIT cuts it off in that order.
	for _, i := range s.on {
		if !slices.ContainsFunc(s.order, func(k targetKey) bool { return k.target == i }) {
			s.order = append(s.order, targetKey{target: i})
		}
	}
	return nil
}

// unordered is the place of the DISTINCT ON expression that ORDER BY has not among
// its first ones.
func (s *selection) unordered() sql.Node {
	matched, skipped := map[int]bool{}, false
	for _, k := range s.order {
		i := slices.Index(s.on, k.target)
		switch {
		case i < 0:
			skipped = true
		case skipped:
			return s.onAt[i]
		default:
			matched[i] = true
		}
	}
	for i, at := range s.onAt {
		if !matched[i] {
			return at
		}
	}
	return s.onAt[0]
}

// inheritOrder gives a plain SELECT over one ordered subquery its order, where
// the order is seen: at the root, or by an aggregate above.
func (s *selection) inheritOrder(mode queryMode) {
	if !mode.root && !mode.order || len(s.order) > 0 || len(s.sc.items)-len(locksAmong(s.sc.items)) != 1 || s.q.Distinct || len(s.aggs) > 0 || s.q.GroupBy != nil ||
		s.having != nil || len(s.wins) > 0 {
		return
	}
	for _, k := range s.sc.items[0].order {
		e := &expr.Col{Index: k.Col, Typ: s.node.Schema()[k.Col].Typ}
		i := slices.IndexFunc(s.targets, func(t namedExpr) bool { return exprKey(t.e) == exprKey(e) })
		if i < 0 {
			i = len(s.targets)
			s.targets = append(s.targets, namedExpr{e: e, at: s.q})
		}
		s.order = append(s.order, targetKey{i, k.Desc, k.NullsFirst})
	}
}

// keepsOrder names the aggregates whose result depends on the order of rows.
func keepsOrder(name string) bool {
	switch name {
	case "array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg":
		return true
	}
	return false
}

// settle makes untyped literals among the outputs text.
func (s *selection) settle(mode queryMode) error {
	for i := range s.targets {
		if mode.keepUnknown && i < s.visible {
			if _, lit := s.targets[i].e.(*expr.Const); lit && !s.q.Distinct {
				continue
			}
			if _, par := s.targets[i].e.(*expr.Param); par && !s.q.Distinct {
				continue
			}
		}
		var err error
		if s.targets[i].e, err = s.b.toText(s.targets[i].e); err != nil {
			return err
		}
	}
	return nil
}

// each applies f to all output expressions.
func (s *selection) each(f func(expr.Expr) (expr.Expr, error)) error {
	for i := range s.targets {
		e, err := f(s.targets[i].e)
		if err != nil {
			return err
		}
		s.targets[i].e = e
	}
	return nil
}

// project computes the outputs: subqueries, set-returning functions, columns.
func (s *selection) project() error {
	es := make([]expr.Expr, len(s.targets))
	for i, t := range s.targets {
		es[i] = t.e
	}
	var err error
	if s.node, es, err = s.b.planSubqueries(s.node, es); err != nil {
		return err
	}
	if late := s.late(es); late != nil {
		s.postpone(es, late)
	}
	if s.node, es, err = s.b.expandSets(s.node, es); err != nil {
		return err
	}
	for _, t := range s.targets[len(es):] {
		es = append(es, t.e)
	}
	p := &plan.Project{Input: s.node, Exprs: es}
	for i, t := range s.targets {
		p.Out = append(p.Out, plan.Column{Name: t.name, Typ: es[i].Type()})
	}
	s.node = p
	return nil
}

func (s *selection) distinct() error {
	if !s.q.Distinct {
		return nil
	}
	sc := s.node.Schema()
	var at []sql.Node
	for _, t := range s.targets {
		at = append(at, t.at)
	}
	if len(s.on) == 0 {
		if err := s.b.checkEquality(sc, at); err != nil {
			return err
		}
		s.node = distinct(s.node)
		return nil
	}
	n := &plan.TopN{Input: s.node, Partition: s.on, Limit: 1}
	for _, k := range s.order {
		if !slices.Contains(s.on, k.target) {
			n.Order = append(n.Order, expr.SortKey{Col: k.target, Desc: k.desc, NullsFirst: k.nullsFirst})
		}
	}
	s.node = n
	return nil
}

// figureName is the name PostgreSQL gives an output column without AS.
func figureName(e sql.Expr) string {
	if n, strong := nameOf(e); n != "" || strong {
		return n
	}
	return "?column?"
}

// nameOf returns a name for e; strong tells a name that an outer cast keeps.
func nameOf(e sql.Expr) (string, bool) {
	switch e := e.(type) {
	case *sql.ColumnRef:
		if len(e.Parts) > 0 {
			return e.Parts[len(e.Parts)-1], true
		}
	case *sql.FuncCall:
		return e.Name, true
	case *sql.Cast:
		if n, strong := nameOf(e.Arg); strong {
			return n, true
		}
		return e.Type.Name, false
	case *sql.Collate:
		return nameOf(e.Arg)
	case *sql.Subscript:
		return nameOf(e.Arg)
	case *sql.FieldSelect:
		if !e.Star {
			return e.Field, true
		}
	case *sql.CaseExpr:
		if e.Else != nil {
			if n, strong := nameOf(e.Else); strong {
				return n, true
			}
		}
		return "case", false
	case *sql.Literal:
		if e.Kind == sql.LitBool {
			return "bool", false
		}
	case *sql.ArrayExpr, *sql.ArraySubquery:
		return "array", true
	case *sql.RowExpr:
		return "row", true
	case *sql.CoalesceExpr:
		return "coalesce", true
	case *sql.NullIf:
		return "nullif", true
	case *sql.MinMax:
		if e.Least {
			return "least", true
		}
		return "greatest", true
	case *sql.SQLValue:
		return e.Func, true
	case *sql.Grouping:
		return "grouping", true
	case *sql.ExistsExpr:
		return "exists", true
	case *sql.SubqueryExpr:
		return subqueryName(e.Query)
	}
	return "", false
}

// subqueryName is the name of the only column of a scalar subquery.
func subqueryName(q *sql.Select) (string, bool) {
	for q.Op != sql.SetNone {
		q = q.Left
	}
	if q.Values != nil {
		return "column1", true
	}
	if len(q.Targets) == 1 {
		if q.Targets[0].Alias != "" {
			return q.Targets[0].Alias, true
		}
		return nameOf(q.Targets[0].Expr)
	}
	return "", false
}

func (b *binder) fold(e expr.Expr) expr.Expr {
	if _, ok := e.(*expr.Const); ok || !foldable(e) {
		return e
	}
	v, err := expr.EvalConst(&expr.Ctx{Session: b.p.Session}, e)
	if err != nil {
		return e // fails when, and only if, it is evaluated
	}
	return &expr.Const{Val: v, Typ: e.Type()}
}

// foldable: only constants and immutable functions.
func foldable(e expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Col, *expr.Param, *expr.Outer, *subRef, *subField, *aggRef, *winRef, *groupingRef, *subCol:
			ok = false
		case *expr.Call:
			ok = ok && x.Fn.Volatility == expr.Immutable && !x.Fn.Set
		case *expr.Cast:
			ok = ok && !sessionCast(x)
		}
		return ok
	})
	return ok
}

// sessionCast: conversions of text to and from times depend on the session.
func sessionCast(c *expr.Cast) bool {
	f, t := c.Arg.Type(), c.To
	return f.Category() == 'D' || t.Category() == 'D' || f.ID == types.Array || t.ID == types.Array || t.Category() == 'N' && f.Category() == 'S' && t.ID >= types.Oid
}
