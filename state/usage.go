package state

// usage is about what the entries of a job's log and base are, in bytes where
// nothing else is said. Nobody looks up what an entry replaces, so it is an estimate.
type usage struct {
	entries, size int64 // number and bytes of entries written
	stale         int64 // bytes of garbage, but for what deletions have left behind
	deleted       int64 // number of deletions
}

func (u *usage) entry(size int) {
	u.entries++
	u.size += int64(size)
}

func (u *usage) add(o usage) {
	u.entries += o.entries
	u.size += o.size
	u.stale += o.stale
	u.deleted += o.deleted
}

// garbage estimates the bytes that a fold would drop: a deleted entry was as large
// as others are.
func (u *usage) garbage() int64 {
	return u.stale + u.deleted*(u.size/max(u.entries, 1))
}

// looseBound is how many times its base a log grows at most while anything in it
// is garbage: deleted entries may have been larger than others.
const looseBound = 8

// wasted reports whether a log and a base of the given lengths are worth a fold.
func (u *usage) wasted(base, log, least int64) bool {
	g := u.garbage()
	return 2*g >= base+log || g > 0 && log > looseBound*max(base, least)
}

// folded takes out the garbage of what a fold has read.
func (u *usage) folded(o usage) {
	u.stale = max(u.stale-o.stale, 0)
	u.deleted = max(u.deleted-o.deleted, 0)
}
