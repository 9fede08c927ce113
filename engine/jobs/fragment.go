package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
)

// fragment is a part of a job's plan between exchanges. Its leaves are Exchange
// nodes (other fragments), Scan nodes (tables, views, sources) and constants.
type fragment struct {
	Root   plan.Node
	leaves []plan.Node // Scan and Exchange leaves, left to right
	par    int         // number of instances
	feeds  []feed      // for leaves that are exchanges: the fragment below
}

type feed struct {
	leaf int
	from *fragment
	ex   *plan.Exchange
}

// cut splits a plan at its exchanges; fragments come children first.
func cut(root plan.Node, parallelism int) []*fragment {
	var frags []*fragment
	var build func(n plan.Node) *fragment
	build = func(n plan.Node) *fragment {
		f := &fragment{Root: n}
		constant := false
		var walk func(n plan.Node)
		walk = func(n plan.Node) {
			switch n := n.(type) {
			case *plan.Exchange:
				f.feeds = append(f.feeds, feed{len(f.leaves), build(n.Input), n})
				f.leaves = append(f.leaves, n)
				return
			case *plan.Scan:
				f.leaves = append(f.leaves, n)
				return
			case *plan.Values, *plan.TableFunc:
				constant = true // a Clock is not: it may stand beside every part of another input
			}
			for _, c := range n.Children() {
				walk(c)
			}
		}
		walk(n)
		f.par = f.parallelism(parallelism, constant)
		frags = append(frags, f)
		return f
	}
	build(root)
	return frags
}

// parallelism is p where every input can be split: by exchanges over a key, or
// over the splits of a single source. Anything else runs in one instance, which
// is always right.
func (f *fragment) parallelism(p int, constant bool) int {
	if constant || len(f.leaves) == 0 {
		return 1
	}
	for _, l := range f.leaves {
		switch l := l.(type) {
		case *plan.Exchange:
			if l.Dist == plan.Singleton {
				return 1
			}
		case *plan.Scan:
			if l.Kind != plan.RelSource || len(f.leaves) > 1 {
				return 1
			}
		}
	}
	return p
}

// Scans calls f for every Scan leaf of the plan.
func Scans(n plan.Node, f func(*plan.Scan)) {
	if s, ok := n.(*plan.Scan); ok {
		f(s)
	}
	for _, c := range n.Children() {
		Scans(c, f)
	}
}

// stateFormat is the version of how operators write their state. It grows when
// the state of one version cannot be read by the next.
const stateFormat = 3

// fingerprint identifies the operators of a plan and how they are spread. State
// written by one plan must not be loaded into another. The root's own line is
// left out, because it names the object, which may be renamed.
func fingerprint(root plan.Node, par int) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d\n", stateFormat, par)
	for _, c := range root.Children() {
		for _, l := range planner.Canonical(c) {
			fmt.Fprintln(h, l)
		}
	}
	return []byte(hex.EncodeToString(h.Sum(nil)[:16]))
}
