package sqllogic

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/streamdb/streamdb/tests/serverproc"
)

// asViews makes a materialized view of every query of a file that can be one, right
// after it has run. The view must show what the query did, and again when the tables
// have been emptied and filled in several commits.
type asViews struct {
	tried, refused int
	failures       []string
}

var queryPattern = regexp.MustCompile(`(?is)^\s*(SELECT|WITH|VALUES)\b`)

// momentary are calls that answer for the moment, the session or the role.
var momentary = regexp.MustCompile(`(?i)\b(random|nextval|currval|lastval|setval|clock_timestamp|pg_|current_setting|set_config|generate_series\(now|txid_|gen_random|has_|streamdb_catalog|information_schema|obj_description|col_description|regclass)`)

// after is called with each query that ran as expected.
func (v *asViews) after(ctx context.Context, s *session, rec *Record, sql string, columns int, want []string) {
	if !queryPattern.MatchString(sql) || momentary.MatchString(sql) || s.inTransaction() {
		return
	}
	one := func(sql string) (*result, error) { return simpleQuery(ctx, s.conn, sql) }
	names := make([]string, columns)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i+1)
	}
	if _, err := one("CREATE MATERIALIZED VIEW asview_ (" + strings.Join(names, ", ") + ") AS " + strings.TrimRight(strings.TrimSpace(sql), ";")); err != nil {
		v.refused++
		return
	}
	v.tried++
	defer func() { _, _ = one("DROP MATERIALIZED VIEW asview_") }()
	check := func(when string) bool {
		res, err := one("SELECT * FROM asview_")
		if err != nil {
			v.failures = append(v.failures, fmt.Sprintf("%s %s: %v", rec.Pos, when, err))
			return false
		}
		if d := compare(sortedLines(want), sortedLines(resultLines(res.rows, SortRows))); d != "" {
			v.failures = append(v.failures, fmt.Sprintf("%s %s\n%s\n%s", rec.Pos, when, indent(sql), d))
			return false
		}
		return true
	}
	if check("as a view") && v.churn(one) {
		check("as a view, after its tables were emptied and filled")
	}
}

// plainTables are the tables that can be emptied and filled without further ado.
const plainTables = `SELECT c.oid::regclass, (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE relkind = 'r' AND nspname NOT LIKE 'pg_%' AND nspname NOT IN ('information_schema', 'streamdb_catalog')
AND NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = c.oid AND (attgenerated <> '' OR attidentity <> ''))
AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE contype = 'f' AND c.oid IN (conrelid, confrelid))`

func (v *asViews) churn(one func(string) (*result, error)) bool {
	tables, err := one(plainTables)
	if err != nil {
		v.failures = append(v.failures, err.Error())
		return false
	}
	for _, t := range tables.rows {
		name, cols := t[0], t[1]
		if cols == "NULL" || cols == "" {
			continue
		}
		steps := []string{"CREATE TABLE asview_kept AS SELECT " + cols + ", row_number() OVER () AS asview_n FROM " + name,
			"DELETE FROM " + name}
		for k := range 3 {
			steps = append(steps, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM asview_kept WHERE asview_n %% 3 = %d", name, cols, cols, k))
		}
		for _, s := range append(steps, "DROP TABLE asview_kept") {
			if _, err := one(s); err != nil {
				v.failures = append(v.failures, fmt.Sprintf("%s: %v", s, err))
				return false
			}
		}
	}
	return true
}

// runAsViews runs a file with each of its queries as a view, too.
func runAsViews(t *testing.T, bin, path string) {
	file, err := ParseFile(filepath.Join("cases", path))
	if err != nil {
		t.Fatal(err)
	}
	server, err := serverproc.Start(serverproc.Options{Bin: bin, Data: filepath.Join(t.TempDir(), "data")})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	v := &asViews{}
	target := Target{DSN: server.DSN, Labels: []string{"streamdb"}, Restart: server.Restart}
	// What is wrong with the queries themselves the other runs tell.
	if _, _, err := Run(t.Context(), file, target, Options{TestDir: t.TempDir(), Database: "streamdb", MaxFailures: 1 << 30, AfterQuery: v.after}); err != nil {
		t.Fatal(err)
	}
	if n := len(v.failures); n > 5 {
		v.failures = append(v.failures[:5], fmt.Sprintf("and %d more", n-5))
	}
	for _, f := range v.failures {
		t.Error(f)
	}
	t.Logf("%d queries as views, %d cannot be", v.tried, v.refused)
}
