package clients

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// answeredFloor is how many statements of the corpus must be answered without
// an error. Raise it whenever the test reports more; it never goes down.
const answeredFloor = 721

// corpusObjects are the tables that the captured clients worked on.
var corpusObjects = []string{
	"DROP TABLE IF EXISTS t CASCADE", "DROP SCHEMA IF EXISTS shop CASCADE",
	"CREATE TABLE t (id int PRIMARY KEY, name text, m numeric, ts timestamptz, n int, j jsonb, arr int[], u uuid)",
	"CREATE SCHEMA shop", "CREATE TABLE shop.orders (id int, amt numeric)",
}

var copyIn = regexp.MustCompile(`(?is)^\s*copy\s.*\s(from\s+stdin|to\s+stdout)`)

func TestCorpus(t *testing.T) {
	dsn := startServer(t)
	paths, err := filepath.Glob("corpus/*.sql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	answered, total := 0, 0
	refused := map[string]int{}
	for _, path := range paths {
		good, all, failures := replay(t, dsn, path)
		answered, total = answered+good, total+all
		t.Logf("%-28s %4d of %4d", filepath.Base(path), good, all)
		for text, n := range failures {
			refused[filepath.Base(path)+" | "+text] = n
		}
	}
	t.Logf("%d of %d statements answered", answered, total)
	if os.Getenv("STREAMDB_CLIENTS_PG") != "" {
		for what, n := range refused {
			t.Logf("%3d x %s", n, what)
		}
		return
	}
	if answered < answeredFloor {
		t.Errorf("only %d statements answered, the floor is %d", answered, answeredFloor)
	}
	compareRefused(t, refused)
}

// compareRefused holds what was refused against corpus/unanswered.txt.
func compareRefused(t *testing.T, refused map[string]int) {
	t.Helper()
	text, err := os.ReadFile("corpus/unanswered.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), " | ")
		if len(f) != 4 || f[3] == "" {
			t.Fatalf("unanswered.txt: not four fields: %s", line)
		}
		if known[f[0]+" | "+f[2]], err = strconv.Atoi(f[1]); err != nil {
			t.Fatalf("unanswered.txt: %v", err)
		}
	}
	for what, n := range refused {
		if n > known[what] {
			t.Errorf("refused %d times, %d known: %s", n, known[what], what)
		}
	}
	for what, n := range known {
		if refused[what] < n {
			t.Errorf("refused only %d times: lower the number or remove the line in unanswered.txt: %s", refused[what], what)
		}
	}
}

// replay sends one client's statements over one connection, opening another
// one when the server closes it.
func replay(t *testing.T, dsn, path string) (good, all int, failures map[string]int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	failures = map[string]int{}
	var conn *pgconn.PgConn
	defer func() { conn.Close(context.Background()) }()
	for _, part := range strings.Split("\n"+string(text), "\n-- @ ")[1:] {
		proto, sql, _ := strings.Cut(part, "\n")
		if copyIn.MatchString(sql) {
			continue
		}
		all++
		if conn == nil || conn.IsClosed() {
			conn = corpusConnection(t, dsn)
		}
		if err := send(t, conn, proto, sql); err != nil {
			failures[strings.SplitN(err.Error(), "\n", 2)[0]]++
			continue
		}
		good++
	}
	return good, all, failures
}

func corpusConnection(t *testing.T, dsn string) *pgconn.PgConn {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("the server accepts no connection any more: %v", err)
	}
	for _, sql := range corpusObjects {
		if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Logf("%s: %v", sql, err)
		}
	}
	return conn
}

// send runs one statement the way its client does; parameters are all NULL,
// which every type takes. A transaction that the statement broke is ended.
func send(t *testing.T, conn *pgconn.PgConn, proto, sql string) error {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var err error
	if proto == "simple" {
		_, err = conn.Exec(ctx, sql).ReadAll()
	} else {
		var described *pgconn.StatementDescription
		if described, err = conn.Prepare(ctx, "", sql, nil); err == nil {
			err = conn.ExecPrepared(ctx, "", make([][]byte, len(described.ParamOIDs)), nil, nil).Read().Err
		}
	}
	if !conn.IsClosed() && conn.TxStatus() == 'E' {
		conn.Exec(ctx, "ROLLBACK").ReadAll()
	}
	return err
}
