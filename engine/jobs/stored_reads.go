package jobs

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
)

// storedReads is how the joins of a job look up rows that storage has anyway. It
// implements exec.Stored.
//
// A job that catches up reads the snapshot that it began with, since its graph is
// not that of what it reads. From when it joins that graph on, storage is at the
// last epoch the graph has committed.
type storedReads struct {
	job *Job

	mu     sync.Mutex
	pinned *sharedSnapshot
	cat    *catalog.Snapshot // as it was with pinned
	joined types.Epoch       // the job's own last epoch before it joined; storage has it
}

// sharedSnapshot is closed by the last of those who hold it.
type sharedSnapshot struct {
	*state.Snapshot
	holders atomic.Int32
}

func (s *sharedSnapshot) Close() error {
	if s.holders.Add(-1) > 0 {
		return nil
	}
	return s.Snapshot.Close()
}

// pin makes all reads see sn, and hold it, until unpin.
func (r *storedReads) pin(sn *sharedSnapshot, cat *catalog.Snapshot) {
	r.mu.Lock()
	r.pinned, r.cat = sn, cat
	r.mu.Unlock()
}

// unpin is called at rest, when storage has all that the job has seen until its
// epoch e.
func (r *storedReads) unpin(e types.Epoch) {
	r.mu.Lock()
	r.pinned, r.cat, r.joined = nil, nil, e
	r.mu.Unlock()
}

// Open implements exec.Stored. Holding commitMu, it knows which epoch a new
// snapshot is of, and that the catalog is of the same; it waits for a commit that
// is under way.
func (r *storedReads) Open() (exec.StoredView, types.Epoch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pinned != nil {
		r.pinned.holders.Add(1)
		return &storedView{sn: r.pinned.Snapshot, cat: r.cat, close: r.pinned.Close}, 0
	}
	e := r.joined
	if g := r.job.Graph(); g != nil { // else dropped: nothing that it still does is committed
		g.commitMu.Lock()
		defer g.commitMu.Unlock()
		e = max(e, g.epoch)
	}
	sn := r.job.eng.Store.Snapshot()
	return &storedView{sn: sn, cat: r.job.eng.Catalog.Current(), close: sn.Close}, e
}

// Committed implements exec.Stored.
func (r *storedReads) Committed() types.Epoch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pinned != nil {
		return 0
	}
	g := r.job.Graph()
	if g == nil {
		return r.joined
	}
	g.commitMu.Lock()
	defer g.commitMu.Unlock()
	return max(g.epoch, r.joined)
}

// storedView is an image of storage with one iterator a relation.
type storedView struct {
	sn    *state.Snapshot
	cat   *catalog.Snapshot // tells where the rows of a view are
	close func() error
	rel   uint32 // asked for last
	store uint32 // where its rows are
	it    *state.Iter
}

// Rows implements exec.StoredView.
func (v *storedView) Rows(rel uint32, form plan.StoredForm, prefix []byte, whole bool, f func([]byte, int64) error) error {
	if rel != v.rel || v.store == 0 {
		if err := v.turnTo(rel); err != nil {
			return err
		}
	}
	if whole {
		row, ok, err := v.sn.Get(v.store, prefix)
		if err != nil || !ok {
			return err
		}
		return f(row, 1)
	}
	if v.it == nil {
		var err error
		if v.it, err = v.sn.Scan(v.store, nil, nil); err != nil {
			return err
		}
	}
	for v.it.Seek(prefix); v.it.Next() && bytes.HasPrefix(v.it.Key(), prefix); {
		n, row := int64(1), v.it.Val()
		switch form {
		case plan.Bag:
			n, row = v.it.Count(), v.it.Key()
		case plan.Ordered:
			n, row = v.it.Count(), exec.OrderedRow(v.it.Key())
		}
		if err := f(row, n); err != nil {
			return err
		}
	}
	return v.it.Err()
}

// turnTo makes rel the relation that is read.
func (v *storedView) turnTo(rel uint32) error {
	var err error
	if v.it != nil {
		err = v.it.Close()
	}
	v.it, v.rel, v.store = nil, rel, rel
	if o := v.cat.ByOID(rel); o != nil {
		v.store = catalog.StoreID(o)
	}
	return err
}

// Close implements exec.StoredView.
func (v *storedView) Close() error {
	var err error
	if v.it != nil {
		err = v.it.Close()
	}
	if e := v.close(); err == nil {
		err = e
	}
	return err
}

// storedScans returns the scans of a plan whose rows are looked up, not fed.
func storedScans(root plan.Node) map[*plan.Scan]bool {
	var m map[*plan.Scan]bool
	plan.Walk(root, func(n plan.Node) bool {
		if j, ok := n.(*plan.Join); ok && j.Lookup != nil {
			if m == nil {
				m = map[*plan.Scan]bool{}
			}
			m[j.StoredScan()] = true
		}
		return true
	})
	return m
}
