package sqllogic

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// outcome is what a server did with one record.
type outcome struct {
	skipped bool // the record does not apply, or there was nothing to do
	late    bool // the file's time was over
	unset   error
	res     *result
	err     error
}

// code is the SQLSTATE of a failed record, "" when it did not fail.
func (o outcome) code() string {
	var pg *pgconn.PgError
	if errors.As(o.err, &pg) {
		return pg.Code
	}
	return ""
}

// message is the server's error without position.
func (o outcome) message() string {
	var pg *pgconn.PgError
	if errors.As(o.err, &pg) {
		return pg.Message
	}
	if o.err != nil {
		return o.err.Error()
	}
	return ""
}

// errorHead matches the first line of a record that expects an error. The
// suite's patterns are RisingWave's words, in Rust's dialect of regular
// expressions: any error will do.
var errorHead = regexp.MustCompile(`(?m)^((?:statement|query) error)\b.*?(\s+retry\s+\d+\s+backoff\s+\S+)?\s*$`)

// parseOutside parses a file of the suite.
func parseOutside(path string) (*File, error) {
	f := &File{Path: path, edit: func(text string) string { return errorHead.ReplaceAllString(text, "$1$2") }}
	return f, f.include(path, 0)
}

// maxOutsideRetries is enough for a server whose views are never behind.
const maxOutsideRetries = 2

// runOutside runs all records of a file, whatever becomes of each.
func runOutside(ctx context.Context, file *File, d outsideDialect, dsn func() string) []outcome {
	ctx, cancel := context.WithTimeout(ctx, outsideFileLimit)
	defer cancel()
	labels := map[string]bool{}
	for _, l := range d.labels {
		labels[l] = true
	}
	dir, err := os.MkdirTemp("", "outside-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	r := &runner{file: file, target: Target{DSN: dsn}, sessions: map[string]*session{}, subst: substitutions{testDir: dir, database: outsideDatabase}}
	defer r.dropSessions()
	outcomes := make([]outcome, len(file.Records))
	for i, rec := range file.Records {
		switch {
		case !rec.applies(labels):
			outcomes[i].skipped = true
		case ctx.Err() != nil:
			outcomes[i].late = true
		case rec.Kind == KindStatement || rec.Kind == KindQuery:
			outcomes[i] = r.outcome(ctx, rec, d)
			for n := 0; n < min(rec.Retry, maxOutsideRetries) && judgeRecord(rec, outcomes[i]) != "" && ctx.Err() == nil; n++ {
				time.Sleep(min(rec.Backoff, time.Second))
				outcomes[i] = r.outcome(ctx, rec, d)
			}
		default:
			outcomes[i].skipped = true
			r.step(ctx, rec)
		}
	}
	return outcomes
}

func (r *runner) outcome(ctx context.Context, rec *Record, d outsideDialect) outcome {
	sql, err := r.subst.expand(rec.SQL)
	if err != nil {
		return outcome{unset: err}
	}
	if sql = d.rewrite(sql); sql == "" {
		return outcome{skipped: true}
	}
	res, err := r.session(rec.Connection).exec(ctx, sql)
	return outcome{res: res, err: err, late: ctx.Err() != nil}
}

// judgeRecord returns what is wrong with an outcome, or "".
func judgeRecord(rec *Record, o outcome) string {
	switch {
	case o.late:
		return "over the time limit"
	case o.skipped:
		return ""
	case o.unset != nil:
		return o.unset.Error()
	case rec.Error.Wanted && o.err == nil:
		return "succeeded, but an error was expected"
	case rec.Error.Wanted:
		return ""
	case o.err != nil:
		return errorText(o.err)
	case rec.Kind == KindStatement:
		return ""
	}
	return compareOutside(rec, o.res.rows)
}

// zonePattern matches a time stamp whose zone has minutes, which PostgreSQL
// leaves out when they are 0.
var zonePattern = regexp.MustCompile(`(\d\d:\d\d:\d\d(?:\.\d+)?[+-]\d\d):00\b`)

var orderPattern = regexp.MustCompile(`(?is)\border\s+by\b[^)]*$`)

// compareOutside compares rows in the order of the file when the record names
// one, by a sort mode or an ORDER BY outside of parentheses.
func compareOutside(rec *Record, rows [][]string) string {
	mode := rec.Sort
	if mode == SortDefault {
		mode = SortRows
		if orderPattern.MatchString(rec.SQL) {
			mode = SortNone
		}
	}
	got := resultLines(append([][]string(nil), rows...), mode)
	want := make([]string, len(rec.Expected))
	for i, line := range rec.Expected {
		want[i] = zonePattern.ReplaceAllString(line, "$1")
	}
	if mode != SortNone {
		got, want = sortedLines(got), sortedLines(want)
	}
	return compare(want, got)
}

// sameOutcome tells whether two servers did the same.
func sameOutcome(rec *Record, a, b outcome) bool {
	if a.err != nil || b.err != nil {
		return a.code() == b.code() && a.code() != ""
	}
	if a.res == nil || b.res == nil {
		return false
	}
	if rec.Kind == KindStatement || rec.Error.Wanted {
		return true
	}
	return strings.Join(sortedLines(resultLines(a.res.rows, SortNone)), "\n") ==
		strings.Join(sortedLines(resultLines(b.res.rows, SortNone)), "\n")
}
