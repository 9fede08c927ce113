package engine

import (
	"fmt"
	"sync"
	"testing"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/types"
)

// A clean stop loses no values of a sequence, and many sessions never get the same.
func TestSequenceStopAndShare(t *testing.T) {
	dir := t.TempDir()
	e := open(t, config(dir))
	c := connect(t, e)
	c.exec("CREATE SEQUENCE s")
	c.exec("CREATE SEQUENCE unused START 7")
	const sessions, each = 8, 200
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range sessions {
		c := connect(t, e)
		wg.Go(func() {
			for range each {
				v := c.one("SELECT nextval('s')")
				mu.Lock()
				if seen[v] {
					t.Errorf("%s was given out twice", v)
				}
				seen[v] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	c = connect(t, open(t, config(dir)))
	c.want("SELECT nextval('s'), nextval('unused')", fmt.Sprintf("%d|7", sessions*each+1))
}

// The values that a block reserves are those that follow one another, up to the
// bound, without overflow.
func TestSequenceReach(t *testing.T) {
	for _, c := range []struct {
		def         catalog.Sequence
		from, n     int64
		count, last int64
	}{
		{catalog.Sequence{Increment: 1, Min: 1, Max: 1 << 62}, 1, 32, 32, 32},
		{catalog.Sequence{Increment: 3, Min: 1, Max: 10}, 1, 32, 4, 10},
		{catalog.Sequence{Increment: 3, Min: 1, Max: 11, Cycle: true}, 1, 32, 4, 10},
		{catalog.Sequence{Increment: -1, Min: -3, Max: -1}, -1, 32, 3, -3},
		{catalog.Sequence{Increment: 1 << 62, Min: -1 << 63, Max: 1<<63 - 1}, -1 << 63, 32, 4, 1 << 62},
		{catalog.Sequence{Increment: -1 << 63, Min: -1 << 63, Max: 1<<63 - 1}, 0, 32, 2, -1 << 63},
	} {
		c.def.Type = types.TInt8
		if n, last := reach(&c.def, c.from, c.n); n != c.count || last != c.last {
			t.Errorf("%+v from %d: %d values to %d, want %d to %d", c.def, c.from, n, last, c.count, c.last)
		}
	}
}
