package exectest

import (
	"bytes"
	"slices"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// storage has what the joins of a plan look up: of each such input the rows of
// the committed epochs. An epoch is committed when the next one is under way.
type storage struct {
	joins   map[uint32]*plan.Join
	inputs  map[int]uint32 // the relation of an input
	rows    map[uint32]map[string]*storedRow
	pending []Change
	sealed  types.Epoch
	done    types.Epoch
}

type storedRow struct {
	key, row []byte
	n        int64
}

// newStorage returns nil if nothing is looked up.
func newStorage(root plan.Node) *storage {
	s := &storage{joins: map[uint32]*plan.Join{}, inputs: map[int]uint32{}, rows: map[uint32]map[string]*storedRow{}}
	at := 0
	var walk func(n plan.Node)
	walk = func(n plan.Node) {
		if j, ok := n.(*plan.Join); ok && j.Lookup != nil {
			s.joins[j.Lookup.Rel] = j
		}
		if x, ok := n.(*plan.Scan); ok {
			s.inputs[at] = x.Rel
			at++
		}
		for _, c := range n.Children() {
			walk(c)
		}
	}
	walk(root)
	if len(s.joins) == 0 {
		return nil
	}
	return s
}

// note remembers the changes of an epoch.
func (s *storage) note(e types.Epoch, changes []Change) {
	s.sealed, s.pending = e, append(s.pending, changes...)
}

// commit applies the sealed epoch.
func (s *storage) commit() {
	for _, c := range s.pending {
		rel := s.inputs[c.In]
		j := s.joins[rel]
		if j == nil {
			continue
		}
		k := j.Lookup
		ch := vec.NewChunk(k.Stored, 1)
		ch.AppendRow(1, c.Row...)
		var cols []int
		keys := j.RightKeys
		if k.Side == 0 {
			keys = j.LeftKeys
		}
		for _, x := range k.Keys {
			cols = append(cols, k.Cols[k.Out[keys[x]]])
		}
		r := &storedRow{row: vec.AppendRow(nil, ch, nil, 0)}
		r.key = append(vec.AppendKey(nil, ch, cols, nil, nil, 0), 0)
		if k.Whole {
			r.key = r.key[:len(r.key)-1]
		}
		if s.rows[rel] == nil {
			s.rows[rel] = map[string]*storedRow{}
		}
		if old := s.rows[rel][string(r.row)]; old != nil {
			r = old
		}
		r.n += c.W
		s.rows[rel][string(r.row)] = r
	}
	s.pending, s.done = nil, s.sealed
}

// Open implements exec.Stored.
func (s *storage) Open() (exec.StoredView, types.Epoch) { return s, s.done }

// Committed implements exec.Stored.
func (s *storage) Committed() types.Epoch { return s.done }

// Rows implements exec.StoredView.
func (s *storage) Rows(rel uint32, _ plan.StoredForm, prefix []byte, whole bool, f func([]byte, int64) error) error {
	var found []*storedRow
	for _, r := range s.rows[rel] {
		if r.n != 0 && (whole && bytes.Equal(r.key, prefix) || !whole && bytes.HasPrefix(r.key, prefix)) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *storedRow) int { return bytes.Compare(a.row, b.row) })
	for _, r := range found {
		if err := f(r.row, r.n); err != nil {
			return err
		}
	}
	return nil
}

// Close implements exec.StoredView.
func (s *storage) Close() error { return nil }
