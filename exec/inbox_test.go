package exec

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

func chunkOf(first, rows int) *vec.Chunk {
	c := vec.NewChunk([]types.T{types.TInt4}, rows)
	for i := range rows {
		c.AppendRow(1, int32(first+i))
	}
	return c
}

// Whatever the sizes of epochs and the pace of producers, a task gets all rows of
// each edge in order, those of an epoch before its barrier and none of the next.
func TestInboxKeepsOrderAndEpochs(t *testing.T) {
	const edges, epochs = 3, 60
	in := NewInbox()
	var wg sync.WaitGroup
	sent := make([][]int, edges) // rows of each epoch
	r := rand.New(rand.NewPCG(1, 2))
	for k := range edges {
		for range epochs {
			n := r.IntN(3)
			switch r.IntN(6) {
			case 0:
				n = r.IntN(3 * wakeRows)
			case 1:
				n = r.IntN(3 * edgeRowsMax)
			}
			sent[k] = append(sent[k], n)
		}
	}
	for k := range edges {
		e := in.Connect(k, false)
		r := rand.New(rand.NewPCG(uint64(k), 3))
		wg.Add(1)
		go func() {
			defer wg.Done()
			next := 0
			for epoch, n := range sent[k] {
				for n > 0 {
					m := min(1+r.IntN(vec.MaxRows), n)
					if r.IntN(2) == 0 {
						m = min(1+r.IntN(4), n)
					}
					if err := e.Send(Message{Chunk: chunkOf(next, m)}); err != nil {
						t.Error(err)
					}
					next, n = next+m, n-m
				}
				if err := e.Send(Message{Barrier: &Barrier{Epoch: types.Epoch(epoch + 1)}}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	next, want := make([]int, edges), make([]int, edges)
	for epoch := 0; epoch < epochs; {
		m, k, ok := in.next()
		if !ok {
			t.Fatal("the inbox ended")
		}
		if m.Barrier == nil {
			for i := range m.Chunk.Rows {
				if got := int(m.Chunk.Cols[0].Datum(i).(int32)); got != next[k] {
					t.Fatalf("edge %d: row %d in place of %d", k, got, next[k])
				}
				next[k]++
			}
			continue
		}
		for k := range edges {
			if want[k] += sent[k][epoch]; next[k] != want[k] {
				t.Fatalf("edge %d: %d rows before barrier %d, want %d", k, next[k], epoch+1, want[k])
			}
		}
		if epoch++; m.Barrier.Epoch != types.Epoch(epoch) {
			t.Fatalf("barrier %d, want %d", m.Barrier.Epoch, epoch)
		}
	}
	wg.Wait()
	if in.rows != 0 || in.ready != 0 {
		t.Errorf("an empty inbox counts %d rows and %d edges with barriers", in.rows, in.ready)
	}
}

// A task is woken by a barrier from all its producers, by many rows, and by anything
// from a source's reader, and not by a few rows of an epoch that is not over.
func TestInboxWakesWhenThereIsWork(t *testing.T) {
	bar := Message{Barrier: &Barrier{Epoch: 1}}
	for _, c := range []struct {
		name  string
		send  func(a, b, source *Edge)
		woken bool
	}{
		{"a row", func(a, _, _ *Edge) { _ = a.Send(Message{Chunk: chunkOf(0, 1)}) }, false},
		{"one barrier of two", func(a, _, _ *Edge) { _ = a.Send(Message{Chunk: chunkOf(0, 1)}); _ = a.Send(bar) }, false},
		{"two barriers of one producer", func(a, _, _ *Edge) { _ = a.Send(bar); _ = a.Send(bar) }, false},
		{"all barriers", func(a, b, _ *Edge) { _ = a.Send(bar); _ = b.Send(bar) }, true},
		{"many rows", func(a, b, _ *Edge) {
			_ = a.Send(Message{Chunk: chunkOf(0, wakeRows-1)})
			_ = b.Send(Message{Chunk: chunkOf(0, 1)})
		}, true},
		{"a source's row", func(_, _, s *Edge) { _ = s.Send(Message{Chunk: chunkOf(0, 1)}) }, true},
		{"a resume", func(a, _, _ *Edge) { _ = a.Send(Message{Resume: true}) }, true},
	} {
		in := NewInbox()
		a, b, s := in.Connect(0, false), in.Connect(1, false), in.Connect(2, true)
		c.send(a, b, s)
		if in.woken != c.woken {
			t.Errorf("%s: woken is %v", c.name, in.woken)
		}
	}
}
