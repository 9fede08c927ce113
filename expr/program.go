package expr

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Program is a compiled expression. It owns its scratch vectors, so it belongs
// to one goroutine; in steady state evaluating allocates nothing.
type Program struct {
	root node
	typ  types.T
}

// node is one compiled operation. The vector eval returns is borrowed until the
// node's next eval and has in.Rows rows.
type node interface {
	eval(c *Ctx, in *vec.Chunk) (vec.Vector, error)
}

// Compile prepares e for evaluation. Calls of immutable functions over constants
// are computed now; if they fail, the error waits until a row reaches them.
func Compile(e Expr) (*Program, error) {
	n, err := compile(e)
	if err != nil {
		return nil, err
	}
	return &Program{root: n, typ: e.Type()}, nil
}

// Type returns the type of the result.
func (p *Program) Type() types.T { return p.typ }

// Eval computes the expression for every row of in. The result is borrowed
// until the next Eval, and may be a column of in itself. Where the values of a step
// take too much memory together the error is a WideError.
func (p *Program) Eval(c *Ctx, in *vec.Chunk) (v vec.Vector, err error) {
	defer c.narrow(c.rows, &err)
	return p.root.eval(c, in)
}

// Filter appends to sel the rows for which the boolean expression is true. A row that
// fails is not among them, also where the expression makes something of the NULL that
// stands for what failed.
func (p *Program) Filter(c *Ctx, in *vec.Chunk, sel []int32) ([]int32, error) {
	first := len(sel)
	v, err := p.Eval(c, in)
	if w, ok := err.(*WideError); ok {
		sel, err = p.filterParts(c, in, w.Rows, sel)
	} else if err == nil {
		sel = appendTrue(sel, v.(*vec.Col[bool]), in.Rows, 0)
	}
	if err != nil || c.Errors == nil || len(c.Errors.Rows) == 0 {
		return sel, err
	}
	whole := sel[:first]
	for _, i := range sel[first:] {
		at := int(i)
		if c.rows != nil {
			at = int(c.rows[i])
		}
		if !c.Errors.Failed(at) {
			whole = append(whole, i)
		}
	}
	return whole, nil
}

// appendTrue appends the numbers of the rows that are true, counted from first.
func appendTrue(sel []int32, b *vec.Col[bool], n int, first int32) []int32 {
	vals := b.Vals[:n]
	if !b.Null.Any() {
		for i, ok := range vals {
			if ok {
				sel = append(sel, first+int32(i))
			}
		}
		return sel
	}
	for i, ok := range vals {
		if ok && !b.Null.Get(i) {
			sel = append(sel, first+int32(i))
		}
	}
	return sel
}

// EvalConst computes an expression that refers to no column.
func EvalConst(c *Ctx, e Expr) (types.Datum, error) {
	if k, ok := e.(*Const); ok {
		return k.Val, nil
	}
	p, err := Compile(e)
	if err != nil {
		return nil, err
	}
	one := *c
	one.Errors = nil
	v, err := p.Eval(&one, &vec.Chunk{Rows: 1})
	if err != nil {
		return nil, err
	}
	return v.Datum(0), nil
}

// IsConst reports whether e refers to no column, parameter or outer row.
func IsConst(e Expr) bool {
	ok := true
	Walk(e, func(x Expr) bool {
		switch x.(type) {
		case *Col, *Param, *Outer:
			ok = false
		}
		return ok
	})
	return ok
}

// Worst returns the highest volatility of the functions and casts in e.
func Worst(e Expr) Volatility {
	v := Immutable
	Walk(e, func(x Expr) bool {
		switch x := x.(type) {
		case *Call:
			v = max(v, x.Fn.Volatility)
		case *AnyAll:
			v = max(v, x.Op.Volatility)
		case *Cast:
			if castIsStable(x.Arg.Type(), x.To) {
				v = max(v, Stable)
			}
		}
		return true
	})
	return v
}

func compileAll(es []Expr) ([]node, error) {
	out := make([]node, len(es))
	for i, e := range es {
		n, err := compile(e)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// compile builds e's node and folds it when it is constant.
func compile(e Expr) (node, error) {
	n, err := build(e)
	if err != nil {
		return nil, err
	}
	if _, ok := n.(*constNode); ok || !IsConst(e) || Worst(e) != Immutable || returnsVoid(e) || showsStyle(e) {
		return n, nil
	}
	v, err := n.eval(&Ctx{}, &vec.Chunk{Rows: 1})
	if err != nil {
		return n, nil // the error is a run-time error
	}
	return newConst(e.Type(), v.Datum(0)), nil
}

// showsStyle reports whether e writes as text what the session's settings shape
// though PostgreSQL calls it immutable: floats and intervals.
func showsStyle(e Expr) bool {
	found := false
	Walk(e, func(x Expr) bool {
		if c, ok := x.(*Cast); ok && isString(c.To) {
			id := c.Arg.Type().ID
			if id == types.Array {
				id = c.Arg.Type().Elem
			}
			found = found || id == types.Float4 || id == types.Float8 || id == types.Interval || id == types.Record
		}
		return !found
	})
	return found
}

func returnsVoid(e Expr) bool { return e.Type().ID == types.Void }

func build(e Expr) (node, error) {
	switch e := e.(type) {
	case *Col:
		return &colNode{e.Index, e.Typ}, nil
	case *Const:
		return newConst(e.Typ, e.Val), nil
	case *Call:
		return buildCall(e)
	case *Cast:
		return buildCast(e)
	case *And:
		return buildLogic(e.Args, false)
	case *Or:
		return buildLogic(e.Args, true)
	case *Not:
		return build1(e.Arg, func(a node) node { return &notNode{arg: a} })
	case *IsNull:
		return build1(e.Arg, func(a node) node { return &isNullNode{arg: a, negate: e.Negate} })
	case *IsBool:
		return build1(e.Arg, func(a node) node { return &isBoolNode{arg: a, want: e.Want, negate: e.Negate} })
	case *Distinct:
		return buildDistinct(e)
	case *Case:
		return buildCase(e)
	case *Coalesce:
		return buildCoalesce(e)
	case *MinMax:
		return buildMinMax(e)
	case *In:
		return buildIn(e)
	case *AnyAll:
		return buildAnyAll(e)
	case *MakeArray:
		return buildArray(e)
	case *MakeRow:
		return buildRow(e)
	case *Field:
		return buildField(e)
	case *Param:
		return nil, pgerr.New(pgerr.UndefinedParameter, "there is no parameter $%d", e.Index)
	}
	return nil, pgerr.New(pgerr.Internal, "expression %T reached execution", e)
}

func build1(arg Expr, f func(node) node) (node, error) {
	a, err := compile(arg)
	if err != nil {
		return nil, err
	}
	return f(a), nil
}

type colNode struct {
	index int
	typ   types.T
}

func (n *colNode) eval(_ *Ctx, in *vec.Chunk) (vec.Vector, error) {
	v := in.Cols[n.index]
	if v.Type().Ref != n.typ.Ref { // a domain, read as what it is over
		return vec.Retyped(v, n.typ), nil
	}
	return v, nil
}

// constNode keeps a vector of copies. A chunk with fewer rows than one before
// sees a part of it.
type constNode struct {
	typ  types.T
	val  types.Datum
	out  vec.Vector
	full int // copies ever made
}

func newConst(t types.T, v types.Datum) *constNode {
	if t.ID == types.Unknown {
		t = types.TText
	}
	return &constNode{typ: t, val: v, out: vec.New(t, 0)}
}

func (n *constNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	switch {
	case n.out.Len() == in.Rows:
	case n.val != nil && in.Rows <= n.full:
		cut(n.out, in.Rows)
	default:
		n.full = 0
		c.bounded(n.out).Reset()
		for range in.Rows {
			n.out.AppendDatum(n.val)
		}
		n.full = in.Rows
	}
	return n.out, nil
}

// cut makes a vector without NULLs n rows long, whose memory holds at least as
// many from before.
func cut(v vec.Vector, n int) {
	switch c := v.(type) {
	case *vec.Col[bool]:
		c.Vals = c.Vals[:n]
	case *vec.Col[int16]:
		c.Vals = c.Vals[:n]
	case *vec.Col[int32]:
		c.Vals = c.Vals[:n]
	case *vec.Col[int64]:
		c.Vals = c.Vals[:n]
	case *vec.Col[float32]:
		c.Vals = c.Vals[:n]
	case *vec.Col[float64]:
		c.Vals = c.Vals[:n]
	case *vec.Col[types.IntervalValue]:
		c.Vals = c.Vals[:n]
	case *vec.Col[types.UUIDValue]:
		c.Vals = c.Vals[:n]
	case *vec.Bytes:
		c.Off = c.Off[:n+1]
		c.Data = c.Data[:c.Off[n]]
	}
}

// callNode applies a kernel.
type callNode struct {
	fn     *Func
	kernel Kernel
	args   []node
	vals   []vec.Vector
	out    vec.Vector
}

func buildCall(e *Call) (node, error) {
	if e.Fn.Set {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "set-valued function called in context that cannot accept a set")
	}
	args, err := compileAll(e.Args)
	if err != nil {
		return nil, err
	}
	k := e.Fn.Eval
	if e.Fn.New != nil {
		k = e.Fn.New()
	}
	if k == nil {
		return nil, pgerr.Unsupported("function "+e.Fn.Name, "")
	}
	return &callNode{fn: e.Fn, kernel: k, args: args, vals: make([]vec.Vector, len(args)), out: vec.New(e.Typ, 0)}, nil
}

func (n *callNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	for i, a := range n.args {
		v, err := a.eval(c, in)
		if err != nil {
			return nil, err
		}
		n.vals[i] = v
	}
	c.bounded(n.out).Reset()
	if err := n.kernel(c, n.out, n.vals, in.Rows); err != nil {
		return nil, err
	}
	if !n.fn.NotStrict {
		for _, v := range n.vals {
			if b := v.Nulls(); len(b) > 0 {
				n.out.OrNulls(b)
			}
		}
	}
	return n.out, nil
}

// MayFail reports whether the call itself can raise an error for some row.
func (c *Call) MayFail() bool {
	if !c.Fn.MayFail || c.Fn.Pattern == nil {
		return c.Fn.MayFail
	}
	k, ok := c.Args[len(c.Args)-1].(*Const)
	if !ok || k.Val == nil {
		return !ok
	}
	p, ok := k.Val.(string)
	return !ok || c.Fn.Pattern(p) != nil
}

// mayFail reports whether evaluating e for a row that should not see it could
// raise an error or have an effect.
func mayFail(e Expr) bool {
	bad := false
	Walk(e, func(x Expr) bool {
		switch x := x.(type) {
		case *Call:
			bad = bad || x.MayFail() || x.Fn.Volatility == Volatile
		case *AnyAll:
			bad = bad || x.Op.MayFail
		case *Cast:
			bad = bad || !safeCast(x.Arg.Type(), x.To)
		case *MakeArray:
			bad = true
		}
		return !bad
	})
	return bad
}

// columnsOf returns the input columns e reads.
func columnsOf(e Expr) []int {
	var out []int
	seen := map[int]bool{}
	Walk(e, func(x Expr) bool {
		if c, ok := x.(*Col); ok && !seen[c.Index] {
			seen[c.Index] = true
			out = append(out, c.Index)
		}
		return true
	})
	return out
}

// branch is an expression that may be evaluated for a part of the rows.
type branch struct {
	node
	lazy bool // must not see other rows
	cols []int
	sub  vec.Chunk
	rows []int32
}

func newBranch(e Expr) (*branch, error) {
	n, err := compile(e)
	if err != nil {
		return nil, err
	}
	return &branch{node: n, lazy: mayFail(e), cols: columnsOf(e)}, nil
}

// on evaluates the branch for the rows sel of in. whole says that the result
// has a value for every row of in instead of one for each of sel. Where few rows
// are left the others are left out though they would do no harm.
func (b *branch) on(c *Ctx, in *vec.Chunk, sel []int32) (v vec.Vector, whole bool, err error) {
	if len(sel) == in.Rows || !b.lazy && 4*len(sel) > in.Rows {
		v, err = b.eval(c, in)
		return v, true, err
	}
	if len(b.sub.Cols) != len(in.Cols) {
		b.sub.Cols = make([]vec.Vector, len(in.Cols))
		for _, k := range b.cols {
			b.sub.Cols[k] = vec.New(in.Cols[k].Type(), len(sel))
		}
	}
	for _, k := range b.cols {
		b.sub.Cols[k].Reset()
		b.sub.Cols[k].Gather(in.Cols[k], sel)
	}
	b.sub.Rows = len(sel)
	b.rows = b.rows[:0]
	for _, i := range sel {
		if c.rows != nil {
			i = c.rows[i]
		}
		b.rows = append(b.rows, i)
	}
	outer := c.rows
	c.rows = b.rows
	v, err = b.eval(c, &b.sub)
	c.rows = outer
	return v, false, err
}
