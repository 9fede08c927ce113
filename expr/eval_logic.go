package expr

import "github.com/streamdb/streamdb/vec"

// logicNode is AND (decisive false) or OR (decisive true) in three-valued logic.
type logicNode struct {
	args     []*branch
	decisive bool
	out      vec.Col[bool]
	open     []int32 // rows not decided yet
}

func buildLogic(args []Expr, decisive bool) (node, error) {
	n := &logicNode{decisive: decisive}
	n.out.Typ = tBool
	for _, a := range args {
		b, err := newBranch(a)
		if err != nil {
			return nil, err
		}
		n.args = append(n.args, b)
	}
	return n, nil
}

func (n *logicNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	n.out.Resize(in.Rows)
	out := n.out.Vals
	for i := range out {
		out[i] = !n.decisive
	}
	n.open = n.open[:0]
	for i := range out {
		n.open = append(n.open, int32(i))
	}
	for k, a := range n.args {
		if k > 0 {
			left := n.open[:0]
			for _, i := range n.open {
				if out[i] != n.decisive || n.out.Null.Get(int(i)) {
					left = append(left, i)
				}
			}
			if n.open = left; len(left) == 0 {
				break
			}
		}
		v, whole, err := a.on(c, in, n.open)
		if err != nil {
			return nil, err
		}
		n.merge(v.(*vec.Col[bool]), whole)
	}
	return &n.out, nil
}

// merge folds an argument's values into the undecided rows.
func (n *logicNode) merge(b *vec.Col[bool], whole bool) {
	out := n.out.Vals
	hasNull := len(b.Null) > 0
	for j, i := range n.open {
		k := j
		if whole {
			k = int(i)
		}
		switch {
		case hasNull && b.Null.Get(k):
			n.out.Null.Set(int(i))
		case b.Vals[k] == n.decisive:
			out[i] = n.decisive
			n.out.Null.Clear(int(i))
		}
	}
}

type notNode struct {
	arg node
	out vec.Col[bool]
}

func (n *notNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	v, err := n.arg.eval(c, in)
	if err != nil {
		return nil, err
	}
	n.out.Typ = tBool
	n.out.Resize(in.Rows)
	out := n.out.Vals
	a := v.(*vec.Col[bool]).Vals[:len(out)]
	for i := range out {
		out[i] = !a[i]
	}
	n.out.OrNulls(v.Nulls())
	return &n.out, nil
}

type isNullNode struct {
	arg    node
	negate bool
	out    vec.Col[bool]
}

func (n *isNullNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	v, err := n.arg.eval(c, in)
	if err != nil {
		return nil, err
	}
	n.out.Typ = tBool
	n.out.Resize(in.Rows)
	nulls := v.Nulls()
	for i := range n.out.Vals {
		n.out.Vals[i] = nulls.Get(i) != n.negate
	}
	return &n.out, nil
}

type isBoolNode struct {
	arg          node
	want, negate bool
	out          vec.Col[bool]
}

func (n *isBoolNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	v, err := n.arg.eval(c, in)
	if err != nil {
		return nil, err
	}
	n.out.Typ = tBool
	n.out.Resize(in.Rows)
	b := v.(*vec.Col[bool])
	for i := range n.out.Vals {
		n.out.Vals[i] = (!b.Null.Get(i) && b.Vals[i] == n.want) != n.negate
	}
	return &n.out, nil
}

type distinctNode struct {
	l, r   node
	eq     Kernel
	negate bool
	out    vec.Col[bool]
	args   [2]vec.Vector
}

func buildDistinct(e *Distinct) (node, error) {
	l, err := compile(e.L)
	if err != nil {
		return nil, err
	}
	r, err := compile(e.R)
	if err != nil {
		return nil, err
	}
	return &distinctNode{l: l, r: r, eq: compareKernel(e.L.Type(), opEq), negate: e.Negate}, nil
}

func (n *distinctNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	var err error
	if n.args[0], err = n.l.eval(c, in); err != nil {
		return nil, err
	}
	if n.args[1], err = n.r.eval(c, in); err != nil {
		return nil, err
	}
	n.out.Typ = tBool
	n.out.Reset()
	if err := n.eq(c, &n.out, n.args[:], in.Rows); err != nil {
		return nil, err
	}
	a, b := n.args[0].Nulls(), n.args[1].Nulls()
	n.out.Null = n.out.Null[:0]
	for i := range n.out.Vals {
		x, y := a.Get(i), b.Get(i)
		equal := n.out.Vals[i]
		if x || y {
			equal = x && y
		}
		n.out.Vals[i] = equal == n.negate
	}
	return &n.out, nil
}
