package state

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/types"
)

// An image stays what it was while the job goes on, is folded and dropped.
func TestJobImage(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs, Options{Logger: quiet(), InlineBytes: 100, FoldBytes: 8000})
	first := types.Epoch(1)
	for _, last := range []types.Epoch{3, 200} {
		for e := first; e <= last; e++ {
			churn(t, s, e)
		}
		m, err := s.JobImage(1)
		if err != nil {
			t.Fatal(err)
		}
		folds := s.Stats().Folds
		for e := last + 1; e <= last+60; e++ {
			churn(t, s, e)
		}
		until(t, "a fold", func() bool { return s.Stats().Folds > folds })
		commit(t, s, &Commit{Epoch: last + 61, DropJobs: []JobID{1}})
		// With the image open LoadJob, folds and sink logs of the job go on.
		if got := jobEntries(t, s, 1); len(got) != 0 {
			t.Fatalf("%d entries of a dropped job", len(got))
		}
		time.Sleep(5 * time.Millisecond) // for files to go that must not
		for range 2 {
			got := map[string]string{}
			err := m.Each(func(op, vnode int, key, val []byte) error {
				got[fmt.Sprintf("%d/%d/%s", op, vnode, key)] = string(val)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 51 || got["2/7/key"] != fmt.Sprintf("7 at %d", last) || got[fmt.Sprintf("2/0/%d", last)] == "" {
				t.Fatalf("the image of epoch %d has %d entries, %q", last, len(got), got["2/7/key"])
			}
		}
		for range 2 {
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
		first = last + 62
	}
}

// However long an image stays open, and whatever becomes garbage behind it, folds
// follow one another and the job can be loaded; what only the image kept is deleted
// with it.
func TestImageHoldsUpNothing(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs, Options{Logger: quiet(), InlineBytes: 100, FoldBytes: 4000})
	e := types.Epoch(0)
	fold := func() {
		t.Helper()
		before := s.Stats().Folds
		until(t, "a fold", func() bool {
			e++
			churn(t, s, e)
			return s.Stats().Folds > before
		})
	}
	fold()
	m, err := s.JobImage(1)
	if err != nil {
		t.Fatal(err)
	}
	at := jobEntries(t, s, 1)
	for range 5 {
		fold() // drops the files of the one before
		if got := jobEntries(t, s, 1)["2/7/key"]; got != fmt.Sprintf("7 at %d", e) {
			t.Fatalf("loaded %q at epoch %d", got, e)
		}
	}
	got := map[string]string{}
	err = m.Each(func(op, vnode int, key, val []byte) error {
		got[fmt.Sprintf("%d/%d/%s", op, vnode, key)] = string(val)
		return nil
	})
	if err != nil || !maps.Equal(got, at) {
		t.Fatalf("the image has %d entries instead of %d, %v", len(got), len(at), err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	s.folds.Wait()
	names, err := fs.List(s.path(logDir))
	if err != nil {
		t.Fatal(err)
	}
	j := s.job(1)
	j.mu.Lock()
	defer j.mu.Unlock()
	keep := j.desc.names(1)
	for _, n := range names {
		if !slices.Contains(keep, n) && n != logName("job", 1, j.out.no, ".seg") {
			t.Errorf("file %s is left, beside %v", n, keep)
		}
	}
}
