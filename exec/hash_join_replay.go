package exec

import "github.com/streamdb/streamdb/vec"

// Replay emits the pairs that match, key by key, and the rows that belong to the
// output by themselves.
func (j *hashJoin) Replay(emit Emit) error {
	r := *j
	r.m = joinMatch{cand: vec.NewChunk(j.m.cand.Types(), 0)}
	r.out = newOutput(j.out.types, j.ctx.rows())
	r.replaying = true
	if j.look != nil {
		return r.replayLookup(emit)
	}
	if r.pairs {
		if err := r.replayPairs(emit); err != nil {
			return err
		}
	}
	for in, s := range r.side {
		if !s.observed {
			continue
		}
		if err := r.replayAlone(in, emit); err != nil {
			return err
		}
	}
	return nil
}

// replayPairs emits the pairs.
func (j *hashJoin) replayPairs(emit Emit) error {
	var rows [2][][]byte
	var err error
	flush := func() error {
		n := len(rows[0])
		if n == 0 {
			return nil
		}
		m := &j.m
		m.cand.Reset()
		for in, s := range j.side {
			s.format.decode(m.cand, s.at, rows[in])
			rows[in] = rows[in][:0]
		}
		m.cand.Rows, m.cand.Diff = n, m.diff
		err := j.emitMatches(0, nil, emit)
		m.diff = m.diff[:0]
		return err
	}
	j.keys.visit(func(kid uint32) bool {
		err = j.chain(0, kid, func(a []byte, v int64) error {
			return j.chain(1, kid, func(b []byte, w int64) error {
				rows[0], rows[1], j.m.diff = append(rows[0], a), append(rows[1], b), append(j.m.diff, v*w)
				if len(rows[0]) < j.out.max {
					return nil
				}
				return flush()
			})
		})
		return err == nil
	})
	if err == nil {
		err = flush()
	}
	return err
}

// chain calls f with the rows that a side has of a key.
func (j *hashJoin) chain(in int, kid uint32, f func(row []byte, w int64) error) error {
	s := j.side[in]
	for id := le.Uint32(j.keys.rec(kid)[keyHead+4*in:]); id != 0; {
		r := s.rows.rec(id - 1)
		if w := int64(le.Uint64(r[rowWeight:])); w != 0 {
			if err := f(s.rows.key(id-1), w); err != nil {
				return err
			}
		}
		id = le.Uint32(r[rowNext:])
	}
	return nil
}

// replayAlone emits the rows of a side that are in the output by themselves.
func (j *hashJoin) replayAlone(in int, emit Emit) error {
	j.m.rows, j.m.diff = j.m.rows[:0], j.m.diff[:0]
	if err := j.keptAlone(in, emit); err != nil {
		return err
	}
	return j.replayLone(in, emit)
}

// replayLone emits the rows of a side that have a NULL key.
func (j *hashJoin) replayLone(in int, emit Emit) error {
	l := &j.side[in].lone
	j.m.rows, j.m.diff = j.m.rows[:0], j.m.diff[:0]
	var err error
	l.rows.each(func(id uint32) bool {
		w := int64(le.Uint64(l.rows.rec(id)))
		if w == 0 {
			return true
		}
		j.m.rows, j.m.diff = append(j.m.rows, l.rows.key(id)), append(j.m.diff, w)
		if len(j.m.rows) >= j.out.max {
			err = j.flushAlone(in, emit)
		}
		return err == nil
	})
	if err == nil {
		err = j.flushAlone(in, emit)
	}
	return err
}

// replayLookup pushes the kept rows once more, which counts what is not counted.
func (j *hashJoin) replayLookup(emit Emit) error {
	l := *j.look
	l.rows = vec.NewChunk(l.types, 0)
	l.sel, l.count, l.pass, l.weights, l.found, l.fresh, l.key = nil, nil, nil, nil, nil, nil, nil
	j.look = &l
	in := 1 - l.Side
	s := j.side[in]
	if j.rowDeg && !j.pairs {
		return j.replayAlone(in, emit)
	}
	c := vec.NewChunk(s.one.Types(), 0)
	var rows [][]byte
	var diff []int64
	var kids []uint32
	flush := func() error {
		c.Reset()
		s.format.decode(c, 0, rows)
		c.Rows, c.Diff = len(rows), diff
		j.m.reset(c.Rows)
		copy(j.m.keys, kids)
		err := j.replayLooked(in, c, emit)
		rows, diff, kids = rows[:0], diff[:0], kids[:0]
		return err
	}
	var err error
	j.keys.visit(func(kid uint32) bool {
		err = j.chain(in, kid, func(row []byte, w int64) error {
			rows, diff, kids = append(rows, row), append(diff, w), append(kids, kid)
			if len(rows) < j.out.max {
				return nil
			}
			return flush()
		})
		return err == nil
	})
	if err == nil && len(rows) > 0 {
		err = flush()
	}
	switch {
	case err != nil || !s.observed:
	case j.rowDeg:
		err = j.replayAlone(in, emit)
	case j.alone(0):
		err = j.replayLone(in, emit)
	}
	return err
}

// replayLooked emits what the kept rows of a chunk make.
func (j *hashJoin) replayLooked(in int, c *vec.Chunk, emit Emit) error {
	s := j.side[in]
	s.keyer.prepare(c)
	if err := j.lookAt(in, c, emit); err != nil || !j.keyDeg {
		return err
	}
	for i, kid := range j.m.keys {
		if d, _ := j.matches(in, kid); j.alone(d) {
			if err := j.emitRow(in, c, i, c.Weight(i), emit); err != nil {
				return err
			}
		}
	}
	return j.out.flush(emit)
}
