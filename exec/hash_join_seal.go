package exec

import (
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// insertLone takes row i of c, which can never match: it is emitted by itself,
// padded with NULLs for outer joins, if such rows belong to the output.
func (j *hashJoin) insertLone(in int, c *vec.Chunk, i int, w int64, emit Emit) error {
	s := j.side[in]
	if !s.observed || !j.alone(0) {
		return nil
	}
	if !j.ctx.Batch {
		s.lone.addFrom(c, i, w, s.vnodes.at(i))
	}
	return j.emitRow(in, c, i, w, emit)
}

func (j *hashJoin) emitRow(in int, c *vec.Chunk, i int, w int64, emit Emit) error {
	s := j.side[in]
	for k, v := range j.out.c.Cols {
		if k >= s.at && k < s.at+s.ncols {
			v.AppendFrom(c.Cols[k-s.at], i)
		} else {
			v.AppendNull()
		}
	}
	j.out.add(w)
	if j.out.full() {
		return j.out.flush(emit)
	}
	return nil
}

// aloneRow gathers a kept row for emission by itself.
func (j *hashJoin) aloneRow(in int, id uint32, w int64, emit Emit) error {
	if w == 0 {
		return nil
	}
	m := &j.m
	m.rows = append(m.rows, j.side[in].rows.key(id))
	m.diff = append(m.diff, w)
	if len(m.rows) >= j.out.max {
		return j.flushAlone(in, emit)
	}
	return nil
}

func (j *hashJoin) flushAlone(in int, emit Emit) error {
	m := &j.m
	if len(m.rows) == 0 {
		return nil
	}
	s := j.side[in]
	s.format.decode(j.out.c, s.at, m.rows)
	for k, v := range j.out.c.Cols {
		if k < s.at || k >= s.at+s.ncols {
			for range m.rows {
				v.AppendNull()
			}
		}
	}
	for _, w := range m.diff {
		j.out.add(w)
	}
	m.rows, m.diff = m.rows[:0], m.diff[:0]
	return j.out.flush(emit)
}

// Seal settles which rows are without match and emits what changed.
func (j *hashJoin) Seal(e types.Epoch, emit Emit) error {
	if j.ctx.Batch {
		return j.sealBatch(emit)
	}
	j.m.rows, j.m.diff = j.m.rows[:0], j.m.diff[:0]
	for in, s := range j.side {
		if s.lone.missing() {
			return j.negative("a row with a NULL key")
		}
		for _, t := range s.touched {
			if err := j.sealRow(in, t, emit); err != nil {
				return err
			}
		}
		if err := j.flushAlone(in, emit); err != nil {
			return err
		}
	}
	if err := j.sealKeys(emit); err != nil {
		return err
	}
	for _, s := range j.side {
		for _, t := range s.touched {
			r := s.rows.rec(t.id)
			le.PutUint32(r[rowFlags:], le.Uint32(r[rowFlags:])&^joinTouched)
		}
		s.touched = s.touched[:0]
	}
	for _, kid := range j.touched {
		k := j.keys.rec(kid)
		le.PutUint32(k[keyFlags:], le.Uint32(k[keyFlags:])&^joinTouched)
	}
	j.touched = j.touched[:0]
	if j.look != nil {
		j.look.seal(e, j.ctx.Stored.Committed())
	}
	return nil
}

// sealRow emits the change of a touched row's own presence.
func (j *hashJoin) sealRow(in int, t touchedRow, emit Emit) error {
	s := j.side[in]
	r := s.rows.rec(t.id)
	w, d := int64(le.Uint64(r[rowWeight:])), int64(le.Uint64(r[rowDegree:]))
	if w < 0 || d < 0 {
		return j.negative("a row of " + [2]string{"the left", "the right"}[in] + " input")
	}
	if !s.observed {
		return nil
	}
	before := t.degree
	if j.keyDeg {
		d, before = j.matches(in, le.Uint32(r[rowKey:]))
	}
	var n int64
	if j.alone(d) {
		n += w
	}
	if j.alone(before) {
		n -= t.weight
	}
	return j.aloneRow(in, t.id, n, emit)
}

// matches returns the weight of the rows of the other side that rows of a key
// match, now and at the last Seal.
func (j *hashJoin) matches(in int, kid uint32) (now, before int64) {
	k := j.keys.rec(kid)
	now = int64(le.Uint64(k[keyTotal+8*(1-in):]))
	before = now
	if le.Uint32(k[keyFlags:])&joinTouched != 0 {
		before = int64(le.Uint64(k[keyBefore+8*(1-in):]))
	}
	switch {
	case !j.notIn || in == 1:
	case j.isNull(kid):
		return j.right[0], j.right[1]
	default:
		now, before = now+j.nulls[0], before+j.nulls[1]
	}
	return now, before
}

// isNull reports whether a key of NOT IN is NULL.
func (j *hashJoin) isNull(kid uint32) bool {
	if j.keys.isInt {
		return kid == j.keys.null
	}
	return j.side[0].keyer.format.isNull(j.keys.key(kid), 0)
}

// sealKeys emits the untouched rows of keys whose other side appeared or
// vanished.
func (j *hashJoin) sealKeys(emit Emit) error {
	for _, kid := range j.touched {
		k := j.keys.rec(kid)
		if int64(le.Uint64(k[keyTotal:])) < 0 || int64(le.Uint64(k[keyTotal+8:])) < 0 {
			return j.negative("a row")
		}
	}
	for in, s := range j.side {
		if !s.observed {
			continue
		}
		var err error
		each := func(kid uint32) bool {
			err = j.sealKey(in, kid, emit)
			return err == nil
		}
		if j.notIn && (j.right[0] == 0) != (j.right[1] == 0) || (j.nulls[0] == 0) != (j.nulls[1] == 0) {
			j.keys.visit(each) // the first or last NULL on the right concerns every row
		} else {
			for _, kid := range j.touched {
				if !each(kid) {
					break
				}
			}
		}
		if err == nil {
			err = j.flushAlone(in, emit)
		}
		if err != nil {
			return err
		}
	}
	j.right[1], j.nulls[1] = j.right[0], j.nulls[0]
	return nil
}

// sealKey emits the untouched rows of a key if they came to match or ceased to.
func (j *hashJoin) sealKey(in int, kid uint32, emit Emit) error {
	s := j.side[in]
	now, before := j.matches(in, kid)
	if j.alone(now) == j.alone(before) {
		return nil
	}
	sign := int64(-1)
	if j.alone(now) {
		sign = 1
	}
	for id := le.Uint32(j.keys.rec(kid)[keyHead+4*in:]); id != 0; {
		r := s.rows.rec(id - 1)
		if le.Uint32(r[rowFlags:])&joinTouched == 0 {
			if err := j.aloneRow(in, id-1, sign*int64(le.Uint64(r[rowWeight:])), emit); err != nil {
				return err
			}
		}
		id = le.Uint32(r[rowNext:])
	}
	return nil
}

// EndInput notes the end of an input of a one-off query: the other one then only
// probes, and its rows need not be kept.
func (j *hashJoin) EndInput(in int, _ Emit) error {
	j.side[in].ended = true
	return nil
}

// probe matches the rows of a chunk against the other side, which is complete.
func (j *hashJoin) probe(in int, c *vec.Chunk, emit Emit) error {
	s := j.side[in]
	m := &j.m
	m.reset(c.Rows)
	for i := range c.Rows {
		m.ids[i], m.keys[i], m.fresh[i], m.found[i] = noID, noID, false, 0
		if c.Weight(i) == 0 || s.nullKey(c, i) {
			continue
		}
		if in == 1 && j.notIn {
			j.countRight(c, i, c.Weight(i))
		}
		kid := j.keys.find(s.keyer, i)
		if kid == noID {
			m.found[i] = j.unknownKey(in, c, i)
			continue
		}
		m.keys[i] = kid
		k := j.keys.rec(kid)
		le.PutUint64(k[keyTotal+8*in:], le.Uint64(k[keyTotal+8*in:])+uint64(c.Weight(i)))
		if j.keyDeg {
			m.found[i], _ = j.matches(in, kid)
		}
	}
	if j.pairs || j.rowDeg {
		if err := j.match(in, c, emit); err != nil {
			return err
		}
	}
	if !s.observed {
		return nil
	}
	for i := range c.Rows {
		if w := c.Weight(i); w != 0 && j.alone(m.found[i]) {
			if err := j.emitRow(in, c, i, w, emit); err != nil {
				return err
			}
		}
	}
	return j.out.flush(emit)
}

// unknownKey returns what a probing row matches whose key the other side does not
// have: nothing, but for NOT IN.
func (j *hashJoin) unknownKey(in int, c *vec.Chunk, i int) int64 {
	switch {
	case !j.notIn || in == 1:
		return 0
	case c.Cols[j.side[0].keyer.cols[0]].IsNull(i):
		return j.right[0]
	}
	return j.nulls[0]
}

// sealBatch emits the kept rows that belong to the output by themselves.
func (j *hashJoin) sealBatch(emit Emit) error {
	j.m.rows, j.m.diff = j.m.rows[:0], j.m.diff[:0]
	for in, s := range j.side {
		if !s.observed {
			continue
		}
		if err := j.keptAlone(in, emit); err != nil {
			return err
		}
	}
	return j.Close()
}

// keptAlone emits the kept rows of a side that belong to the output by themselves.
func (j *hashJoin) keptAlone(in int, emit Emit) error {
	s := j.side[in]
	var err error
	j.keys.visit(func(kid uint32) bool {
		k := j.keys.rec(kid)
		total, _ := j.matches(in, kid)
		for id := le.Uint32(k[keyHead+4*in:]); id != 0 && err == nil; {
			r := s.rows.rec(id - 1)
			d := total
			if j.rowDeg {
				d = int64(le.Uint64(r[rowDegree:]))
			}
			if j.alone(d) {
				err = j.aloneRow(in, id-1, int64(le.Uint64(r[rowWeight:])), emit)
			}
			id = le.Uint32(r[rowNext:])
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	return j.flushAlone(in, emit)
}

// Advance passes on what both inputs promise of a pair of equated columns.
func (j *hashJoin) Advance(in int, w Watermark, pass func(Watermark) error, _ Emit) error {
	for i, col := range j.side[in].keyer.cols {
		if col != w.Col {
			continue
		}
		m := j.marks[i]
		if m == nil {
			m = &minMark{inputs: 2}
			j.marks[i] = m
		}
		at, ok := m.advance(in, 0, w.At)
		if !ok {
			continue
		}
		if err := pass(Watermark{Col: j.side[0].keyer.cols[i], At: at}); err != nil {
			return err
		}
		if j.kind == plan.Inner {
			if err := pass(Watermark{Col: j.side[1].at + j.side[1].keyer.cols[i], At: at}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close frees the state.
func (j *hashJoin) Close() error {
	j.keys = j.side[0].keyer.newTable(keySize)
	for _, s := range j.side {
		s.rows, s.lone = newTable(rowSize, s.format.keyWidth()), newLoneRows(s.format)
	}
	return nil
}

// StateBytes returns the memory of both sides.
func (j *hashJoin) StateBytes() int {
	n := j.keys.bytes()
	for _, s := range j.side {
		n += s.rows.bytes() + s.lone.rows.bytes()
	}
	if j.look != nil {
		n += j.look.bytes()
	}
	return n
}
