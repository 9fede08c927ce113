package sqllogic

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamdb/streamdb/tests/serverproc"
)

// mode is one way to run every file.
type mode struct {
	name string
	env  []string
	// restart returns when to restart the server in a file of n records; nil
	// for never. A nil function means that the mode does not apply.
	restart func(path string, n int) (func(int) bool, bool)
}

func noRestart(string, int) (func(int) bool, bool) { return nil, true }

// shortFile is the number of records up to which a file also runs with a
// restart between all its statements; each restart costs part of a second.
const shortFile = 16

// restartsPerFile bounds the restarts of longer files.
const restartsPerFile = 5

var modes = []mode{
	{name: "plain", restart: noRestart},
	{name: "chunk1", env: []string{"STREAMDB_CHUNK_ROWS=1"}, restart: noRestart},
	{name: "restart", restart: everyKth},
	{name: "restart-all", restart: func(_ string, n int) (func(int) bool, bool) {
		return func(int) bool { return true }, n <= shortFile || os.Getenv("STREAMDB_SLT_RESTART") == "all"
	}},
}

// everyKth restarts before every k-th record, at a phase that the file's name
// and STREAMDB_SLT_SEED choose, so that all points are met as seeds change.
func everyKth(path string, n int) (func(int) bool, bool) {
	seed, _ := strconv.ParseUint(os.Getenv("STREAMDB_SLT_SEED"), 10, 64)
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", filepath.Base(path), seed)
	k := max(n/restartsPerFile, 3)
	phase := int(h.Sum64() % uint64(k))
	return func(i int) bool { return i%k == phase }, n > shortFile
}

var binary serverproc.Once

func TestSQLLogic(t *testing.T) {
	paths := caseFiles(t)
	if dsn := os.Getenv("STREAMDB_SLT_PG"); dsn != "" {
		for _, path := range paths {
			t.Run(path, func(t *testing.T) { runOnPostgres(t, path, dsn) })
		}
		return
	}
	bin, err := binary.Path(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	red := readRed(t)
	for _, path := range paths {
		for _, m := range modes {
			t.Run(path+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				runOnStreamDB(t, bin, path, m, red)
			})
		}
		if red[path] == "" {
			t.Run(path+"/as-views", func(t *testing.T) {
				t.Parallel()
				runAsViews(t, bin, path)
			})
		}
	}
	for path := range red {
		if _, err := os.Stat(filepath.Join("cases", path)); err != nil {
			t.Errorf("red.txt names %s, which is not there", path)
		}
	}
}

// caseFiles lists the files under cases/, by their path inside it. With
// STREAMDB_SLT_ONLY only those are taken whose path contains its text.
func caseFiles(t *testing.T) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir("cases", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".slt") && strings.Contains(path, os.Getenv("STREAMDB_SLT_ONLY")) {
			rel, _ := filepath.Rel("cases", path)
			paths = append(paths, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal("no case files found")
	}
	sort.Strings(paths)
	return paths
}

func runOnStreamDB(t *testing.T, bin, path string, m mode, red map[string]string) {
	file, err := ParseFile(filepath.Join("cases", path))
	if err != nil {
		t.Fatal(err)
	}
	restart, applies := m.restart(path, len(file.Records))
	if !applies {
		return
	}
	reason, isRed := red[path]
	if isRed && m.name != "plain" {
		return // one failing run is proof enough
	}
	server, err := serverproc.Start(serverproc.Options{Bin: bin, Data: filepath.Join(t.TempDir(), "data"), Env: m.env})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	target := Target{DSN: server.DSN, Labels: []string{"streamdb"}, Restart: server.Restart}
	failures, stats, err := Run(t.Context(), file, target, Options{RestartBefore: restart, TestDir: t.TempDir(), Database: "streamdb"})
	if err == nil && !server.Alive() {
		err = fmt.Errorf("the server died")
	}
	if err == nil {
		err = checkViews(t.Context(), server.DSN())
	}
	if isRed {
		if len(failures) == 0 && err == nil {
			t.Errorf("%s passes: remove it from red.txt (%s)", path, reason)
		}
		return
	}
	report(t, failures, stats, err)
	if t.Failed() {
		t.Logf("output of the server:\n%s", server.Log())
	}
}

// checkViews lets the server compute every materialized view that a file has left
// anew and reports one that differs.
func checkViews(ctx context.Context, dsn string) error {
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	views, err := simpleQuery(ctx, conn, "SELECT format('%I.%I', schemaname, matviewname) FROM pg_matviews")
	if err != nil {
		return err
	}
	for _, v := range views.rows {
		check := "CHECK MATERIALIZED VIEW " + v[0] + " LIMIT 10"
		res, err := simpleQuery(ctx, conn, check)
		var pg *pgconn.PgError
		if errors.As(err, &pg) && (pg.Code == "0A000" || pg.Code == "55000") {
			continue // it reads a source, or has failed
		}
		if err != nil {
			return fmt.Errorf("%s: %w", check, err)
		}
		if len(res.rows) > 0 {
			return fmt.Errorf("%s: %v", check, res.rows)
		}
	}
	return nil
}

func runOnPostgres(t *testing.T, path, dsn string) {
	file, err := ParseFile(filepath.Join("cases", path))
	if err != nil {
		t.Fatal(err)
	}
	if file.StreamDBOnly {
		return
	}
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatalf("STREAMDB_SLT_PG must be a postgres:// address: %v", err)
	}
	database := freshDatabase(t, dsn)
	u.Path = "/" + database
	target := Target{DSN: u.String, Labels: []string{"postgres"}, PlainViews: true}
	failures, stats, err := Run(t.Context(), file, target, Options{TestDir: t.TempDir(), Database: database})
	report(t, failures, stats, err)
}

// freshDatabase creates a database for one file and drops it after the test.
func freshDatabase(t *testing.T, dsn string) string {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("slt_%d", os.Getpid())
	must := func(sql string) {
		if _, err := simpleQuery(context.Background(), conn, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	must("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)")
	must("CREATE DATABASE " + name + " TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'")
	t.Cleanup(func() {
		must("DROP DATABASE " + name + " WITH (FORCE)")
		conn.Close(context.Background())
	})
	return name
}

func report(t *testing.T, failures []Failure, stats Stats, err error) {
	t.Helper()
	for _, f := range failures {
		t.Errorf("%s", f)
	}
	if err != nil {
		t.Error(err)
	}
	if stats.Run == 0 {
		t.Error("no record was run")
	}
}

// readRed reads red.txt: a path under cases/, blanks, and the reason, a line.
func readRed(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open("red.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	red := map[string]string{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		path, reason, _ := strings.Cut(line, " ")
		if strings.TrimSpace(reason) == "" {
			t.Errorf("red.txt: %s has no reason", path)
		}
		red[path] = strings.TrimSpace(reason)
	}
	return red
}
