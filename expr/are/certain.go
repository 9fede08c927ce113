package are

// certain reports whether the parts of a match are the same by any rule, or by
// PostgreSQL's and the greedy one, once it is known where the match is: then the
// standard library may tell what the groups have matched.
func certain(n *node) bool {
	return n.onlyOneWay(nil) || n.plainlyGreedy()
}

// onlyOneWay reports whether at each place the next character tells how the match
// goes on. after are the characters that may follow n.
func (n *node) onlyOneWay(after *class) bool {
	switch n.kind {
	case kindConcat:
		for i := len(n.kids) - 1; i >= 0; i-- {
			k := n.kids[i]
			if !k.onlyOneWay(after) {
				return false
			}
			if k.nullable() {
				after = union(after, k.first())
			} else {
				after = k.first()
			}
		}
	case kindEither:
		seen := (*class)(nil)
		empty := false
		for _, k := range n.kids {
			f := k.first()
			if f.overlaps(seen) || k.nullable() && empty || !k.onlyOneWay(after) {
				return false
			}
			empty = empty || k.nullable()
			seen = union(seen, f)
		}
		return !empty || !seen.overlaps(after)
	case kindRepeat:
		k := n.kids[0]
		f := k.first()
		if k.nullable() || n.min != n.max && f.overlaps(after) {
			return false
		}
		if n.max != 1 {
			if k.mayLeaveOut() { // a group that an earlier round has matched
				return false
			}
			after = union(after, f)
		}
		return k.onlyOneWay(after)
	case kindGroup:
		return n.kids[0].onlyOneWay(after)
	case kindBack, kindLook:
		return false
	}
	return true
}

// mayLeaveOut reports whether n has groups that some matches of it do without.
func (n *node) mayLeaveOut() bool {
	return n.any(func(k *node) bool {
		return (k.kind == kindEither || k.kind == kindRepeat && k.min == 0) &&
			k.any(func(g *node) bool { return g.kind == kindGroup && g.index > 0 })
	})
}

// first returns the characters that a match of n may begin with; nil for none.
func (n *node) first() *class {
	switch n.kind {
	case kindClass:
		return n.class
	case kindConcat:
		var out *class
		for _, k := range n.kids {
			out = union(out, k.first())
			if !k.nullable() {
				break
			}
		}
		return out
	case kindEither:
		var out *class
		for _, k := range n.kids {
			out = union(out, k.first())
		}
		return out
	case kindRepeat, kindGroup:
		return n.kids[0].first()
	}
	return nil
}

// plainlyGreedy reports whether n is a row of characters and groups, in each of
// which and between which at most one character is repeated greedily. To take as
// much as can be from the left is PostgreSQL's rule for these.
func (n *node) plainlyGreedy() bool {
	items := n.kids
	if n.kind != kindConcat {
		items = []*node{n}
	}
	free := 0
	for _, it := range items {
		switch {
		case it.kind == kindGroup && it.index > 0:
			if free = 0; !it.kids[0].oneFree() {
				return false
			}
			continue
		case it.kind == kindClass || it.kind == kindAssert:
		case it.kind == kindRepeat && it.kids[0].kind == kindClass && it.prefer != shorter:
			if it.min != it.max {
				free++
			}
		default:
			return false
		}
		if free > 1 {
			return false
		}
	}
	return true
}

func (n *node) oneFree() bool {
	return n.plainlyGreedy() && !n.any(func(k *node) bool { return k.kind == kindGroup })
}
