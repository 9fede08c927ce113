package plan

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
)

// groupKeys are the group columns without those that others determine; where the
// input has a column twice, either copy serves.
func groupKeys(n *Aggregate) [][]int {
	first, last := map[origin]int{}, map[origin]int{}
	for i, g := range n.Group {
		o := originOf(n.Input, g)
		if _, dup := first[o]; !dup {
			first[o] = i
		}
		last[o] = i
	}
	var a, b []int
	for o := range first {
		if !determined(o, first) {
			a, b = append(a, first[o]), append(b, last[o])
		}
	}
	return [][]int{a, b}
}

// origin is the column that a column is a copy of: column col of node n, which stands
// at path in the tree, since a node may be in it more than once.
type origin struct {
	n        Node
	path     string
	col      int
	nullable bool // an outer join may put NULL in its place
}

// originOf follows column col of in as far as it is passed on as it is.
func originOf(in Node, col int) origin {
	o := origin{n: in, col: col}
	for {
		switch x := o.n.(type) {
		case *Filter:
			o.n = x.Input
			continue
		case *Exchange:
			o.n = x.Input
			continue
		case *Threshold:
			o.n = x.Input
			continue
		case *Project:
			if c, ok := x.Exprs[o.col].(*expr.Col); ok {
				o.n, o.col = x.Input, c.Index
				continue
			}
		case *Window:
			if o.col < Width(x.Input) {
				o.n = x.Input
				continue
			}
		case *TopN:
			if o.col < Width(x.Input) {
				o.n = x.Input
				continue
			}
		case *Join:
			if nl := Width(x.Left); o.col < nl {
				o.n, o.path, o.nullable = x.Left, o.path+"l", o.nullable || x.Kind == Right || x.Kind == Full
			} else {
				o.n, o.path, o.col, o.nullable = x.Right, o.path+"r", o.col-nl, o.nullable || x.Kind == Left || x.Kind == Full
			}
			continue
		}
		return o
	}
}

// determined reports whether a key of the node that o is a column of is among the
// group's columns, and o no part of it.
//
// Where an outer join has put NULLs in the place of the node's row, all its columns
// are NULL. That the key is NULL tells these rows only if it cannot be so by itself,
// as the primary key of a table.
func determined(o origin, group map[origin]int) bool {
	if s, ok := o.n.(*Scan); o.nullable && (!ok || s.Kind != RelTable) {
		return false
	}
	for _, key := range o.n.Props().Keys {
		all := !slices.ContainsFunc(key, func(c int) bool {
			k := o
			k.col = c
			_, ok := group[k]
			return !ok
		})
		if all {
			return !slices.Contains(key, o.col)
		}
	}
	return false
}
