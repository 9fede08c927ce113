package sqllogic

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Target is a server that files run against.
type Target struct {
	DSN    func() string // where to connect, asked anew for every connection
	Labels []string      // names that skipif and onlyif know the server by
	// Restart, when set, crashes the server and brings it back.
	Restart func() error
	// PlainViews turns materialized views into views, for a server whose
	// materialized views do not follow their tables.
	PlainViews bool
}

// Options direct one run of a file.
type Options struct {
	// RestartBefore tells before which records (by index) the target is
	// restarted; nil restarts never.
	RestartBefore func(index int) bool
	TestDir       string // value of $__TEST_DIR__
	Database      string // value of $__DATABASE__
	MaxFailures   int    // stop after so many failures; 0 means 5
	// AfterQuery, when set, is called after each query with the rows it was to return.
	AfterQuery func(ctx context.Context, s *session, rec *Record, sql string, columns int, want []string)
}

// Failure is a record whose outcome was not the expected one.
type Failure struct {
	Pos  Position
	SQL  string
	Text string
}

func (f Failure) String() string {
	return fmt.Sprintf("%s\n%s\n%s", f.Pos, indent(f.SQL), f.Text)
}

// Stats count what a run did.
type Stats struct {
	Run, Skipped, Restarts int
}

// runner is the state of one run of one file.
type runner struct {
	file      *File
	target    Target
	opts      Options
	labels    map[string]bool
	sessions  map[string]*session
	subst     substitutions
	sort      SortMode
	threshold int
	stats     Stats
}

// Run runs the file from its first record to its last. The error is one of
// the harness (the server could not be restarted); failures of records are
// returned as such.
func Run(ctx context.Context, file *File, target Target, opts Options) ([]Failure, Stats, error) {
	r := &runner{file: file, target: target, opts: opts, sort: SortNone,
		labels: map[string]bool{}, sessions: map[string]*session{},
		subst: substitutions{testDir: opts.TestDir, database: opts.Database}}
	for _, l := range target.Labels {
		r.labels[l] = true
	}
	if r.opts.MaxFailures == 0 {
		r.opts.MaxFailures = 5
	}
	defer r.dropSessions()
	var failures []Failure
	for i, rec := range file.Records {
		if !rec.applies(r.labels) {
			r.stats.Skipped++
			continue
		}
		if err := r.restart(i); err != nil {
			return failures, r.stats, fmt.Errorf("%s: restart: %w", rec.Pos, err)
		}
		r.stats.Run++
		text := r.step(ctx, rec)
		if text == "" {
			continue
		}
		failures = append(failures, Failure{Pos: rec.Pos, SQL: rec.SQL, Text: text})
		if len(failures) >= r.opts.MaxFailures || ctx.Err() != nil {
			break
		}
	}
	return failures, r.stats, nil
}

func (r *runner) dropSessions() {
	for _, s := range r.sessions {
		s.drop()
	}
}

// restart crashes the server before record i when the options ask for it and
// no session is inside a transaction, which no crash would keep.
func (r *runner) restart(i int) error {
	if r.opts.RestartBefore == nil || r.target.Restart == nil || r.file.NoRestart || !r.opts.RestartBefore(i) {
		return nil
	}
	for _, s := range r.sessions {
		if s.inTransaction() {
			return nil
		}
	}
	r.stats.Restarts++
	if err := r.target.Restart(); err != nil {
		return err
	}
	r.dropSessions()
	return nil
}

// step runs one record, again as often as its retry clause allows, and returns
// what is wrong, or "".
func (r *runner) step(ctx context.Context, rec *Record) string {
	switch rec.Kind {
	case KindSleep:
		time.Sleep(rec.Backoff)
		return ""
	case KindSortMode:
		r.sort = rec.Sort
		return ""
	case KindSubstitution:
		r.subst.on = rec.On
		return ""
	case KindHashThreshold:
		r.threshold = rec.Threshold
		return ""
	case KindDisconnect:
		r.session(rec.Connection).drop()
		return ""
	}
	text := r.try(ctx, rec)
	for n := 0; n < rec.Retry && text != "" && ctx.Err() == nil; n++ {
		time.Sleep(rec.Backoff)
		text = r.try(ctx, rec)
	}
	return text
}

func (r *runner) try(ctx context.Context, rec *Record) string {
	sql, err := r.subst.expand(rec.SQL)
	if err != nil {
		return err.Error()
	}
	if r.target.PlainViews && !r.file.RealViews {
		sql = plainViews(sql)
	}
	res, err := r.session(rec.Connection).exec(ctx, sql)
	if rec.Error.Wanted {
		return checkError(rec, err)
	}
	if err != nil {
		return "unexpected error: " + errorText(err)
	}
	if rec.Kind == KindStatement {
		if rec.Count >= 0 && res.count != rec.Count {
			return fmt.Sprintf("%d rows affected, expected %d", res.count, rec.Count)
		}
		return ""
	}
	text := r.checkRows(rec, res)
	if text == "" && r.opts.AfterQuery != nil {
		r.opts.AfterQuery(ctx, r.session(rec.Connection), rec, sql, res.columns, resultLines(res.rows, SortRows))
	}
	return text
}

func (r *runner) session(name string) *session {
	s := r.sessions[name]
	if s == nil {
		s = &session{dsn: r.target.DSN}
		if _, database, ok := strings.Cut(name, "@"); ok {
			s.dsn = func() string { return inDatabase(r.target.DSN(), database) }
		}
		r.sessions[name] = s
	}
	return s
}

// inDatabase is the address of another database of the same server.
func inDatabase(dsn, database string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	u.Path = "/" + database
	return u.String()
}

func checkError(rec *Record, err error) string {
	if err == nil {
		return "succeeded, but an error was expected"
	}
	text := errorText(err)
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return "an error of the server was expected, but the connection failed: " + text
	}
	if p := rec.Error.Pattern; p != nil && !p.MatchString(text) {
		return fmt.Sprintf("error does not match %q: %s", p, text)
	}
	if want := strings.TrimSpace(rec.Error.Text); want != "" && want != text {
		return "another error:\n" + diff(strings.Split(want, "\n"), strings.Split(text, "\n"))
	}
	return ""
}

func (r *runner) checkRows(rec *Record, res *result) string {
	if rec.Types != "" && len(rec.Types) != res.columns {
		return fmt.Sprintf("%d columns, expected %d (%s)", res.columns, len(rec.Types), rec.Types)
	}
	mode := rec.Sort
	if mode == SortDefault {
		mode = r.sort
	}
	lines := resultLines(res.rows, mode)
	if r.threshold > 0 && len(lines) > r.threshold {
		lines = []string{hashLine(lines)}
	}
	expected := rec.Expected
	if mode == SortRows && len(expected) == len(lines) {
		// Files written by hand may list the rows in any order.
		expected = sortedLines(expected)
		lines = sortedLines(lines)
	}
	return compare(expected, lines)
}

func sortedLines(lines []string) []string {
	rows := make([][]string, len(lines))
	for i, l := range lines {
		rows[i] = []string{normalize(l)}
	}
	return resultLines(rows, SortRows)
}

var materializedPattern = regexp.MustCompile(`(?i)^(\s*(?:CREATE|DROP|ALTER)\s+)MATERIALIZED\s+(VIEW)`)

// plainViews makes a plain view of a materialized one.
func plainViews(sql string) string { return materializedPattern.ReplaceAllString(sql, "${1}${2}") }

func indent(text string) string {
	const limit = 2000
	if len(text) > limit {
		text = text[:limit] + " ..."
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
