package state

import (
	"encoding/binary"
	"hash/maphash"
)

// keySet is an exact set of byte strings without a pointer per member: keys lie
// in pages, and an open-addressing table holds hash bits and positions.
type keySet struct {
	slots []keySlot
	n     int
	pages [][]byte
}

type keySlot struct {
	hash uint64 // 0: empty
	page uint32
	off  uint32
}

var keySeed = maphash.MakeSeed()

// find returns the slot of key, or the empty one where it belongs.
func (s *keySet) find(key []byte, h uint64) *keySlot {
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		sl := &s.slots[i]
		if sl.hash == 0 || sl.hash == h && string(s.at(sl)) == string(key) {
			return sl
		}
	}
}

func (s *keySet) at(sl *keySlot) []byte {
	b := s.pages[sl.page][sl.off:]
	n := binary.LittleEndian.Uint32(b)
	return b[4 : 4+n]
}

func hashKey(key []byte) uint64 { return max(maphash.Bytes(keySeed, key), 1) }

func (s *keySet) has(key []byte) bool {
	return len(s.slots) > 0 && s.find(key, hashKey(key)).hash != 0
}

// add returns whether key was not in the set.
func (s *keySet) add(key []byte) bool {
	if 4*s.n >= 3*len(s.slots) {
		s.grow()
	}
	h := hashKey(key)
	sl := s.find(key, h)
	if sl.hash != 0 {
		return false
	}
	s.pages = pageRoom(s.pages, 4+len(key), 0)
	p := len(s.pages) - 1
	*sl = keySlot{hash: h, page: uint32(p), off: uint32(len(s.pages[p]))}
	s.pages[p] = binary.LittleEndian.AppendUint32(s.pages[p], uint32(len(key)))
	s.pages[p] = append(s.pages[p], key...)
	s.n++
	return true
}

func (s *keySet) grow() {
	old := s.slots
	s.slots = make([]keySlot, max(64, 2*len(old)))
	mask := uint64(len(s.slots) - 1)
	for _, sl := range old {
		if sl.hash == 0 {
			continue
		}
		i := sl.hash & mask
		for s.slots[i].hash != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = sl
	}
}
