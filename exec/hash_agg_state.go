package exec

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/pgerr"
)

// Saved entries of a hashAgg: 0 | key -> vnode, flags, record from the weight
// on, representations; 1 | aggregate | key length | key | sub -> the entry of an
// aggregate's object.
const (
	savedGroup = 0
	savedAcc   = 1
)

var errSaved = pgerr.New(pgerr.DataCorrupted, "saved operator state does not match its plan")

// Save writes the groups touched since the last Save and forgets empty ones.
func (h *hashAgg) Save(w StateWriter) error {
	var key, sub, val []byte
	for _, id := range h.unsaved {
		r := h.groups.rec(id)
		f := le.Uint32(r[groupFlags:])
		vnode := int(r[groupVnode])
		key = h.groups.appendKey(append(key[:0], savedGroup), id)
		for k := range h.aggs {
			a := &h.aggs[k]
			if a.flat != nil {
				continue
			}
			sub = append(sub[:0], savedAcc, byte(k))
			sub = binary.AppendUvarint(sub, uint64(len(key)-1))
			sub = append(sub, key[1:]...)
			n := len(sub)
			h.accs.of(id)[a.acc].Delta(func(s, v []byte) {
				sub = append(sub[:n], s...)
				if v == nil {
					w.Delete(vnode, sub)
				} else {
					w.Put(vnode, sub, v)
				}
			})
		}
		if (le.Uint64(r) == 0 || f&groupClosed != 0) && !h.scalar {
			if f&groupPersisted != 0 {
				w.Delete(vnode, key)
			}
			h.forget(id, r)
			continue
		}
		le.PutUint32(r[groupFlags:], f&^groupUnsaved|groupPersisted)
		val = append(val[:0], byte(vnode), byte(f&(groupEmitted|groupFailed)))
		val = append(val, r[:8]...)
		val = append(val, r[groupStates:h.groups.payload]...)
		if !h.safe {
			val = h.repr(id).append(val)
		}
		put(w, f&groupPersisted != 0, vnode, key, val)
	}
	h.unsaved = h.unsaved[:0]
	return nil
}

func (h *hashAgg) forget(id uint32, r []byte) {
	if !h.safe {
		h.shown.del(ref(le.Uint64(r[groupShown:])))
		delete(h.reprs, id)
	}
	if h.nAcc > 0 {
		h.accs.drop(id)
	}
	h.groups.drop(id)
}

func (r *reprs) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(r.rows)))
	for i, row := range r.rows {
		dst = binary.AppendUvarint(dst, uint64(len(row)))
		dst = append(dst, row...)
		dst = binary.AppendVarint(dst, r.n[i])
	}
	return dst
}

func (r *reprs) load(f *rowFormat, b []byte) bool {
	n, m := binary.Uvarint(b)
	if m <= 0 {
		return false
	}
	b = b[m:]
	for range n {
		l, m := binary.Uvarint(b)
		if m <= 0 || uint64(len(b)-m) < l {
			return false
		}
		row := b[m : m+int(l)]
		b = b[m+int(l):]
		w, m := binary.Varint(b)
		if m <= 0 {
			return false
		}
		if b = b[m:]; !f.valid(row) {
			return false
		}
		r.add(row, w)
	}
	return len(b) == 0
}

// Load takes back one saved entry.
func (h *hashAgg) Load(key, val []byte) error {
	if len(key) < 2 {
		return errSaved
	}
	if key[0] == savedAcc {
		return h.loadAcc(key[1:], val)
	}
	id, r, ok := h.loadGroup(key[1:])
	states := h.groups.payload - groupStates
	if !ok || len(val) < 10+states {
		return errSaved
	}
	r[groupVnode] = val[0]
	le.PutUint32(r[groupFlags:], uint32(val[1])|groupPersisted)
	copy(r[:8], val[2:10])
	copy(r[groupStates:], val[10:10+states])
	if !h.safe {
		if !h.repr(id).load(h.exact, val[10+states:]) {
			return errSaved
		}
		h.show(id, r)
	}
	return nil
}

func (h *hashAgg) loadAcc(key, val []byte) error {
	k := int(key[0])
	l, m := binary.Uvarint(key[1:])
	if k >= len(h.aggs) || h.aggs[k].flat != nil || m <= 0 || uint64(len(key)-1-m) < l {
		return errSaved
	}
	at := 1 + m
	id, _, ok := h.loadGroup(key[at : at+int(l)])
	if !ok {
		return errSaved
	}
	return h.accs.of(id)[h.aggs[k].acc].Load(key[at+int(l):], val)
}

func (h *hashAgg) loadGroup(key []byte) (uint32, []byte, bool) {
	id, added, ok := h.groups.loadKey(key)
	if !ok {
		return 0, nil, false
	}
	if added && h.nAcc > 0 {
		h.accs.make(id, h.aggs)
	}
	return id, h.groups.rec(id), true
}

// StateBytes returns the memory of the groups, objects by estimate.
func (h *hashAgg) StateBytes() int {
	n := h.groups.bytes() + h.shown.held
	for _, d := range h.dirty {
		n += cap(d.before) + 4*cap(d.ids)
	}
	return n + 128*len(h.reprs) + h.accBytes()
}

// accSample is how many groups accBytes looks at.
const accSample = 1024

// accBytes estimates the memory of the aggregates' objects from a sample of the
// groups, because it is asked for every epoch.
func (h *hashAgg) accBytes() int {
	if h.nAcc == 0 {
		return 0
	}
	seen, sum := 0, 0
	h.groups.visit(func(id uint32) bool {
		for _, a := range h.accs.of(id) {
			sum += 16 + a.MemSize()
		}
		seen++
		return seen < accSample
	})
	if seen == 0 {
		return 0
	}
	return int(float64(sum) / float64(seen) * float64(h.groups.size()))
}
