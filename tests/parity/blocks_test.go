package parity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// blocks makes random transaction blocks of DDL and of statements that use what it
// makes. Names come from few, so that objects get in each other's way, and many
// statements fail: each has a savepoint before it, to which a failed block goes back.
type blocks struct{ r *rand.Rand }

func (g *blocks) one(list ...string) string { return list[g.r.IntN(len(list))] }
func (g *blocks) table() string             { return g.one("t0", "t1", "t2", "t3") }
func (g *blocks) column() string            { return g.one("a", "b", "c", "d", "e") }
func (g *blocks) number() string            { return fmt.Sprint(g.r.IntN(6)) }

// rows are of tables whose first columns are two numbers.
func (g *blocks) rows() string {
	var rows []string
	for range 1 + g.r.IntN(3) {
		rows = append(rows, fmt.Sprintf("(%s, %s)", g.number(), g.one(g.number(), "NULL")))
	}
	return strings.Join(rows, ", ")
}

func (g *blocks) create() string {
	t := g.table()
	switch g.r.IntN(9) {
	case 0, 1, 2:
		a := g.one("a int", "a int PRIMARY KEY", "a int NOT NULL", "a serial", "a int PRIMARY KEY CHECK (a < 5)")
		b := g.one("b int", "b int UNIQUE", "b int DEFAULT 3", "b int REFERENCES "+g.table()+" (a)", "b int REFERENCES "+g.table()+" (a) ON DELETE CASCADE")
		return fmt.Sprintf("CREATE TABLE %s%s (%s, %s)", g.one("", "", "IF NOT EXISTS "), t, a, b)
	case 3:
		return fmt.Sprintf("CREATE TABLE %s AS SELECT a, b FROM %s", t, g.table())
	case 4:
		return fmt.Sprintf("CREATE %sINDEX i%d ON %s (%s)", g.one("", "UNIQUE "), g.r.IntN(3), t, g.column())
	case 5:
		return fmt.Sprintf("CREATE %sVIEW v%d AS SELECT a, b FROM %s", g.one("", "OR REPLACE "), g.r.IntN(2), t)
	case 6:
		return fmt.Sprintf("CREATE VIEW v%d AS SELECT x.a, count(*) AS n FROM %s x LEFT JOIN %s y ON x.a = y.b GROUP BY x.a", g.r.IntN(2), t, g.table())
	case 7:
		return "CREATE SEQUENCE s0" + g.one("", " START 7", " INCREMENT 3")
	}
	return "CREATE SCHEMA n0"
}

func (g *blocks) alter() string {
	t, c := g.table(), g.column()
	switch g.r.IntN(16) {
	case 0, 1:
		return fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", t, c, g.one("int", "int DEFAULT 4", "text DEFAULT 'x'", "int UNIQUE", "int NOT NULL", "int GENERATED ALWAYS AS (a + 1) STORED"))
	case 2:
		return fmt.Sprintf("ALTER TABLE %s DROP COLUMN %s%s", t, c, g.one("", " CASCADE"))
	case 3:
		return fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO %s", t, c, g.column())
	case 4:
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE %s", t, c, g.one("bigint", "text", "numeric", "int USING 1"))
	case 5:
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s %s", t, c, g.one("SET NOT NULL", "DROP NOT NULL", "SET DEFAULT 2", "DROP DEFAULT"))
	case 6:
		return fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT k%d UNIQUE (%s)", t, g.r.IntN(2), c)
	case 7:
		return fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT k%d CHECK (%s < 4)", t, g.r.IntN(2), g.one("a", "b"))
	case 8:
		return fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT f%d FOREIGN KEY (b) REFERENCES %s (a)%s", t, g.r.IntN(2), g.table(), g.one("", " ON DELETE CASCADE", " ON DELETE SET NULL", " DEFERRABLE INITIALLY DEFERRED"))
	case 9:
		return fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s", t, g.one("k0", "k1", "f0", "f1", t+"_pkey"))
	case 10:
		return fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (%s)", t, g.one("a", "b", "a, b"))
	case 11, 12:
		return fmt.Sprintf("ALTER TABLE %s RENAME TO %s", t, g.table())
	case 13:
		return fmt.Sprintf("ALTER TABLE %s SET SCHEMA n0", t)
	case 14:
		return "ALTER SEQUENCE s0 RESTART WITH " + g.number()
	}
	return "ALTER INDEX i0 RENAME TO i1"
}

func (g *blocks) drop() string {
	return g.one("DROP TABLE "+g.table()+" CASCADE", "DROP TABLE "+g.table(), "DROP VIEW v0", "DROP VIEW v1", "DROP INDEX i0", "DROP INDEX i1",
		"DROP SEQUENCE s0", "DROP SCHEMA n0 CASCADE", "TRUNCATE "+g.table(), "TRUNCATE "+g.table()+" RESTART IDENTITY CASCADE")
}

func (g *blocks) write() string {
	t := g.table()
	switch g.r.IntN(8) {
	case 0, 1, 2:
		return fmt.Sprintf("INSERT INTO %s (a, b) VALUES %s%s", t, g.rows(), g.one("", "", " ON CONFLICT DO NOTHING"))
	case 3:
		return fmt.Sprintf("INSERT INTO %s (b) VALUES (%s)", t, g.number())
	case 4:
		return fmt.Sprintf("INSERT INTO %s (a, b) VALUES (%s, %s) ON CONFLICT (%s) DO UPDATE SET b = excluded.b", t, g.number(), g.number(), g.one("a", "b"))
	case 5:
		return fmt.Sprintf("UPDATE %s SET b = %s WHERE a = %s", t, g.one("b + 1", g.number(), "NULL"), g.number())
	case 6:
		return fmt.Sprintf("DELETE FROM %s WHERE %s = %s", t, g.one("a", "b"), g.number())
	}
	return "SELECT nextval('s0')"
}

func (g *blocks) read() string {
	return g.one("SELECT * FROM "+g.table(), "SELECT * FROM "+g.table()+" WHERE a = "+g.number(), "SELECT * FROM v0", "SELECT * FROM v1",
		fmt.Sprintf("SELECT count(*) FROM %s x JOIN %s y ON x.a = y.b", g.table(), g.table()))
}

func (g *blocks) statement() string {
	switch n := g.r.IntN(20); {
	case n < 4:
		return g.create()
	case n < 9:
		return g.alter()
	case n < 10:
		return g.drop()
	case n < 16:
		return g.write()
	}
	return g.read()
}

// state is everything there is.
func (p *pair) state() []string {
	out := []string{"SELECT n.nspname, relname, relkind FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE n.nspname IN ('public', 'n0') ORDER BY 1, 2",
		"SELECT conname, contype FROM pg_constraint c JOIN pg_namespace n ON n.oid = connamespace WHERE n.nspname IN ('public', 'n0') AND contype <> 'n' ORDER BY 1, 2"}
	for _, t := range strings.Split(ask(p.pg, "SELECT oid::regclass FROM pg_class WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'n0')) AND relkind IN ('r', 'v') ORDER BY 1").rows, "\n") {
		if t != "" {
			out = append(out, "SELECT * FROM "+t)
		}
	}
	return out
}

// same reports whether two answers are: the same rows in any order, or errors of one
// class, since many statements are wrong in more than one way.
func same(a, b answer) bool {
	if a.err != nil || b.err != nil {
		return a.err != nil && b.err != nil && a.err.Code[:2] == b.err.Code[:2]
	}
	x, y := strings.Split(a.rows, "\n"), strings.Split(b.rows, "\n")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// TestBlocks runs random blocks on both servers and compares every answer, and after
// each block all there is.
func TestBlocks(t *testing.T) {
	p := newPair(t)
	g := &blocks{r: rand.New(rand.NewPCG(uint64(envInt("PARITY_SEED", 1)), 11))}
	n, failed := 0, 0
	var history []string
	run := func(sql string) (ok, agreed bool) {
		n++
		history = append(history, sql)
		pg, sdb := p.both(sql)
		agreed = same(pg, sdb)
		if !agreed && !meant(sql, pg, sdb) {
			failed++
			t.Errorf("%s\nPostgreSQL %s\nStreamDB   %s\nafter\n%s", sql, pg.text(false), sdb.text(false), strings.Join(history, ";\n"))
		}
		return pg.err == nil && sdb.err == nil, agreed
	}
	for range envInt("PARITY_BLOCKS", 60) {
		if failed > 3 {
			break
		}
		if g.r.IntN(12) == 0 { // now and then all begins anew, so that histories stay short
			history = nil
			run("DROP SCHEMA IF EXISTS n0 CASCADE")
			run("DROP TABLE IF EXISTS t0, t1, t2, t3 CASCADE")
			run("DROP SEQUENCE IF EXISTS s0 CASCADE")
			history = nil
		}
		run("BEGIN")
		for range 3 + g.r.IntN(12) {
			run("SAVEPOINT s")
			ok, agreed := run(g.statement())
			switch {
			case !agreed, !ok, g.r.IntN(8) == 0:
				run("ROLLBACK TO s")
				history = history[:len(history)-3] // as if it had not been
			case g.r.IntN(2) == 0:
				run("RELEASE s")
			}
		}
		if ok, agreed := run(g.one("COMMIT", "COMMIT", "COMMIT", "ROLLBACK")); !ok || !agreed {
			continue
		}
		for _, sql := range p.state() {
			_, agreed := run(sql)
			if history = history[:len(history)-1]; !agreed {
				break
			}
		}
	}
	t.Logf("%d statements", n)
}

// meant tells the differences that are meant.
func meant(string, answer, answer) bool { return false }
