package exec

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// lookSide is the side of a hashJoin whose rows are not kept but read from where
// they are stored. Storage has the last committed epoch; what came after it is in
// overlays, one an epoch, each forgotten once its epoch is committed. So the side
// at any time is storage plus overlays, whichever epoch storage is at.
//
// A key's record exists as long as the kept side has rows of it. With keyDeg it
// also counts the rows of the looked-up side, from the first look on.
type lookSide struct {
	*plan.Lookup
	side   *joinSide
	reader *vec.RowReader
	cond   *expr.Program
	types  []types.T
	cols   [2][]int // columns of the storage key's prefix, in the rows of either side

	rows    *vec.Chunk // read, in the columns of the scan
	sel     []int32    // the row of the pushed chunk each was read for
	count   []int64
	pass    []int32
	weights []int64 // of the looked-up rows of the candidate pairs
	found   []int64 // matches of each pushed row: in storage and sealed overlays
	fresh   []int64 // the same in the overlay of this epoch
	key     []byte
	sealed  []*overlay
	current *overlay
}

// overlay is the net changes of the looked-up side in one epoch, by key.
type overlay struct {
	epoch types.Epoch
	keys  *keyTable // payload: the first row of the chain (1 + row)
	rows  *table    // payload: next, weight
}

const (
	overNext   = 0
	overWeight = 8
	overSize   = 16
)

// lookUp sets the join up to read one side from storage.
func (j *hashJoin) lookUp(p *plan.Lookup) error {
	l := &lookSide{Lookup: p, side: j.side[p.Side], reader: vec.NewRowReader(p.Stored, p.Cols)}
	for _, c := range p.Cols {
		l.types = append(l.types, p.Stored[c])
	}
	l.rows = vec.NewChunk(l.types, 0)
	if p.Cond != nil {
		var err error
		if l.cond, err = expr.Compile(p.Cond); err != nil {
			return err
		}
	}
	for in, s := range j.side {
		for _, k := range p.Keys {
			l.cols[in] = append(l.cols[in], s.keyer.cols[k])
		}
	}
	j.look = l
	return nil
}

func (j *hashJoin) pushLookup(in int, c *vec.Chunk, emit Emit) error {
	if in == j.look.Side {
		return j.pushStored(c, emit)
	}
	return j.pushKept(c, emit)
}

// pushKept takes rows of the side that the join keeps, and looks their matches up.
func (j *hashJoin) pushKept(c *vec.Chunk, emit Emit) error {
	in := 1 - j.look.Side
	if err := j.insert(in, c, emit); err != nil {
		return err
	}
	if j.keyDeg && !j.pairs && !j.uncounted() {
		return nil
	}
	return j.lookAt(in, c, emit)
}

// pushStored takes changes of the side that is looked up: they go into the overlay
// and meet the rows that are kept.
func (j *hashJoin) pushStored(c *vec.Chunk, emit Emit) error {
	l, m := j.look, &j.m
	in, s := l.Side, l.side
	m.reset(c.Rows)
	for i := range c.Rows {
		m.ids[i], m.keys[i], m.fresh[i] = noID, noID, false
		if c.Weight(i) != 0 && !s.nullKey(c, i) {
			m.keys[i] = j.keys.find(s.keyer, i)
		}
	}
	if j.keyDeg && j.uncounted() {
		if err := j.lookAt(in, c, emit); err != nil {
			return err
		}
	}
	if l.current == nil {
		l.current = &overlay{keys: s.keyer.newTable(8), rows: newTable(overSize, s.format.keyWidth())}
	}
	s.format.encode(&s.batch, c)
	for i := range c.Rows {
		w := c.Weight(i)
		if w == 0 || s.nullKey(c, i) {
			continue
		}
		l.current.add(s, i, w)
		if kid := m.keys[i]; kid != noID && j.keyDeg {
			k := j.keys.rec(kid)
			j.touchKey(kid, k, s)
			le.PutUint64(k[keyTotal+8*in:], le.Uint64(k[keyTotal+8*in:])+uint64(w))
		}
	}
	if !j.pairs && !j.rowDeg {
		return nil
	}
	return j.match(in, c, emit)
}

// uncounted reports whether the rows at hand have keys whose matches were never
// counted.
func (j *hashJoin) uncounted() bool {
	for _, kid := range j.m.keys {
		if kid != noID && le.Uint32(j.keys.rec(kid)[keyFlags:])&joinCounted == 0 {
			return true
		}
	}
	return false
}

// wanted reports whether the matches of a row of key kid are to be read: to be paired
// with it, or because the weight of the key's matches is not known.
func (j *hashJoin) wanted(kid uint32, pairs bool) bool {
	return kid != noID && (pairs || le.Uint32(j.keys.rec(kid)[keyFlags:])&joinCounted == 0)
}

// lookAt reads the matches of the rows at hand, which are of side in. Those of
// the kept side are paired with them; keys not counted yet are.
func (j *hashJoin) lookAt(in int, c *vec.Chunk, emit Emit) error {
	l, m := j.look, &j.m
	v, epoch := j.ctx.Stored.Open()
	defer v.Close()
	l.forget(epoch)
	// Each pair is met with every change of its rows, also where only degrees are
	// kept: one whose condition fails must be reported when it comes and when it goes.
	pairs := (j.pairs || j.rowDeg) && in != l.Side
	l.found, l.fresh = zeroed(l.found, c.Rows), zeroed(l.fresh, c.Rows)
	l.clear()
	for i, kid := range m.keys {
		if !j.wanted(kid, pairs) {
			continue
		}
		l.key = vec.AppendKey(l.key[:0], c, l.cols[in], nil, nil, i)
		err := v.Rows(l.Rel, l.Form, l.key, l.Whole, func(row []byte, n int64) error {
			if err := l.reader.Read(l.rows, row); err != nil {
				return err
			}
			l.rows.Rows++
			l.sel, l.count = append(l.sel, int32(i)), append(l.count, n)
			if l.rows.Rows < j.out.max {
				return nil
			}
			return j.looked(in, c, pairs, emit)
		})
		if err != nil {
			return err
		}
	}
	if err := j.looked(in, c, pairs, emit); err != nil {
		return err
	}
	for _, o := range l.sealed {
		if err := j.overlaid(o, l.found, in, c, pairs, emit); err != nil {
			return err
		}
	}
	if l.current != nil {
		if err := j.overlaid(l.current, l.fresh, in, c, pairs, emit); err != nil {
			return err
		}
	}
	j.countKeys()
	return nil
}

// looked handles the rows read so far.
func (j *hashJoin) looked(in int, c *vec.Chunk, pairs bool, emit Emit) error {
	l, m := j.look, &j.m
	if l.rows.Rows == 0 {
		return nil
	}
	l.pass = l.pass[:0]
	if l.cond != nil {
		var err error
		if l.pass, err = l.cond.Filter(j.ctx.Expr, l.rows, l.pass); err != nil {
			return err
		}
	} else {
		for x := range l.rows.Rows {
			l.pass = append(l.pass, int32(x))
		}
	}
	m.sel, l.weights, m.diff = m.sel[:0], l.weights[:0], m.diff[:0]
	ones := true
	for _, x := range l.pass {
		i, n := l.sel[x], l.count[x]
		l.found[i] += n
		w := c.Weight(int(i)) * n
		m.sel, l.weights = append(m.sel, i), append(l.weights, n)
		m.diff, ones = append(m.diff, w), ones && w == 1
	}
	if pairs && len(l.pass) > 0 {
		m.cand.Reset()
		own := j.side[in]
		for k := range own.ncols {
			m.cand.Cols[own.at+k].Gather(c.Cols[k], m.sel)
		}
		for k, from := range l.Out {
			m.cand.Cols[l.side.at+k].Gather(l.rows.Cols[from], l.pass)
		}
		if err := j.emitCandidates(in, c, len(l.pass), ones, emit); err != nil {
			return err
		}
	}
	l.clear()
	return nil
}

// overlaid adds what an overlay has for the rows at hand.
func (j *hashJoin) overlaid(o *overlay, found []int64, in int, c *vec.Chunk, pairs bool, emit Emit) error {
	l, m := j.look, &j.m
	s := j.side[in]
	clearPairs := func() {
		m.sel, l.weights, m.rows, m.diff = m.sel[:0], l.weights[:0], m.rows[:0], m.diff[:0]
	}
	clearPairs()
	flush := func() error {
		if !pairs || len(m.sel) == 0 {
			return nil
		}
		m.cand.Reset()
		for k := range s.ncols {
			m.cand.Cols[s.at+k].Gather(c.Cols[k], m.sel)
		}
		l.side.format.decode(m.cand, l.side.at, m.rows)
		err := j.emitCandidates(in, c, len(m.sel), false, emit)
		clearPairs()
		return err
	}
	for i, kid := range m.keys {
		if !j.wanted(kid, pairs) {
			continue
		}
		at := o.keys.find(s.keyer, i)
		if at == noID {
			continue
		}
		for id := le.Uint32(o.keys.rec(at)); id != 0; {
			r := o.rows.rec(id - 1)
			if w := int64(le.Uint64(r[overWeight:])); w != 0 {
				found[i] += w
				m.sel, m.rows = append(m.sel, int32(i)), append(m.rows, o.rows.key(id-1))
				l.weights, m.diff = append(l.weights, w), append(m.diff, w*c.Weight(i))
				if len(m.sel) >= j.out.max {
					if err := flush(); err != nil {
						return err
					}
				}
			}
			id = le.Uint32(r[overNext:])
		}
	}
	return flush()
}

// emitCandidates emits the n pairs in m.cand, weighted by m.diff.
func (j *hashJoin) emitCandidates(in int, c *vec.Chunk, n int, ones bool, emit Emit) error {
	m := &j.m
	m.cand.Rows = n
	if !ones {
		m.cand.Diff = m.diff
	}
	return j.emitMatches(in, c, emit)
}

// countLooked adds the looked-up rows that match to the degrees of the kept rows
// that are new. The degrees of others are known.
func (j *hashJoin) countLooked(in int) {
	m, own := &j.m, j.side[in]
	for _, x := range m.pass {
		if i := m.sel[x]; m.fresh[i] {
			r := own.rows.rec(m.ids[i])
			le.PutUint64(r[rowDegree:], le.Uint64(r[rowDegree:])+uint64(j.look.weights[x]))
		}
	}
}

// countKeys gives the keys of the rows at hand that have none the weight of their
// matches, now and at the last Seal.
func (j *hashJoin) countKeys() {
	if !j.keyDeg {
		return
	}
	l := j.look
	for i, kid := range j.m.keys {
		if kid == noID {
			continue
		}
		k := j.keys.rec(kid)
		f := le.Uint32(k[keyFlags:])
		if f&joinCounted != 0 {
			continue
		}
		le.PutUint64(k[keyBefore+8*l.Side:], uint64(l.found[i]))
		le.PutUint64(k[keyTotal+8*l.Side:], uint64(l.found[i]+l.fresh[i]))
		le.PutUint32(k[keyFlags:], f|joinCounted)
	}
}

func (l *lookSide) clear() {
	l.rows.Reset()
	l.sel, l.count = l.sel[:0], l.count[:0]
}

// seal closes the overlay of epoch e and forgets those that are committed.
func (l *lookSide) seal(e, committed types.Epoch) {
	if l.current != nil {
		l.current.epoch = e
		l.sealed, l.current = append(l.sealed, l.current), nil
	}
	l.forget(committed)
}

func (l *lookSide) forget(committed types.Epoch) {
	kept := l.sealed[:0]
	for _, o := range l.sealed {
		if o.epoch > committed {
			kept = append(kept, o)
		}
	}
	clear(l.sealed[len(kept):])
	l.sealed = kept
}

func (l *lookSide) bytes() int {
	n := 0
	for _, o := range l.sealed {
		n += o.bytes()
	}
	if l.current != nil {
		n += l.current.bytes()
	}
	return n
}

func (o *overlay) bytes() int { return o.keys.bytes() + o.rows.bytes() }

// add adds w to the weight of row i of the prepared and encoded chunk.
func (o *overlay) add(s *joinSide, i int, w int64) {
	row := s.batch.row(i)
	id, added := o.rows.upsert(hashKey(row), row)
	r := o.rows.rec(id)
	if added {
		kid, _ := o.keys.upsert(s.keyer, i)
		k := o.keys.rec(kid)
		le.PutUint32(r[overNext:], le.Uint32(k))
		le.PutUint32(k, id+1)
	}
	le.PutUint64(r[overWeight:], le.Uint64(r[overWeight:])+uint64(w))
}

func zeroed(v []int64, n int) []int64 {
	if cap(v) < n {
		return make([]int64, n)
	}
	v = v[:n]
	clear(v)
	return v
}
