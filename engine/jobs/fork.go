package jobs

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// A job that is to take the place of another begins with a copy of what of the
// other's state its plan can use, as of one committed epoch of the graph: operator
// state, offsets of sources, and the errors that the operators have reported. The
// other job goes on.

// fork is such a beginning.
type fork struct {
	eng       *Runner
	old, view *catalog.MatView
	job       *Job // that takes over
	label     string
	keep      *Keeping
	image     *state.JobImage // nil: nothing is kept
}

// begin is called with the graph of the old job at rest: what is committed now is
// what is copied later.
func (f *fork) begin(up *Graph) error {
	was := up.jobs[f.old.OID]
	if was == nil || was.Err() != nil || was.fresh || !sameMeaning(f.old, f.view) {
		f.keep = keep(nil, f.job.Frags)
		return nil
	}
	f.keep = keep(was.Frags, f.job.Frags)
	if len(f.keep.tops) == 0 {
		return nil
	}
	var err error
	f.image, err = f.eng.Store.JobImage(was.store)
	return err
}

// end lets go what the copy is made of.
func (f *fork) end() {
	if f.image != nil {
		_ = f.image.Close()
	}
}

// forkBytes is about how much state is committed at once.
const forkBytes = 16 << 20

// copy gives the job its state. sn is of the epoch of the fork.
func (f *fork) copy(sn *state.Snapshot) error {
	if f.image == nil {
		return nil
	}
	defer f.end()
	c := &state.Commit{}
	if err := f.copyOffsets(c, sn); err != nil {
		return err
	}
	if err := f.copyErrors(c, sn); err != nil {
		return err
	}
	tasks := map[int]*jobTask{}
	for _, t := range f.job.tasks {
		tasks[opID(t.frag, t.inst, 0)] = t
	}
	d, writers, bytes := state.NewDelta(), map[int]*state.DeltaWriter{}, 0
	commit := func() error {
		c.Epoch, c.Jobs = f.eng.NextEpoch(), []state.JobDelta{{Job: f.job.store, Delta: d}}
		err := f.eng.Commit(c)
		c, d, writers, bytes = &state.Commit{}, state.NewDelta(), map[int]*state.DeltaWriter{}, 0
		return err
	}
	err := f.image.Each(func(op, vnode int, key, val []byte) error {
		frag, inst, no := splitOpID(op)
		for _, to := range f.keep.ops[opAddr{frag, no}] {
			id := opID(to.frag, inst, to.no)
			if writers[id] == nil {
				writers[id] = d.Writer(id)
			}
			writers[id].Put(vnode, key, val)
			if err := tasks[opID(to.frag, inst, 0)].tree.Load(to.no, key, val); err != nil {
				return err
			}
			bytes += len(key) + len(val)
		}
		if bytes < forkBytes {
			return nil
		}
		if err := f.job.Err(); err != nil {
			return err
		}
		return commit()
	})
	if err == nil {
		err = commit()
	}
	f.job.measure()
	return err
}

// copyOffsets adds the offsets of the sources that are kept.
func (f *fork) copyOffsets(c *state.Commit, sn *state.Snapshot) error {
	return sn.MetaScan(offsetKey(catalog.StoreID(f.old), ""), func(k, v []byte) error {
		leaf, split := parseOffsetKey(k)
		for _, to := range f.keep.leaves[leaf] {
			c.Meta = append(c.Meta, state.KV{Key: offsetKey(f.job.store, offsetPrefix(to)+split), Val: append([]byte(nil), v...)})
		}
		return nil
	})
}

// offsetPrefix begins the keys of a source scan's offsets within its job; the rest
// is the split.
func offsetPrefix(leaf opAddr) string { return leaf.String() + "/" }

func parseOffsetKey(k []byte) (leaf opAddr, split string) {
	at, split, _ := strings.Cut(string(k[len(offsetKey(0, "")):]), "/")
	return parseAddr(at), split
}

func parseAddr(s string) opAddr {
	a, b, _ := strings.Cut(s, ".")
	x, err1 := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	if err1 != nil || err2 != nil {
		return opAddr{-1, -1}
	}
	return opAddr{x, y}
}

// copyErrors adds the rows that the kept operators have put into the error tables.
func (f *fork) copyErrors(c *state.Commit, sn *state.Snapshot) error {
	for kind, rel := range f.job.errors {
		b, ts := state.NewRowBatch(rel), errorTypes[kind]
		last := len(ts) - 1 // the operator
		err := EachError(sn, rel, ts, JobName(f.old), func(ch *vec.Chunk, i int) error {
			row := make([]types.Datum, len(ts))
			for k, v := range ch.Cols {
				row[k] = v.Datum(i)
			}
			at, _ := row[last].(string)
			for _, to := range f.keep.ops[parseAddr(at)] {
				row[0], row[last] = f.label, to.String()
				b.Add(EncodedRow(ts, row...), ch.Weight(i))
			}
			return nil
		})
		if err != nil {
			return err
		}
		if b.Len() > 0 {
			c.Rows = append(c.Rows, b)
		}
	}
	return nil
}

// apply has the job's tasks go on from the state that was copied.
func (f *fork) apply() {
	if f.image == nil {
		return
	}
	j := f.job
	j.kept = f.keep.scans
	for _, t := range j.tasks {
		var kept, tops []int
		for op := range t.tree.Operators() {
			if f.keep.kept[opAddr{t.frag, op}] {
				kept = append(kept, op)
			}
		}
		for _, top := range f.keep.tops {
			if top.frag == t.frag {
				tops = append(tops, top.no)
			}
		}
		t.tree.Keep(kept, tops)
		if len(tops) > 0 {
			j.replaying.Add(1)
			t.spec.ReplayRows, t.spec.Replayed = j.eng.BackfillRows, func() { j.replaying.Add(-1) }
		}
	}
}

// catchUp runs epochs until the kept sources are where the old job is with them, so
// that the view does not show less than it did. It gives up when they have not come
// nearer within patience, and does not wait for offsets that are no numbers.
func (f *fork) catchUp(ctx context.Context, patience time.Duration, epoch func() error) error {
	if f.image == nil {
		return nil
	}
	nearest, since := int64(math.MaxInt64), time.Now()
	for {
		gap, err := f.gap()
		if err != nil || gap == 0 {
			return err
		}
		if gap < nearest {
			nearest, since = gap, time.Now()
		} else if time.Since(since) > patience {
			return nil
		}
		select {
		case <-ctx.Done():
			return Canceled(ctx)
		case <-f.job.ctx.Done():
			return f.job.Err()
		case <-time.After(5 * time.Millisecond):
		}
		if err := epoch(); err != nil {
			return err
		}
	}
}

// gap is how far the kept sources are behind the old job, as the last commits of
// both have it.
func (f *fork) gap() (n int64, err error) {
	now := map[string]string{}
	pre := len(offsetKey(0, ""))
	err = f.eng.Store.MetaScan(offsetKey(f.job.store, ""), func(k, v []byte) error {
		now[string(k[pre:])] = string(v)
		return nil
	})
	if err != nil {
		return 0, err
	}
	err = f.eng.Store.MetaScan(offsetKey(catalog.StoreID(f.old), ""), func(k, v []byte) error {
		there, ok := leadingNumber(string(v))
		leaf, split := parseOffsetKey(k)
		for _, to := range f.keep.leaves[leaf] {
			here, begun := leadingNumber(now[offsetPrefix(to)+split])
			if ok && (begun || now[offsetPrefix(to)+split] == "") {
				n += max(there-here, 0)
			}
		}
		return nil
	})
	return n, err
}

// leadingNumber is what an offset begins with, if that is a number.
func leadingNumber(s string) (int64, bool) {
	s, _, _ = strings.Cut(s, "/")
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
