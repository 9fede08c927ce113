package planner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/sql"
)

// lookupOf returns the Lookup lines of the plan of a view.
func lookupOf(t *testing.T, c *catalog.Catalog, query string, settings map[string]string) string {
	t.Helper()
	st, err := sql.Parse(query)
	if err != nil {
		t.Fatal(err)
	}
	p := testPlanner(c, query)
	p.Session.Setting = func(name string) (string, bool) { v, ok := settings[name]; return v, ok }
	s, err := p.PlanStream(st[0].Stmt.(*sql.Select), Target{Rel: 1})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range Explain(s.Root, nil).Lines() {
		if _, d, ok := strings.Cut(l, "Lookup: "); ok {
			out = append(out, d)
		}
	}
	return strings.Join(out, "; ")
}

func TestStoredSides(t *testing.T) {
	c := testCatalog(t)
	oid := func(name string) uint32 { return c.Current().In(catalog.DatabaseOID).Get("public", name).Header().OID }
	on := map[string]string{SettingShared: "on", SettingIndexes: fmt.Sprint(oid("ix"))}
	auto := map[string]string{SettingShared: "auto", SettingSizes: fmt.Sprintf("%d=%d", oid("t"), sharedFrom)}
	for _, x := range []struct {
		query    string
		settings map[string]string
		want     string
	}{
		{"SELECT u.b FROM u JOIN t ON t.a = u.a", on, "right in t"},
		{"SELECT u.b FROM t JOIN u ON t.a = u.a", on, "left in t"},
		{"SELECT u.b FROM u JOIN t ON t.a = u.a", nil, ""},
		{"SELECT u.b FROM u JOIN t ON t.a = u.a", auto, "left in t"},
		{"SELECT u.b FROM u JOIN t ON t.a = u.a", map[string]string{SettingShared: "auto"}, ""},
		{"SELECT u.b FROM u JOIN t ON t.a = u.a", map[string]string{SettingShared: "off"}, ""},
		// Outer rows are part of the output by themselves, so they are kept.
		{"SELECT u.b FROM u LEFT JOIN t ON t.a = u.a", on, "right in t"},
		{"SELECT u.b FROM t LEFT JOIN u ON t.a = u.a", on, ""},
		{"SELECT u.b FROM t RIGHT JOIN u ON t.a = u.a", on, "left in t"},
		{"SELECT u.b FROM t FULL JOIN u ON t.a = u.a", on, ""},
		{"SELECT b FROM u WHERE EXISTS (SELECT FROM t WHERE t.a = u.a)", on, "right in t"},
		{"SELECT b FROM u WHERE a NOT IN (SELECT a FROM t)", on, ""},
		// Conditions besides the keys.
		{"SELECT u.b FROM u JOIN t ON t.a = u.a AND t.b < u.b", on, "right in t"},
		{"SELECT u.b FROM u LEFT JOIN t ON t.a = u.a AND t.b < u.b", on, "right in t"},
		{"SELECT u.b FROM u LEFT JOIN t ON t.a = u.a AND t.c <> ''", on, "right in t"},
		{"SELECT u.b FROM u LEFT JOIN t ON t.a = u.a AND 1 / t.b > 0", on, "right in t"},
		// Keys that are the first columns of an index, all of them or in another order.
		{"SELECT u.b FROM u JOIN t ON t.b = u.a", on, "right in ix"},
		{"SELECT u.b FROM u JOIN t ON t.c = u.f AND t.b = u.a", on, "right in ix"},
		{"SELECT u.b FROM u JOIN t ON t.c = u.f", on, ""},
		{"SELECT u.b FROM u JOIN t ON t.b = u.a AND t.d = 1", on, "right in ix"},
		{"SELECT v FROM u JOIN pairs ON k2 = f AND k1 = a", on, "right in pairs"},
		{"SELECT v FROM u JOIN pairs ON k1 = a", on, "right in pairs"},
		{"SELECT v FROM u JOIN pairs ON k2 = f", on, ""},
		// Types must be the same, and NULLs not equal.
		{"SELECT u.b FROM u JOIN t ON t.a = u.b", on, ""},
		{"SELECT u.b FROM u JOIN t ON t.a IS NOT DISTINCT FROM u.a", on, ""},
		// A source is too fast, unless it is asked for.
		{"SELECT price FROM bids JOIN docs ON docs.id = auction", on, "right in docs"},
		{"SELECT price FROM bids JOIN docs ON docs.id = auction",
			map[string]string{SettingShared: "auto", SettingSizes: fmt.Sprintf("%d=%d", oid("docs"), sharedFrom)}, ""},
	} {
		if got := lookupOf(t, c, x.query, x.settings); got != x.want {
			t.Errorf("%s with %v: %q, want %q", x.query, x.settings, got, x.want)
		}
	}
}
