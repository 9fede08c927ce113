package expr

import (
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// picker assembles a result whose rows come from different vectors.
type picker struct {
	out    vec.Vector
	vecs   []vec.Vector // nil: NULL
	choice []int16      // the vector of each row
	pos    []int32      // and the row in it
}

func (p *picker) reset(n int) {
	p.out.Reset()
	p.vecs = append(p.vecs[:0], nil)
	p.choice, p.pos = resize(p.choice, n), resize(p.pos, n)
	clear(p.choice)
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// take gives the rows sel the values of v.
func (p *picker) take(v vec.Vector, whole bool, sel []int32) {
	k := int16(len(p.vecs))
	p.vecs = append(p.vecs, v)
	for j, i := range sel {
		p.choice[i], p.pos[i] = k, int32(j)
		if whole {
			p.pos[i] = i
		}
	}
}

func (p *picker) finish() vec.Vector {
	for i, k := range p.choice {
		if v := p.vecs[k]; v != nil {
			p.out.AppendFrom(v, int(p.pos[i]))
		} else {
			p.out.AppendNull()
		}
	}
	return p.out
}

type caseNode struct {
	conds, thens []*branch
	els          *branch
	picker
	open, hit []int32
}

func buildCase(e *Case) (node, error) {
	n := &caseNode{picker: picker{out: vec.New(e.Typ, 0)}}
	for _, w := range e.Whens {
		c, err := newBranch(w.Cond)
		if err != nil {
			return nil, err
		}
		t, err := newBranch(w.Then)
		if err != nil {
			return nil, err
		}
		n.conds, n.thens = append(n.conds, c), append(n.thens, t)
	}
	if e.Else != nil {
		b, err := newBranch(e.Else)
		if err != nil {
			return nil, err
		}
		n.els = b
	}
	return n, nil
}

func (n *caseNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	n.reset(in.Rows)
	n.open = n.open[:0]
	for i := range in.Rows {
		n.open = append(n.open, int32(i))
	}
	for k, cond := range n.conds {
		if len(n.open) == 0 {
			break
		}
		v, whole, err := cond.on(c, in, n.open)
		if err != nil {
			return nil, err
		}
		n.split(v.(*vec.Col[bool]), whole)
		if len(n.hit) == 0 {
			continue
		}
		t, whole, err := n.thens[k].on(c, in, n.hit)
		if err != nil {
			return nil, err
		}
		n.take(t, whole, n.hit)
	}
	if n.els != nil && len(n.open) > 0 {
		v, whole, err := n.els.on(c, in, n.open)
		if err != nil {
			return nil, err
		}
		n.take(v, whole, n.open)
	}
	return n.finish(), nil
}

// split moves the open rows whose condition is true to hit.
func (n *caseNode) split(b *vec.Col[bool], whole bool) {
	n.hit = n.hit[:0]
	left := n.open[:0]
	for j, i := range n.open {
		k := j
		if whole {
			k = int(i)
		}
		if b.Vals[k] && !b.Null.Get(k) {
			n.hit = append(n.hit, i)
		} else {
			left = append(left, i)
		}
	}
	n.open = left
}

type coalesceNode struct {
	args []*branch
	picker
	open, hit []int32
}

func buildCoalesce(e *Coalesce) (node, error) {
	n := &coalesceNode{picker: picker{out: vec.New(e.Typ, 0)}}
	for _, a := range e.Args {
		b, err := newBranch(a)
		if err != nil {
			return nil, err
		}
		n.args = append(n.args, b)
	}
	return n, nil
}

func (n *coalesceNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	n.reset(in.Rows)
	n.open = n.open[:0]
	for i := range in.Rows {
		n.open = append(n.open, int32(i))
	}
	for k, a := range n.args {
		if len(n.open) == 0 {
			break
		}
		v, whole, err := a.on(c, in, n.open)
		if err != nil {
			return nil, err
		}
		nulls := v.Nulls()
		if k == 0 && !nulls.Any() {
			return v, nil
		}
		n.split(v, nulls, whole)
	}
	return n.finish(), nil
}

func (n *coalesceNode) split(v vec.Vector, nulls vec.Bitmap, whole bool) {
	k := int16(len(n.vecs))
	n.vecs = append(n.vecs, v)
	left := n.open[:0]
	for j, i := range n.open {
		at := j
		if whole {
			at = int(i)
		}
		if nulls.Get(at) {
			left = append(left, i)
			continue
		}
		n.choice[i], n.pos[i] = k, int32(at)
	}
	n.open = left
}

// minMaxNode is GREATEST or LEAST.
type minMaxNode struct {
	args     []node
	cmp      comparer
	greatest bool
	picker
}

func buildMinMax(e *MinMax) (node, error) {
	args, err := compileAll(e.Args)
	if err != nil {
		return nil, err
	}
	return &minMaxNode{args: args, cmp: comparerOf(e.Typ), greatest: e.Greatest,
		picker: picker{out: vec.New(e.Typ, 0)}}, nil
}

func (n *minMaxNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	n.reset(in.Rows)
	for _, a := range n.args {
		v, err := a.eval(c, in)
		if err != nil {
			return nil, err
		}
		k := int16(len(n.vecs))
		n.vecs = append(n.vecs, v)
		for i := range in.Rows {
			if v.IsNull(i) {
				continue
			}
			if old := n.vecs[n.choice[i]]; old != nil {
				d := n.cmp(v, i, old, i)
				if d == 0 || d > 0 != n.greatest {
					continue
				}
			}
			n.choice[i], n.pos[i] = k, int32(i)
		}
	}
	return n.finish(), nil
}

var tBool = types.TBool
