package sqllogic

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamdb/streamdb/tests/serverproc"
)

// TestRunner checks the runner itself on PostgreSQL, with all its connections
// broken before every record as a crash would break them.
func TestRunner(t *testing.T) {
	pg, err := serverproc.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	defer pg.Stop()
	target := Target{
		DSN: func() string { return pg.DSN("postgres") }, Labels: []string{"postgres"}, PlainViews: true,
		Restart: func() error {
			conn, err := pgconn.Connect(t.Context(), pg.DSN("postgres"))
			if err != nil {
				return err
			}
			defer conn.Close(t.Context())
			_, err = simpleQuery(t.Context(), conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
			return err
		},
	}
	always := Options{RestartBefore: func(int) bool { return true }, MaxFailures: 100}
	good, err := parseText(t, `statement ok
SET TIME ZONE 'Asia/Tokyo'

statement ok
CREATE TABLE a (x int, t text)

statement count 3
INSERT INTO a VALUES (2, 'b'), (1, ''), (NULL, NULL)

statement ok
CREATE MATERIALIZED VIEW v AS SELECT * FROM a

query IT rowsort
SELECT * FROM v
----
1 (empty)
2 b
NULL NULL

statement ok
BEGIN

statement ok
DELETE FROM a

statement ok
ROLLBACK

query T
SHOW TIME ZONE
----
Asia/Tokyo

connection other
query T
SHOW TIME ZONE
----
UTC

onlyif streamdb
statement ok
no SQL at all

statement error division by zero \(SQLSTATE 22012\)
SELECT 1 / 0

query error does not exist
SELECT nothing
`)
	if err != nil {
		t.Fatal(err)
	}
	failures, stats, err := Run(t.Context(), good, target, always)
	if err != nil || len(failures) > 0 || stats.Skipped != 1 || stats.Restarts < 9 {
		t.Errorf("failures %v, %+v, %v", failures, stats, err)
	}
	bad, err := parseText(t, "query I\nSELECT 1\n----\n2\n\nstatement ok\nSELECT 1 / 0\n\nstatement error\nSELECT 1\n\nquery II\nSELECT 1\n----\n1\n\nstatement count 2\nSELECT 1\n\nstatement error other words\nSELECT 1 / 0\n")
	if err != nil {
		t.Fatal(err)
	}
	failures, _, err = Run(t.Context(), bad, target, always)
	if err != nil || len(failures) != 6 || !strings.Contains(failures[0].String(), "- 2\n+ 1") || !strings.Contains(failures[0].String(), "x.slt:1") {
		t.Errorf("%d failures, expected 6: %v, %v", len(failures), failures, err)
	}
}
