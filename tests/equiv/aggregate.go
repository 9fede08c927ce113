package equiv

import (
	"slices"
	"strings"
)

// aggregates by the kind of their result. The mark ! stands for DISTINCT.
var aggregates = map[kind][]rule{
	kBig:   {form("count(*)"), form("count(*)"), form("count(!@)", kInt), form("count(!@)", kText), form("sum(!@)", kInt), form("sum(@)", kInt), form("count(!@)", kNum), form("rank(2) WITHIN GROUP (ORDER BY @)", kInt), form("dense_rank('b'::text) WITHIN GROUP (ORDER BY @ DESC)", kText)},
	kNum:   {form("sum(!@)", kBig), form("sum(!@)", kNum), form("avg(!@)", kInt), form("avg(@)", kNum), form("min(@)", kNum), form("max(@)", kNum), form("stddev(@)", kInt), form("var_pop(@)", kNum), form("variance(@)", kBig)},
	kInt:   {form("min(@)", kInt), form("max(@)", kInt), form("max(!@)", kInt), form("bit_and(@)", kInt), form("bit_or(@)", kInt), form("bit_xor(@)", kInt), form("mode() WITHIN GROUP (ORDER BY @)", kInt), form("(array_agg(@ ORDER BY = DESC NULLS LAST))[1]", kInt), form("percentile_disc(0.5) WITHIN GROUP (ORDER BY @)", kInt)},
	kFloat: {form("sum(@)", kFloat), form("sum(!@)", kFloat), form("min(@)", kFloat), form("max(@)", kFloat), form("avg(@)", kFloat), form("percentile_cont(0.25) WITHIN GROUP (ORDER BY @)", kFloat)},
	kText:  {form("mode() WITHIN GROUP (ORDER BY @ DESC)", kText), form("percentile_disc(0.3) WITHIN GROUP (ORDER BY @)", kText), form("min(@)", kText), form("max(@)", kText), form("string_agg(@, ',' ORDER BY =)", kText), form("string_agg(!@, '' ORDER BY =)", kText), form("string_agg(@, '-' ORDER BY = DESC)", kText)},
	kBool:  {form("bool_and(@)", kBool), form("bool_or(@)", kBool), form("every(@)", kBool)},
	kDate:  {form("min(@)", kDate), form("max(@)", kDate), form("percentile_disc(0.9) WITHIN GROUP (ORDER BY @ DESC)", kDate)},
	kTime:  {form("min(@)", kTime), form("max(@)", kTime)},
	kInet:  {form("min(@)", kInet), form("max(@)", kInet), form("mode() WITHIN GROUP (ORDER BY @)", kInet)},
	kMoney: {form("sum(@)", kMoney), form("min(@)", kMoney), form("max(@)", kMoney)},
	kZoned: {form("min(@)", kZoned), form("max(@)", kZoned)},
	kBits:  {form("(bit_or(@::bit(4))::varbit)", kBits), form("(bit_and(@::bit(4))::varbit)", kBits), form("(bit_xor(!@::bit(4))::varbit)", kBits)},
	kSpan:  {form("sum(@)", kSpan), form("avg(@)", kSpan), form("min(@)", kSpan), form("max(!@)", kSpan)},
	kRange: {form("range_intersect_agg(@)", kRange), form("(range_merge(range_agg(@)))", kRange), form("mode() WITHIN GROUP (ORDER BY @)", kRange)},
	kArray: {form("array_agg(@ ORDER BY =)", kInt), form("min(@)", kArray), form("max(@)", kArray), form("(array_agg(!@ ORDER BY = DESC))", kInt)},
	kBytes: {form("string_agg(@, '\\x2c'::bytea ORDER BY =)", kBytes), form("mode() WITHIN GROUP (ORDER BY @)", kBytes)},
	kUUID:  {form("percentile_disc(0.5) WITHIN GROUP (ORDER BY @)", kUUID)},
	kJSON:  {form("jsonb_agg(@ ORDER BY =)", kInt), form("to_jsonb(array_agg(@ ORDER BY = DESC))", kText), form("jsonb_object_agg(coalesce(@, 'n'), 1)", kText)},
	kOther: {form("array_agg(@ ORDER BY =)", kInt), form("array_agg(!@ ORDER BY = DESC NULLS LAST)", kText), form("array_agg(@ ORDER BY =)", kDate), form("range_agg(@)", kRange), form("array_agg(@ ORDER BY =)", kSpan), form("array_agg(!@ ORDER BY =)", kRange), form("percentile_disc(ARRAY[0.1, 0.5, 1]) WITHIN GROUP (ORDER BY @)", kInt), form("percentile_cont(ARRAY[0.25, 0.5]) WITHIN GROUP (ORDER BY @)", kFloat)},
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
	if g.chance(25) && !strings.HasPrefix(format, "to_jsonb") && !strings.HasPrefix(format, "(") {
		format += "@"
		n.parts = append(n.parts, opt(" FILTER (WHERE @)", g.expr(s, kBool, 1)))
	}
	n.format = format
	return n
}

// overAggregates is a subquery of a grouped query that compares its rows with an
// aggregate of that query, and shows one.
func (g *gen) overAggregates(s *scope, k kind) *node {
	saved := g.budget
	g.budget = 0
	defer func() { g.budget = saved - 1 }()
	item, cols := g.fromItem(0)
	in := &scope{cols: cols}
	about := pick(g, []kind{kInt, kBig, kNum})
	of := func(k kind) *node {
		if n := g.aggregate(&scope{cols: s.inner.cols}, k); n != nil && slices.ContainsFunc(s.inner.cols, func(c column) bool { return n.mentions(c.name) }) {
			return n
		}
		return nil
	}
	bound := of(about)
	if bound == nil {
		return g.expr(s, k, 0)
	}
	where := list(" WHERE ", " AND ", 0, []*node{seq("(@ "+pick(g, []string{"<", ">=", "=", "<>"})+" @)", g.expr(in, about, 0), bound)})
	if shown := of(k); shown != nil && g.chance(40) {
		return typed(k, "(SELECT @ FROM @@ LIMIT 1)", shown, item, where)
	}
	if agg := g.aggregate(in, k); agg != nil {
		return typed(k, "(SELECT @ FROM @@)", agg, item, where)
	}
	e := g.expr(in, k, 1)
	return typed(k, "(SELECT @ FROM @@ ORDER BY @ LIMIT 1)", e, item, where, e)
}
