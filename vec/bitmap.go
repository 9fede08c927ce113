package vec

// Bitmap marks nulls: bit i set means row i is NULL. A nil Bitmap has no bit
// set; bits beyond its length are clear.
type Bitmap []uint64

// Get reports whether bit i is set.
func (b Bitmap) Get(i int) bool {
	w := i >> 6
	return w < len(b) && b[w]>>(uint(i)&63)&1 == 1
}

// Set sets bit i, growing the bitmap as needed.
func (b *Bitmap) Set(i int) {
	w := i >> 6
	for len(*b) <= w {
		*b = append(*b, 0)
	}
	(*b)[w] |= 1 << (uint(i) & 63)
}

// Clear clears bit i.
func (b Bitmap) Clear(i int) {
	if w := i >> 6; w < len(b) {
		b[w] &^= 1 << (uint(i) & 63)
	}
}

// Any reports whether any bit is set.
func (b Bitmap) Any() bool {
	for _, w := range b {
		if w != 0 {
			return true
		}
	}
	return false
}

// Or sets b to the union of the given bitmaps, reusing b's memory.
func (b *Bitmap) Or(of ...Bitmap) {
	d := (*b)[:0]
	for _, o := range of {
		for len(d) < len(o) {
			d = append(d, 0)
		}
		for i, w := range o {
			d[i] |= w
		}
	}
	*b = d
}
