package exectest

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Options is one way to run a case.
type Options struct {
	ChunkRows int
	Shuffle   int64 // seed of the order of changes within epochs; 0: as given
	Restore   bool  // save and load into a fresh tree between epochs
	RowError  func(op int, c *vec.Chunk, i int, w int64, err error) error
}

// Run checks that the plan over the input gives want (if not empty) in the end,
// in every way to run it, and after every epoch what a one-off query gives.
func Run(t testing.TB, root plan.Node, input, want string) {
	t.Helper()
	h := Parse(t, root, input)
	got := Check(t, root, h)
	if want != "" {
		if d := got.Diff(ParseBag(want)); d != "" {
			t.Errorf("result differs:%s", d)
		}
	}
}

// Check runs a history in every way and returns the final result.
func Check(t testing.TB, root plan.Node, h History) Bag {
	t.Helper()
	var last Bag
	for _, rows := range []int{1, 3, 1024} {
		for _, restore := range []bool{false, true} {
			for _, seed := range []int64{0, 7} {
				o := Options{ChunkRows: rows, Shuffle: seed, Restore: restore}
				last = checkOne(t, root, h, o)
			}
		}
	}
	return last
}

func checkOne(t testing.TB, root plan.Node, h History, o Options) Bag {
	t.Helper()
	s := NewStream(t, root, o)
	var all []Change
	for e, changes := range h {
		s.Epoch(changes)
		all = append(all, changes...)
		want := Query(t, root, all, o)
		if d := s.Out.Diff(want); d != "" {
			t.Fatalf("epoch %d, %+v: the stream differs from a one-off query:%s", e, o, d)
		}
	}
	return s.Out
}

// Stream is a plan run as a stream.
type Stream struct {
	t     testing.TB
	root  plan.Node
	o     Options
	tree  *exec.Tree
	rnd   *rand.Rand
	epoch types.Epoch
	Out   Bag // the sum of all output
	saved map[int]map[string]string
	store *storage // nil: the plan looks nothing up
}

// NewStream starts a stream.
func NewStream(t testing.TB, root plan.Node, o Options) *Stream {
	t.Helper()
	s := &Stream{t: t, root: root, o: o, Out: Bag{}, saved: map[int]map[string]string{}, store: newStorage(root)}
	if o.Shuffle != 0 {
		s.rnd = rand.New(rand.NewSource(o.Shuffle))
	}
	s.build()
	if err := s.tree.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Stream) build() {
	s.t.Helper()
	ts := plan.Types(s.root.Schema())
	var stored exec.Stored
	if s.store != nil {
		stored = s.store
	}
	tree, err := exec.Build(s.root, &exec.BuildCtx{
		Expr:      &expr.Ctx{Session: &expr.Session{}},
		ChunkRows: s.o.ChunkRows,
		Check:     true,
		Stored:    stored,
		RowError:  s.o.RowError,
		Out: func(c *vec.Chunk) error {
			for i := range c.Rows {
				s.Out.Add(ts, c.Row(i), c.Weight(i))
			}
			return nil
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.tree = tree
}

// Epoch feeds the changes of an epoch and ends it.
func (s *Stream) Epoch(changes []Change) {
	s.t.Helper()
	if s.rnd != nil {
		changes = append([]Change(nil), changes...)
		s.rnd.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	}
	half := len(changes)
	if s.store != nil {
		half /= 2 // the last epoch is committed in the middle of this one
	}
	for i, part := range [][]Change{changes[:half], changes[half:]} {
		if i == 1 && s.store != nil {
			s.store.commit()
		}
		if err := feed(s.tree, part, s.o.ChunkRows); err != nil {
			s.t.Fatal(err)
		}
	}
	s.epoch++
	if s.store != nil {
		s.store.note(s.epoch, changes)
	}
	if err := s.tree.Seal(s.epoch); err != nil {
		s.t.Fatal(err)
	}
	if s.o.Restore {
		if s.store != nil {
			s.store.commit()
		}
		s.restore()
	}
}

// restore saves what changed and goes on with a fresh tree made from all that
// was ever saved.
func (s *Stream) restore() {
	s.t.Helper()
	err := s.tree.Save(func(op int) exec.StateWriter {
		if s.saved[op] == nil {
			s.saved[op] = map[string]string{}
		}
		return mapWriter(s.saved[op])
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.tree.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.build()
	for op, m := range s.saved {
		for k, v := range m {
			if err := s.tree.Load(op, []byte(k), []byte(v)); err != nil {
				s.t.Fatalf("load of operator %d: %v", op, err)
			}
		}
	}
	// A replay makes operators look at all they have, so that what they would find
	// out later by themselves stays untried: hence not every time.
	if s.epoch%2 == 0 {
		s.replay()
	}
}

// replay has the uppermost operators with state give out their output, which must
// be what has come out so far, if there are such operators on every way to the
// root. It is sealed now and then meanwhile.
func (s *Stream) replay() {
	s.t.Helper()
	kept, tops, ok := replayed(s.root)
	if !ok {
		return
	}
	s.tree.Keep(kept, tops)
	out := s.Out
	s.Out = Bag{}
	for more := true; more; {
		var err error
		if more, err = s.tree.Replay(2); err == nil {
			err = s.tree.Seal(s.epoch)
		}
		if err != nil {
			s.t.Fatalf("replay: %v", err)
		}
	}
	if d := s.Out.Diff(out); d != "" {
		s.t.Fatalf("epoch %d, %+v: the replay differs from what has come out:%s", s.epoch, s.o, d)
	}
	s.Out = out
}

// replayed returns the operators that a replay keeps and the uppermost of them; ok
// is false where inputs reach the root without one.
func replayed(root plan.Node) (kept, tops []int, ok bool) {
	id := 0
	ok = true
	var walk func(n plan.Node, under bool)
	walk = func(n plan.Node, under bool) {
		if !under && exec.Replays(n) {
			under = true
			tops = append(tops, id)
		}
		if under {
			kept = append(kept, id)
		}
		id++
		switch n.(type) {
		case *plan.Scan, *plan.Exchange, *plan.WorkTable, *plan.Values, *plan.TableFunc:
			ok = ok && under
			return
		}
		for _, c := range n.Children() {
			walk(c, under)
		}
	}
	walk(root, false)
	return kept, tops, ok && len(tops) > 0
}

// Saved returns the number of saved entries.
func (s *Stream) Saved() int {
	n := 0
	for _, m := range s.saved {
		n += len(m)
	}
	return n
}

type mapWriter map[string]string

func (m mapWriter) Put(_ int, key, val []byte) { m[string(key)] = string(val) }

func (m mapWriter) PutNew(vnode int, key, val []byte) {
	if old, ok := m[string(key)]; ok {
		panic(fmt.Sprintf("a saved entry with the key %x is not new: it has the value %x", key, old))
	}
	m.Put(vnode, key, val)
}

func (m mapWriter) Delete(_ int, key []byte) { delete(m, string(key)) }

// feed pushes changes in chunks, a new chunk whenever the input changes.
func feed(tree *exec.Tree, changes []Change, rows int) error {
	ins := tree.Inputs()
	for lo := 0; lo < len(changes); {
		in := changes[lo].In
		c := vec.NewChunk(ins[in].Types, 0)
		for lo < len(changes) && changes[lo].In == in && c.Rows < rows {
			c.AppendRow(changes[lo].W, changes[lo].Row...)
			lo++
		}
		if err := tree.Push(in, c); err != nil && err != exec.ErrDone {
			return err
		}
	}
	return nil
}

// Query runs the plan once over the sum of the changes.
func Query(t testing.TB, root plan.Node, changes []Change, o Options) Bag {
	t.Helper()
	out, err := query(root, changes, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func query(root plan.Node, changes []Change, o Options) (Bag, error) {
	out := Bag{}
	ts := plan.Types(root.Schema())
	tree, err := exec.Build(root, &exec.BuildCtx{
		Expr:      &expr.Ctx{Session: &expr.Session{}},
		ChunkRows: o.ChunkRows,
		Check:     true,
		Batch:     true,
		RowError:  o.RowError,
		Out: func(c *vec.Chunk) error {
			for i := range c.Rows {
				out.Add(ts, c.Row(i), c.Weight(i))
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	if err := tree.Start(); err != nil {
		return nil, err
	}
	net := Net(changes)
	order := tree.InputOrder()
	if o.Shuffle != 0 { // the order is advice, not a condition
		for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
			order[i], order[j] = order[j], order[i]
		}
	}
	for _, in := range order {
		var of []Change
		for _, c := range net {
			if c.In == in {
				of = append(of, c)
			}
		}
		if err := feed(tree, of, o.ChunkRows); err != nil {
			return nil, err
		}
		if err := tree.EndInput(in); err != nil {
			return nil, err
		}
	}
	if err := tree.Seal(1); err != nil {
		return nil, err
	}
	return out, tree.Close()
}

// Net adds up the changes of identical rows.
func Net(changes []Change) []Change {
	at := map[string]int{}
	var out []Change
	for _, c := range changes {
		k := fmt.Sprintf("%d%#v", c.In, c.Row)
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, Change{In: c.In, Row: c.Row})
		}
		out[i].W += c.W
	}
	kept := out[:0]
	for _, c := range out {
		if c.W != 0 {
			kept = append(kept, c)
		}
	}
	return kept
}
