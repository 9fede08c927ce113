package equiv

import "strings"

// aggregates by the kind of their result. The mark ! stands for DISTINCT.
var aggregates = map[kind][]rule{
	kBig:   {form("count(*)"), form("count(*)"), form("count(!@)", kInt), form("count(!@)", kText), form("sum(!@)", kInt), form("sum(@)", kInt), form("count(!@)", kNum)},
	kNum:   {form("sum(!@)", kBig), form("sum(!@)", kNum), form("avg(!@)", kInt), form("avg(@)", kNum), form("min(@)", kNum), form("max(@)", kNum), form("stddev(@)", kInt), form("var_pop(@)", kNum), form("variance(@)", kBig)},
	kInt:   {form("min(@)", kInt), form("max(@)", kInt), form("max(!@)", kInt), form("bit_and(@)", kInt), form("bit_or(@)", kInt), form("percentile_disc(0.5) WITHIN GROUP (ORDER BY @)", kInt)},
	kFloat: {form("sum(@)", kFloat), form("sum(!@)", kFloat), form("min(@)", kFloat), form("max(@)", kFloat), form("avg(@)", kFloat), form("percentile_cont(0.25) WITHIN GROUP (ORDER BY @)", kFloat)},
	kText:  {form("min(@)", kText), form("max(@)", kText), form("string_agg(@, ',' ORDER BY =)", kText), form("string_agg(!@, '' ORDER BY =)", kText), form("string_agg(@, '-' ORDER BY = DESC)", kText)},
	kBool:  {form("bool_and(@)", kBool), form("bool_or(@)", kBool), form("every(@)", kBool)},
	kDate:  {form("min(@)", kDate), form("max(@)", kDate)},
	kTime:  {form("min(@)", kTime), form("max(@)", kTime)},
	kJSON:  {form("jsonb_agg(@ ORDER BY =)", kInt), form("to_jsonb(array_agg(@ ORDER BY = DESC))", kText)},
	kOther: {form("array_agg(@ ORDER BY =)", kInt), form("array_agg(!@ ORDER BY = DESC NULLS LAST)", kText), form("array_agg(@ ORDER BY =)", kDate)},
}

// aggregate makes an aggregate call over rows of s, or nil when there is none
// of that kind.
func (g *gen) aggregate(s *scope, k kind) *node {
	if len(aggregates[k]) == 0 {
		return nil
	}
	rule := pick(g, aggregates[k])
	format := rule.format
	n := &node{kind: k}
	for _, a := range rule.args {
		n.parts = append(n.parts, g.expr(s, a, g.r.IntN(2)))
	}
	distinct := ""
	if g.chance(40) {
		distinct = "DISTINCT "
	}
	format = strings.Replace(format, "!", distinct, 1)
	// The order of an ordered aggregate is that of its own argument: the same
	// node, so that both stay one expression.
	if strings.Contains(format, "BY =") {
		format = strings.Replace(format, "BY =", "BY @", 1)
		n.parts = append(n.parts, n.parts[0])
	}
	if g.chance(25) && !strings.HasPrefix(format, "to_jsonb") {
		format += "@"
		n.parts = append(n.parts, opt(" FILTER (WHERE @)", g.expr(s, kBool, 1)))
	}
	n.format = format
	return n
}

// window makes a window function over the rows of s, whose result has one
// right value: frames and ranks that depend on order sort by every column.
func (g *gen) window(s *scope) (*node, kind) {
	part := text("")
	if g.chance(70) {
		part = opt("PARTITION BY @", g.expr(s, pick(g, []kind{kInt, kText, kBool}), g.r.IntN(2)))
	}
	over := seq(" OVER (@ @)", part, g.totalOrder(s))
	peers := seq(" OVER (@ ORDER BY @)", part, g.expr(s, pick(g, []kind{kInt, kText, kDate}), 0))
	arg := func(k kind) *node { return g.expr(s, k, 1) }
	switch g.r.IntN(13) {
	case 0, 1:
		return seq("row_number()@", over), kBig
	case 2:
		return seq("rank()@", peers), kBig
	case 3:
		return seq("dense_rank()@", peers), kBig
	case 4:
		return seq("lag(@)@", arg(kInt), over), kInt
	case 5:
		return seq("lead(@, 2)@", arg(kText), over), kText
	case 6:
		return seq("sum(@)@", arg(kInt), peers), kBig
	case 7:
		return seq("count(*) OVER (@)", part), kBig
	case 8:
		return seq("max(@) OVER (@)", arg(kNum), part), kNum
	case 9:
		return seq("first_value(@)@", arg(kText), over), kText
	case 10:
		frame := " OVER (@ @ ROWS BETWEEN " + pick(g, []string{"1 PRECEDING", "UNBOUNDED PRECEDING", "2 PRECEDING"}) + " AND " + pick(g, []string{"CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING"}) + ")"
		return seq("sum(@)@", arg(kInt), seq(frame, part, g.totalOrder(s))), kBig
	case 11:
		return seq("ntile(3)@", over), kInt
	}
	return seq("avg(@) OVER (@)", arg(kInt), part), kNum
}

// totalOrder sorts by every column in scope, so that only equal rows tie.
func (g *gen) totalOrder(s *scope) *node {
	var keys []*node
	for _, i := range g.r.Perm(len(s.cols)) {
		if s.cols[i].kind != kOther {
			keys = append(keys, seq("@"+g.direction(), s.cols[i].use()))
		}
	}
	return list("ORDER BY ", ", ", 1, keys)
}

func (g *gen) direction() string {
	return pick(g, []string{"", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"})
}
