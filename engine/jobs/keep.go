package jobs

import (
	"fmt"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
)

// opNode is an operator in the plan of a job.
type opNode struct {
	node plan.Node
	at   opAddr
	par  int    // instances of its fragment
	leaf opAddr // of a scan: its fragment and its number among the leaves
	kids []*opNode
}

// opAddr names an operator, or a leaf, by its fragment and its number there.
type opAddr struct{ frag, no int }

func (a opAddr) String() string { return fmt.Sprintf("%d.%d", a.frag, a.no) }

// operators returns the operators of a plan that was cut, with the numbers that
// exec.Build gives them.
func operators(frags []*fragment) *opNode {
	at := map[*fragment]int{}
	for i, f := range frags {
		at[f] = i
	}
	var whole func(f *fragment) *opNode
	whole = func(f *fragment) *opNode {
		fi, ops, leaves, feeds := at[f], 0, 0, 0
		var walk func(n plan.Node) *opNode
		walk = func(n plan.Node) *opNode {
			o := &opNode{node: n, at: opAddr{fi, ops}, par: f.par}
			ops++
			switch n := n.(type) {
			case *plan.Exchange:
				o.kids = []*opNode{whole(f.feeds[feeds].from)}
				feeds++
				leaves++
			case *plan.Scan:
				o.leaf = opAddr{fi, leaves}
				leaves++
			default:
				for _, c := range n.Children() {
					o.kids = append(o.kids, walk(c))
				}
			}
			return o
		}
		return walk(f.Root)
	}
	return whole(frags[len(frags)-1])
}

func (o *opNode) each(f func(*opNode)) {
	f(o)
	for _, k := range o.kids {
		k.each(f)
	}
}

// Keeping is what one plan keeps of the state of another: the largest parts of it
// that the other has too and whose uppermost operators can give out their output
// again. All else is built anew.
type Keeping struct {
	ops    map[opAddr][]opAddr // operators of the old plan -> of the new one
	leaves map[opAddr][]opAddr // the same of scans
	kept   map[opAddr]bool     // operators of the new plan
	tops   []opAddr            // the uppermost of them
	scans  map[opAddr]bool     // leaves of the new plan that are kept

	Nodes   map[plan.Node]bool // of kept
	With    int                // operators of the new plan that have state
	Without []plan.Node        // those of them that are built anew
	Reread  []*plan.Scan       // sources that are read from their start
}

// keep finds out what the plan to keeps of the plan from; nil frags: nothing.
func keep(from, to []*fragment) *Keeping {
	k := &Keeping{ops: map[opAddr][]opAddr{}, leaves: map[opAddr][]opAddr{}, kept: map[opAddr]bool{}, scans: map[opAddr]bool{}, Nodes: map[plan.Node]bool{}}
	var had []*opNode
	if from != nil {
		operators(from).each(func(o *opNode) {
			if exec.Replays(o.node) {
				had = append(had, o)
			}
		})
	}
	k.find(operators(to), had)
	return k
}

// find keeps n if it was there before, or else looks among what is below it.
func (k *Keeping) find(n *opNode, had []*opNode) {
	if exec.Replays(n.node) {
		for _, o := range had {
			if planner.Unchanged(o.node, n.node) && spreadAlike(o, n) {
				k.tops = append(k.tops, n.at)
				k.pair(o, n)
				return
			}
		}
	}
	switch x := n.node.(type) {
	case *plan.Scan:
		if x.Kind == plan.RelSource {
			k.Reread = append(k.Reread, x)
		}
	default:
		if HasState(n.node) {
			k.With++
			k.Without = append(k.Without, n.node)
		}
	}
	for _, c := range n.kids {
		k.find(c, had)
	}
}

// pair notes that the operators below n go on with the state of those below o.
func (k *Keeping) pair(o, n *opNode) {
	k.ops[o.at] = append(k.ops[o.at], n.at)
	k.kept[n.at], k.Nodes[n.node] = true, true
	if _, ok := n.node.(*plan.Scan); ok {
		k.leaves[o.leaf] = append(k.leaves[o.leaf], n.leaf)
		k.scans[n.leaf] = true
	}
	if HasState(n.node) {
		k.With++
	}
	for i := range n.kids {
		k.pair(o.kids[i], n.kids[i])
	}
}

// HasState reports whether the operator of a node has state.
func HasState(n plan.Node) bool {
	_, recursive := n.(*plan.Recursive)
	return recursive || exec.Replays(n)
}

// spreadAlike reports whether the instances of two equal plans get the same rows.
func spreadAlike(a, b *opNode) bool {
	return a.par == b.par && slices.EqualFunc(a.kids, b.kids, spreadAlike)
}

// sameMeaning reports whether expressions have the same values in two views, and
// the same is done with what fails.
func sameMeaning(a, b *catalog.MatView) bool {
	for _, s := range []string{"timezone", SettingIntervals, SettingDigits, SettingDates, SettingOnError} {
		if a.Settings[s] != b.Settings[s] {
			return false
		}
	}
	return true
}
