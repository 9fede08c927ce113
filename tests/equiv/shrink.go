package equiv

import (
	"fmt"
	"strings"
	"time"
)

// shrinker leaves out parts of a case while it still fails in the same way.
type shrinker struct {
	h        *harness
	c        *testCase
	how      string
	deadline time.Time
	last     *failure
}

// shrink makes the case small. Only the failing view and what it reads is kept.
func (h *harness) shrink(c *testCase, f *failure, limit time.Duration) (*testCase, *failure) {
	s := &shrinker{h: h, how: f.how, deadline: time.Now().Add(limit), last: f}
	s.c = &testCase{tables: c.tables, steps: c.steps, restarts: c.restarts, checks: c.checks, views: needed(c.views, f.view)}
	h.run(c, &stats{unsupported: map[string]int{}}, false) // marks the transactions that PostgreSQL refuses
	if !s.fails() {
		s.c = c // the failure needs its neighbours, or does not repeat
		if !s.fails() {
			return c, f
		}
	}
	s.simplifyTimes()
	for s.pass() {
	}
	return s.c, s.last
}

// needed keeps the named view and those it reads, directly or not.
func needed(views []*view, name string) []*view {
	names := []string{name}
	var out []*view
	for i := len(views) - 1; i >= 0; i-- {
		for _, n := range names {
			if views[i].name == n || isWord(views[i].name, n) {
				out = append([]*view{views[i]}, out...)
				names = append(names, views[i].query.String())
				break
			}
		}
	}
	return out
}

// isWord reports whether word occurs in sql as a relation's name.
func isWord(word, sql string) bool { return strings.Contains(sql, word+" AS ") }

// fails runs the case once.
func (s *shrinker) fails() bool {
	st := &stats{unsupported: map[string]int{}}
	failures, err := s.h.run(s.c, st, true)
	if err != nil {
		return false
	}
	for _, f := range failures {
		if f.how == s.how {
			s.last = f
			return true
		}
	}
	return false
}

// try keeps a change when the case still fails, else undoes it.
func (s *shrinker) try(do, undo func()) bool {
	if time.Now().After(s.deadline) {
		return false
	}
	do()
	if s.fails() {
		return true
	}
	undo()
	return false
}

func (s *shrinker) simplifyTimes() {
	if old := s.c.restarts; len(old) > 0 {
		s.try(func() { s.c.restarts = nil }, func() { s.c.restarts = old })
	}
	if old := s.c.checks; len(old) > 0 {
		s.try(func() { s.c.checks = nil }, func() { s.c.checks = old })
	}
	for _, v := range s.c.views {
		if old := v.turn; old != 0 {
			s.try(func() { v.turn = 0 }, func() { v.turn = old })
		}
		if old := v.at; old != 0 {
			s.try(func() { v.at = 0 }, func() { v.at = old })
		}
	}
}

// pass tries every way to make the case smaller and reports any success.
func (s *shrinker) pass() bool {
	better := false
	for i := len(s.c.steps) - 1; i >= 0; i-- {
		better = s.tree(s.c.steps[i]) || better
	}
	for i := len(s.c.views) - 1; i >= 0; i-- {
		if s.dropView(i) {
			better = true
			continue
		}
		better = s.tree(s.c.views[i].query) || better
		if v := s.c.views[i]; v.turn > v.at {
			better = s.tree(v.next) || better
		}
	}
	for _, t := range s.c.tables {
		better = s.tree(t.create) || better
	}
	return better && time.Now().Before(s.deadline)
}

func (s *shrinker) dropView(i int) bool {
	if len(s.c.views) < 2 {
		return false
	}
	old := s.c.views
	return s.try(func() { s.c.views = append(append([]*view{}, old[:i]...), old[i+1:]...) }, func() { s.c.views = old })
}

// tree shrinks one piece of SQL, from the top down.
func (s *shrinker) tree(root *node) bool {
	better := false
	for _, n := range root.live() {
		if n.gone || n.instead != nil {
			continue
		}
		if s.node(n) {
			better = true
		}
	}
	return better
}

func (s *shrinker) node(n *node) bool {
	if n.optional && s.try(func() { n.gone = true }, func() { n.gone = false }) {
		return true
	}
	better := false
	if n.sep != "" {
		for i := len(n.parts) - 1; i >= 0; i-- {
			p := n.parts[i]
			if !p.gone && n.liveParts() > n.min && s.try(func() { p.gone = true }, func() { p.gone = false }) {
				better = true
			}
		}
		return better
	}
	if n.kind == kNone || len(n.parts) == 0 {
		return false
	}
	for _, smaller := range s.replacements(n) {
		if s.try(func() { n.instead = smaller }, func() { n.instead = nil }) {
			return true
		}
	}
	return better
}

// replacements are smaller pieces of the same kind: parts, then a constant.
func (s *shrinker) replacements(n *node) []*node {
	var out []*node
	for _, d := range n.live()[1:] {
		if d.kind == n.kind && d != n && len(out) < 4 {
			out = append(out, d)
		}
	}
	if n.kind == kBool {
		out = append(out, typed(kBool, "true"))
	}
	if t, ok := sqlTypes[n.kind]; ok {
		out = append(out, typed(n.kind, "NULL::"+strings.TrimSuffix(t, "(8,2)")))
	}
	return out
}

// file writes the case as a file of package sqllogic.
func file(c *testCase, f *failure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", strings.ReplaceAll(strings.TrimSpace(f.Error()), "\n", "\n# "))
	statement := func(sql string) { fmt.Fprintf(&b, "statement ok\n%s\n\n", sql) }
	for _, t := range c.tables {
		if !t.create.gone {
			statement(t.create.String())
			if t.index != "" {
				statement(t.index)
			}
		}
	}
	statement(sharing(c))
	for i := 0; i <= len(c.steps); i++ {
		if c.restarts[i] {
			b.WriteString("# the server is restarted here\n\n")
		}
		for _, v := range c.views {
			if v.turn == i && v.turn > v.at {
				statement("CREATE OR REPLACE MATERIALIZED VIEW " + v.name + " AS " + v.next.String())
			}
			if v.at == i {
				statement("CREATE MATERIALIZED VIEW " + v.name + " AS " + v.query.String())
			}
		}
		if i < len(c.steps) {
			writeStep(c.steps[i], statement)
		}
	}
	if f.want != nil || strings.HasPrefix(f.sql, "SELECT") || strings.HasPrefix(f.sql, "(") {
		fmt.Fprintf(&b, "query ? rowsort\n%s\n----\n", f.sql)
		for _, row := range f.want {
			b.WriteString(strings.Join(row, " ") + "\n")
		}
		b.WriteString("\n")
	} else if !strings.HasPrefix(f.sql, "CREATE") {
		statement(f.sql)
	}
	return b.String()
}

func writeStep(tx *node, statement func(string)) {
	if tx.gone || tx.liveParts() == 0 {
		return
	}
	one := tx.liveParts() == 1
	if !one {
		statement("BEGIN")
	}
	for _, p := range tx.parts {
		if !p.gone {
			statement(p.String())
		}
	}
	if !one {
		statement("COMMIT")
	}
}
