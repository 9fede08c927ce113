package tpch

// comment appends text of lo to hi bytes: sentences cut at the length drawn.
func (r *stream) comment(dst []byte, lo, hi int) []byte {
	want := len(dst) + r.between(lo, hi)
	for len(dst) < want {
		dst = r.sentence(dst)
	}
	dst = dst[:want]
	if dst[want-1] == ' ' {
		dst[want-1] = '.'
	}
	return dst
}

func (r *stream) sentence(dst []byte) []byte {
	dst = r.phrase(dst)
	for r.between(0, 2) == 0 {
		dst = append(append(dst, r.pick(joints)...), ' ')
		dst = r.phrase(dst)
	}
	dst[len(dst)-1] = '.'
	return append(dst, ' ')
}

func (r *stream) phrase(dst []byte) []byte {
	word := func(w string) { dst = append(append(dst, w...), ' ') }
	if r.between(0, 3) > 0 {
		word(r.pick(kinds))
	}
	word(r.pick(things))
	word(r.pick(deeds))
	if r.between(0, 1) == 0 {
		word(r.pick(manners))
	}
	return dst
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789, "

// address appends random characters, lo to hi of them.
func (r *stream) address(dst []byte, lo, hi int) []byte {
	n := r.between(lo, hi)
	for range n - 1 {
		dst = append(dst, letters[r.next()>>8&63])
	}
	return append(dst, 'x') // no blank at the end
}
