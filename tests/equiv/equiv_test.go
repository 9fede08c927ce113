package equiv

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamdb/streamdb/tests/serverproc"
)

// The defaults of a run; see README.md for the variables that change them.
const (
	defaultSeconds  = 60
	defaultSeed     = 1
	viewsPerCase    = 8
	maxFailures     = 5
	shrinkTimeLimit = 20 * time.Second
)

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestViewsEqualPostgres runs random cases until the time or the number of
// queries is used up.
func TestViewsEqualPostgres(t *testing.T) {
	bin, err := serverproc.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	seed := number(t, "EQUIV_SEED", defaultSeed)
	queries := number(t, "EQUIV_QUERIES", 0)
	seconds := number(t, "EQUIV_SECONDS", defaultSeconds)
	if queries > 0 && os.Getenv("EQUIV_SECONDS") == "" {
		seconds = 24 * 3600
	}
	var env []string
	if seed%2 == 0 { // even seeds find what only small chunks show
		env = append(env, "STREAMDB_CHUNK_ROWS=1")
	}
	if seed%4 >= 2 {
		env = append(env, "STREAMDB_PARALLELISM=1")
	}
	h, err := newHarness(bin, t.TempDir(), env)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	st := &stats{unsupported: map[string]int{}}
	deadline := time.Now().Add(time.Duration(seconds) * time.Second)
	seen := map[string]int{}
	limit := number(t, "EQUIV_FAILURES", maxFailures)
	for round := number(t, "EQUIV_ROUND", 0); time.Now().Before(deadline) && (queries == 0 || st.queries < queries) && len(seen) < limit; round++ {
		c := newGen(seed, round).newCase(viewsPerCase)
		failures, err := h.run(c, st, false)
		if err != nil {
			t.Fatalf("seed %d round %d: %v\n%s", seed, round, err, h.server.Log())
		}
		sort.Slice(failures, func(i, j int) bool { return failures[i].view < failures[j].view })
		for _, f := range failures {
			reportFailure(t, h, c, f, seen, seed, round)
			c = newGen(seed, round).newCase(viewsPerCase) // shrinking spoilt the other
		}
	}
	t.Log(st.report())
}

func newGen(seed, round int) *gen {
	return &gen{r: rand.New(rand.NewPCG(uint64(seed), uint64(round)))}
}

// reportFailure shrinks the first failures of a kind and counts the others.
func reportFailure(t *testing.T, h *harness, c *testCase, f *failure, seen map[string]int, seed, round int) {
	key := f.how
	if strings.HasSuffix(key, ": rows") {
		key = fmt.Sprintf("%s %d", key, len(seen)) // wrong rows have many causes
	}
	if seen[key]++; seen[key] > 1 {
		return
	}
	t.Logf("EQUIV_SEED=%d EQUIV_ROUND=%d view %q: %s", seed, round, f.view, f.how)
	c, f = h.shrink(c, f, shrinkTimeLimit)
	t.Errorf("EQUIV_SEED=%d EQUIV_ROUND=%d view %q\n%s", seed, round, f.view, file(c, f))
}

func (st *stats) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "queries %d: views kept %d (%d look rows up), replaced %d, refused by PostgreSQL %d, failed on PostgreSQL %d; answers compared %d, of which %d empty and %d different in trailing zeros only\n",
		st.queries, st.views, st.lookups, st.replaced, st.refused, st.failedOnPostgres, st.compared, st.empty, st.numericShown)
	fmt.Fprintf(&b, "slowest statement %s: %s\n", st.slowest.Round(time.Millisecond), st.slow)
	var reasons []string
	for r := range st.unsupported {
		reasons = append(reasons, r)
	}
	sort.Slice(reasons, func(i, j int) bool {
		a, b := st.unsupported[reasons[i]], st.unsupported[reasons[j]]
		return a > b || a == b && reasons[i] < reasons[j]
	})
	for _, r := range reasons {
		fmt.Fprintf(&b, "%6d  %s\n", st.unsupported[r], r)
	}
	return b.String()
}
