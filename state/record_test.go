package state

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/streamdb/streamdb/internal/vfs"
)

func TestKeySet(t *testing.T) {
	var s keySet
	for i := range 5000 {
		k := []byte(fmt.Sprint(i % 3000))
		if got := s.add(k); got != (i < 3000) {
			t.Fatalf("%d: %v", i, got)
		}
	}
	if s.n != 3000 || !s.has([]byte("2999")) || s.has([]byte("3000")) {
		t.Errorf("%d members", s.n)
	}
}

func TestDescriptor(t *testing.T) {
	d := logDesc{base: fileRef{3, 100}, baseEpoch: 9, segs: []fileRef{{4, 5}, {6, 1 << 40}}}
	got, err := decodeDesc(d.encode())
	if err != nil || fmt.Sprint(got) != fmt.Sprint(d) {
		t.Errorf("%v %v", got, err)
	}
	b := d.encode()
	for i := range b {
		if _, err := decodeDesc(b[:i]); !errors.Is(err, vfs.ErrCorruption) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

// FuzzRecord feeds bytes to the decoder of operator deltas: it must fail cleanly
// or give entries that encode to the same bytes.
func FuzzRecord(f *testing.F) {
	d := NewDelta()
	w := d.Writer(3)
	w.Put(1, []byte("key"), []byte("value"))
	w.Delete(65535, nil)
	w.PutNew(3, []byte("new"), []byte("value"))
	records, _ := d.records(7)
	for _, r := range records {
		f.Add(r, true)
		f.Add(r[recordHeader:], false)
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, false)
	f.Fuzz(func(t *testing.T, b []byte, whole bool) {
		if !whole { // give the payload a valid header, so that entries are reached
			b = append(make([]byte, recordHeader), b...)
			finishRecord(b, 1, 2)
		}
		r, n, err := decodeRecord(b)
		if err != nil {
			if !errors.Is(err, vfs.ErrCorruption) {
				t.Fatal(err)
			}
			return
		}
		if n != recordHeader+len(r.payload) {
			t.Fatalf("length %d", n)
		}
		for p := r.payload; len(p) > 0; {
			e, rest, err := r.nextEntry(p)
			if err != nil {
				if !errors.Is(err, vfs.ErrCorruption) {
					t.Fatal(err)
				}
				return
			}
			now := record{version: recordVersion}
			again, _, err := now.nextEntry(appendEntry(nil, e.vnode, e.kind(), e.key, e.val))
			if err != nil || again.vnode != e.vnode || again.kind() != e.kind() ||
				!bytes.Equal(again.key, e.key) || !bytes.Equal(again.val, e.val) {
				t.Fatalf("%v %v %v", e, again, err)
			}
			p = rest
		}
	})
}

// FuzzSinkEntry feeds bytes to the decoder of sink log entries.
func FuzzSinkEntry(f *testing.F) {
	_, b := newSinkEntry(1, 2, [][]byte{[]byte("ab"), []byte("c")}, nil)
	f.Add(b)
	_, b = newSinkEntry(1, 2, [][]byte{[]byte("ab")}, &sinkMeta{at: extent{5, 6, 2}})
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, lens, data, _, err := decodeSinkEntry(1, b)
		if err != nil {
			if !errors.Is(err, vfs.ErrCorruption) {
				t.Fatal(err)
			}
			return
		}
		sum := 0
		for _, n := range lens {
			sum += n
		}
		if int64(sum) != m.bytes || m.at.no == 0 && data != nil && len(data) != sum {
			t.Fatalf("%d bytes, %v", sum, m)
		}
	})
}

func (e *entry) kind() uint64 {
	switch {
	case e.fresh:
		return entryFresh
	case e.deleted:
		return entryDeleted
	}
	return entryPut
}
