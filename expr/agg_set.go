package expr

import (
	"encoding/binary"
	"sort"
	"unsafe"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var errState = pgerr.New(pgerr.DataCorrupted, "stored aggregate state is damaged")

// entry is a row of an ordered multiset. key is its ordering prefix of split
// bytes followed by the exact encoding of the row.
type entry struct {
	key   string
	split int32
	w     int64
}

func (e *entry) prefix() string { return e.key[:e.split] }

// blockMax bounds a block of the multiset; a full block splits in two.
const blockMax = 128

// multiset is an ordered multiset of rows in blocks, so that an insertion moves
// at most one block. Entries of weight 0 are gone; a weight may be negative
// between a retraction and its insertion.
type multiset struct {
	blocks [][]entry
	dirty  map[string]int32 // keys changed since the last delta, with their split
	bytes  int
}

// find returns the block and the place in it where key is or belongs.
func (m *multiset) find(key string) (b, i int, ok bool) {
	b = sort.Search(len(m.blocks), func(k int) bool { return m.blocks[k][0].key > key })
	if b > 0 {
		b--
	}
	if len(m.blocks) == 0 {
		return 0, 0, false
	}
	blk := m.blocks[b]
	i = sort.Search(len(blk), func(k int) bool { return blk[k].key >= key })
	return b, i, i < len(blk) && blk[i].key == key
}

// add changes the weight of a row; key is copied when it is new.
func (m *multiset) add(key []byte, split int, w int64) {
	if w == 0 {
		return
	}
	if m.dirty == nil {
		m.dirty = map[string]int32{}
	}
	b, i, ok := m.find(borrow(key))
	if ok {
		e := &m.blocks[b][i]
		m.dirty[e.key] = e.split
		if e.w += w; e.w == 0 {
			m.remove(b, i)
		}
		return
	}
	e := entry{key: string(key), split: int32(split), w: w}
	m.dirty[e.key] = e.split
	m.insert(b, i, e)
}

// borrow views bytes as a string for the length of a call.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func (m *multiset) insert(b, i int, e entry) {
	m.bytes += len(e.key) + 48
	if len(m.blocks) == 0 {
		m.blocks = append(m.blocks, []entry{e})
		return
	}
	blk := append(m.blocks[b], entry{})
	copy(blk[i+1:], blk[i:])
	blk[i] = e
	m.blocks[b] = blk
	if len(blk) > blockMax {
		half := append(make([]entry, 0, blockMax), blk[blockMax/2:]...)
		clear(blk[blockMax/2:])
		m.blocks[b] = blk[:blockMax/2]
		m.blocks = append(m.blocks, nil)
		copy(m.blocks[b+2:], m.blocks[b+1:])
		m.blocks[b+1] = half
	}
}

func (m *multiset) remove(b, i int) {
	blk := m.blocks[b]
	m.bytes -= len(blk[i].key) + 48
	copy(blk[i:], blk[i+1:])
	blk[len(blk)-1] = entry{}
	if blk = blk[:len(blk)-1]; len(blk) > 0 {
		m.blocks[b] = blk
		return
	}
	m.blocks = append(m.blocks[:b], m.blocks[b+1:]...)
}

// each calls f for every row of positive weight in order until it returns false.
func (m *multiset) each(f func(e *entry) bool) {
	for _, blk := range m.blocks {
		for i := range blk {
			if blk[i].w > 0 && !f(&blk[i]) {
				return
			}
		}
	}
}

// last returns the greatest row of positive weight.
func (m *multiset) last() *entry {
	for b := len(m.blocks) - 1; b >= 0; b-- {
		blk := m.blocks[b]
		for i := len(blk) - 1; i >= 0; i-- {
			if blk[i].w > 0 {
				return &blk[i]
			}
		}
	}
	return nil
}

// total returns the number of rows.
func (m *multiset) total() (n int64) {
	m.each(func(e *entry) bool { n += e.w; return true })
	return n
}

// at returns the row of the given 0-based rank.
func (m *multiset) at(rank int64) (found *entry) {
	m.each(func(e *entry) bool {
		if rank < e.w {
			found = e
			return false
		}
		rank -= e.w
		return true
	})
	return found
}

func (m *multiset) Delta(emit func(sub, val []byte)) {
	var sub, val []byte
	for k, split := range m.dirty {
		sub = binary.AppendUvarint(sub[:0], uint64(split))
		sub = append(sub, k...)
		b, i, ok := m.find(k)
		if !ok {
			emit(sub, nil)
			continue
		}
		val = binary.AppendVarint(val[:0], m.blocks[b][i].w)
		emit(sub, val)
	}
	clear(m.dirty)
}

func (m *multiset) Load(sub, val []byte) error {
	split, n := binary.Uvarint(sub)
	w, k := binary.Varint(val)
	if n <= 0 || k <= 0 || split > uint64(len(sub)-n) {
		return errState
	}
	key := sub[n:]
	b, i, ok := m.find(string(key))
	if ok {
		m.blocks[b][i].w = w
		return nil
	}
	m.insert(b, i, entry{key: string(key), split: int32(split), w: w})
	return nil
}

func (m *multiset) MemSize() int { return m.bytes + 64*len(m.dirty) + 128 }

// collector is the shape shared by all accumulators of one call that keep their
// rows: how to order them, and a scratch chunk to encode and decode with.
type collector struct {
	cols       []int // columns ordered by
	desc       []bool
	nullsFirst []bool
	nargs      int
	args       []int
	all        []int
	skipNull   bool // rows with a NULL in nullCol do not count
	nullCol    int
	distinct   bool
	in         vec.Chunk
	out        *vec.Chunk
	buf        []byte
}

func newCollector(m MakeArgs, skipNull bool) *collector {
	s := &collector{nargs: m.NArgs, skipNull: skipNull, distinct: m.Distinct, out: vec.NewChunk(m.Args, 1)}
	for i := range m.NArgs {
		s.args = append(s.args, i)
	}
	for i := range m.Args {
		s.all = append(s.all, i)
	}
	for _, k := range m.OrderBy {
		s.cols, s.desc, s.nullsFirst = append(s.cols, k.Col), append(s.desc, k.Desc), append(s.nullsFirst, k.NullsFirst)
	}
	if m.Distinct || len(m.OrderBy) == 0 {
		for i := range m.NArgs {
			if orderable(m.Args[i]) {
				s.cols, s.desc, s.nullsFirst = append(s.cols, i), append(s.desc, false), append(s.nullsFirst, false)
			}
		}
	}
	return s
}

// orderable reports whether values of t have a key encoding.
func orderable(t types.T) bool {
	return t.ID != types.JSON && t.ID != types.JSONPath && t.ID != types.Void
}

func (s *collector) add(m *multiset, args []vec.Vector, i int, w int64) {
	if s.skipNull && args[s.nullCol].IsNull(i) {
		return
	}
	s.in.Cols = args
	s.buf = vec.AppendKey(s.buf[:0], &s.in, s.cols, s.desc, s.nullsFirst, i)
	split := len(s.buf)
	s.buf = vec.AppendRow(s.buf, &s.in, s.all, i)
	m.add(s.buf, split, w)
}

// each decodes the rows in order and calls f with the scratch chunk, whose only
// row is the current one, and how often it counts.
func (s *collector) each(m *multiset, f func(c *vec.Chunk, w int64) error) error {
	var err error
	var last string
	seen := false
	m.each(func(e *entry) bool {
		w := e.w
		if s.distinct {
			if seen && e.prefix() == last {
				return true
			}
			seen, last, w = true, e.prefix(), 1
		}
		if err = s.decode(e); err == nil {
			err = f(s.out, w)
		}
		return err == nil
	})
	return err
}

func (s *collector) decode(e *entry) error {
	s.out.Reset()
	_, err := vec.DecodeRow(s.out, nil, []byte(e.key[e.split:]))
	s.out.Rows = 1
	return err
}

// collectAcc keeps the rows of a group and computes the result from them.
type collectAcc struct {
	multiset
	s      *collector
	finish func(c *Ctx, a *collectAcc, dst vec.Vector) error
}

func (a *collectAcc) Add(_ *Ctx, args []vec.Vector, i int, w int64) error {
	a.s.add(&a.multiset, args, i, w)
	return nil
}

func (a *collectAcc) Result(c *Ctx, dst vec.Vector) error { return a.finish(c, a, dst) }

// collect makes an aggregate that keeps its rows.
func collect(m MakeArgs, skipNull bool, finish func(c *Ctx, a *collectAcc, dst vec.Vector) error) AggImpl {
	s := newCollector(m, skipNull)
	return AggImpl{New: func() Acc { return &collectAcc{s: s, finish: finish} }}
}

func finishMin(_ *Ctx, a *collectAcc, dst vec.Vector) error {
	var first *entry
	a.multiset.each(func(e *entry) bool { first = e; return false })
	return a.put(first, dst)
}

func finishMax(_ *Ctx, a *collectAcc, dst vec.Vector) error { return a.put(a.last(), dst) }

// put appends the first argument of a row, or NULL.
func (a *collectAcc) put(e *entry, dst vec.Vector) error {
	if e == nil {
		dst.AppendNull()
		return nil
	}
	if err := a.s.decode(e); err != nil {
		return err
	}
	dst.AppendFrom(a.s.out.Cols[0], 0)
	return nil
}

// distinctAcc feeds an inner accumulator each different row once.
type distinctAcc struct {
	multiset
	s     *collector
	inner Acc
	stale bool // loaded and not fed to inner yet
}

// distinctOf wraps an aggregate for DISTINCT.
func distinctOf(f *AggFunc, m MakeArgs) AggImpl {
	plain := m
	plain.Distinct, plain.OrderBy, plain.AppendOnly = false, nil, false
	plain.Args = m.Args[:m.NArgs]
	impl := f.Make(plain)
	m.OrderBy, m.Args = nil, plain.Args
	s := newCollector(m, true)
	return AggImpl{New: func() Acc {
		return &distinctAcc{s: s, inner: impl.acc()}
	}}
}

func (a *distinctAcc) Add(c *Ctx, args []vec.Vector, i int, w int64) error {
	if err := a.rebuild(c); err != nil {
		return err
	}
	s := a.s
	if args[0].IsNull(i) {
		return nil
	}
	s.in.Cols = args[:s.nargs]
	s.buf = vec.AppendKey(s.buf[:0], &s.in, s.cols, s.desc, s.nullsFirst, i)
	split := len(s.buf)
	s.buf = vec.AppendRow(s.buf, &s.in, s.all, i)
	before := a.representative(s.buf[:split])
	a.multiset.add(s.buf, split, w)
	after := a.representative(s.buf[:split])
	if before == after {
		return nil
	}
	if before != "" {
		if err := a.feed(c, before, -1); err != nil {
			return err
		}
	}
	if after != "" {
		return a.feed(c, after, 1)
	}
	return nil
}

// representative returns the exact encoding of the first live row that equals
// the given ordering prefix; empty if there is none. An exact encoding is never
// empty: it begins with its null bitmap.
func (a *distinctAcc) representative(prefix []byte) string {
	b, i, _ := a.find(borrow(prefix))
	for ; b < len(a.blocks); b, i = b+1, 0 {
		for ; i < len(a.blocks[b]); i++ {
			e := &a.blocks[b][i]
			if e.prefix() != string(prefix) {
				return ""
			}
			if e.w > 0 {
				return e.key[e.split:]
			}
		}
	}
	return ""
}

func (a *distinctAcc) feed(c *Ctx, exact string, w int64) error {
	a.s.out.Reset()
	if _, err := vec.DecodeRow(a.s.out, nil, []byte(exact)); err != nil {
		return err
	}
	return a.inner.Add(c, a.s.out.Cols, 0, w)
}

func (a *distinctAcc) Load(sub, val []byte) error {
	a.stale = true
	return a.multiset.Load(sub, val)
}

// rebuild feeds the inner accumulator after a Load.
func (a *distinctAcc) rebuild(c *Ctx) error {
	if !a.stale {
		return nil
	}
	a.stale = false
	last, seen := "", false
	var err error
	a.multiset.each(func(e *entry) bool {
		if !seen || e.prefix() != last {
			err = a.feed(c, e.key[e.split:], 1)
		}
		seen, last = true, e.prefix()
		return err == nil
	})
	return err
}

func (a *distinctAcc) Result(c *Ctx, dst vec.Vector) error {
	if err := a.rebuild(c); err != nil {
		return err
	}
	return a.inner.Result(c, dst)
}

// acc returns a fresh accumulator whatever the form.
func (m AggImpl) acc() Acc {
	if m.New != nil {
		return m.New()
	}
	return &flatAcc{f: m.Flat, st: make([]byte, m.Flat.Size())}
}

// Acc returns a new accumulator object, also for a flat aggregate.
func (m AggImpl) Acc() Acc { return m.acc() }

// flatAcc makes an object of a flat state.
type flatAcc struct {
	f     FlatAgg
	st    []byte
	dirty bool
	one   []vec.Vector // the row being added
	w     [1]int64
	sts   [1][]byte
}

func (a *flatAcc) Add(c *Ctx, args []vec.Vector, i int, w int64) error {
	a.dirty = true
	if a.one == nil {
		a.one = make([]vec.Vector, len(args))
		for k, v := range args {
			a.one[k] = vec.New(v.Type(), 1)
		}
	}
	for k, v := range args {
		a.one[k].Reset()
		a.one[k].AppendFrom(v, i)
	}
	a.w[0], a.sts[0] = w, a.st
	return a.f.Add(c, a.sts[:], 0, a.one, a.w[:], nil)
}

func (a *flatAcc) Result(c *Ctx, dst vec.Vector) error { return a.f.Result(c, a.st, dst) }

func (a *flatAcc) Delta(emit func(sub, val []byte)) {
	if !a.dirty {
		return
	}
	a.dirty = false
	for _, x := range a.st {
		if x != 0 {
			emit(nil, a.st)
			return
		}
	}
	emit(nil, nil)
}

func (a *flatAcc) Load(_, val []byte) error {
	if len(val) != len(a.st) {
		return errState
	}
	copy(a.st, val)
	return nil
}

func (a *flatAcc) MemSize() int { return len(a.st) + 64 }
