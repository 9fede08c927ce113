package parity

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// patterns makes regular expressions of every kind over a few letters.
type patterns struct {
	r      *rand.Rand
	groups int
	look   bool
}

func (g *patterns) one(of ...string) string { return of[g.r.IntN(len(of))] }

// either writes alternatives.
func (g *patterns) either(depth int) string {
	parts := []string{g.branch(depth)}
	for g.r.IntN(4) == 0 {
		parts = append(parts, g.branch(depth))
	}
	return strings.Join(parts, "|")
}

func (g *patterns) branch(depth int) string {
	var b strings.Builder
	for range g.r.IntN(4) {
		b.WriteString(g.item(depth))
	}
	return b.String()
}

func (g *patterns) item(depth int) string {
	if g.r.IntN(9) == 0 {
		return g.constraint(depth)
	}
	return g.atom(depth) + g.one("", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,2}?", "{1,}", "{1,1}?", "{2,3}", "{0}")
}

func (g *patterns) constraint(depth int) string {
	if g.look || depth == 0 || g.r.IntN(2) == 0 {
		return g.one("^", "$", `\m`, `\M`, `\y`, `\Y`, `\A`, `\Z`, "[[:<:]]")
	}
	g.look = true
	defer func() { g.look = false }()
	return g.one("(?=", "(?!", "(?<=", "(?<!") + g.either(depth-1) + ")"
}

func (g *patterns) atom(depth int) string {
	n := g.r.IntN(14)
	switch {
	case n < 3 && depth > 0:
		if !g.look {
			g.groups++
		}
		return "(" + g.either(depth-1) + ")"
	case n < 5 && depth > 0:
		return "(?:" + g.either(depth-1) + ")"
	case n == 5 && g.groups > 0 && !g.look:
		return fmt.Sprintf(`\%d`, 1+g.r.IntN(g.groups))
	case n == 6:
		return g.one(".", "[ab]", "[^a]", `\w`, `\s`, `\D`, `[\Wa]`, "[b-c]")
	}
	return g.one("a", "a", "b", "b", "c", "ab", "é")
}

func (g *patterns) text() string {
	var b strings.Builder
	for range g.r.IntN(9) {
		b.WriteString(g.one("a", "a", "a", "b", "b", "c", "A", " ", "\n", "ab", "aba"))
	}
	return b.String()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// TestRegularExpressions asks both servers what random patterns match in random
// texts. That they are the same is for letters of ASCII: which others are letters
// is up to PostgreSQL's locale.
func TestRegularExpressions(t *testing.T) {
	p := newPair(t)
	r := rand.New(rand.NewPCG(uint64(envInt("PARITY_SEED", 1)), 8))
	matched, refused := 0, 0
	for range 100 * envInt("PARITY_ROUNDS", 4) {
		g := &patterns{r: r}
		pattern, flags := g.either(3), g.one("", "", "", "i", "n", "w", "p", "x")
		var texts []string
		for range 8 {
			texts = append(texts, quote(g.text()))
		}
		sql := fmt.Sprintf("SELECT regexp_match(t, p, f), t ~ p, regexp_replace(t, p, '<\\1>', 1, 0, f), regexp_split_to_array(t, p, f), regexp_count(t, p, 3, f), substring(t, p)"+
			" FROM (SELECT %s AS p, '%s' AS f) AS x, unnest(ARRAY[%s]) WITH ORDINALITY AS u(t, n) ORDER BY n", quote(pattern), flags, strings.Join(texts, ", "))
		pg, sdb := p.both(sql)
		if pg.err != nil {
			refused++
		} else if strings.Contains(pg.rows, "{") {
			matched++
		}
		if a, b := pg.text(false), sdb.text(false); a != b {
			t.Errorf("%s\nPostgreSQL\n%s\nStreamDB\n%s", sql, a, b)
		}
	}
	t.Logf("%d patterns matched something, %d are none", matched, refused)
}
