package clients

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/streamdb/streamdb/tests/serverproc"
)

// binary is built by TestMain, since a directory of one test is gone for the
// next one.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv("STREAMDB_CLIENTS_PG") != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "streamdb-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = serverproc.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// startServer returns the address of a server with the objects that the tests
// and the corpus speak of.
func startServer(t *testing.T) string {
	t.Helper()
	dsn := os.Getenv("STREAMDB_CLIENTS_PG")
	if dsn == "" {
		server, err := serverproc.Start(serverproc.Options{Bin: binary, Data: filepath.Join(t.TempDir(), "data")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("output of the server:\n%s", server.Log())
			}
			server.Kill()
		})
		dsn = server.DSN()
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, sql := range []string{
		"DROP TABLE IF EXISTS people, clients_orders CASCADE",
		"CREATE TABLE people (id int PRIMARY KEY, name text NOT NULL DEFAULT 'none', born date, score numeric(8,2))",
		"INSERT INTO people VALUES (1, 'Ada', '1815-12-10', 9.50), (2, 'Bo', NULL, NULL)",
		"CREATE VIEW adults AS SELECT id, name FROM people WHERE born < '2000-01-01'",
		"CREATE MATERIALIZED VIEW by_name AS SELECT name, count(*) AS n, sum(score) AS total FROM people GROUP BY name",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if os.Getenv("STREAMDB_CLIENTS_PG") != "" {
		refreshByTrigger(t, conn)
	}
	return dsn
}

// refreshByTrigger makes PostgreSQL's materialized view follow its table, so
// that the tests can be checked there.
func refreshByTrigger(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for _, sql := range []string{
		"CREATE OR REPLACE FUNCTION refresh_by_name() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN REFRESH MATERIALIZED VIEW by_name; RETURN NULL; END'",
		"CREATE TRIGGER refresh AFTER INSERT OR UPDATE OR DELETE ON people FOR EACH STATEMENT EXECUTE FUNCTION refresh_by_name()",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// twoConns opens two connections, which the end of the test closes.
func twoConns(t *testing.T, dsn string) (conns [2]*pgx.Conn) {
	t.Helper()
	for i := range conns {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close(context.Background()) })
		conns[i] = conn
	}
	return conns
}

// psql runs commands with psql and returns what it printed.
func psql(t *testing.T, dsn string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "psql", append([]string{"-X", "-d", dsn}, args...)...)
	cmd.Env = append(os.Environ(), "PAGER=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestPsqlDescribes(t *testing.T) {
	dsn := startServer(t)
	for _, c := range []struct {
		command string
		want    []string
	}{
		{`\d`, []string{"people", "adults", "by_name", "materialized view"}},
		{`\dt`, []string{"people", "table"}},
		{`\dm`, []string{"by_name", "materialized view"}},
		{`\dv`, []string{"adults", "view"}},
		{`\di`, []string{"people_pkey", "people"}},
		{`\dn`, []string{"public"}},
		{`\l`, []string{"UTF8"}},
		{`\du`, []string{"streamdb"}},
		{`\d people`, []string{`Table "public.people"`, "id", "integer", "not null", "'none'::text", "numeric(8,2)", `"people_pkey" PRIMARY KEY`}},
		{`\d by_name`, []string{`Materialized view "public.by_name"`, "n", "bigint", "total", "numeric"}},
		{`\d+ adults`, []string{`View "public.adults"`, "View definition:"}},
		{`\conninfo`, []string{"You are connected"}},
	} {
		t.Run(c.command, func(t *testing.T) {
			out, err := psql(t, dsn, "-c", c.command)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in\n%s", want, out)
				}
			}
		})
	}
}

func TestPsqlOutput(t *testing.T) {
	dsn := startServer(t)
	out, err := psql(t, dsn, "-At", "-c", "SELECT id, name, born, score FROM people ORDER BY id")
	if want := "1|Ada|1815-12-10|9.50\n2|Bo||\n"; err != nil || out != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
	out, _ = psql(t, dsn, "-c", "SELECT name, scor FROM people")
	want := "ERROR:  column \"scor\" does not exist\nLINE 1: SELECT name, scor FROM people\n                     ^"
	if !strings.Contains(out, want) {
		t.Errorf("no caret under the error:\n%s\nwant\n%s", out, want)
	}
	out, err = psql(t, dsn, "-v", "ON_ERROR_STOP=1", "-At", "-c", "BEGIN", "-c", "UPDATE people SET score = 1 WHERE id = 2", "-c", "COMMIT",
		"-c", "SELECT total FROM by_name WHERE name = 'Bo'")
	if want := "BEGIN\nUPDATE 1\nCOMMIT\n1.00\n"; err != nil || out != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
}

func TestPgxModes(t *testing.T) {
	dsn := startServer(t)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) { checkPgxMode(t, dsn, mode) })
	}
}

func checkPgxMode(t *testing.T, dsn string, mode pgx.QueryExecMode) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = mode
	ctx := t.Context()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	for round := 0; round < 3; round++ {
		if _, err := conn.Exec(ctx, "INSERT INTO people (id, name, score) VALUES ($1, $2, $3)", 100, "Cy's", "2.25"); err != nil {
			t.Fatal(err)
		}
		var name string
		var n int64
		var total *float64
		err := conn.QueryRow(ctx, "SELECT name, n, total::float8 FROM by_name WHERE name = $1", "Cy's").Scan(&name, &n, &total)
		if err != nil || name != "Cy's" || n != 1 || total == nil || *total != 2.25 {
			t.Fatalf("%q %d %v: %v", name, n, total, err)
		}
		tag, err := conn.Exec(ctx, "DELETE FROM people WHERE id = $1", 100)
		if err != nil || tag.RowsAffected() != 1 {
			t.Fatalf("%v, %v", tag, err)
		}
	}
}

func TestPython(t *testing.T) {
	dsn := startServer(t)
	python := filepath.Join(pythonEnv(t), "python")
	for _, client := range []string{"psycopg3", "psycopg2", "sqlalchemy"} {
		t.Run(client, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), python, "clients.py", client, dsn)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// pythonEnv returns the folder of the programs in the Python environment of
// these tests, and installs it if it is not there.
func pythonEnv(t *testing.T) string {
	t.Helper()
	root, err := serverproc.RepoRoot()
	if err != nil {
		t.Fatal(err)
	}
	venv := filepath.Join(root, ".cache", "venv")
	if _, err := os.Stat(filepath.Join(venv, ".ready")); err != nil {
		cmd := exec.Command(filepath.Join(root, "scripts", "make-venv.sh"), venv)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make-venv.sh: %v\n%s", err, out)
		}
	}
	return filepath.Join(venv, "bin")
}
