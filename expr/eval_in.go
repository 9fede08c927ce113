package expr

import (
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// inNode is IN over a list. A constant list is a set of row keys.
type inNode struct {
	arg     node
	list    []node
	negate  bool
	set     map[string]struct{}
	hasNull bool // the constant list holds a NULL
	cmp     comparer
	out     vec.Col[bool]
	chunk   vec.Chunk
	buf     []byte
	vals    []vec.Vector
}

func buildIn(e *In) (node, error) {
	a, err := compile(e.Arg)
	if err != nil {
		return nil, err
	}
	list, err := compileAll(e.List)
	if err != nil {
		return nil, err
	}
	n := &inNode{arg: a, list: list, negate: e.Negate, cmp: comparerOf(e.Arg.Type())}
	n.out.Typ = tBool
	n.chunk.Cols = make([]vec.Vector, 1)
	consts := true
	for _, l := range list {
		_, ok := l.(*constNode)
		consts = consts && ok
	}
	if !consts {
		n.vals = make([]vec.Vector, len(list))
		return n, nil
	}
	n.set = make(map[string]struct{}, len(list))
	for _, l := range list {
		k := l.(*constNode)
		if k.val == nil {
			n.hasNull = true
			continue
		}
		n.chunk.Cols[0] = vec.Const(e.Arg.Type(), k.val, 1)
		n.set[string(vec.AppendGroupKey(nil, &n.chunk, []int{0}, 0))] = struct{}{}
	}
	return n, nil
}

var colZero = []int{0}

func (n *inNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	v, err := n.arg.eval(c, in)
	if err != nil {
		return nil, err
	}
	n.out.Resize(in.Rows)
	if n.set == nil {
		return n.evalList(c, in, v)
	}
	n.chunk.Cols[0] = v
	n.chunk.Rows = in.Rows
	for i := range n.out.Vals {
		if v.IsNull(i) {
			n.out.SetNull(i)
			continue
		}
		n.buf = vec.AppendGroupKey(n.buf[:0], &n.chunk, colZero, i)
		_, hit := n.set[string(n.buf)]
		n.out.Vals[i] = hit != n.negate
		if !hit && n.hasNull {
			n.out.SetNull(i)
		}
	}
	return &n.out, nil
}

func (n *inNode) evalList(c *Ctx, in *vec.Chunk, v vec.Vector) (vec.Vector, error) {
	var err error
	for k, l := range n.list {
		if n.vals[k], err = l.eval(c, in); err != nil {
			return nil, err
		}
	}
	for i := range n.out.Vals {
		if v.IsNull(i) {
			n.out.SetNull(i)
			continue
		}
		hit, null := false, false
		for _, l := range n.vals {
			if l.IsNull(i) {
				null = true
			} else if n.cmp(v, i, l, i) == 0 {
				hit = true
				break
			}
		}
		n.out.Vals[i] = hit != n.negate
		if !hit && null {
			n.out.SetNull(i)
		}
	}
	return &n.out, nil
}

// anyAllNode is arg op ANY|ALL (array): one inner kernel call a row over the
// elements.
type anyAllNode struct {
	arg, array node
	op         Kernel
	all        bool
	out        vec.Col[bool]
	left       vec.Vector
	elems      vec.Vector
	hits       vec.Vector
	rows       []int32
	args       [2]vec.Vector
}

func buildAnyAll(e *AnyAll) (node, error) {
	a, err := compile(e.Arg)
	if err != nil {
		return nil, err
	}
	arr, err := compile(e.Array)
	if err != nil {
		return nil, err
	}
	k := e.Op.Eval
	if e.Op.New != nil {
		k = e.Op.New()
	}
	n := &anyAllNode{arg: a, array: arr, op: k, all: e.All,
		left: vec.New(e.Arg.Type(), 0), elems: vec.New(e.Array.Type().ElemType(), 0), hits: vec.New(tBool, 0)}
	n.out.Typ = tBool
	return n, nil
}

func (n *anyAllNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	a, err := n.arg.eval(c, in)
	if err != nil {
		return nil, err
	}
	arr, err := n.array.eval(c, in)
	if err != nil {
		return nil, err
	}
	n.left.Reset()
	n.elems.Reset()
	n.rows = n.rows[:0]
	n.out.Resize(in.Rows)
	for i := range in.Rows {
		n.out.Vals[i] = n.all
		if arr.IsNull(i) {
			n.out.SetNull(i)
			continue
		}
		if err := appendElems(n.elems, arr.(*vec.Bytes).At(i)); err != nil {
			return nil, err
		}
		for n.left.Len() < n.elems.Len() {
			n.left.AppendFrom(a, i)
			n.rows = append(n.rows, int32(i))
		}
	}
	if err := n.compareAll(c); err != nil {
		return nil, err
	}
	h := n.hits.(*vec.Col[bool])
	for j, i := range n.rows {
		switch {
		case n.left.IsNull(j) || n.elems.IsNull(j) || h.Null.Get(j):
			if n.out.Vals[i] == n.all {
				n.out.SetNull(int(i))
			}
		case h.Vals[j] != n.all:
			n.out.Vals[i] = !n.all
			n.out.Null.Clear(int(i))
		}
	}
	return &n.out, nil
}

// compareAll runs the operator over all pairs, its failures attributed to the
// rows the pairs come from.
func (n *anyAllNode) compareAll(c *Ctx) error {
	outer := c.rows
	if outer != nil {
		mapped := make([]int32, len(n.rows))
		for j, i := range n.rows {
			mapped[j] = outer[i]
		}
		c.rows = mapped
	} else {
		c.rows = n.rows
	}
	n.args = [2]vec.Vector{n.left, n.elems}
	n.hits.Reset()
	err := n.op(c, n.hits, n.args[:], len(n.rows))
	c.rows = outer
	return err
}

// arrayNode builds ARRAY[...].
type arrayNode struct {
	args   []node
	typ    types.T
	nested bool
	vals   []vec.Vector
	datums []types.Datum
	out    *vec.Bytes
}

func buildArray(e *MakeArray) (node, error) {
	args, err := compileAll(e.Args)
	if err != nil {
		return nil, err
	}
	n := &arrayNode{args: args, typ: e.Typ, vals: make([]vec.Vector, len(args)), datums: make([]types.Datum, len(args)),
		out: vec.New(e.Typ, 0).(*vec.Bytes)}
	n.nested = len(e.Args) > 0 && e.Args[0].Type().ID == types.Array
	return n, nil
}

func (n *arrayNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	var err error
	for k, a := range n.args {
		if n.vals[k], err = a.eval(c, in); err != nil {
			return nil, err
		}
	}
	c.bounded(n.out).Reset()
	for i := range in.Rows {
		for k, v := range n.vals {
			n.datums[k] = v.Datum(i)
		}
		var s string
		if n.nested {
			s, err = stackArrays(n.typ, n.datums)
		} else {
			s, err = makeArray(n.typ, n.datums)
		}
		if err != nil {
			if err = c.Fail(i, err); err != nil {
				return nil, err
			}
			n.out.AppendNull()
			continue
		}
		n.out.AppendString(s)
	}
	return n.out, nil
}

// rowNode builds ROW(...).
type rowNode struct {
	args  []node
	types []types.T
	vals  []vec.Vector
	out   *vec.Bytes
}

func buildRow(e *MakeRow) (node, error) {
	args, err := compileAll(e.Args)
	if err != nil {
		return nil, err
	}
	return &rowNode{args: args, types: typesOf(e.Args), vals: make([]vec.Vector, len(args)), out: vec.New(e.Typ, 0).(*vec.Bytes)}, nil
}

func (n *rowNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	var err error
	for k, a := range n.args {
		if n.vals[k], err = a.eval(c, in); err != nil {
			return nil, err
		}
	}
	c.bounded(n.out).Reset()
	ds := make([]types.Datum, len(n.vals))
	for i := range in.Rows {
		for k, v := range n.vals {
			ds[k] = v.Datum(i)
		}
		n.out.Data = types.AppendRecord(n.out.Data, n.types, ds)
		n.out.Finish()
	}
	return n.out, nil
}

// fieldNode takes a field out of a record.
type fieldNode struct {
	arg   node
	index int
	out   vec.Vector
}

func buildField(e *Field) (node, error) {
	a, err := compile(e.Arg)
	if err != nil {
		return nil, err
	}
	return &fieldNode{arg: a, index: e.Index, out: vec.New(e.Typ, 0)}, nil
}

func (n *fieldNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	v, err := n.arg.eval(c, in)
	if err != nil {
		return nil, err
	}
	c.bounded(n.out).Reset()
	for i := range in.Rows {
		if v.IsNull(i) {
			n.out.AppendNull()
			continue
		}
		d, err := recordField(v.(*vec.Bytes).At(i), n.index)
		if err != nil {
			return nil, err
		}
		n.out.AppendDatum(d)
	}
	return n.out, nil
}
