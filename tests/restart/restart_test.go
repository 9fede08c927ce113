package restart

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/streamdb/streamdb/tests/serverproc"
)

var build serverproc.Once

var buildDir string

func TestMain(m *testing.M) {
	var err error
	if buildDir, err = os.MkdirTemp("", "streamdb-restart-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

// server is a running server and a connection to it.
type server struct {
	t *testing.T
	*serverproc.Server
	dir  string
	conn *pgx.Conn
}

func start(t *testing.T, dir string) *server {
	t.Helper()
	bin, err := build.Path(buildDir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := serverproc.Start(serverproc.Options{Bin: bin, Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, Server: p, dir: dir}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("output of the server:\n%s", p.Log())
		}
		p.Kill()
	})
	s.connect()
	return s
}

func (s *server) connect() {
	s.t.Helper()
	var err error
	if s.conn, err = pgx.Connect(context.Background(), s.DSN()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) exec(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if _, err := s.conn.Exec(context.Background(), text); err != nil {
			s.t.Fatalf("%s: %v", text, err)
		}
	}
}

func (s *server) want(text, want string) {
	s.t.Helper()
	rows, err := s.conn.Query(context.Background(), text)
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if got := strings.Join(lines, " "); err != nil || got != want {
		s.t.Fatalf("%s: got %s, want %s, %v", text, got, want, err)
	}
}

// crash kills the server and starts it again on the same directory.
func (s *server) crash() {
	s.t.Helper()
	s.conn.Close(context.Background())
	if err := s.Restart(); err != nil {
		s.t.Fatal(err)
	}
	s.connect()
}

// Many commits, and then many restarts in a row, some before the server has done
// anything: nothing that the last commit refers to is cleaned up.
func TestRestartsInARow(t *testing.T) {
	s := start(t, filepath.Join(t.TempDir(), "data"))
	s.exec("CREATE TABLE t (k int, v int)", "CREATE MATERIALIZED VIEW m AS SELECT k, count(*) AS n FROM t GROUP BY k",
		"CREATE MATERIALIZED VIEW top AS SELECT sum(n) AS n, max(n) AS hi FROM m",
		"CREATE SOURCE gen (n int) WITH (connector = 'datagen', rows = '500', fields.n.kind = 'sequence', fields.n.start = '1', fields.n.end = '500')",
		"CREATE MATERIALIZED VIEW once AS SELECT count(*) AS n, sum(n) AS s FROM gen",
		"INSERT INTO t SELECT g % 10, g FROM generate_series(1, 1000) g")
	for i := range 100 {
		s.exec(fmt.Sprintf("INSERT INTO t VALUES (%d, 0)", i%10))
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var n int
		if err := s.conn.QueryRow(context.Background(), "SELECT n FROM once").Scan(&n); err == nil && n == 500 || time.Now().After(end) {
			break
		}
	}
	for range 6 {
		s.crash()
		s.want("SELECT n || '/' || hi FROM top", "1100/110")
		s.want("SELECT count(*) || '/' || sum(n) FROM m", "10/1100")
		s.want("SELECT n || '/' || s FROM once", "500/125250")
	}
	s.exec("INSERT INTO t VALUES (3, 0)")
	s.crash()
	s.want("SELECT n || '/' || hi FROM top", "1101/111")
}

// State belongs to an object, not to a name or a place in a plan: what was dropped
// is gone for good, and nothing of it stays behind.
func TestDroppedStateIsGone(t *testing.T) {
	s := start(t, filepath.Join(t.TempDir(), "data"))
	s.exec("CREATE TABLE hits (k int, v int)", "INSERT INTO hits VALUES (1,10), (1,20), (2,5)",
		"CREATE MATERIALIZED VIEW m AS SELECT k, sum(v) AS s FROM hits GROUP BY k")
	s.want("SELECT k || '/' || s FROM m ORDER BY k", "1/30 2/5")
	s.exec("DROP MATERIALIZED VIEW m")
	s.crash()
	if _, err := s.conn.Exec(context.Background(), "SELECT * FROM m"); err == nil || !strings.Contains(err.Error(), "42P01") {
		t.Fatal(err)
	}
	s.exec("CREATE MATERIALIZED VIEW m AS SELECT v AS k, count(*) AS s FROM hits WHERE v > 5 GROUP BY v")
	s.crash()
	s.want("SELECT k || '/' || s FROM m ORDER BY k", "10/1 20/1")
	s.exec("DROP TABLE hits CASCADE", "CREATE TABLE hits (k int, v int)",
		"CREATE MATERIALIZED VIEW m AS SELECT k, sum(v) AS s FROM hits GROUP BY k", "INSERT INTO hits VALUES (1,1)")
	s.crash()
	s.want("SELECT k || '/' || s FROM m ORDER BY k", "1/1")

	// Large state, so that it lies in files of its own.
	s.exec("CREATE TABLE big (k int PRIMARY KEY, v text)",
		"CREATE MATERIALIZED VIEW bigm AS SELECT v, count(*) AS n FROM big GROUP BY v",
		"INSERT INTO big SELECT g, repeat('x', 100) || g FROM generate_series(1, 30000) g")
	logs := func() (n int) {
		names, err := os.ReadDir(filepath.Join(s.dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	if logs() == 0 {
		t.Fatal("the state of a large view is in no file")
	}
	s.exec("DROP TABLE big CASCADE")
	s.crash()
	for end := time.Now().Add(30 * time.Second); logs() > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d files of dropped objects are left", logs())
		}
	}
	s.want("SELECT k || '/' || s FROM m ORDER BY k", "1/1")
}

// refused starts a server on a directory, as another user if uid is set, and
// returns what it says; it must end by itself.
func refused(t *testing.T, dir string, uid uint32) string {
	t.Helper()
	bin, err := build.Path(buildDir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	out, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		t.Fatalf("the server started on %s: %v\n%s", dir, err, out)
	}
	return string(out)
}

// A directory that is in use, foreign, unreadable or damaged is refused, with what
// is wrong, its SQLSTATE and what to do.
func TestUnusableDirectories(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "data")
	s := start(t, dir)
	s.exec("CREATE TABLE t (k int PRIMARY KEY, v text)", "CREATE MATERIALIZED VIEW m AS SELECT v, count(*) AS n FROM t GROUP BY v",
		"INSERT INTO t SELECT g, repeat('x', 100) || g FROM generate_series(1, 30000) g", "INSERT INTO t VALUES (0, 'last')")
	check := func(what, said string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(said, w) {
				t.Errorf("%s: no %q in:\n%s", what, w, said)
			}
		}
		if strings.Contains(said, "goroutine ") {
			t.Errorf("%s: a panic:\n%s", what, said)
		}
	}
	check("in use", refused(t, dir, 0), "is in use by another server (SQLSTATE 55006)", "HINT: Stop the other server")
	s.want("SELECT count(*)::text FROM t", "30001") // the one in use is none the worse
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check("a file", refused(t, filepath.Join(file, "data"), 0), "Not a directory (SQLSTATE 42809)")
	foreign := filepath.Join(root, "foreign")
	if err := os.CopyFS(foreign, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(foreign, "FORMAT"), []byte("streamdb state 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("another format", refused(t, foreign, 0), "is not compatible with this server (SQLSTATE 55000)", "DETAIL: Its format is")
	if os.Geteuid() == 0 {
		for _, d := range []string{buildDir, root, filepath.Dir(root)} {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		check("not ours", refused(t, dir, 65534), "Permission denied (SQLSTATE 42501)", "HINT: The server runs as user 65534")
	}
	spare := regexp.MustCompile(`LOCK|OPTIONS|ballast|MARK|marker`)
	last := lastLog(t, dir)
	tried := map[string]bool{} // kinds of files
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		kind := strings.TrimRight(filepath.Ext(path)+d.Name()[:1], "0123456789")
		if err != nil || d.IsDir() || spare.MatchString(d.Name()) || tried[kind] {
			return err
		}
		if strings.HasSuffix(path, ".log") && d.Name() != last {
			return nil // a spare one, whose contents are in tables
		}
		tried[kind] = true
		copied := filepath.Join(root, "copy")
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			return err
		}
		defer os.RemoveAll(copied)
		rel, _ := filepath.Rel(dir, path)
		if err := os.Remove(filepath.Join(copied, rel)); err != nil {
			return err
		}
		check("without "+rel, refused(t, copied, 0), "SQLSTATE", "HINT: ")
		return nil
	})
	if err != nil || len(tried) < 5 {
		t.Fatal(tried, err)
	}
	s = start(t, dir)
	s.want("SELECT n::text FROM m WHERE v = 'last'", "1")
}

// lastLog is the name of the newest log, which has what no table has.
func lastLog(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "db", "*.log"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	return filepath.Base(names[len(names)-1])
}
