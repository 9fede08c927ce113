package plan

import (
	"slices"
	"sort"

	"github.com/streamdb/streamdb/expr"
)

// maxKeys bounds the unique keys tracked of one node.
const maxKeys = 4

// Props returns what the planner found in the catalog.
func (n *Scan) Props() Props { return n.P }

// Props: one row a key.
func (n *Upsert) Props() Props { return Props{false, [][]int{n.Key}} }

// Props: there is always one row.
func (n *Clock) Props() Props { return Props{false, [][]int{{}}} }

// Props: constant rows never go away; at most one row has the empty key.
func (n *Values) Props() Props {
	if len(n.Rows) <= 1 {
		return Props{true, [][]int{{}}}
	}
	return Props{AppendOnly: true}
}

// Props: the rows are computed once.
func (n *TableFunc) Props() Props {
	if n.Ordinality {
		return Props{true, [][]int{{len(n.Out) - 1}}}
	}
	return Props{AppendOnly: true}
}

// Props: those of the input; a column equated with a constant leaves its keys.
func (n *Filter) Props() Props {
	p := n.Input.Props()
	fixed := map[int]bool{}
	for _, c := range Conjuncts(n.Cond) {
		if col, ok := equatedWithConstant(c); ok {
			fixed[col] = true
		}
	}
	if len(fixed) == 0 {
		return p
	}
	keys := make([][]int, len(p.Keys))
	for i, k := range p.Keys {
		keys[i] = slices.DeleteFunc(slices.Clone(k), func(c int) bool { return fixed[c] })
	}
	return Props{p.AppendOnly, normalise(keys)}
}

// Props: a key survives when all its columns are passed on as they are.
func (n *Project) Props() Props {
	p := n.Input.Props()
	first, last := map[int]int{}, map[int]int{}
	for i, e := range n.Exprs {
		if c, ok := e.(*expr.Col); ok {
			if _, dup := first[c.Index]; !dup {
				first[c.Index] = i
			}
			last[c.Index] = i
		}
	}
	ao := p.AppendOnly
	for _, e := range n.Exprs {
		ao = ao && !IsVolatile(e)
	}
	// A column passed on twice gives a key with either copy.
	return Props{ao, normalise(append(mapKeys(p.Keys, first), mapKeys(p.Keys, last)...))}
}

// Props: a row may come out many times.
func (n *ProjectSet) Props() Props {
	ao := n.Input.Props().AppendOnly
	for _, e := range n.Exprs {
		ao = ao && !IsVolatile(e)
	}
	return Props{AppendOnly: ao}
}

// Props of a join follow from which side matches at most once.
func (n *Join) Props() Props {
	l, r := n.Left.Props(), n.Right.Props()
	switch n.Kind {
	case Semi:
		return Props{l.AppendOnly && r.AppendOnly, l.Keys}
	case Anti, NullAnti:
		return Props{false, l.Keys}
	case Full:
		// Without knowing that key columns are not null, a padded row of one side
		// may look like one of the other.
		return Props{}
	}
	nl := Width(n.Left)
	rk := shiftKeys(r.Keys, nl)
	var keys [][]int
	leftOnce, rightOnce := covers(n.RightKeys, r.Keys), covers(n.LeftKeys, l.Keys)
	if leftOnce && n.Kind != Right {
		keys = append(keys, l.Keys...)
	}
	if rightOnce && n.Kind != Left {
		keys = append(keys, rk...)
	}
	for _, a := range l.Keys {
		for _, b := range rk {
			keys = append(keys, slices.Concat(a, b))
		}
	}
	return Props{n.Kind == Inner && l.AppendOnly && r.AppendOnly, normalise(keys)}
}

// Props: one row a group.
func (n *Aggregate) Props() Props {
	if n.Scalar && len(n.Group) == 0 {
		return Props{false, [][]int{{}}}
	}
	p := n.Input.Props()
	at := map[int]int{}
	for i, g := range n.Group {
		at[g] = i
	}
	keys := append(mapKeys(p.Keys, at), groupKeys(n)...)
	return Props{p.AppendOnly && len(n.Aggs) == 0, normalise(keys)}
}

// Props: the same row may come from two inputs.
func (n *Union) Props() Props {
	ao := true
	for _, in := range n.Inputs {
		ao = ao && in.Props().AppendOnly
	}
	return Props{AppendOnly: ao}
}

// Props: without ALL the whole row is unique.
func (n *SetOp) Props() Props {
	l, r := n.Left.Props(), n.Right.Props()
	ao := n.Kind == Intersect && l.AppendOnly && r.AppendOnly
	keys := slices.Clone(l.Keys)
	if n.Kind == Intersect {
		keys = append(keys, r.Keys...)
	}
	if !n.All {
		all := make([]int, len(n.Left.Schema()))
		for i := range all {
			all[i] = i
		}
		keys = append(keys, all)
	}
	return Props{ao, normalise(keys)}
}

// Props: what the step does to its rows decides whether any is ever taken away.
// Without ALL the whole row is unique.
func (n *Recursive) Props() Props {
	p := Props{AppendOnly: n.Base.Props().AppendOnly && n.Step.Props().AppendOnly}
	if !n.All {
		p.Keys = [][]int{firstColumns(len(n.Out))}
	}
	return p
}

// Props: a row leaves its iteration when it comes to appear in an earlier one.
func (n *WorkTable) Props() Props { return Props{} }

func firstColumns(n int) []int {
	cols := make([]int, n)
	for i := range cols {
		cols[i] = i
	}
	return cols
}

// Props: rows fall out when better ones come.
func (n *TopN) Props() Props {
	keys := slices.Clone(n.Input.Props().Keys)
	if n.Limit == 1 && !n.WithTies {
		keys = append(keys, slices.Clone(n.Partition))
	}
	if n.RankCol {
		keys = append(keys, append(slices.Clone(n.Partition), len(n.Input.Schema())))
	}
	return Props{false, normalise(keys)}
}

// Props are the input's.
func (n *Sort) Props() Props { return n.Input.Props() }

// Props: the input's keys.
func (n *Limit) Props() Props { return Props{false, n.Input.Props().Keys} }

// Props: a new row changes the values of others.
func (n *Window) Props() Props {
	keys := slices.Clone(n.Input.Props().Keys)
	base := len(n.Input.Schema())
	for i, f := range n.Funcs {
		if f.Name == "row_number" && f.Agg == nil {
			keys = append(keys, append(slices.Clone(n.Partition), base+i))
		}
	}
	return Props{false, normalise(keys)}
}

// Props: as a join without keys.
func (n *Apply) Props() Props {
	l, r := n.Left.Props(), n.Right.Props()
	if n.Kind == Semi || n.Kind == Anti || n.Kind == NullAnti || n.Scalar || covers(nil, r.Keys) && n.Kind != Full && n.Kind != Right {
		return Props{false, l.Keys}
	}
	return Props{}
}

// Props: some rows of the input.
func (n *Threshold) Props() Props { return Props{false, n.Input.Props().Keys} }

// Props: exactly one row.
func (n *SingleRow) Props() Props { return Props{false, [][]int{{}}} }

// Props are the input's.
func (n *Exchange) Props() Props { return n.Input.Props() }

// Props are the input's.
func (n *Materialize) Props() Props { return n.Input.Props() }

// Props are the input's.
func (n *Sink) Props() Props { return n.Input.Props() }

// AppendOnly is n.Props().AppendOnly, without finding keys.
func AppendOnly(n Node) bool {
	switch x := n.(type) {
	case *Join:
		return (x.Kind == Inner || x.Kind == Semi) && AppendOnly(x.Left) && AppendOnly(x.Right)
	case *Filter:
		return AppendOnly(x.Input)
	case *Exchange:
		return AppendOnly(x.Input)
	}
	return n.Props().AppendOnly
}

// Conjuncts splits a condition at its top-level ANDs; nil has none.
func Conjuncts(e expr.Expr) []expr.Expr {
	switch e := e.(type) {
	case nil:
		return nil
	case *expr.And:
		var out []expr.Expr
		for _, a := range e.Args {
			out = append(out, Conjuncts(a)...)
		}
		return out
	}
	return []expr.Expr{e}
}

// IsVolatile reports whether e may give another result when evaluated again.
func IsVolatile(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		if c, ok := x.(*expr.Call); ok && c.Fn.Volatility == expr.Volatile {
			found = true
		}
		return !found
	})
	return found
}

// IsEquality returns the sides of a call of the equality operator.
func IsEquality(e expr.Expr) (l, r expr.Expr, ok bool) {
	c, isCall := e.(*expr.Call)
	if !isCall || c.Fn.Name != "=" || len(c.Args) != 2 {
		return nil, nil, false
	}
	return c.Args[0], c.Args[1], true
}

func equatedWithConstant(e expr.Expr) (int, bool) {
	l, r, ok := IsEquality(e)
	if !ok {
		return 0, false
	}
	for range 2 {
		if c, isCol := l.(*expr.Col); isCol && isConstant(r) {
			return c.Index, true
		}
		l, r = r, l
	}
	return 0, false
}

func isConstant(e expr.Expr) bool {
	switch e.(type) {
	case *expr.Const, *expr.Param:
		return true
	}
	return false
}

// covers reports whether some key is a subset of cols.
func covers(cols []int, keys [][]int) bool {
	for _, k := range keys {
		if subset(k, cols) {
			return true
		}
	}
	return false
}

func subset(a, b []int) bool {
	for _, x := range a {
		if !slices.Contains(b, x) {
			return false
		}
	}
	return true
}

func shiftKeys(keys [][]int, by int) [][]int {
	out := make([][]int, len(keys))
	for i, k := range keys {
		out[i] = make([]int, len(k))
		for j, c := range k {
			out[i][j] = c + by
		}
	}
	return out
}

// mapKeys renames the columns of keys; a key with a column not in at is lost.
func mapKeys(keys [][]int, at map[int]int) [][]int {
	var out [][]int
next:
	for _, k := range keys {
		m := make([]int, len(k))
		for i, c := range k {
			to, ok := at[c]
			if !ok {
				continue next
			}
			m[i] = to
		}
		out = append(out, m)
	}
	return normalise(out)
}

// normalise sorts keys, smallest first, and drops those that contain another.
func normalise(keys [][]int) [][]int {
	for i, k := range keys {
		k = append([]int{}, k...) // never nil: an empty key means at most one row
		sort.Ints(k)
		keys[i] = slices.Compact(k)
	}
	sort.SliceStable(keys, func(i, j int) bool { return len(keys[i]) < len(keys[j]) })
	var out [][]int
	for _, k := range keys {
		if !slices.ContainsFunc(out, func(o []int) bool { return subset(o, k) }) && len(out) < maxKeys {
			out = append(out, k)
		}
	}
	return out
}
