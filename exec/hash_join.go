package exec

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// The record of a join key: for each side the first row of its chain (1 + row)
// and the weight of its rows, the weights at the start of the epoch, flags and
// vnode.
const (
	keyHead   = 0  // 2 × uint32
	keyTotal  = 8  // 2 × int64
	keyBefore = 24 // 2 × int64
	keyFlags  = 40
	keyVnode  = 44
	keySize   = 48
)

// The record of a row: its neighbours in the chain of its key (1 + row), its
// key, flags with the key's vnode as their last byte, weight, and degree: the weight
// of the rows of the other side that it matches.
const (
	rowNext   = 0
	rowPrev   = 4
	rowKey    = 8
	rowFlags  = 12
	rowVnode  = 15
	rowWeight = 16
	rowDegree = 24
	rowSeq    = 32 // append-only sides: number of the row in its saved key
	rowSize   = 40
)

const (
	joinTouched   = 1 << iota // in this epoch
	joinUnsaved               // since the last Save
	joinPersisted             // has a saved entry
	joinCounted               // lookup: the total of the side that is looked up is known
)

// hashJoin matches the rows of two inputs by key. Pairs are emitted as rows
// come, each against what the other side holds at that time, which adds up to
// the product in any order. Whether a row is without match is settled at Seal:
// padded rows, and the rows of semi and anti joins, are emitted then as the
// difference to the last Seal.
type hashJoin struct {
	*opBase
	kind     plan.JoinKind
	pairs    bool // output is pairs, besides padded rows
	rowDeg   bool // degrees are kept per row, because a residual decides matches
	keyDeg   bool // the total of the key tells whether a row has a match
	keys     *keyTable
	side     [2]*joinSide
	residual *expr.Program
	out      *output // in the output's columns
	pad      *rowOutput
	m        joinMatch
	marks    map[int]*minMark
	notIn    bool
	right    [2]int64  // notIn: weight of the right side, now and at the last Seal
	nulls    [2]int64  // notIn: the same of its NULLs
	touched  []uint32  // keys, with keyDeg
	unsaved  []uint32  // keys of a side without rows
	look     *lookSide // a side that is read from storage; nil: none
	// replaying: errors were reported and degrees are known (see Replay).
	replaying bool
}

// joinSide is what is kept of one input.
type joinSide struct {
	keyer    *keyer
	strict   []int // key columns whose NULLs match nothing
	format   *rowFormat
	vnodes   vnoder
	ncols    int
	at       int  // first output column
	observed bool // a row of this side shows whether it has a match
	keepRows bool
	ended    bool // batch: no more rows come
	// loose sides never take rows away, so identical rows need not be found:
	// every row has a record of its own, numbered for its saved entry.
	loose   bool
	seq     uint64
	rows    *table
	lone    loneRows // of an observed side: rows with a NULL key
	batch   rowBatch
	hash    []uint64 // of the batch's rows, unless loose
	touched []touchedRow
	unsaved []uint32
	one     *vec.Chunk
}

type touchedRow struct {
	id     uint32
	weight int64 // before the epoch's first change
	degree int64
}

// joinMatch is the scratch memory of one Push.
type joinMatch struct {
	ids   []uint32 // own row records; noID when not kept
	keys  []uint32
	fresh []bool // the row's record is new, so its degree is to be computed
	sel   []int32
	other []uint32
	rows  [][]byte
	cand  *vec.Chunk
	pass  []int32
	drop  []int32
	keep  []int32
	diff  []int64
	found []int64 // batch: weight of the matches of a probing row
}

func newHashJoin(p *plan.Join, b *opBase) (Operator, error) {
	j := &hashJoin{opBase: b, marks: map[int]*minMark{}, notIn: simpleNotIn(p)}
	if j.notIn {
		q := *p
		q.Kind, q.NullSafe = plan.Anti, []bool{true}
		p = &q
	}
	p = withoutNullAnti(p)
	j.kind = p.Kind
	lt, rt := plan.Types(p.Left.Schema()), plan.Types(p.Right.Schema())
	for i := range p.LeftKeys {
		if l, r := lt[p.LeftKeys[i]], rt[p.RightKeys[i]]; l.Kind() != r.Kind() {
			return nil, pgerr.New(pgerr.Internal, "join keys of types %s and %s", l, r)
		}
	}
	j.pairs = p.Kind <= plan.Full
	j.side[0] = newJoinSide(b, p, p.Left, p.LeftKeys, 0)
	j.side[1] = newJoinSide(b, p, p.Right, p.RightKeys, len(lt))
	j.side[0].observed = p.Kind != plan.Inner && p.Kind != plan.Right
	j.side[1].observed = p.Kind == plan.Right || p.Kind == plan.Full
	observed := j.side[0].observed || j.side[1].observed
	j.rowDeg = observed && p.Residual != nil
	j.keyDeg = observed && !j.rowDeg
	j.side[1].keepRows = j.pairs || j.rowDeg
	if p.Residual != nil {
		var err error
		if j.residual, err = expr.Compile(p.Residual); err != nil {
			return nil, err
		}
	}
	j.keys = j.side[0].keyer.newTable(keySize)
	both := append(append([]types.T(nil), lt...), rt...)
	j.m.cand = vec.NewChunk(both, 0)
	j.out = newOutput(plan.Types(p.Schema()), b.ctx.rows())
	if p.Lookup != nil && b.ctx.Stored != nil {
		if err := j.lookUp(p.Lookup); err != nil {
			return nil, err
		}
	}
	return j, nil
}

func newJoinSide(b *opBase, p *plan.Join, input plan.Node, keys []int, at int) *joinSide {
	ts := plan.Types(input.Schema())
	s := &joinSide{
		keyer: newKeyer(ts, keys), format: newRowFormat(ts, allColumns(ts), false),
		vnodes: newVnoder(b, input, keys), ncols: len(ts), at: at, keepRows: true,
		one: vec.NewChunk(ts, 0),
	}
	for i, k := range keys {
		if len(p.NullSafe) <= i || !p.NullSafe[i] {
			s.strict = append(s.strict, k)
		}
	}
	s.loose = b.ctx.Batch || plan.AppendOnly(input)
	s.rows, s.lone = newTable(rowSize, s.format.keyWidth()), newLoneRows(s.format)
	return s
}

// withoutNullAnti turns NOT IN into an anti join: a right row keeps a left row
// away unless the comparison of their operands is false, which it is not when
// it is NULL. Null-safe keys stay keys.
func withoutNullAnti(p *plan.Join) *plan.Join {
	if p.Kind != plan.NullAnti {
		return p
	}
	q := *p
	q.Kind, q.LeftKeys, q.RightKeys, q.NullSafe = plan.Anti, nil, nil, nil
	lt, rt := plan.Types(p.Left.Schema()), plan.Types(p.Right.Schema())
	var conds []expr.Expr
	if p.Residual != nil {
		conds = append(conds, &expr.IsBool{Arg: p.Residual, Want: false, Negate: true})
	}
	for i, l := range p.LeftKeys {
		r := p.RightKeys[i]
		if i < len(p.NullSafe) && p.NullSafe[i] {
			q.LeftKeys, q.RightKeys = append(q.LeftKeys, l), append(q.RightKeys, r)
			q.NullSafe = append(q.NullSafe, true)
			continue
		}
		lc := &expr.Col{Index: l, Typ: lt[l]}
		rc := &expr.Col{Index: len(lt) + r, Typ: rt[r]}
		conds = append(conds, &expr.Or{Args: []expr.Expr{
			&expr.IsNull{Arg: lc}, &expr.IsNull{Arg: rc}, &expr.Distinct{L: lc, R: rc, Negate: true}}})
	}
	switch len(conds) {
	case 0:
	case 1:
		q.Residual = conds[0]
	default:
		q.Residual = &expr.And{Args: conds}
	}
	return &q
}

// simpleNotIn reports whether a join is x NOT IN (SELECT y ...) with nothing else
// between the sides. It is then an anti join by the value, where NULLs have keys
// like values: a row with x meets y = x and y NULL, one without meets all.
func simpleNotIn(p *plan.Join) bool {
	return p.Kind == plan.NullAnti && len(p.LeftKeys) == 1 && p.Residual == nil &&
		(len(p.NullSafe) == 0 || !p.NullSafe[0])
}

// alone reports whether a row whose matches weigh d belongs to the output by
// itself: padded, or as a row of a semi or anti join.
func (j *hashJoin) alone(d int64) bool {
	if j.kind == plan.Semi {
		return d > 0
	}
	return d == 0
}

func (j *hashJoin) Push(in int, c *vec.Chunk, emit Emit) error {
	s := j.side[in]
	s.keyer.prepare(c)
	j.keys.warm(s.keyer.hash)
	if j.look != nil {
		return j.pushLookup(in, c, emit)
	}
	probe := j.ctx.Batch && j.side[1-in].ended
	var err error
	if probe {
		err = j.probe(in, c, emit)
	} else {
		if err = j.insert(in, c, emit); err == nil && (j.pairs || j.rowDeg) {
			err = j.match(in, c, emit)
		}
	}
	if err != nil {
		return err
	}
	if j.ctx.Budget > 0 {
		return j.overBudget(j.StateBytes())
	}
	return nil
}

// nullKey reports whether row i has a NULL key that matches nothing.
func (s *joinSide) nullKey(c *vec.Chunk, i int) bool {
	for _, k := range s.strict {
		if c.Cols[k].IsNull(i) {
			return true
		}
	}
	return false
}

func (m *joinMatch) reset(n int) {
	if cap(m.ids) < n {
		m.ids, m.keys = make([]uint32, n), make([]uint32, n)
		m.fresh, m.found = make([]bool, n), make([]int64, n)
	}
	m.ids, m.keys, m.fresh, m.found = m.ids[:n], m.keys[:n], m.fresh[:n], m.found[:n]
}

// insert folds the rows of a chunk into the side's state. Rows that can never
// match leave at once.
func (j *hashJoin) insert(in int, c *vec.Chunk, emit Emit) error {
	s := j.side[in]
	s.vnodes.prepare(c)
	if s.keepRows && !s.loose {
		s.format.encode(&s.batch, c)
		s.warm(c.Rows)
	}
	j.m.reset(c.Rows)
	for i := range c.Rows {
		w := c.Weight(i)
		j.m.ids[i], j.m.keys[i], j.m.fresh[i] = noID, noID, false
		if w == 0 {
			continue
		}
		if w < 0 && s.loose {
			return j.negative("a row of an append-only input")
		}
		if s.nullKey(c, i) {
			if err := j.insertLone(in, c, i, w, emit); err != nil {
				return err
			}
			continue
		}
		kid, added := j.keys.upsert(s.keyer, i)
		k := j.keys.rec(kid)
		if added {
			k[keyVnode] = s.vnodes.at(i)
		}
		j.touchKey(kid, k, s)
		le.PutUint64(k[keyTotal+8*in:], le.Uint64(k[keyTotal+8*in:])+uint64(w))
		if in == 1 && j.notIn {
			j.countRight(c, i, w)
		}
		j.m.keys[i] = kid
		if s.keepRows {
			j.m.ids[i], j.m.fresh[i] = s.insert(j, in, k, kid, c, i, w)
		}
	}
	return j.out.flush(emit)
}

// countRight counts a row of the right side of NOT IN.
func (j *hashJoin) countRight(c *vec.Chunk, i int, w int64) {
	j.right[0] += w
	if c.Cols[j.side[1].keyer.cols[0]].IsNull(i) {
		j.nulls[0] += w
	}
}

// touchKey remembers the totals a key has before the epoch changes them.
func (j *hashJoin) touchKey(kid uint32, k []byte, s *joinSide) {
	if j.ctx.Batch || !j.keyDeg {
		return
	}
	f := le.Uint32(k[keyFlags:])
	if f&joinTouched == 0 {
		copy(k[keyBefore:keyBefore+16], k[keyTotal:keyTotal+16])
		j.touched = append(j.touched, kid)
		f |= joinTouched
	}
	if !s.keepRows && j.look == nil && f&joinUnsaved == 0 {
		j.unsaved = append(j.unsaved, kid)
		f |= joinUnsaved
	}
	le.PutUint32(k[keyFlags:], f)
}

// warm hashes the rows of the chunk and loads where they will be looked up.
func (s *joinSide) warm(n int) {
	s.hash = s.hash[:0]
	for i := range n {
		s.hash = append(s.hash, hashKey(s.batch.row(i)))
	}
	s.rows.warm(s.hash)
}

// insert adds w to the weight of row i, making its record if there is none.
func (s *joinSide) insert(j *hashJoin, in int, k []byte, kid uint32, c *vec.Chunk, i int, w int64) (id uint32, added bool) {
	if s.loose {
		var row []byte
		id, row = s.rows.addLoose(s.format.rowSize(c, i))
		s.format.write(row, c, i)
		added = true
	} else {
		id, added = s.rows.upsert(s.hash[i], s.batch.row(i))
	}
	r := s.rows.rec(id)
	if added {
		le.PutUint32(r[rowKey:], kid)
		r[rowVnode] = k[keyVnode]
		s.link(in, k, id, r)
		if s.loose {
			s.seq++
			le.PutUint64(r[rowSeq:], s.seq)
		}
	}
	if !j.ctx.Batch {
		s.touch(id, r)
	}
	le.PutUint64(r[rowWeight:], le.Uint64(r[rowWeight:])+uint64(w))
	return id, added
}

// link puts a row at the head of its key's chain.
func (s *joinSide) link(in int, k []byte, id uint32, r []byte) {
	head := le.Uint32(k[keyHead+4*in:])
	le.PutUint32(r[rowNext:], head)
	if head != 0 && !s.loose { // rows of loose sides are never unlinked
		le.PutUint32(s.rows.rec(head - 1)[rowPrev:], id+1)
	}
	le.PutUint32(k[keyHead+4*in:], id+1)
}

// unlink takes a row out of its key's chain.
func (s *joinSide) unlink(in int, k []byte, r []byte) {
	next, prev := le.Uint32(r[rowNext:]), le.Uint32(r[rowPrev:])
	if prev != 0 {
		le.PutUint32(s.rows.rec(prev - 1)[rowNext:], next)
	} else {
		le.PutUint32(k[keyHead+4*in:], next)
	}
	if next != 0 {
		le.PutUint32(s.rows.rec(next - 1)[rowPrev:], prev)
	}
}

// touch remembers what a row is before the epoch changes it.
func (s *joinSide) touch(id uint32, r []byte) {
	f := le.Uint32(r[rowFlags:])
	if f&joinTouched == 0 && (s.observed || !s.loose) {
		s.touched = append(s.touched, touchedRow{id, int64(le.Uint64(r[rowWeight:])), int64(le.Uint64(r[rowDegree:]))})
	}
	if f&joinUnsaved == 0 {
		s.unsaved = append(s.unsaved, id)
	}
	f |= joinUnsaved
	if s.observed || !s.loose {
		f |= joinTouched
	}
	le.PutUint32(r[rowFlags:], f)
}

// match pairs the inserted rows with the rows the other side holds.
func (j *hashJoin) match(in int, c *vec.Chunk, emit Emit) error {
	m := &j.m
	other := j.side[1-in]
	m.sel, m.other = m.sel[:0], m.other[:0]
	for i, kid := range m.keys {
		if kid == noID {
			continue
		}
		for id := le.Uint32(j.keys.rec(kid)[keyHead+4*(1-in):]); id != 0; {
			r := other.rows.rec(id - 1)
			if j.rowDeg || le.Uint64(r[rowWeight:]) != 0 {
				m.sel, m.other = append(m.sel, int32(i)), append(m.other, id-1)
				if len(m.sel) >= j.out.max {
					if err := j.flushPairs(in, c, emit); err != nil {
						return err
					}
				}
			}
			id = le.Uint32(r[rowNext:])
		}
	}
	return j.flushPairs(in, c, emit)
}

// flushPairs evaluates the residual over the candidate pairs, keeps degrees and
// emits the pairs that match.
func (j *hashJoin) flushPairs(in int, c *vec.Chunk, emit Emit) error {
	m := &j.m
	if len(m.sel) == 0 {
		return nil
	}
	own, other := j.side[in], j.side[1-in]
	m.rows, m.diff = m.rows[:0], m.diff[:0]
	ones := true
	for x, id := range m.other {
		m.rows = append(m.rows, other.rows.key(id))
		w := c.Weight(int(m.sel[x])) * int64(le.Uint64(other.rows.rec(id)[rowWeight:]))
		m.diff = append(m.diff, w)
		ones = ones && w == 1
	}
	m.cand.Reset()
	for k := range own.ncols {
		m.cand.Cols[own.at+k].Gather(c.Cols[k], m.sel)
	}
	other.format.decode(m.cand, other.at, m.rows)
	m.cand.Rows = len(m.sel)
	if !ones {
		m.cand.Diff = m.diff
	}
	err := j.emitMatches(in, c, emit)
	m.sel, m.other = m.sel[:0], m.other[:0]
	return err
}

func (j *hashJoin) emitMatches(in int, c *vec.Chunk, emit Emit) error {
	m := &j.m
	if j.residual == nil {
		return emit(m.cand)
	}
	j.begin()
	pass, err := j.residual.Filter(j.ctx.Expr, m.cand, m.pass[:0])
	failed := j.end()
	m.pass = pass
	if err != nil {
		return err
	}
	if failed && !j.replaying {
		// A pair whose condition fails is reported and counts as no match.
		if m.drop, err = j.report(m.cand, m.drop[:0]); err != nil {
			return err
		}
	}
	switch {
	case !j.rowDeg || j.replaying:
	case j.look != nil && in != j.look.Side:
		j.countLooked(in)
	default:
		j.addDegrees(in, c)
	}
	if !j.pairs {
		return nil
	}
	if len(pass) == m.cand.Rows && !j.rowDeg {
		return emit(m.cand)
	}
	m.keep = m.keep[:0]
	for _, x := range pass {
		if w := m.cand.Weight(int(x)); w != 0 {
			m.keep = append(m.keep, x)
			j.out.add(w)
		}
	}
	for k, v := range j.out.c.Cols {
		v.Gather(m.cand.Cols[k], m.keep)
	}
	return j.out.flush(emit)
}

// addDegrees counts the matching pairs for the rows of both sides. A row that
// was there before already counts the rows it met earlier.
func (j *hashJoin) addDegrees(in int, c *vec.Chunk) {
	m := &j.m
	own, other := j.side[in], j.side[1-in]
	for _, x := range m.pass {
		i := m.sel[x]
		o := other.rows.rec(m.other[x])
		if own.observed {
			w := int64(le.Uint64(o[rowWeight:]))
			m.found[i] += w
			if m.fresh[i] {
				r := own.rows.rec(m.ids[i])
				le.PutUint64(r[rowDegree:], le.Uint64(r[rowDegree:])+uint64(w))
			}
		}
		if other.observed {
			if !j.ctx.Batch {
				other.touch(m.other[x], o)
			}
			le.PutUint64(o[rowDegree:], le.Uint64(o[rowDegree:])+uint64(c.Weight(int(i))))
		}
	}
}
