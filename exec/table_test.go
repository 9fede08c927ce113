package exec

import (
	"fmt"
	"math/rand"
	"testing"
)

// TestTable compares a table with a map under random insertions, removals and
// resets, for keys that vary, keys of one width, and integers.
func TestTable(t *testing.T) {
	for _, kw := range []int{0, 11, 8} {
		r := rand.New(rand.NewSource(int64(kw)))
		tab, ref := newTable(8, kw), map[string]uint64{}
		for step := range 60_000 {
			n := r.Intn(9000)
			width := kw
			if kw == 0 {
				width = n % 40
			}
			key := []byte(fmt.Sprintf("%0*d", width, n))
			id, added := tab.upsert(hashKey(key), key)
			want, have := ref[string(key)]
			if added == have {
				t.Fatalf("width %d, step %d: added %v", kw, step, added)
			}
			if got := le.Uint64(tab.rec(id)); got != want || string(tab.key(id)) != string(key) {
				t.Fatalf("width %d, step %d: %q has %d, want %d", kw, step, tab.key(id), got, want)
			}
			if r.Intn(3) == 0 {
				tab.remove(hashKey(key), id)
				delete(ref, string(key))
			} else {
				le.PutUint64(tab.rec(id), want+1)
				ref[string(key)] = want + 1
			}
			if step%25_000 == 24_999 {
				tab.reset()
				clear(ref)
			}
		}
		seen := 0
		tab.each(func(id uint32) bool {
			seen++
			return le.Uint64(tab.rec(id)) == ref[string(tab.key(id))]
		})
		if seen != len(ref) || tab.n != len(ref) {
			t.Errorf("width %d: %d records, want %d", kw, seen, len(ref))
		}
	}
}

func TestArenaReusesMemory(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var a arena
	type item struct {
		r ref
		b byte
		n int
	}
	var live []item
	peak := 0
	for step := range 40_000 {
		if len(live) > 500 || len(live) > 0 && r.Intn(3) == 0 {
			i := r.Intn(len(live))
			got := a.get(live[i].r)
			if len(got) != live[i].n || len(got) > 0 && (got[0] != live[i].b || got[len(got)-1] != live[i].b) {
				t.Fatalf("step %d: a string changed", step)
			}
			a.del(live[i].r)
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
			continue
		}
		n := r.Intn(100)
		if r.Intn(50) == 0 {
			n = r.Intn(300_000)
		}
		x, p := a.alloc(n)
		b := byte(step)
		for i := range p {
			p[i] = b
		}
		live = append(live, item{x, b, n})
		if step <= 20_000 {
			peak = a.held
		}
	}
	if a.held > 2*peak {
		t.Errorf("memory grew from %d to %d bytes", peak, a.held)
	}
	a.reset()
	if a.held > keepBytes || len(a.get(a.put([]byte("x")))) != 1 {
		t.Errorf("after reset %d bytes are held", a.held)
	}
}
