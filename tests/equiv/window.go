package equiv

import "fmt"

// windows makes one to three window functions over the rows of s and tells the
// kinds of their results, of which there is one right multiset. What depends on
// the order of rows sorts by every column. Rows that tie even so are equal, so a
// single such function may deal them as it likes; two could deal them differently,
// hence there is one at most.
func (g *gen) windows(s *scope) (nodes []*node, kinds []kind) {
	ordered := g.r.IntN(3)
	for i := range pick(g, []int{1, 1, 2, 3}) {
		n, k := (*node)(nil), kNone
		if i == ordered {
			n, k = g.orderedWindow(s)
		} else {
			n, k = g.peerWindow(s)
		}
		nodes, kinds = append(nodes, n), append(kinds, k)
	}
	return nodes, kinds
}

func (g *gen) partition(s *scope) *node {
	if !g.chance(70) {
		return text("")
	}
	return opt("PARTITION BY @ ", g.expr(s, pick(g, []kind{kInt, kText, kBool}), g.r.IntN(2)))
}

// orderedWindow is a function whose value depends on the order of rows.
func (g *gen) orderedWindow(s *scope) (*node, kind) {
	over := seq(" OVER (@@)", g.partition(s), g.totalOrder(s))
	if g.chance(40) {
		over = seq(" OVER (@@"+g.rowsFrame()+")", g.partition(s), g.totalOrder(s))
	}
	arg := func(k kind) *node { return g.expr(s, k, 1) }
	switch g.r.IntN(12) {
	case 0, 1:
		return seq("row_number()@", over), kBig
	case 2:
		return seq("lag(@)@", arg(kInt), over), kInt
	case 3:
		return seq("lead(@, 2)@", arg(kText), over), kText
	case 4:
		return seq("lag(@, 1, @)@", arg(kInt), g.literal(kInt), over), kInt
	case 5:
		return seq("first_value(@)@", arg(kText), over), kText
	case 6:
		return seq("last_value(@)@", arg(kInt), over), kInt
	case 7:
		return seq("nth_value(@, 2)@", arg(kDate), over), kDate
	case 8:
		return seq("ntile(3)@", over), kInt
	case 9:
		return seq("count(@)@@", arg(kText), opt(" FILTER (WHERE @)", g.expr(s, kBool, 1)), over), kBig
	case 10:
		return seq("max(@)@", arg(kNum), over), kNum
	}
	return seq("sum(@)@", arg(kInt), over), kBig
}

func (g *gen) rowsFrame() string {
	from, to := g.frameBounds(fmt.Sprint)
	return " ROWS BETWEEN " + from + " AND " + to + g.exclusion()
}

// frameBounds makes bounds in the right order from offsets as the frame's mode
// wants them.
func (g *gen) frameBounds(offset func(...any) string) (from, to string) {
	switch g.r.IntN(5) {
	case 0:
		return "UNBOUNDED PRECEDING", pick(g, []string{"CURRENT ROW", offset(1) + " PRECEDING", offset(1) + " FOLLOWING"})
	case 1:
		return offset(1+g.r.IntN(2)) + " PRECEDING", pick(g, []string{"CURRENT ROW", offset(1) + " FOLLOWING", "UNBOUNDED FOLLOWING"})
	case 2:
		return "CURRENT ROW", pick(g, []string{"CURRENT ROW", offset(2) + " FOLLOWING", "UNBOUNDED FOLLOWING"})
	case 3:
		return offset(1) + " FOLLOWING", pick(g, []string{offset(2) + " FOLLOWING", "UNBOUNDED FOLLOWING"})
	}
	return offset(2) + " PRECEDING", offset(1) + " PRECEDING"
}

func (g *gen) exclusion() string {
	return pick(g, []string{"", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES", " EXCLUDE NO OTHERS"})
}

// peerWindow is a function that treats rows of equal order alike.
func (g *gen) peerWindow(s *scope) (*node, kind) {
	part := g.partition(s)
	key := func(k kind) *node { return seq("ORDER BY @"+g.direction(), g.expr(s, k, 0)) }
	over := seq(" OVER (@@)", part, key(pick(g, []kind{kInt, kText, kDate, kNum})))
	frame := over
	switch g.r.IntN(5) {
	case 0:
		frame = seq(" OVER (@)", part)
	case 1:
		from, to := g.frameBounds(fmt.Sprint)
		frame = seq(" OVER (@@ RANGE BETWEEN "+from+" AND "+to+g.exclusion()+")", part, key(pick(g, []kind{kInt, kBig, kNum})))
	case 2:
		from, to := g.frameBounds(func(n ...any) string { return fmt.Sprintf("interval '%d days'", n...) })
		frame = seq(" OVER (@@ RANGE BETWEEN "+from+" AND "+to+g.exclusion()+")", part, key(pick(g, []kind{kDate, kTime})))
	case 3:
		from, to := g.frameBounds(fmt.Sprint)
		frame = seq(" OVER (@@ GROUPS BETWEEN "+from+" AND "+to+g.exclusion()+")", part, key(pick(g, []kind{kInt, kText})))
	}
	arg := func(k kind) *node { return g.expr(s, k, 1) }
	switch g.r.IntN(11) {
	case 0:
		return seq("rank()@", over), kBig
	case 1:
		return seq("dense_rank()@", over), kBig
	case 2:
		return seq("percent_rank()@", over), kFloat
	case 3:
		return seq("cume_dist()@", over), kFloat
	case 4:
		return seq("max(@)@", arg(kNum), frame), kNum
	case 5:
		return seq("count(*)@@", opt(" FILTER (WHERE @)", g.expr(s, kBool, 1)), frame), kBig
	case 6:
		return seq("min(@)@", arg(kText), frame), kText
	case 7:
		return seq("avg(@)@", arg(kInt), frame), kNum
	case 8:
		return seq("bool_or(@)@", arg(kBool), frame), kBool
	}
	return seq("sum(@)@", arg(kInt), frame), kBig
}

// totalOrder sorts by every column in scope, so that only equal rows tie.
func (g *gen) totalOrder(s *scope) *node {
	var keys []*node
	for _, i := range g.r.Perm(len(s.cols)) {
		keys = append(keys, seq("@"+g.direction(), s.cols[i].use()))
	}
	return list("ORDER BY ", ", ", len(keys), keys)
}

func (g *gen) direction() string {
	return pick(g, []string{"", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"})
}
