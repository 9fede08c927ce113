package equiv

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// failure is one answer that is not PostgreSQL's.
type failure struct {
	view   string
	how    string // the place and kind of the difference; shrinking keeps it
	detail string
	sql    string // the query or statement that shows it
	want   [][]string
}

func (f *failure) Error() string { return f.how + "\n" + f.detail }

// errInvalid marks a case that PostgreSQL refuses.
var errInvalid = errors.New("not valid on PostgreSQL")

// stats count what a run did.
type stats struct {
	queries, refused, failedOnPostgres   int
	views, compared, empty, numericShown int
	lookups                              int // views with joins that read a side from storage
	replaced                             int
	unsupported                          map[string]int
	slowest                              time.Duration // of a statement on StreamDB
	slow                                 string        // its SQL
}

// runner applies a case to both servers.
type runner struct {
	h        *harness
	c        *testCase
	stats    *stats
	strict   bool            // a statement that PostgreSQL refuses ends the run
	refused  map[string]bool // views PostgreSQL does not have
	degraded map[string]bool // views that StreamDB does not keep up to date
	turned   map[string]bool // views whose next query has taken the place of the first
	failed   map[string]*failure
	dead     *failure // the failure that lost the connection
}

// run applies the case and returns the first failure of each view.
func (h *harness) run(c *testCase, st *stats, strict bool) ([]*failure, error) {
	if err := h.clear(); err != nil {
		return nil, err
	}
	x := &runner{h: h, c: c, stats: st, strict: strict, refused: map[string]bool{}, degraded: map[string]bool{}, turned: map[string]bool{}, failed: map[string]*failure{}}
	err := x.play()
	if f := (*failure)(nil); errors.As(err, &f) {
		x.fail(f)
		err = nil
	}
	var out []*failure
	for _, f := range x.failed {
		out = append(out, f)
	}
	return out, err
}

func (x *runner) fail(f *failure) {
	if x.failed[f.view] == nil {
		x.failed[f.view] = f
	}
}

func (x *runner) play() error {
	for _, t := range x.c.tables {
		if t.create.gone {
			continue
		}
		if _, err := query(x.h.pg, t.create.String()); err != nil {
			return errInvalid
		}
		if _, err := query(x.h.sdb, t.create.String()); err != nil {
			return &failure{how: "CREATE TABLE: " + reason(err), sql: t.create.String()}
		}
		x.h.made = append(x.h.made, "DROP TABLE "+t.name)
		if t.index != "" {
			if _, err := query(x.h.sdb, t.index); err != nil {
				return &failure{how: "CREATE INDEX: " + reason(err), sql: t.index}
			}
		}
	}
	for i := 0; i <= len(x.c.steps); i++ {
		if x.c.restarts[i] {
			if err := x.h.restart(); err != nil {
				return &failure{how: "restart", detail: err.Error()}
			}
		}
		if err := x.createViews(i); err != nil {
			return err
		}
		if i == len(x.c.steps) {
			break
		}
		if err := x.step(x.c.steps[i]); err != nil {
			return err
		}
		if x.c.checks[i] {
			x.check(i)
		}
		if x.dead != nil {
			return x.dead
		}
	}
	x.check(len(x.c.steps))
	if x.dead == nil {
		x.checkTables()
		x.recompute()
	}
	return nil
}

func (x *runner) createViews(at int) error {
	if _, err := query(x.h.sdb, sharing(x.c)); err != nil {
		return &failure{how: "SET: " + reason(err), detail: err.Error()}
	}
	for _, v := range x.c.views {
		if v.turn == at && v.turn > v.at && !x.refused[v.name] && !x.degraded[v.name] && x.failed[v.name] == nil {
			if err := x.replaceView(v); err != nil {
				return err
			}
		}
		if v.at != at {
			continue
		}
		q := v.query.String()
		x.stats.queries++
		if _, err := query(x.h.pg, "CREATE VIEW "+v.name+" AS "+q); err != nil {
			if x.strict {
				return errInvalid
			}
			x.refused[v.name] = true
			x.stats.refused++
			x.stats.unsupported["PostgreSQL: "+reason(err)]++
			continue
		}
		_, err := x.timed("CREATE MATERIALIZED VIEW " + v.name + " AS " + q)
		if err == nil {
			x.h.made = append(x.h.made, "DROP MATERIALIZED VIEW "+v.name)
			x.stats.views++
			if x.c.shared {
				if plan, err := query(x.h.sdb, "EXPLAIN CREATE MATERIALIZED VIEW "+v.name+"_plan AS "+q); err == nil && strings.Contains(fmt.Sprint(plan.rows), "Lookup: ") {
					x.stats.lookups++
				}
			}
			continue
		}
		if x.lost() {
			return x.gone(v.name, "CREATE MATERIALIZED VIEW", "CREATE MATERIALIZED VIEW "+v.name+" AS "+q, err)
		}
		x.degraded[v.name] = true
		if x.unsupported(err) {
			x.stats.unsupported["view: "+reason(err)]++
		} else {
			x.fail(&failure{view: v.name, how: "CREATE MATERIALIZED VIEW: " + reason(err), detail: err.Error(), sql: "CREATE MATERIALIZED VIEW " + v.name + " AS " + q})
		}
		// A plain view lets the views above it go on.
		if _, err := query(x.h.sdb, "CREATE VIEW "+v.name+" AS "+q); err == nil {
			x.h.made = append(x.h.made, "DROP VIEW "+v.name)
		}
	}
	return nil
}

// replaceView gives a view its next query, on both servers or on neither.
func (x *runner) replaceView(v *view) error {
	q := v.next.String()
	if _, err := query(x.h.pg, "CREATE OR REPLACE VIEW "+v.name+" AS "+q); err != nil {
		if x.strict {
			return errInvalid
		}
		x.stats.unsupported["PostgreSQL: "+reason(err)]++
		return nil
	}
	sql := "CREATE OR REPLACE MATERIALIZED VIEW " + v.name + " AS " + q
	_, err := x.timed(sql)
	switch {
	case err == nil:
		x.turned[v.name] = true
		x.stats.replaced++
		return nil
	case x.lost():
		return x.gone(v.name, "CREATE OR REPLACE MATERIALIZED VIEW", sql, err)
	case !x.unsupported(err):
		x.fail(&failure{view: v.name, how: "CREATE OR REPLACE MATERIALIZED VIEW: " + reason(err), detail: err.Error(), sql: sql})
	}
	x.stats.unsupported["replacement: "+reason(err)]++
	_, err = query(x.h.pg, "CREATE OR REPLACE VIEW "+v.name+" AS "+v.query.String())
	return err
}

// text is the query that a view has now.
func (x *runner) text(v *view) string {
	if x.turned[v.name] {
		return v.next.String()
	}
	return v.query.String()
}

// sharing is the setting of a case.
func sharing(c *testCase) string {
	if c.shared {
		return "SET shared_arrangements = on"
	}
	return "SET shared_arrangements = auto"
}

// timed runs a statement on StreamDB and remembers the slowest.
func (x *runner) timed(sql string) (*answer, error) {
	start := time.Now()
	a, err := query(x.h.sdb, sql)
	if took := time.Since(start); took > x.stats.slowest {
		x.stats.slowest, x.stats.slow = took, sql
	}
	return a, err
}

// gone is the failure of a server that died, hangs, or hung up. Nothing after
// it means anything, so the run ends with it.
func (x *runner) gone(view, place, sql string, err error) *failure {
	if x.h.server.Alive() {
		_ = x.h.server.Dump()
	}
	f := &failure{view: view, how: place + ": connection lost", detail: err.Error() + "\n" + x.h.server.Log(), sql: sql}
	if x.dead == nil {
		x.dead = f
	}
	return f
}

func (x *runner) lost() bool { return !x.h.server.Alive() || x.h.sdb.IsClosed() }

// unsupported tells whether an error says that something is missing: a feature,
// a function, or a view that was not made for such a reason.
func (x *runner) unsupported(err error) bool {
	switch sqlState(err) {
	case "0A000", "42883":
		return true
	case "42P01":
		return len(x.degraded) > 0
	}
	return false
}

// step runs one transaction on both servers, or on neither.
func (x *runner) step(tx *node) error {
	var stmts []string
	for _, s := range tx.parts {
		if !s.gone && !tx.gone {
			stmts = append(stmts, s.String())
		}
	}
	if len(stmts) == 0 {
		return nil
	}
	if len(stmts) > 1 {
		stmts = append(append([]string{"BEGIN"}, stmts...), "COMMIT")
	}
	query(x.h.pg, "BEGIN")
	var counts []int64
	for _, s := range stmts {
		if s == "BEGIN" || s == "COMMIT" {
			counts = append(counts, 0)
			continue
		}
		a, err := query(x.h.pg, s)
		if err != nil {
			query(x.h.pg, "ROLLBACK")
			if x.strict {
				return errInvalid
			}
			tx.gone = true // shrinking starts without it
			return nil
		}
		counts = append(counts, a.count)
	}
	for i, s := range stmts {
		a, err := x.timed(s)
		if err == nil && a.count == counts[i] {
			continue
		}
		query(x.h.pg, "ROLLBACK")
		if err == nil {
			return &failure{how: "rows affected", detail: fmt.Sprintf("%d, should be %d", a.count, counts[i]), sql: s}
		}
		if x.lost() {
			return x.gone("", strings.Fields(s)[0], s, err)
		}
		query(x.h.sdb, "ROLLBACK")
		if x.unsupported(err) {
			x.stats.unsupported["change: "+reason(err)]++
			return nil
		}
		return &failure{how: strings.Fields(s)[0] + ": " + reason(err), detail: err.Error() + "\n" + x.crash(), sql: s}
	}
	_, err := query(x.h.pg, "COMMIT")
	return err
}

// crash is the server's last output when it died.
func (x *runner) crash() string {
	if x.h.server.Alive() {
		return ""
	}
	return x.h.server.Log()
}

// check compares all views that exist.
func (x *runner) check(step int) {
	for _, v := range x.c.views {
		if x.dead != nil {
			return
		}
		if v.at > step+1 || v.at > step && step < len(x.c.steps) || x.refused[v.name] || x.failed[v.name] != nil {
			continue
		}
		if x.readsRefused(v) {
			x.refused[v.name] = true
			continue
		}
		want, err := query(x.h.pg, "SELECT * FROM "+v.name)
		if err != nil {
			x.stats.failedOnPostgres++
			x.stats.unsupported["PostgreSQL: "+reason(err)]++
			x.refused[v.name] = true
			continue
		}
		if !x.degraded[v.name] {
			x.compare(v, "view", "SELECT * FROM "+v.name, want)
		}
		if x.failed[v.name] == nil {
			x.compare(v, "one-off", x.text(v), want)
		}
	}
}

// readsRefused reports whether v reads a view that fails on PostgreSQL. StreamDB
// leaves out the rows that fail, PostgreSQL computes no more of them than v needs.
func (x *runner) readsRefused(v *view) bool {
	q := x.text(v)
	for name := range x.refused {
		if isWord(name, q) {
			return true
		}
	}
	return false
}

func (x *runner) checkTables() {
	for _, t := range x.c.tables {
		if t.create.gone {
			continue
		}
		want, err := query(x.h.pg, "SELECT * FROM "+t.name)
		if err == nil {
			x.compare(&view{relation: t.relation}, "table", "SELECT * FROM "+t.name, want)
		}
	}
}

// recompute lets the server compute every view anew, with the rows that fail, also
// those that PostgreSQL has no answer for.
func (x *runner) recompute() {
	for _, v := range x.c.views {
		if x.degraded[v.name] || x.failed[v.name] != nil || x.dead != nil {
			continue
		}
		check := "CHECK MATERIALIZED VIEW " + v.name + " LIMIT 10"
		got, err := x.timed(check)
		switch {
		case err != nil && x.lost():
			x.fail(x.gone(v.name, "check", check, err))
		case err != nil && sqlState(err) != "42P01" && sqlState(err) != "42809": // PostgreSQL refused it
			x.fail(&failure{view: v.name, how: "check: " + reason(err), detail: err.Error(), sql: check})
		case err == nil && len(got.rows) > 0:
			x.fail(&failure{view: v.name, how: "check", detail: fmt.Sprint(got.rows), sql: check})
		}
	}
}

func (x *runner) compare(v *view, place, sql string, want *answer) {
	got, err := x.timed(sql)
	f := &failure{view: v.name, sql: sql, want: want.rows}
	switch {
	case err != nil && x.unsupported(err):
		x.stats.unsupported[place+": "+reason(err)]++
		return
	case err != nil && x.lost():
		x.fail(x.gone(v.name, place, sql, err))
		return
	case err != nil:
		f.how, f.detail = place+": "+reason(err), err.Error()+"\n"+x.crash()
		x.fail(f)
		return
	}
	x.stats.compared++
	if len(want.rows) == 0 {
		x.stats.empty++
	}
	diff, shown := difference(want, got)
	if shown {
		x.stats.numericShown++
	}
	if diff != "" {
		f.how, f.detail = place+": "+diff[:strings.IndexByte(diff, '\n')], diff
		x.fail(f)
	}
}
