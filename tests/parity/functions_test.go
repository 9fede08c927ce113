package parity

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/types"
)

// notCompared are functions whose results belong to the server or the moment.
var notCompared = strings.Fields(`now current_timestamp transaction_timestamp statement_timestamp localtimestamp current_date
	localtime clock_timestamp timeofday random setseed gen_random_uuid uuid_generate_v4 version current_database current_catalog
	pg_backend_pid inet_server_addr inet_server_port inet_client_addr inet_client_port pg_postmaster_start_time pg_conf_load_time
	pg_my_temp_schema current_setting set_config pg_sleep pg_sleep_for pg_sleep_until pg_get_keywords
	pg_terminate_backend pg_cancel_backend pg_current_xact_id txid_current pg_export_snapshot
	time_bucket array_subscript array_slice position extract`)

// likeCatalog are prefixes of functions that look into the catalog.
var likeCatalog = []string{"pg_", "_pg_", "has_", "col_description", "obj_description", "shobj_description", "to_reg", "ts_", "format_type", "row_security"}

func compared(f *expr.Func) bool {
	if f.As != nil {
		return false
	}
	for _, n := range notCompared {
		if f.Name == n {
			return false
		}
	}
	for _, p := range likeCatalog {
		if strings.HasPrefix(f.Name, p) && f.Name != "pg_size_bytes" && f.Name != "pg_size_pretty" && f.Name != "pg_typeof" {
			return false
		}
	}
	for _, a := range f.Args {
		switch a {
		case expr.AnyArray, expr.AnyCompatibleArray, expr.AnyElement, expr.AnyNonArray, expr.AnyCompatible, expr.Any:
			continue
		}
		if a.IsPseudo() || a.ID == types.Record || a.ID >= types.Oid && a.ID <= types.Regdictionary {
			return false
		}
	}
	return true
}

// samples are literals by type; those of text are by function too.
var samples = map[types.ID][]string{
	types.JSONPath:    {"$", "$.a", "$[*] ? (@ > 1)", "strict $.a", "$.**.type()", "$.a == 1", "$[0] + 1", "1 / 0"},
	types.Bool:        {"t", "f"},
	types.Inet:        {"1.2.3.4", "10.0.0.1/8", "255.255.255.255/24", "::1", "2001:db8::5/32", "0.0.0.0/0"},
	types.Cidr:        {"10/8", "192.168.1.0/24", "::/0", "1.2.3.4/32", "2001:db8::/32"},
	types.Macaddr:     {"08:00:2b:01:02:03", "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"},
	types.Macaddr8:    {"08:00:2b:01:02:03:04:05", "08:00:2b:ff:fe:01:02:03"},
	types.Bit:         {"", "1", "0", "10110", "0000000011111111", "10101010101010101010101010101010101"},
	types.Varbit:      {"", "1", "10", "111000111"},
	types.Int2:        {"-32768", "-1", "0", "1", "7", "32767"},
	types.Int4:        {"-2147483648", "-3", "-1", "0", "1", "2", "7", "65", "100", "2147483647"},
	types.Int8:        {"-9223372036854775808", "-1", "0", "1", "7", "4294967296", "9223372036854775807"},
	types.Float4:      {"-Infinity", "-1.5", "0", "0.3", "2.5", "1e30", "Infinity", "NaN"},
	types.Float8:      {"-Infinity", "-2.5", "-1", "-0.5", "0", "0.5", "0.3", "1", "30", "45", "90", "1e300", "Infinity", "NaN"},
	types.Numeric:     {"-Infinity", "-12345.678", "-1", "0", "0.30", "1.50", "12", "99999999999999999999", "1e-20", "Infinity", "NaN"},
	types.Date:        {"-infinity", "4713-11-24 BC", "2000-02-29", "2024-12-31", "5874897-12-31", "infinity"},
	types.Timestamp:   {"-infinity", "4713-11-24 00:00:00 BC", "2000-02-29 12:34:56.789", "2024-12-31 23:59:59.999999", "294276-12-31 23:59:59", "infinity"},
	types.Timestamptz: {"-infinity", "4713-11-24 00:00:00+00 BC", "2000-02-29 12:34:56.789+02", "2024-07-01 00:00+00", "infinity"},
	types.Time:        {"00:00", "12:34:56.789", "24:00"},
	types.Money:       {"-92233720368547758.08", "-0.01", "0", "1", "21.10", "100", "1234567.89", "92233720368547758.07"},
	types.LSN:         {"0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF"},
	types.Xid8:        {"0", "12", "18446744073709551615"},
	types.Xid:         {"0", "7", "4294967295"},
	types.Timetz:      {"00:00+00", "12:34:56.789+02", "24:00-08", "23:00-15:59:59", "04:05:06.7+05:30"},
	types.Interval:    {"0", "-1 day", "1 mon 2 days 03:04:05", "178000000 years", "-2147483648 days", "35 days 25:00:00", "0.5 s"},
	types.UUID:        {"00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
	types.JSON:        {"null", "1", `"x"`, "[]", `[1,{"a":null}]`, `{"a":{"b":[2]},"c":"d","a":3}`},
	types.JSONB:       {"null", "1.50", `"x"`, "[]", `[1,{"a":null},"a"]`, `{"a":{"b":[2]},"c":"d"}`},
	types.Bytea:       {`\x`, `\x00ff61`, `\x616263616263`},
	types.Char:        {"", "a"},
	types.Name:        {"", "abc", "UTF8", "latin1", "x y"},
}

var texts = []string{"", "a", "abc", "A.b", "é€x", "1", " x y ", "ab%", `a\_c`, "(", "b+", "foobarbaz", "hour", "xyxyxy", "aBc dEf"}

// textsFor are texts that mean something to a function.
var textsFor = map[string][]string{
	"encode": {"hex", "base64", "escape", "HEX", "x"}, "decode": {"hex", "base64", "escape", "6162", "YWJj", `\101`, "zz", "YW J"},
	"date_part":  {"hour", "century", "epoch", "dow", "isodow", "julian", "week", "bogus", "timezone", "millennium", "microseconds", "quarter", "doy", "isoyear", "decade"},
	"date_trunc": {"hour", "century", "week", "quarter", "millennium", "bogus", "microseconds", "day", "decade", "UTC", "Europe/Berlin"},
	"timezone":   {"UTC", "America/New_York", "Europe/Berlin", "+03", "bogus", "EST5EDT"},
	"to_char":    {"9,999.99", "FM000", "YYYY-MM-DD HH24:MI:SS.US", "Day, DD Month Y,YYY", "IYYY-IW-ID", "RN", "9.99EEEE", "SG99V9", "J Q CC", "HH12:MI:SS AM TZ", "DDth MON"},
	"to_number":  {"9,999.99", "1,234.5", "99", "12", "-12", "S99", "x"}, "to_date": {"2024-02-29", "YYYY-MM-DD", "29/02/24", "DD/MM/YY", "Mar 5 2024", "Mon DD YYYY", "x"},
	"to_timestamp": {"2024-02-29 12:13:14", "YYYY-MM-DD HH24:MI:SS", "1:2", "HH:MI", "20240305", "YYYYMMDD"},
	"normalize":    {"NFC", "nfd", "NFKC", "x", "é", "ﬁ"}, "is_normalized": {"NFC", "NFD", "x", "é"},
	"unistr": {`d\0061t\+000061`, `\u0441`, `\D83D\DE00`, `\bad`, `a\\b`, "x"}, "pg_size_bytes": {"1 kB", "1.5MB", "-3 GB", "10", "x", "1 xB", " 12 tb "},
	"parse_ident": {"a.b", `"A b".c`, "a.", ".a", `"x`, "1a", "a b", `""`}, "format": {"%s", "%I|%s", "%L", "%2$s %1$s", "%-5s|", "%*s|", "%", "%q", "%%", "x"},
	"chr": {"1"}, "jsonb_set_lax": {"use_json_null", "delete_key", "raise_exception", "return_target", "x"}, "make_timestamptz": {"UTC", "Europe/Berlin", "+2", "bogus"},
	"overlaps": {}, "convert_from": {"UTF8", "LATIN1", "bogus"}, "convert_to": {"UTF8", "LATIN1", "bogus"}, "convert": {"UTF8", "LATIN1", "bogus"},
	"regexp_replace": {"foobarbaz", "b(..)", "X\\1Y", "g", "b", "i", "", "[", "ob*", "$"}, "regexp_count": {"xyxyxy", "xy", "i", "", "y*", "("},
	"regexp_instr": {"xyxyxy", "x(y)", "i", "y", "g", "("}, "regexp_substr": {"xyxyxy", "x(y)", "i", "y", "g", "("}, "regexp_match": {"foobar", "(o)(b)", "g", "i", "z"},
	"regexp_matches": {"foobar", "(o)", "g", "i", "o*"}, "regexp_split_to_array": {"a b  c", "\\s*", "\\s+", "", "g", "i"}, "regexp_split_to_table": {"a b  c", "\\s*", "\\s+", "", "i"},
	"substring": {"foobar", "o.b", "o(.)b", "%#\"o_b#\"%", "#", `\`}, "lpad": {"abc", "xy", ""}, "rpad": {"abc", "xy", ""},
}

type generator struct {
	r *rand.Rand
}

func (g *generator) pick(list []string) string { return list[g.r.IntN(len(list))] }

func (g *generator) literal(fn string, t types.T) string {
	if g.r.IntN(9) == 0 {
		return "NULL::" + t.String()
	}
	v := ""
	if fn == "generate_series" { // nothing endless
		list := []string{"-3", "-1", "0", "1", "2", "5", "9"}
		switch t.ID {
		case types.Timestamp, types.Timestamptz:
			list = []string{"2024-01-01", "2024-03-31 12:00", "2024-12-31"}
		case types.Interval:
			list = []string{"1 day", "-1 mon", "40 days 01:00", "0"}
		}
		return "'" + g.pick(list) + "'::" + t.String()
	}
	switch t.ID {
	case types.Array:
		n := g.r.IntN(4)
		parts := make([]string, n)
		for i := range parts {
			parts[i] = g.element(t.ElemType())
		}
		v = "{" + strings.Join(parts, ",") + "}"
	case types.Text, types.Varchar, types.Bpchar, types.Unknown:
		list := texts
		if own := textsFor[fn]; len(own) > 0 && g.r.IntN(10) > 0 {
			list = own
		}
		v = g.pick(list)
	default:
		if s := samples[t.ID]; s != nil {
			v = g.pick(s)
		} else {
			v = "x"
		}
	}
	return "'" + strings.ReplaceAll(v, "'", "''") + "'::" + t.String()
}

func (g *generator) element(t types.T) string {
	if g.r.IntN(6) == 0 {
		return "NULL"
	}
	switch t.ID {
	case types.Text:
		return g.pick([]string{"a", "b", "0", "c", `"x y"`})
	case types.JSONB, types.JSON:
		return "1"
	}
	if s := samples[t.ID]; s != nil {
		return `"` + strings.ReplaceAll(g.pick(s), `"`, `\"`) + `"`
	}
	return "1"
}

// call writes a call of f, as an operator or as a function.
func (g *generator) call(f *expr.Func, op bool) string {
	elem := []types.T{types.TInt4, types.TText, types.TNumeric}[g.r.IntN(3)]
	n := len(f.Args) - g.r.IntN(f.Optional+1)
	params := append([]types.T(nil), f.Args[:n]...)
	if f.Variadic {
		for range g.r.IntN(3) {
			params = append(params, f.Args[len(f.Args)-1])
		}
	}
	args := make([]string, len(params))
	for i, p := range params {
		switch p {
		case expr.AnyArray, expr.AnyCompatibleArray:
			p = types.ArrayOf(elem.ID)
		case expr.AnyElement, expr.AnyNonArray, expr.AnyCompatible:
			p = elem
		case expr.Any:
			p = []types.T{types.TInt4, types.TText, types.TBool, types.TTimestamp}[g.r.IntN(4)]
		}
		args[i] = g.literal(f.Name, p)
	}
	switch {
	case op && len(args) == 1:
		return "SELECT " + f.Name + " " + args[0]
	case op:
		return "SELECT " + args[0] + " " + f.Name + " " + args[1]
	case f.Set:
		return "SELECT * FROM " + f.Name + "(" + strings.Join(args, ", ") + ") LIMIT 20"
	}
	return "SELECT " + f.Name + "(" + strings.Join(args, ", ") + ")"
}

func envInt(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// TestFunctions calls every function and operator on both servers.
func TestFunctions(t *testing.T) {
	p := newPair(t)
	g := &generator{r: rand.New(rand.NewPCG(uint64(envInt("PARITY_SEED", 1)), 7))}
	rounds, only := envInt("PARITY_ROUNDS", 4), os.Getenv("PARITY_ONLY")
	type entry struct {
		f  *expr.Func
		op bool
	}
	var all []entry
	expr.VisitFuncs(func(f *expr.Func) { all = append(all, entry{f, false}) })
	expr.VisitOps(func(f *expr.Func) { all = append(all, entry{f, true}) })
	sort.SliceStable(all, func(i, j int) bool {
		return fmt.Sprint(all[i].f.Name, all[i].f.Args) < fmt.Sprint(all[j].f.Name, all[j].f.Args)
	})
	asked, differ := 0, 0
	for _, e := range all {
		if !compared(e.f) || only != "" && !strings.Contains(e.f.Name, only) {
			continue
		}
		for range rounds {
			sql := g.call(e.f, e.op)
			pg, sdb := p.both(sql)
			asked++
			if a, b := pg.text(false), sdb.text(false); a != b && !explained(sql, pg, sdb) {
				differ++
				t.Errorf("%s\nPostgreSQL %s\nStreamDB   %s", sql, a, b)
			}
		}
	}
	t.Logf("%d statements, %d differ", asked, differ)
}

// explained tells the differences that are meant.
func explained(sql string, pg, sdb answer) bool {
	switch {
	case sdb.err != nil && sdb.err.Code == "0A000":
		return true
	case strings.HasPrefix(sql, "SELECT age(") && strings.Contains(sql, "infinity"):
		return sdb.err != nil && sdb.err.Code == "22008" // PostgreSQL 15 computes with infinity as if it were a time
	case strings.Contains(sql, "é") && (strings.Contains(sql, "initcap") || strings.Contains(sql, "upper") || strings.Contains(sql, "lower") || strings.Contains(sql, "~~*")):
		return true // letters are those of Unicode, whatever the collation
	case strings.Contains(sql, "-2147483648 days"), strings.Contains(sql, "2147483647'::integer)") && strings.Contains(sql, "::numeric"):
		return true // the ends of the range of days and of the scale
	case pg.err != nil && strings.HasPrefix(pg.err.Message, "default conversion function"):
		return true // any two encodings can be converted
	case pg.err != nil && pg.err.Code == "22P01":
		return sdb.err != nil && sdb.err.Code == "22003" // the processor's exception, where the quotient is out of range
	case strings.HasPrefix(sql, "SELECT * FROM aclexplode("):
		return true // access lists are texts here, and of a type of their own there
	case strings.HasPrefix(sql, "SELECT make_interval("):
		return sdb.err != nil && sdb.err.Code == "22008" // PostgreSQL 15 wraps around
	}
	return false
}
