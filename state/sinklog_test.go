package state

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/types"
)

func TestSinkLog(t *testing.T) {
	fs := vfs.NewMem()
	opt := Options{Logger: quiet(), InlineBytes: 800, SegmentBytes: 500}
	s := openMem(t, fs, opt)
	data := func(e types.Epoch) []byte { return bytes.Repeat([]byte{byte(e)}, int(e%3)*90+1) }
	for e := types.Epoch(1); e <= 20; e++ {
		commit(t, s, &Commit{Epoch: e, Sink: []SinkBatch{{8, data(e), int(e)}, {9, []byte("other"), 1}}})
	}
	check := func(from types.Epoch) {
		t.Helper()
		l := s.SinkLog(8)
		after := types.Epoch(0)
		for e := from; e <= 20; e++ {
			got, err := l.Next(after)
			if err != nil || got == nil || got.Epoch != e || got.Rows != int(e) || !bytes.Equal(got.Data[0], data(e)) {
				t.Fatalf("epoch %d: %+v %v", e, got, err)
			}
			if time.Since(got.Time) > time.Hour || got.Time.After(time.Now().Add(time.Minute)) {
				t.Errorf("time %v", got.Time)
			}
			after = e
		}
		if got, err := l.Next(after); got != nil || err != nil {
			t.Errorf("%v %v", got, err)
		}
		if p := l.Pending(); p.Epochs != int(20-from+1) || p.Last != 20 || p.Oldest.IsZero() {
			t.Errorf("%+v", p)
		}
	}
	check(1)
	for _, upTo := range []types.Epoch{1, 7, 7, 15} {
		if err := s.SinkLog(8).Truncate(upTo); err != nil {
			t.Fatal(err)
		}
		check(upTo + 1)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openMem(t, fs, opt)
	check(16)
	if err := s.SinkLog(8).Truncate(99); err != nil {
		t.Fatal(err)
	}
	if p := s.SinkLog(8).Pending(); p != (SinkPending{}) {
		t.Errorf("%+v", p)
	}
	if p := s.SinkLog(9).Pending(); p.Epochs != 20 {
		t.Errorf("%+v", p)
	}
	if err := s.Close(); err != nil { // waits for the deletion of files
		t.Fatal(err)
	}
	names, err := fs.List("data/log")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasPrefix(n, "sink-8-") {
			t.Errorf("%s is left", n)
		}
	}
}
