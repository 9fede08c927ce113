package tpch

// stream is a source of random numbers that starts at a table's row, so that rows
// do not depend on one another.
type stream struct{ s uint64 }

func newStream(seed uint64, table, row int) *stream {
	r := &stream{seed ^ uint64(table)*0x9e3779b97f4a7c15}
	r.s = r.next() ^ uint64(row)*0xd1342543de82ef95
	r.next()
	return r
}

// next is one step of splitmix64.
func (r *stream) next() uint64 {
	r.s += 0x9e3779b97f4a7c15
	z := r.s
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// between returns a number of lo … hi, both included.
func (r *stream) between(lo, hi int) int {
	return lo + int(r.next()>>1%uint64(hi-lo+1))
}

func (r *stream) pick(words []string) string { return words[r.between(0, len(words)-1)] }
