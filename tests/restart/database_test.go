package restart

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// in runs f with the server's connection being one to another database.
func (s *server) in(database string, f func()) {
	s.t.Helper()
	u, err := url.Parse(s.DSN())
	if err != nil {
		s.t.Fatal(err)
	}
	u.Path = "/" + database
	conn, err := pgx.Connect(context.Background(), u.String())
	if err != nil {
		s.t.Fatal(err)
	}
	was := s.conn
	s.conn = conn
	f()
	s.conn = was
	conn.Close(context.Background())
}

// A database and all that is in it survive crashes, and nothing of it is left once it
// was dropped.
func TestDatabases(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := start(t, dir)
	s.exec("CREATE DATABASE shop", "ALTER DATABASE shop SET datestyle = 'SQL'", "COMMENT ON DATABASE shop IS 'sells'",
		"CREATE TABLE t (k int, d int)", "INSERT INTO t VALUES (1, 1), (2, 0)", "CREATE MATERIALIZED VIEW m AS SELECT k, 10 / d AS q FROM t")
	check := func() {
		t.Helper()
		s.want("SELECT k || '/' || q FROM m", "1/10")
		s.want("SELECT job || message || input_row FROM streamdb_catalog.view_errors", "mdivision by zero(2, 0)")
	}
	inShop := func() {
		t.Helper()
		s.want("SELECT k || '/' || q FROM m ORDER BY k", "5/20 6/100")
		s.want("SELECT job || message || input_row FROM streamdb_catalog.view_errors", "mdivision by zero(7, 0)")
		s.want("SELECT name FROM streamdb_catalog.jobs ORDER BY id", "m i out")
		s.want("SELECT current_setting('datestyle')", "SQL, MDY")
	}
	s.in("shop", func() {
		s.exec("CREATE TABLE t (k int, d int)", "INSERT INTO t VALUES (5, 5), (6, 1), (7, 0)", "CREATE MATERIALIZED VIEW m AS SELECT k, 100 / d AS q FROM t",
			"CREATE INDEX i ON m (q)", "CREATE SINK out AS SELECT count(*) AS n FROM m WITH (connector = 'blackhole')", "CREATE SEQUENCE q",
			"SELECT nextval('q')")
	})
	for range 2 {
		s.crash()
		check()
		s.want("SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = 'shop'", "sells")
		s.in("shop", inShop)
	}
	s.exec("DROP DATABASE shop")
	s.crash()
	check()
	s.want("SELECT count(*)::text FROM pg_database WHERE datname = 'shop'", "0")
	s.want("SELECT count(*)::text FROM streamdb_catalog.jobs", "1")
	files, err := os.ReadDir(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "sink-") {
			t.Errorf("%s was left", f.Name())
		}
	}
	s.exec("CREATE DATABASE shop")
	s.in("shop", func() {
		s.want("SELECT count(*)::text FROM pg_class WHERE relnamespace = 'public'::regnamespace", "0")
		s.want("SELECT count(*)::text FROM streamdb_catalog.view_errors", "0")
	})
}
