package sqllogic

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamdb/streamdb/tests/serverproc"
)

// outsideFolders are the folders of the outside suite that are run.
var outsideFolders = []string{"batch", "streaming", "over_window", "ddl"}

// outsideFileLimit bounds one file on one server.
const outsideFileLimit = 3 * time.Minute

// TestOutside runs a suite of test files that is not part of this project: the
// e2e_test folder of RisingWave, at the path that SLT_OUTSIDE names. Its
// report goes to the file that SLT_OUTSIDE_REPORT names, else to the log.
//
// A file that fails is no error of this test, since the suite has opinions that
// PostgreSQL does not share; a server that dies or hangs is one.
func TestOutside(t *testing.T) {
	root := os.Getenv("SLT_OUTSIDE")
	if root == "" {
		fmt.Println("TestOutside runs only with SLT_OUTSIDE=/path/to/e2e_test")
		return
	}
	units := outsideUnits(t, root)
	o := startOutside(t)
	report := &outsideReport{}
	for i, u := range units {
		if only := os.Getenv("STREAMDB_SLT_ONLY"); !strings.Contains(u.name, only) {
			continue
		}
		started := time.Now()
		v := o.run(t, u)
		report.add(v)
		fmt.Printf("%d/%d %s %s %s (%s)\n", i+1, len(units), u.name, v.verdict, v.class, time.Since(started).Round(time.Millisecond))
		report.write(t)
	}
	if os.Getenv("SLT_OUTSIDE_REPORT") == "" {
		fmt.Println(report)
	}
}

// write writes the report so far, so that a run can be followed.
func (r *outsideReport) write(t *testing.T) {
	t.Helper()
	if path := os.Getenv("SLT_OUTSIDE_REPORT"); path != "" {
		if err := os.WriteFile(path, []byte(r.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// outsideRun holds the two servers that files run on: the one under test, and
// the one that judges where the first one's answer is not the suite's.
type outsideRun struct {
	bin      string
	server   *serverproc.Server
	postgres *serverproc.Postgres
}

func startOutside(t *testing.T) *outsideRun {
	t.Helper()
	bin, err := binary.Path(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := &outsideRun{bin: bin}
	if o.postgres, err = serverproc.StartPostgres(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.postgres.Stop() })
	o.fresh(t)
	t.Cleanup(func() { o.server.Kill() })
	return o
}

// fresh starts the server under test on an empty data directory.
func (o *outsideRun) fresh(t *testing.T) {
	t.Helper()
	if o.server != nil {
		o.server.Kill()
	}
	var err error
	o.server, err = serverproc.Start(serverproc.Options{Bin: o.bin, Data: filepath.Join(t.TempDir(), "data")})
	if err == nil {
		err = o.empty(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// run runs one file, first on the server under test and, when some record did
// not go as the file expects, on PostgreSQL.
func (o *outsideRun) run(t *testing.T, u outsideUnit) outsideVerdict {
	v := outsideVerdict{unit: u}
	if u.notApplicable != "" {
		return v.inapplicable(u.notApplicable)
	}
	file, err := parseOutside(filepath.Join(u.root, u.name))
	if err != nil {
		return v.inapplicable(err.Error())
	}
	ours := o.onStreamDB(t, u, file)
	for i, rec := range file.Records {
		if judgeRecord(rec, ours[i]) != "" {
			return v.judge(file, ours, o.onPostgres(t, file))
		}
	}
	return v.judge(file, ours, nil)
}

func (o *outsideRun) onStreamDB(t *testing.T, u outsideUnit, file *File) []outcome {
	outcomes := runOutside(t.Context(), file, streamdbDialect, func() string { return inDatabase(o.server.DSN(), outsideDatabase) })
	switch last := outcomes[len(outcomes)-1]; {
	case !o.server.Alive():
		t.Errorf("%s: the server died\n%s", u.name, o.server.Log())
		o.fresh(t)
	case last.late:
		o.server.Dump()
		t.Errorf("%s: over the limit of %s\n%s", u.name, outsideFileLimit, o.server.Log())
		o.fresh(t)
	default:
		if err := o.empty(t.Context()); err != nil {
			fmt.Printf("%s: cleaning up after it: %v\n", u.name, err)
			o.fresh(t)
		}
	}
	return outcomes
}

// outsideDatabase is the database that the suite expects to be in.
const outsideDatabase = "dev"

// empty drops the databases that a file has left behind, and makes the one for the
// next file.
func (o *outsideRun) empty(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s := &session{dsn: o.server.DSN}
	defer s.drop()
	left, err := s.exec(ctx, "SELECT quote_ident(datname) FROM pg_database WHERE datname NOT IN ('postgres', 'streamdb', 'template0', 'template1')")
	if err != nil {
		return err
	}
	for _, row := range left.rows {
		if _, err := s.exec(ctx, "DROP DATABASE "+row[0]+" WITH (FORCE)"); err != nil {
			return err
		}
	}
	_, err = s.exec(ctx, "CREATE DATABASE "+outsideDatabase+" TEMPLATE template0 LOCALE 'C'")
	return err
}

func (o *outsideRun) onPostgres(t *testing.T, file *File) []outcome {
	admin := o.postgres.DSN("postgres")
	s := &session{dsn: func() string { return admin }}
	defer s.drop()
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + outsideDatabase + " WITH (FORCE)", "CREATE DATABASE " + outsideDatabase + " TEMPLATE template0"} {
		if _, err := s.exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	u, err := url.Parse(o.postgres.DSN(outsideDatabase))
	if err != nil {
		t.Fatal(err)
	}
	return runOutside(t.Context(), file, postgresDialect, u.String)
}
