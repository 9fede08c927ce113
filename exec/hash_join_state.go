package exec

import "encoding/binary"

// Saved entries of a hashJoin: side | row -> vnode, weight, degree, where the row
// of an append-only side is followed by its number; and for a
// side that keeps no rows, 2 | key -> vnode, total; for rows with a NULL key,
// 3 + side | row -> vnode, weight.
const (
	savedKey  = 2
	savedLone = 3
)

// Save writes the rows touched since the last Save and forgets those that are
// gone.
func (j *hashJoin) Save(w StateWriter) error {
	var key, val []byte
	for in, s := range j.side {
		for _, id := range s.unsaved {
			r := s.rows.rec(id)
			f := le.Uint32(r[rowFlags:])
			vnode := r[rowVnode]
			key = append(append(key[:0], byte(in)), s.rows.key(id)...)
			if s.loose {
				key = binary.BigEndian.AppendUint64(key, le.Uint64(r[rowSeq:]))
			}
			if le.Uint64(r[rowWeight:]) == 0 {
				if f&joinPersisted != 0 {
					w.Delete(int(vnode), key)
				}
				kid := le.Uint32(r[rowKey:])
				k := j.keys.rec(kid)
				s.unlink(in, k, r)
				s.rows.remove(hashKey(key[1:]), id)
				j.dropKey(kid, k)
				continue
			}
			le.PutUint32(r[rowFlags:], f&^joinUnsaved|joinPersisted)
			val = append(val[:0], vnode)
			val = binary.AppendVarint(val, int64(le.Uint64(r[rowWeight:])))
			val = binary.AppendVarint(val, int64(le.Uint64(r[rowDegree:])))
			put(w, f&joinPersisted != 0, int(vnode), key, val)
		}
		s.unsaved = s.unsaved[:0]
		s.lone.save(w, byte(savedLone+in))
	}
	for _, kid := range j.unsaved {
		k := j.keys.rec(kid)
		f := le.Uint32(k[keyFlags:]) &^ joinUnsaved
		vnode := k[keyVnode]
		key = j.keys.appendKey(append(key[:0], savedKey), kid)
		total := int64(le.Uint64(k[keyTotal+8:]))
		if total == 0 {
			if f&joinPersisted != 0 {
				w.Delete(int(vnode), key)
			}
			le.PutUint32(k[keyFlags:], f&^joinPersisted)
			j.dropKey(kid, k)
			continue
		}
		le.PutUint32(k[keyFlags:], f|joinPersisted)
		val = binary.AppendVarint(append(val[:0], vnode), total)
		put(w, f&joinPersisted != 0, int(vnode), key, val)
	}
	j.unsaved = j.unsaved[:0]
	return nil
}

// dropKey forgets a key with no rows and nothing left to save.
func (j *hashJoin) dropKey(kid uint32, k []byte) {
	if j.look != nil {
		if le.Uint32(k[keyHead+4*(1-j.look.Side):]) == 0 {
			j.keys.drop(kid)
		}
		return
	}
	if le.Uint64(k[keyHead:]) == 0 && le.Uint64(k[keyTotal:]) == 0 && le.Uint64(k[keyTotal+8:]) == 0 &&
		le.Uint32(k[keyFlags:])&joinUnsaved == 0 {
		j.keys.drop(kid)
	}
}

// Load takes back one saved entry.
func (j *hashJoin) Load(key, val []byte) error {
	if len(key) < 1 || len(val) < 2 || key[0] > savedLone+1 {
		return errSaved
	}
	x, m := binary.Varint(val[1:])
	if m <= 0 {
		return errSaved
	}
	if key[0] >= savedLone {
		return j.side[key[0]-savedLone].lone.load(key[1:], val[0], x)
	}
	if key[0] == savedKey {
		kid, _, ok := j.keys.loadKey(key[1:])
		if !ok || j.side[1].keepRows {
			return errSaved
		}
		k := j.keys.rec(kid)
		k[keyVnode] = val[0]
		le.PutUint64(k[keyTotal+8:], uint64(x))
		le.PutUint32(k[keyFlags:], joinPersisted)
		if j.notIn {
			j.right[0] += x
			if j.isNull(kid) {
				j.nulls[0] += x
			}
			j.right[1], j.nulls[1] = j.right[0], j.nulls[0]
		}
		return nil
	}
	deg, n := binary.Varint(val[1+m:])
	if n <= 0 {
		return errSaved
	}
	return j.loadRow(int(key[0]), key[1:], val[0], x, deg)
}

func (j *hashJoin) loadRow(in int, row []byte, vnode byte, w, deg int64) error {
	s := j.side[in]
	var seq uint64
	if s.loose {
		if len(row) < 8 {
			return errSaved
		}
		seq = binary.BigEndian.Uint64(row[len(row)-8:])
		row = row[:len(row)-8]
		s.seq = max(s.seq, seq)
	}
	if !s.keepRows || j.look != nil && in == j.look.Side || !s.format.valid(row) {
		return errSaved
	}
	s.one.Reset()
	s.format.decode(s.one, 0, [][]byte{row})
	s.one.Rows = 1
	s.keyer.prepare(s.one)
	kid, _ := j.keys.upsert(s.keyer, 0)
	k := j.keys.rec(kid)
	k[keyVnode] = vnode
	le.PutUint64(k[keyTotal+8*in:], le.Uint64(k[keyTotal+8*in:])+uint64(w))
	id, added := noID, true
	if s.loose {
		var room []byte
		id, room = s.rows.addLoose(len(row))
		copy(room, row)
	} else {
		id, added = s.rows.upsert(hashKey(row), row)
	}
	r := s.rows.rec(id)
	le.PutUint64(r[rowSeq:], seq)
	if added {
		le.PutUint32(r[rowKey:], kid)
		s.link(in, k, id, r)
	}
	le.PutUint32(r[rowFlags:], joinPersisted)
	r[rowVnode] = vnode
	le.PutUint64(r[rowWeight:], uint64(w))
	le.PutUint64(r[rowDegree:], uint64(deg))
	return nil
}
