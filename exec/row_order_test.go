package exec

import (
	"bytes"
	"math/rand"
	"slices"
	"testing"
)

// TestRowOrderModel holds partitions that grow from one row to a tree and shrink
// to none against a sorted slice.
func TestRowOrderModel(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	rows := newTable(ordSize, 0)
	o := newRowOrder(rows)
	parts := make([][]byte, 3)
	want := make([][][]byte, len(parts))
	ids := map[string]uint32{}
	for i := range parts {
		parts[i] = make([]byte, partSize)
	}
	for step := range 6000 {
		k := r.Intn(len(parts))
		p := parts[k]
		grow := 7
		if step/1500%2 == 1 {
			grow = 2
		}
		if r.Intn(10) < grow {
			key := make([]byte, 8, 24)
			key[0] = byte(k)
			for range r.Intn(12) {
				key = append(key, byte(r.Intn(3)))
			}
			at, found := slices.BinarySearchFunc(want[k], key, bytes.Compare)
			if found {
				continue
			}
			want[k] = slices.Insert(want[k], at, key)
			id, room := rows.addLoose(len(key))
			copy(room, key)
			ids[string(key)] = id
			o.insert(p, ids[string(key)], key[8:])
		} else if n := len(want[k]); n > 0 {
			at := r.Intn(n)
			key := want[k][at]
			o.remove(p, ids[string(key)], key[8:])
			rows.freeLoose(ids[string(key)])
			want[k] = slices.Delete(want[k], at, at+1)
		}
		if step%50 != 0 {
			continue
		}
		var got [][]byte
		o.scan(p, func(id uint32) bool {
			got = append(got, bytes.Clone(rows.key(id)))
			return true
		})
		if !slices.EqualFunc(got, want[k], bytes.Equal) {
			t.Fatalf("step %d: partition %d holds %x, want %x", step, k, got, want[k])
		}
	}
}
