package exec

import (
	"encoding/binary"
	"math/bits"
)

// ref names a byte string in an arena; zero is none.
type ref uint64

const (
	arenaPage    = 256 << 10
	arenaClasses = 128
)

// arena keeps byte strings in pages that never move. Freed strings are reused by
// size class. It holds no pointers besides its pages, so that the garbage
// collector has nothing to scan.
type arena struct {
	pages [][]byte
	cur   int // page being filled
	used  int
	kept  int // leading pages of the usual size left over by reset
	free  [arenaClasses]ref
	held  int
}

// sizeClass returns the class and the size of a slot for n bytes, header included.
func sizeClass(n int) (class, size int) {
	if n <= 512 {
		class = (n + 15) / 16
		return class, class * 16
	}
	e := bits.Len(uint(n-1)) - 1 // 2^e < n <= 2^(e+1), e >= 9
	step := 1 << (e - 2)
	q := (n - 1<<e + step - 1) / step
	return 32 + (e-9)*4 + q, 1<<e + q*step
}

// alloc returns a slot for n bytes and its memory.
func (a *arena) alloc(n int) (ref, []byte) {
	class, size := sizeClass(n + 4)
	if r := a.free[class]; r != 0 {
		p := a.slot(r)
		a.free[class] = ref(binary.LittleEndian.Uint64(p[4:]))
		binary.LittleEndian.PutUint32(p, uint32(n))
		return r, p[4 : 4+n]
	}
	page, off := a.cur, a.used
	switch {
	case size > arenaPage/4:
		page, off = len(a.pages), 0
		a.pages = append(a.pages, make([]byte, size))
		a.held += size
		if page == 0 {
			a.used = size // there is no page to fill yet
		}
	case len(a.pages) == 0 || a.used+size > len(a.pages[a.cur]):
		a.addPage(size)
		page, off, a.used = a.cur, 0, size
	default:
		a.used += size
	}
	p := a.pages[page][off:]
	binary.LittleEndian.PutUint32(p, uint32(n))
	return ref(uint64(page+1)<<32 | uint64(off)), p[4 : 4+n : 4+n]
}

// addPage adds a page; the first ones are small, so that a small state is cheap.
func (a *arena) addPage(size int) {
	if a.cur+1 < a.kept {
		a.cur++
		return
	}
	n := min(max(1<<10, a.held), arenaPage)
	a.pages = append(a.pages, make([]byte, max(n, size)))
	a.cur = len(a.pages) - 1
	a.held += max(n, size)
}

func (a *arena) slot(r ref) []byte { return a.pages[r>>32-1][uint32(r):] }

// put copies b into the arena.
func (a *arena) put(b []byte) ref {
	r, p := a.alloc(len(b))
	copy(p, b)
	return r
}

// get returns the string, which stays valid until it is deleted.
func (a *arena) get(r ref) []byte {
	p := a.slot(r)
	n := binary.LittleEndian.Uint32(p)
	return p[4 : 4+n : 4+n]
}

// del frees the string.
func (a *arena) del(r ref) {
	if r == 0 {
		return
	}
	p := a.slot(r)
	class, _ := sizeClass(int(binary.LittleEndian.Uint32(p)) + 4)
	binary.LittleEndian.PutUint64(p[4:], uint64(a.free[class]))
	a.free[class] = r
}

// keepBytes is how much memory reset leaves for the next use.
const keepBytes = 4 << 20

// reset forgets everything and keeps some pages.
func (a *arena) reset() {
	old := a.pages
	*a = arena{}
	for _, p := range old {
		if len(p) == arenaPage && a.held+len(p) <= keepBytes {
			a.pages = append(a.pages, p)
			a.held += len(p)
		}
	}
	a.kept = len(a.pages)
}

// slab keeps records of one size in pages, addressed by number. A record's
// memory may move when the slab grows, so slices are taken after all additions.
type slab struct {
	stride int
	shift  uint
	pages  [][]byte
	n      uint32 // records ever handed out
	free   uint32 // 1 + first free record
	held   int
}

func newSlab(stride int) slab {
	s := slab{stride: stride}
	for s.stride<<(s.shift+1) <= 64<<10 {
		s.shift++
	}
	return s
}

// at returns record id.
func (s *slab) at(id uint32) []byte {
	o := int(id&(1<<s.shift-1)) * s.stride
	return s.pages[id>>s.shift][o : o+s.stride : o+s.stride]
}

// add returns a zeroed record.
func (s *slab) add() uint32 {
	if s.free != 0 {
		id := s.free - 1
		p := s.at(id)
		s.free = binary.LittleEndian.Uint32(p)
		clear(p)
		return id
	}
	id := s.n
	s.n++
	page, in := int(id>>s.shift), int(id&(1<<s.shift-1))
	if page == len(s.pages) {
		n := 1 << s.shift
		if page == 0 {
			n = min(n, 8)
		}
		s.pages = append(s.pages, make([]byte, n*s.stride))
		s.held += n * s.stride
	} else if (in+1)*s.stride <= len(s.pages[page]) {
		clear(s.pages[page][in*s.stride : (in+1)*s.stride]) // left over by reset
	} else {
		old := s.pages[page]
		p := make([]byte, min(2*len(old), s.stride<<s.shift))
		copy(p, old)
		s.pages[page] = p
		s.held += len(p) - len(old)
	}
	return id
}

// del gives a record back.
func (s *slab) del(id uint32) {
	p := s.at(id)
	binary.LittleEndian.PutUint32(p, s.free)
	s.free = id + 1
}

func (s *slab) reset() {
	for len(s.pages) > 1 && s.held > keepBytes {
		n := len(s.pages) - 1
		s.held -= len(s.pages[n])
		s.pages[n] = nil
		s.pages = s.pages[:n]
	}
	s.n, s.free = 0, 0
}
