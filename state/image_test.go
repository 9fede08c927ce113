package state

import (
	"fmt"
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
