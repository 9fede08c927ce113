package parity

import (
	_ "embed"
	"strings"
	"testing"
)

//go:embed setup.sql
var setup string

//go:embed errors.sql
var wrong string

//go:embed errors_known.txt
var known string

// TestErrors asks wrong statements: SQLSTATE, message and position are to be
// the same. Those of errors_known.txt may differ, and no others: a difference
// that has gone must leave the list.
func TestErrors(t *testing.T) {
	p := newPair(t)
	for _, name := range []string{"t", "u", "k"} {
		p.both("DROP TABLE IF EXISTS " + name)
	}
	for _, sql := range strings.Split(strings.TrimSpace(setup), "\n") {
		if pg, sdb := p.both(sql); pg.err != nil || sdb.err != nil {
			t.Fatalf("%s: %s, %s", sql, pg.text(false), sdb.text(false))
		}
	}
	reasons := map[string]string{}
	for _, line := range strings.Split(known, "\n") {
		if reason, sql, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "#") {
			reasons[sql] = reason
		}
	}
	asked, differ := 0, 0
	for _, sql := range strings.Split(wrong, "\n") {
		if sql == "" || strings.HasPrefix(sql, "--") {
			continue
		}
		asked++
		pg, sdb := p.both(sql)
		a, b := pg.text(true), sdb.text(true)
		_, listed := reasons[sql]
		switch {
		case a != b && !listed:
			differ++
			t.Errorf("%s\nPostgreSQL %s\nStreamDB   %s", sql, a, b)
		case a == b && listed:
			t.Errorf("%s\nis listed as known, but the same", sql)
		}
		delete(reasons, sql)
	}
	for sql := range reasons {
		t.Errorf("errors_known.txt lists %s, which is not asked", sql)
	}
	t.Logf("%d wrong statements, %d differ, %d listed", asked, differ, strings.Count(known, ": "))
}
