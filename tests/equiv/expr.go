package equiv

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// gen makes random SQL. The same seed makes the same SQL.
type gen struct {
	r         *rand.Rand
	next      int // numbers aliases
	relations []relation
	budget    int // subqueries that the current query may still get
}

// relation is a table or view that queries can read.
type relation struct {
	name string
	cols []column
}

// column is a value in scope: a name, or a node that every use shares.
type column struct {
	name    string
	kind    kind
	shared  *node
	notNull bool
}

// scope is what expressions may refer to.
type scope struct {
	cols  []column
	inner *scope // not nil: grouped, and aggregates range over inner
	outer *scope // the query around a subquery
}

func (c column) use() *node {
	if c.shared != nil {
		return c.shared
	}
	return typed(c.kind, c.name)
}

func (g *gen) chance(percent int) bool { return g.r.IntN(100) < percent }

func pick[T any](g *gen, from []T) T { return from[g.r.IntN(len(from))] }

func (g *gen) alias(prefix string) string {
	g.next++
	return fmt.Sprintf("%s%d", prefix, g.next)
}

// rule makes an expression from a format and the kinds of its parts.
type rule struct {
	format string
	args   []kind
}

func form(format string, args ...kind) rule { return rule{format, args} }

// rules are the expressions that cannot fail on the values generated here.
var rules = map[kind][]rule{
	kInt: {
		form("extract(day from @)::int", kSpan), form("extract(hour from @)::int", kSpan), form("lower(@)", kRange), form("upper(@)", kRange), form("(@)[1]", kArray), form("cardinality(@)", kArray), form("array_length(@, 1)", kArray), form("array_position(@, @)", kArray, kInt), form("length(@)", kBytes), form("bit_count(@)::int", kBytes), form("position('\\x62'::bytea in @)", kBytes),
		form("masklen(@)", kInet), form("family(@)", kInet), form("length(@)", kBits), form("extract(hour from @)::int", kZoned), form("extract(timezone from @)::int", kZoned), form("position(B'1' in @)", kBits), form("@::bit(8)::int", kBits),
		form("(@ # 5)", kInt), form("(@ | 1)", kInt), form("(~ @)", kInt), form("bit_length(@)", kText), form("extract(isodow from @)::int", kDate), form("extract(week from @)::int", kDate), form("regexp_count(@, 'a')", kText), form("array_position(ARRAY[1, 2, 3], @)", kInt), form("array_length(string_to_array(@, 'b'), 1)", kText), form("gcd(@, 6)", kInt), form("trunc(@ % 1000)::int", kNum), form("(@ % 1000)::int", kNum), form("(@::text)::int", kInt), form("extract(quarter from @)::int", kTime), form("length(format('%L', @))", kText), form("(@ >> 1)", kInt), form("@::smallint::int", kInt), form("extract(doy from @)::int", kDate),
		form("(@ + @)", kInt, kInt), form("(@ - @)", kInt, kInt), form("(@ * 2)", kInt), form("(@ % 3)", kInt), form("(@ / 2)", kInt),
		form("(- @)", kInt), form("abs(@)", kInt), form("length(@)", kText), form("@::int", kBool), form("sign(@::float8)::int", kInt),
		form("(@ - @)", kDate, kDate), form("extract(day from @)::int", kDate), form("extract(dow from @)::int", kTime),
		form("mod(@, 5)", kInt), form("position('b' in @)", kText), form("ascii(@)", kText), form("(@ & 6)", kInt), form("(@ # @)", kInt, kInt),
		form("octet_length(@)", kText), form("strpos(@, @)", kText, kText), form("jsonb_array_length(jsonb_build_array(@, 1))", kInt),
		form("cardinality(ARRAY[@, @])", kInt, kInt), form("(@ ->> 'k')::int", kJSON), form("width_bucket(nullif(@, 'NaN'), 0, 10, 5)", kFloat),
		form("num_nulls(@, @)", kInt, kText), form("(ARRAY[@, @])[2]", kInt, kInt),
	},
	kBig: {
		form("@::bigint", kInt), form("(@ + @)", kBig, kInt), form("(@ - @)", kBig, kBig), form("(@::bigint * @)", kInt, kInt), form("(@ / 3)", kBig),
		form("(@ % 4)", kBig), form("abs(@)", kBig), form("(@ << 1)", kBig), form("(- @)", kBig),
	},
	kNum: {
		form("extract(epoch from @)", kSpan), form("extract(second from @)", kSpan),
		form("(@ ->> 'k')::numeric", kJSON), form("round(@)", kNum), form("power(@, 2)", kNum), form("extract(second from @)", kTime), form("(@ % 100)::numeric(6,3)", kInt), form("mod(@, 2.5)", kNum), form("round(@ / 3, 3)", kNum), form("@::float8::numeric", kFloat), form("min_scale(@)::numeric", kNum), form("trim_scale(@)", kNum),
		form("@::numeric", kInt), form("(@ + @)", kNum, kNum), form("(@ - @)", kNum, kNum), form("(@ * @)", kNum, kNum), form("(@ / 4)", kNum),
		form("round(@, 1)", kNum), form("abs(@)", kNum), form("floor(@)", kNum), form("ceil(@)", kNum), form("trunc(@)", kNum), form("(@ % 1.5)", kNum),
		form("(@ + @)", kNum, kInt), form("sign(@)", kNum), form("extract(year from @)", kDate), form("(@ % 10000)::numeric(10,1)", kNum), form("(@ * 1.50)", kNum),
		form("extract(epoch from @)", kTime), form("(- @)", kNum), form("div(@, 2)", kNum),
	},
	kFloat: {
		form("@::text::float8", kInt), form("ceil(@)", kFloat), form("sign(@)", kFloat), form("extract(epoch from (@ - @))::float8", kTime, kTime), form("power(@, 2)", kInt), form("@::real::float8", kFloat), form("greatest(@, 'NaN'::float8)", kFloat),
		form("@::float8", kInt), form("(@ + @)", kFloat, kFloat), form("(@ - @)", kFloat, kFloat), form("(@ * 0.5)", kFloat), form("(@ / 4)", kFloat),
		form("abs(@)", kFloat), form("floor(@)", kFloat), form("trunc(@)", kFloat), form("(@ + @)", kFloat, kInt), form("@::float8", kNum),
		form("date_part('month', @)", kDate), form("sqrt(abs(@))", kInt), form("round(@)", kFloat),
	},
	kText: {
		form("@::text", kSpan), form("@::text", kRange), form("array_to_string(@, ',', '?')", kArray), form("@::text", kArray), form("encode(@, 'hex')", kBytes), form("encode(@, 'base64')", kBytes), form("@::text", kUUID), form("to_char(@, 'DD HH24:MI')", kSpan), form("int4multirange(coalesce(@, 'empty'), coalesce(@, 'empty'))::text", kRange, kRange), form("to_json(@)::text", kArray),
		form("(@ #>> '{z,0}')", kJSON), form("host(@)", kInet), form("@::text", kInet), form("@::text", kZoned), form("@::text", kMoney), form("@::time::text", kZoned), form("@::text", kBits), form("(@ - @)::text", kTime, kTime), form("(@ - @)::text", kDate, kTime), form("age(@, @)::text", kTime, kTime), form("to_char(@, 'FM990.00')", kNum), form("to_char(@, 'Dy DD Mon YYYY')", kDate), form("to_hex(@)", kInt), form("substring(@ from '[ab]')", kText), form("encode(convert_to(@, 'UTF8'), 'hex')", kText), form("ARRAY[@, @]::text", kInt, kInt), form("ROW(@, @)::text", kInt, kText), form("string_to_array(@, 'b')::text", kText), form("jsonb_build_object('a', @, 'b', @)::text", kNum, kDate), form("@::time::text", kTime), form("justify_hours(@ - @)::text", kTime, kTime), form("@::char(3)::text", kText), form("@::text", kNum), form("nullif(@, '')", kText), form("quote_ident(@)", kText), form("left(@, @ % 3)", kText, kInt), form("(ARRAY[@, @] || @)::text", kInt, kInt, kInt), form("to_json(@)::text", kText), form("jsonb_pretty(@)", kJSON),
		form("(@ || @)", kText, kText), form("upper(@)", kText), form("lower(@)", kText), form("substr(@, 1, 2)", kText), form("replace(@, 'a', 'zz')", kText),
		form("trim(@)", kText), form("@::text", kInt), form("@::text", kBool), form("@::text", kDate), form("left(@, 1)", kText), form("right(@, -1)", kText),
		form("lpad(@, 4, '*')", kText), form("rpad(@, 3, '-')", kText), form("reverse(@)", kText), form("split_part(@, 'b', 1)", kText),
		form("concat(@, @)", kText, kInt), form("concat_ws('-', @, @)", kText, kText), form("to_char(@, 'YYYY-MM')", kDate),
		form("md5(@)", kText), form("initcap(@)", kText), form("repeat(@, 2)", kText), form("(@ ->> 'k')", kJSON), form("(@ || @)", kText, kInt),
		form("@::text", kTime), form("@::text", kFloat), form("to_char(@, 'HH24:MI')", kTime), form("translate(@, 'ab', 'xy')", kText),
		form("btrim(@, 'a')", kText), form("chr(65 + abs(@ % 20))", kInt), form("substring(@ from 2 for 1)", kText), form("overlay(@ placing 'q' from 1 for 1)", kText),
		form("format('%s/%s', @, @)", kText, kInt), form("@::varchar(2)", kText), form("regexp_replace(@, '[ab]+', '.')", kText), form("ltrim(@, 'b')", kText),
		form("jsonb_typeof(@)", kJSON), form("@::text", kJSON), form("quote_literal(@)", kText), form("array_to_string(ARRAY[@, @], ',', '?')", kText, kText),
	},
	kBool: {
		form("(@ && @)", kRange, kRange), form("(@ ¤> @)", kRange, kRange), form("(@ ¤> @)", kRange, kInt), form("(@ << @)", kRange, kRange), form("(@ -|- @)", kRange, kRange), form("(@ &< @)", kRange, kRange), form("isempty(@)", kRange), form("lower_inf(@)", kRange), form("(@ ¤> @)", kArray, kArray), form("(@ && @)", kArray, kArray), form("(@ <¤ @)", kArray, kArray), form("(@ = ANY (@))", kInt, kArray), form("(@ > ALL (@))", kInt, kArray), form("(@ IN (@, @))", kSpan, kSpan, kSpan), form("(@ LIKE '%b%'::bytea)", kBytes), form("(@ + @ > @)", kTime, kSpan, kTime),
		form("(@ >= ALL (ARRAY[@, @]))", kInt, kInt, kInt), form("(@ IN (@, @))", kText, kText, kText), form("(@ << @)", kInet, kInet), form("(@ && @)", kInet, kInet), form("(@ <= @)", kBits, kBits), form("(@ >= @)", kZoned, kZoned), form("(@ < @)", kMoney, kMoney), form("(date '2024-03-01' + @ < @)", kZoned, kTime), form("((@, @) IN ((@, @), (3, 'a')))", kInt, kText, kInt, kText), form("((@, @) >= (@, @))", kDate, kInt, kDate, kInt), form("(@ !~ '^a')", kText), form("(@ ~* 'A')", kText), form("(ARRAY[@, 2] && ARRAY[@])", kInt, kInt), form("(ARRAY[@] <= ARRAY[@])", kInt, kInt), form("((@, @) OVERLAPS (@, @))", kDate, kDate, kDate, kDate), form("(@ BETWEEN @ AND @)", kTime, kTime, kTime), form("(@ BETWEEN @ AND @)", kText, kText, kText), form("(ROW(@, @) IS NOT NULL)", kInt, kText), form("(@ LIKE 'x!_%' ESCAPE '!')", kText), form("@::bool", kInt), form("(@ > @)", kJSON, kJSON), form("(@ - @ > interval '1 day')", kTime, kTime), form("(@ <> '')", kText),
		form("(@ AND @)", kBool, kBool), form("(@ OR @)", kBool, kBool), form("(NOT @)", kBool), form("(@ IS TRUE)", kBool), form("(@ IS NOT FALSE)", kBool),
		form("(@ IS UNKNOWN)", kBool), form("(@ LIKE 'a%')", kText), form("(@ LIKE @)", kText, kText), form("(@ NOT LIKE '%b_')", kText), form("(@ ILIKE 'A%')", kText),
		form("(@ BETWEEN @ AND @)", kInt, kInt, kInt), form("(@ NOT BETWEEN @ AND @)", kNum, kNum, kNum), form("(@ BETWEEN SYMMETRIC @ AND @)", kInt, kInt, kInt),
		form("(@ ~ 'a|b')", kText), form("starts_with(@, 'a')", kText), form("((@, @) < (@, @))", kInt, kText, kInt, kText), form("((@, @) = (@, @))", kInt, kDate, kInt, kDate),
		form("(@ = ANY (ARRAY[@, 2, 3]))", kInt, kInt), form("(@ <> ALL (ARRAY[@, 1]))", kInt, kInt), form("(@ ? 'k')", kJSON), form("(@ = @)", kJSON, kJSON),
		form("((@, @) IS DISTINCT FROM (@, @))", kInt, kText, kInt, kText), form("(@ SIMILAR TO '(a|b)%')", kText), form("(@ > @)", kNum, kInt), form("(@ <= @)", kBig, kInt),
		form("(@ ¤> '{\"k\": 1}')", kJSON), form("(@ ?| ARRAY['k', 'z'])", kJSON), form("(@ <¤ jsonb_build_array(@, 'a'))", kJSON, kInt), form("(ARRAY[@, 3] ¤> ARRAY[@])", kInt, kInt),
		form("(@ < @)", kDate, kTime), form("(@ = @)", kFloat, kInt), form("(@::text = @)", kInt, kText),
	},
	kDate: {
		form("@::date", kTime), form("(@ + 7)", kDate), form("to_date(to_char(@, 'YYYYMMDD'), 'YYYYMMDD')", kDate), form("(date '2024-01-01' + @ % 9)", kInt), form("@::text::date", kDate),
		form("(@ + @ % 30)", kDate, kInt), form("(@ - 1)", kDate), form("@::date", kTime), form("date_trunc('month', @)::date", kDate), form("(@ + interval '1 month')::date", kDate),
		form("make_date(2000 + abs(@ % 50), 2, 3)", kInt),
	},
	kTime: {
		form("(@ + @)", kTime, kSpan), form("(@ - @)", kTime, kSpan), form("date_bin('12 hours', @ + @, '2001-01-01')", kTime, kSpan),
		form("date_trunc('week', @)", kTime), form("(@ + make_interval(0, 0, 0, @ % 9))", kTime, kInt), form("date_trunc('year', @)", kTime), form("(@ - (@ - @))", kTime, kTime, kTime), form("@::timestamptz::timestamp", kTime), form("to_timestamp(@ % 1000)::timestamp", kInt), form("(@ AT TIME ZONE 'Europe/Paris' AT TIME ZONE 'UTC')", kTime),
		form("(@ + interval '36 hours')", kTime), form("date_trunc('hour', @)", kTime), form("@::timestamp", kDate), form("(@ - interval '1 month')", kTime),
		form("(@ + @ % 20 * interval '1 day')", kTime, kInt), form("(@ + time '10:30')", kDate), form("date_bin('15 minutes', @, '2000-01-01')", kTime),
	},
	kInet: {
		form("network(@)::inet", kInet), form("broadcast(@)", kInet), form("netmask(@)", kInet), form("(~ @)", kInet), form("set_masklen(@, 16)", kInet),
		form("('10.0.5.0/16'::inet + @ % 50)", kInt), form("set_masklen(@, 8 + abs(@ % 9))", kInet, kInt), form("('192.168.0.' || abs(@ % 5))::inet", kInt),
	},
	kMoney: {
		form("(@ + @)", kMoney, kMoney), form("(@ - @)", kMoney, kMoney), form("(@ * (@ % 5))", kMoney, kInt), form("(@ / 3)", kMoney), form("(@ * 0.5::float8)", kMoney),
		form("@::money", kNum), form("(@ % 1000)::money", kInt),
	},
	kZoned: {
		form("(@ + @)", kZoned, kSpan),
		form("(@ + interval '7 hours')", kZoned), form("(@ - @ % 30 * interval '1 hour')", kZoned, kInt), form("timezone(interval '-3 hours', @)", kZoned),
		form("(@ AT TIME ZONE 'Asia/Tokyo')", kZoned), form("@::timestamptz::timetz", kTime), form("@::timetz(0)", kZoned), form("@::time::timetz", kTime),
	},
	kBits: {
		form("(@ || @)::varbit(16)", kBits, kBits), form("(@ << 1)::varbit", kBits), form("(~ @)::varbit", kBits), form("(@ % 100)::bit(8)::varbit", kInt),
		form("substring(@ from 2 for 3)::varbit", kBits), form("@::varbit(3)", kBits), form("@::bit(5)::varbit", kBits), form("overlay(@ placing B'11' from 1)::varbit(16)", kBits),
	},
	kSpan: {
		form("(@ - @)", kTime, kTime), form("(@ + @)", kSpan, kSpan), form("(- @)", kSpan), form("(@ * (@ % 5))", kSpan, kInt), form("make_interval(days => @ % 50)", kInt),
		form("date_trunc('hour', @)", kSpan), form("(@ - @)", kSpan, kSpan), form("(@ % 9 * interval '05:00:30')", kInt), form("@::time::interval", kTime),
	},
	kRange: {
		form("int4range(least(@ % 9, @), greatest(@, 8))", kInt, kInt, kInt), form("(@ * @)", kRange, kRange), form("range_merge(@, @)", kRange, kRange), form("int4range(@ % 9, NULL)", kInt),
		form("int4range(NULL, @ % 9, '(]')", kInt), form("range_merge(int4multirange(coalesce(@, 'empty'), coalesce(@, 'empty')) - int4multirange(@))", kRange, kRange, kRange),
	},
	kArray: {
		form("ARRAY[@, @]", kInt, kInt), form("(@ || @)", kArray, kInt), form("(@ || @)", kArray, kArray), form("array_remove(@, @)", kArray, kInt), form("array_replace(@, @, 9)", kArray, kInt), form("(@)[2:3]", kArray),
		form("array_prepend(@, @)", kInt, kArray), form("array_positions(@, @)", kArray, kInt), form("trim_array(ARRAY[@, 3], 1)", kInt), form("string_to_array(regexp_replace(@, '[^0-9]', '', 'g'), NULL)::int[]", kText),
	},
	kBytes: {
		form("(@ || @)", kBytes, kBytes), form("convert_to(@, 'UTF8')", kText), form("substring(@ from 2 for 2)", kBytes), form("overlay(@ placing '\\x00'::bytea from 1)", kBytes), form("sha256(@)", kBytes),
		form("decode(md5(@), 'hex')", kText), form("btrim(@, '\\x61'::bytea)", kBytes), form("int4send(@)", kInt),
	},
	kUUID: {form("md5(@)::uuid", kText), form("md5(@)::uuid", kBytes), form("overlay(@::text placing 'ab' from 1)::uuid", kUUID)},
	kJSON: {
		form("to_jsonb(@)", kArray), form("to_jsonb(@)", kSpan),
		form("to_jsonb(@)", kNum), form("to_jsonb(@)", kDate), form("to_jsonb(@)", kTime), form("jsonb_set(jsonb_build_object('k', @), '{k}', to_jsonb(@), true)", kText, kInt), form("(jsonb_build_object('k', @, 'l', 1) - 'k')", kText), form("(@ #> '{z}')", kJSON), form("to_jsonb(ARRAY[@, @])", kInt, kInt), form("jsonb_build_object('q', @, 'r', @)", kText, kFloat),
		form("jsonb_build_object('k', @)", kInt), form("to_jsonb(@)", kText), form("(@ -> 'k')", kJSON), form("jsonb_build_array(@, @)", kInt, kText), form("to_jsonb(@)", kInt),
		form("(@ || jsonb_build_object('x', @))", kJSON, kBool), form("jsonb_strip_nulls(@)", kJSON),
		form("(jsonb_build_object('k', @, 'z', jsonb_build_array(@, 1)) #- '{z,0}')", kInt, kText), form("(@ -> 'z' -> -1)", kJSON), form("jsonb_insert(jsonb_build_array(@), '{0}', to_jsonb(@))", kInt, kText), form("(jsonb_build_array(@, 5) - 1)", kText),
	},
}

var scalarKinds = []kind{kInt, kInt, kInt, kText, kText, kNum, kBig, kDate, kTime, kFloat, kBool, kJSON, kInet, kBits, kZoned, kMoney, kSpan, kRange, kArray, kBytes, kUUID}

var comparable = []kind{kInt, kInt, kText, kNum, kBig, kDate, kTime, kFloat, kBool, kInet, kBits, kZoned, kMoney, kSpan, kRange, kArray, kBytes, kUUID}

// expr makes an expression of kind k, at most depth operators deep.
func (g *gen) expr(s *scope, k kind, depth int) *node {
	if depth <= 0 || g.chance(15) {
		return g.leaf(s, k)
	}
	if k == kBool && g.chance(55) {
		return g.comparison(s, depth)
	}
	if g.chance(25) {
		return g.generic(s, k, depth)
	}
	return g.apply(s, k, pick(g, rules[k]), depth)
}

func (g *gen) apply(s *scope, k kind, rule rule, depth int) *node {
	n := typed(k, rule.format)
	for _, a := range rule.args {
		n.parts = append(n.parts, g.expr(s, a, depth-1))
	}
	return n
}

// generic makes the expressions that exist for every type.
func (g *gen) generic(s *scope, k kind, depth int) *node {
	a := func() *node { return g.expr(s, k, depth-1) }
	switch g.r.IntN(7) {
	case 0:
		return typed(k, "coalesce(@, @)", a(), a())
	case 1:
		if k != kJSON {
			return typed(k, "nullif(@, @)", a(), a())
		}
		return a()
	case 2:
		return typed(k, "CASE WHEN @ THEN @ ELSE @ END", g.expr(s, kBool, depth-1), a(), a())
	case 3:
		return typed(k, "CASE @ WHEN @ THEN @ WHEN 2 THEN @ END", g.expr(s, kInt, depth-1), g.leaf(s, kInt), a(), a())
	case 4:
		if k != kJSON {
			return typed(k, pick(g, []string{"greatest(@, @)", "least(@, @)"}), a(), a())
		}
		return a()
	case 5:
		if g.budget > 0 && s.inner == nil {
			return g.scalarSubquery(s, k)
		}
		return a()
	}
	return typed(k, "coalesce(@, @, @)", a(), a(), g.literal(k))
}

func (g *gen) comparison(s *scope, depth int) *node {
	k := g.kindNear(s, comparable)
	a := func() *node { return g.expr(s, k, depth-1) }
	switch c := g.r.IntN(20); {
	case c < 9:
		return typed(kBool, "(@ "+pick(g, []string{"=", "<>", "<", "<=", ">", ">=", "="})+" @)", a(), a())
	case c < 12:
		return typed(kBool, "(@ IS "+pick(g, []string{"", "NOT "})+"DISTINCT FROM @)", a(), a())
	case c < 14:
		k = g.kindNear(s, scalarKinds)
		return typed(kBool, "(@ IS "+pick(g, []string{"", "NOT "})+"NULL)", a())
	case c < 16:
		items := []*node{g.literal(k), g.literal(k)}
		if g.chance(40) {
			items = append(items, g.expr(s, k, depth-1))
		}
		return typed(kBool, "(@ "+pick(g, []string{"IN", "NOT IN"})+" (@))", a(), list("", ", ", 1, items))
	}
	if g.budget > 0 && s.inner == nil {
		return g.predicateSubquery(s, k, depth)
	}
	return typed(kBool, "(@ = @)", a(), a())
}

// kindNear picks a kind, most often one that a column in scope has.
func (g *gen) kindNear(s *scope, among []kind) kind {
	cols := s.cols
	if s.inner != nil && g.chance(50) {
		cols = s.inner.cols
	}
	if len(cols) > 0 && g.chance(85) {
		if k := pick(g, cols).kind; slices.Contains(among, k) {
			return k
		}
	}
	return pick(g, among)
}

// leaf is a column, an aggregate, or a literal.
func (g *gen) leaf(s *scope, k kind) *node {
	if s.inner != nil && g.budget > 0 && len(s.inner.cols) > 0 && k != kOther && g.chance(4) {
		return g.overAggregates(s, k)
	}
	if s.inner != nil && g.chance(60) {
		if n := g.aggregate(s.inner, k); n != nil {
			return n
		}
	}
	for o := s.outer; o != nil && g.chance(25); o = o.outer {
		if c := columnsOf(o.cols, k); len(c) > 0 && !g.chance(30) {
			return pick(g, c).use()
		}
	}
	if c := columnsOf(s.cols, k); len(c) > 0 && g.chance(85) {
		return pick(g, c).use()
	}
	return g.literal(k)
}

func columnsOf(cols []column, k kind) []column {
	var out []column
	for _, c := range cols {
		if c.kind == k {
			out = append(out, c)
		}
	}
	return out
}

// literal is a constant that carries its type.
func (g *gen) literal(k kind) *node {
	if g.chance(6) {
		return typed(k, "NULL::"+strings.TrimSuffix(sqlTypes[k], "(8,2)"))
	}
	switch k {
	case kInt, kNum, kBool: // a bare constant would be a position in ORDER BY and GROUP BY
		return typed(k, g.constant(k)+"::"+strings.TrimSuffix(sqlTypes[k], "(8,2)"))
	}
	return typed(k, g.constant(k))
}

var words = []string{"", "a", "b", "ab", "abc", "B", "x_y", "a%", "日本", " a"}

// constant is a value that is not NULL. Domains are small, so that values meet.
func (g *gen) constant(k kind) string {
	switch k {
	case kInt:
		return fmt.Sprint(g.r.IntN(7))
	case kBig:
		return fmt.Sprintf("%d::bigint", pick(g, []int64{0, 1, 2, 3, 5000000000, 40}))
	case kNum:
		return pick(g, []string{"0.00", "1.50", "2.00", "3.25", "0.10"})
	case kFloat:
		return pick(g, []string{"0", "0.5", "1.25", "2", "1024"}) + "::float8"
	case kText:
		return "'" + pick(g, words) + "'::text"
	case kBool:
		return pick(g, []string{"true", "false"})
	case kDate:
		return pick(g, []string{"date '2024-01-01'", "date '2024-02-29'", "date '2023-12-31'"})
	case kTime:
		return pick(g, []string{"timestamp '2024-01-01 00:00:00'", "timestamp '2024-02-29 12:30:00'", "timestamp '2023-12-31 23:59:59.5'"})
	case kInet:
		return pick(g, []string{"inet '10.0.0.1'", "inet '10.0.0.1/24'", "inet '10.1.0.0/16'", "inet '::1'", "inet '192.168.0.3'"})
	case kMoney:
		return pick(g, []string{"money '1.50'", "money '-0.01'", "money '0'", "money '1,234.56'"})
	case kZoned:
		return pick(g, []string{"timetz '10:00+02'", "timetz '08:00+00'", "timetz '23:59:59.5-08'", "timetz '00:00+05:30'"})
	case kBits:
		return pick(g, []string{"B'1'::varbit", "B'10'::varbit", "B'0101'::varbit", "B''::varbit", "B'100000001'::varbit"})
	case kSpan:
		return pick(g, []string{"interval '2 days'", "interval '05:30:00'", "interval '-01:15:00.5'", "interval '1 year'", "interval '0'"})
	case kRange:
		return pick(g, []string{"int4range '[1,4)'", "int4range '[2,7)'", "int4range 'empty'", "int4range '(,3)'", "int4range '[5,)'", "int4range '(,)'"})
	case kArray:
		return pick(g, []string{"ARRAY[1, 2]", "'{}'::int[]", "ARRAY[NULL, 3]", "ARRAY[2]", "'{3,1,2,1}'::int[]"})
	case kBytes:
		return pick(g, []string{`'\x00ff'::bytea`, `''::bytea`, `'ab'::bytea`, `'b'::bytea`})
	case kUUID:
		return pick(g, []string{"uuid '00000000-0000-0000-0000-000000000001'", "uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "uuid 'ffffffff-ffff-ffff-ffff-ffffffffffff'"})
	case kJSON:
		return pick(g, []string{`'{"k": 1}'::jsonb`, `'{"k": 2, "z": [1, "a"]}'::jsonb`, `'{}'::jsonb`, `'{"k": null}'::jsonb`})
	}
	panic(fmt.Sprintf("no constant of kind %d", k))
}
