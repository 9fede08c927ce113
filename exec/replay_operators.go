package exec

import "github.com/streamdb/streamdb/vec"

// Every Replay works on a copy of its operator that shares the state and has scratch
// memory of its own: the operator may be sealed while a chunk is on its way.

// Replay emits the rows of the groups. Groups that a watermark has closed are
// forgotten, and not among them.
func (h *hashAgg) Replay(emit Emit) error {
	r := *h
	r.seal = aggSeal{}
	s := &r.seal
	s.init(h.seal.out.types, h.ctx.rows())
	flush := func() error {
		s.cand.Reset()
		r.candKeys(nil)
		r.candResults(nil)
		s.failed = nil // such a row was kept, with NULL
		err := r.emitPairs(emit)
		s.news = s.news[:0]
		return err
	}
	var err error
	h.groups.visit(func(id uint32) bool {
		if le.Uint32(h.groups.rec(id)[groupFlags:])&groupEmitted == 0 {
			return true
		}
		s.news = append(s.news, groupRow{int32(len(s.news)), id})
		if len(s.news) >= s.out.max {
			err = flush()
		}
		return err == nil
	})
	if err == nil {
		err = flush()
	}
	return err
}

// Replay emits the rows that the set operation has in its output.
func (s *setOp) Replay(emit Emit) error {
	out := newRowOutput(s.exact, s.out.types, s.ctx.rows())
	var err error
	s.rows.visit(func(id uint32) bool {
		r := s.rows.rec(id)
		n := int64(le.Uint64(r[setOut:]))
		if n == 0 {
			return true
		}
		row := s.rows.key(id)
		if !s.safe {
			row = s.shown.get(ref(le.Uint64(r[setShown:])))
		}
		err = out.add(row, n, emit)
		return err == nil
	})
	if err == nil {
		err = out.flush(emit)
	}
	return err
}

// Replay emits the present row of every key.
func (u *upsert) Replay(emit Emit) error {
	out := newRowOutput(u.format, u.out.types, u.ctx.rows())
	var err error
	u.table.visit(func(id uint32) bool {
		if row := ref(le.Uint64(u.table.rec(id)[upsertShown:])); row != 0 {
			err = out.add(u.rows.get(row), 1, emit)
		}
		return err == nil
	})
	if err == nil {
		err = out.flush(emit)
	}
	return err
}

// Replay emits the row.
func (s *singleRow) Replay(emit Emit) error {
	if !s.shown {
		return nil
	}
	out := newRowOutput(s.format, s.out.types, s.ctx.rows())
	if err := out.add(s.old, 1, emit); err != nil {
		return err
	}
	return out.flush(emit)
}

// Replay emits the rows that pass the bound.
func (t *threshold) Replay(emit Emit) error {
	out := newRowOutput(t.format, t.out.types, t.ctx.rows())
	var err error
	t.rows.each(func(id uint32) bool {
		if w := t.weight(id); w != 0 && t.passes(&t.cut, t.sortKey(id)) {
			err = out.add(t.rowBytes(id), w, emit)
		}
		return err == nil
	})
	if err == nil {
		err = out.flush(emit)
	}
	return err
}

// Replay emits the windows of all partitions.
func (t *topN) Replay(emit Emit) error {
	r := *t
	r.out = newRowOutput(t.format, t.out.types, t.ctx.rows())
	r.next, r.ranks = nil, nil
	var err error
	t.parts.visit(func(pid uint32) bool {
		r.next = r.window(pid, r.next[:0])
		if r.rank {
			err = r.emitRanks(nil, r.next, emit)
			return err == nil
		}
		for _, s := range r.next {
			if err = r.emitRow(s.id, s.count, 0, emit); err != nil {
				return false
			}
		}
		return true
	})
	if err == nil {
		err = r.flushRows(emit)
	}
	return err
}

// Replay computes partition by partition anew.
func (w *window) Replay(emit Emit) error {
	r := *w
	r.part = &partition{rows: vec.NewChunk(w.part.rows.Types(), 0), out: vec.NewChunk(w.out.types, 0)}
	r.direct = newOutput(w.out.types, w.ctx.rows())
	r.ids = nil
	var err error
	w.parts.visit(func(pid uint32) bool {
		r.ids = r.ids[:0]
		r.scan(pid, func(id uint32) bool {
			r.ids = append(r.ids, id)
			return true
		})
		if _, _, err = r.compute(r.ids, r.weight, 0, 0); err == nil {
			err = r.emitPart(emit)
		}
		return err == nil
	})
	return err
}

// Replay emits the rows of all iterations.
func (r *recursiveUnion) Replay(emit Emit) error {
	out := newRowOutput(r.result.format, r.result.types, r.ctx.rows())
	var err error
	r.rows.visit(func(row uint32) bool {
		if d := le.Uint32(r.rows.rec(row)[recShown:]); d != 0 {
			err = out.add(r.bytesOf(d-1), 1, emit)
		}
		return err == nil
	})
	if err == nil {
		err = out.flush(emit)
	}
	return err
}
