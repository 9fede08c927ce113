package parity

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// regressDir names the folder src/test/regress of PostgreSQL's sources, which are
// read where they are and never part of this project.
const regressDir = "STREAMDB_PG_REGRESS"

// TestRegress gives PostgreSQL's own regression scripts to psql, connected to
// each of the two servers, and compares what psql prints after every statement.
// It reports and asserts only that the server lives: scripts test features that
// are not meant to be here, and one statement that is refused makes those after
// it differ. PARITY_ONLY is a list of script names, PARITY_OUT the folder for a
// file of differences for each script. With PARITY_VIEWS every query is also made a
// materialized view, which is read and dropped.
func TestRegress(t *testing.T) {
	dir := os.Getenv(regressDir)
	if dir == "" {
		fmt.Printf("TestRegress runs only with %s=/path/to/src/test/regress\n", regressDir)
		return
	}
	out := os.Getenv("PARITY_OUT")
	if out == "" {
		out = t.TempDir()
	}
	r := &regress{pair: newPair(t), t: t, dir: dir, out: out}
	only := strings.FieldsFunc(os.Getenv("PARITY_ONLY"), func(c rune) bool { return c == ',' || c == ' ' })
	files, err := filepath.Glob(filepath.Join(dir, "sql", "*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		if name == "test_setup" || len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		if err := r.file(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// regress runs scripts on the two servers of the pair.
type regress struct {
	pair     *pair
	t        *testing.T
	dir, out string
}

func (r *regress) file(name string) error {
	database := "regress_" + name
	for _, c := range []string{`DROP DATABASE IF EXISTS "` + database + `"`, `CREATE DATABASE "` + database + `"`} {
		if pg, sdb := r.pair.both(c); pg.err != nil || sdb.err != nil {
			return fmt.Errorf("%s: %s / %s", c, pg.text(false), sdb.text(false))
		}
	}
	setup, err := r.script("test_setup")
	if err != nil {
		return err
	}
	script, err := r.script(name)
	if err != nil {
		return err
	}
	if os.Getenv("PARITY_VIEWS") != "" {
		script = withViews(script)
	}
	var printed [2]string
	done := make(chan struct{})
	run := func(i int, dsn string) {
		dsn = strings.Replace(dsn, "/streamdb?", "/"+database+"?", 1)
		r.psql(dsn, setup)
		printed[i] = r.psql(dsn, script)
	}
	go func() { run(0, r.pair.pgDSN); close(done) }()
	run(1, r.pair.sdbDSN)
	<-done
	if a := ask(r.pair.sdb, "SELECT 1"); a.err != nil {
		return fmt.Errorf("the server is gone: %s", a.text(false))
	}
	return r.report(name, steps(script, printed[0]), steps(script, printed[1]))
}

var (
	setFile  = regexp.MustCompile(`(?m)^\\set filename :abs_srcdir '([^']*)'\n`)
	copyFile = regexp.MustCompile(`(?im)^COPY (.*) FROM :'filename'(.*);`)
)

// script reads one, with copies of files of the server made such of the client.
func (r *regress) script(name string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(r.dir, "sql", name+".sql"))
	if err != nil {
		return "", err
	}
	text := string(raw)
	for {
		at := setFile.FindStringSubmatchIndex(text)
		if at == nil {
			return text, nil
		}
		path := filepath.Join(r.dir, text[at[2]:at[3]])
		rest := text[at[1]:]
		if c := copyFile.FindStringSubmatchIndex(rest); c != nil && c[0] < 200 {
			rest = rest[:c[0]] + `\copy ` + rest[c[2]:c[3]] + " from '" + path + "'" + rest[c[4]:c[5]] + rest[c[1]:]
		}
		text = text[:at[0]] + rest
	}
}

var (
	queryBegin = regexp.MustCompile(`(?i)^\s*(select|with|values)\b`)
	queryEnd   = regexp.MustCompile(`;\s*(--.*)?$`)
)

// withViews adds to a script that each query that begins on a line and ends on one is
// a view too.
func withViews(script string) string {
	var out, query []string
	between := true // statements
	for _, line := range strings.Split(script, "\n") {
		out = append(out, line)
		text := strings.TrimSpace(line)
		if between && queryBegin.MatchString(line) {
			query = []string{}
		}
		if query != nil {
			query = append(query, line)
		}
		if text != "" && !strings.HasPrefix(text, "--") {
			between = queryEnd.MatchString(line) || strings.HasPrefix(text, `\`)
		}
		if between && query != nil {
			out = append(out, "CREATE MATERIALIZED VIEW as_view AS")
			out = append(out, query...)
			out = append(out, "TABLE as_view;", "DROP MATERIALIZED VIEW as_view;")
			query = nil
		}
	}
	return strings.Join(out, "\n")
}

// psql runs a script to its end and returns what it prints, the input included.
func (r *regress) psql(dsn, script string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "psql", "-X", "-a", "-q", "-v", "VERBOSITY=verbose",
		"-v", "ON_ERROR_ROLLBACK=on", "-v", "HIDE_TABLEAM=on", "-v", "HIDE_TOAST_COMPRESSION=on", dsn)
	cmd.Env = append(os.Environ(), "PGTZ=PST8PDT", "PGDATESTYLE=Postgres, MDY", "LC_ALL=C.UTF-8",
		"PGOPTIONS=-c intervalstyle=postgres_verbose -c statement_timeout=20s", "PG_ABS_SRCDIR="+r.dir, "PG_LIBDIR=/nowhere", "PG_DLSUFFIX=.so")
	cmd.Stdin = strings.NewReader(script)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && ctx.Err() != nil {
		fmt.Fprintf(&out, "TIMEOUT\n")
	}
	return out.String()
}

// step is a piece of a script and what psql printed after its last line.
type step struct {
	line int // of the script, from 1
	sql  string
	out  []string
}

var copyIn = regexp.MustCompile(`(?i)^\s*\\?copy .* from (stdin|pstdin)`)

// steps finds the lines of the script in what was printed. Data of COPY is
// in the script but not printed.
func steps(script, printed string) []step {
	type input struct {
		line int
		text string
	}
	var in []input
	data := false
	for i, text := range strings.Split(script, "\n") {
		if data {
			data = text != `\.`
			continue
		}
		if strings.TrimSpace(text) != "" {
			in = append(in, input{i + 1, text})
		}
		data = copyIn.MatchString(text)
	}
	var all []step
	open := false // the last step has no output yet
	for _, text := range strings.Split(printed, "\n") {
		switch {
		case strings.TrimSpace(text) == "" || strings.HasPrefix(text, "LOCATION:"):
		case len(in) > 0 && text == in[0].text:
			if !open {
				all = append(all, step{line: in[0].line})
				open = true
			}
			s := &all[len(all)-1]
			s.sql += text + "\n"
			if end := strings.TrimSpace(text); strings.HasSuffix(end, ";") || strings.HasPrefix(end, `\`) {
				open = false
			}
			in = in[1:]
		case len(all) > 0:
			s := &all[len(all)-1]
			s.out = append(s.out, text)
			open = false
		}
	}
	return all
}

// kinds of outcomes, in the order of the report.
var kinds = []string{"same", "wording", "message", "code", "accepted", "refused", "error", "order", "rows", "lost"}

var errorLine = regexp.MustCompile(`^(?:ERROR|FATAL|PANIC):  (\w{5}): (.*)`)

func (s step) failure() (code, message string) {
	for _, line := range s.out {
		if m := errorLine.FindStringSubmatch(line); m != nil {
			return m[1], m[2]
		}
	}
	return "", ""
}

// position is what psql shows of an error's.
func (s step) position() string {
	var lines []string
	for i, line := range s.out {
		if strings.HasPrefix(line, "LINE ") && i+1 < len(s.out) {
			lines = append(lines, line, s.out[i+1])
		}
	}
	return strings.Join(lines, "\n")
}

var ordered = regexp.MustCompile(`(?i)order\s+by`)

func compareSteps(pg, sdb step) string {
	if slices.Equal(pg.out, sdb.out) {
		return "same"
	}
	pgCode, pgText := pg.failure()
	code, text := sdb.failure()
	switch {
	case pgCode == "" && code == "0A000":
		return "refused"
	case pgCode == "" && code != "":
		return "error"
	case pgCode != "" && code == "":
		return "accepted"
	case pgCode != code:
		return "code"
	case pgCode != "" && (pgText != text || pg.position() != sdb.position()):
		return "message"
	case pgCode != "":
		return "wording"
	}
	a, b := slices.Sorted(slices.Values(pg.out)), slices.Sorted(slices.Values(sdb.out))
	switch {
	case !slices.Equal(a, b):
		return "rows"
	case ordered.MatchString(pg.sql):
		return "order" // perhaps of rows that it leaves open
	}
	return "same"
}

var planned = regexp.MustCompile(`(?i)^(\s*--[^\n]*\n)*\s*explain\b`)

// report writes the differences of a script and counts them by their kind.
func (r *regress) report(name string, pg, sdb []step) error {
	byLine := map[int]step{}
	for _, s := range sdb {
		byLine[s.line] = s
	}
	var b strings.Builder
	count, total := map[string]int{}, 0
	for _, p := range pg {
		if planned.MatchString(p.sql) {
			continue // plans are each server's own
		}
		total++
		s, ok := byLine[p.line]
		kind := "lost"
		if ok {
			kind = compareSteps(p, s)
		}
		count[kind]++
		if kind != "same" {
			fmt.Fprintf(&b, "=== %s %s.sql:%d\n%s--- PostgreSQL\n%s\n+++ StreamDB\n%s\n\n", kind, name, p.line, p.sql, strings.Join(p.out, "\n"), strings.Join(s.out, "\n"))
		}
	}
	line := fmt.Sprintf("%-24s %5d", name, total)
	for _, k := range kinds {
		line += fmt.Sprintf("  %s %d", k, count[k])
	}
	fmt.Println(line)
	return os.WriteFile(filepath.Join(r.out, name+".diff"), []byte(b.String()), 0o644)
}
