package expr

import (
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// AggFunc is one overload of an aggregate function: one row of its table.
type AggFunc struct {
	Name  string
	Args  []types.T
	Ret   types.T
	RetFn func(args []types.T) types.T
	// OrderedSet marks aggregates that need WITHIN GROUP: the last of Args are the
	// keys, which stand in AggCall.OrderBy and not in AggCall.Args.
	OrderedSet bool
	// DistinctIsNoop: DISTINCT does not change the result (min, max, bool_and, …).
	DistinctIsNoop bool
	// OrderMatters: ORDER BY inside the call changes the result (array_agg, …).
	OrderMatters bool
	// Make returns the accumulator forms. Callers go through AggCall.Make, which
	// adds DISTINCT.
	Make func(a MakeArgs) AggImpl
	Doc  string
}

// MakeArgs is what an accumulator may depend on.
type MakeArgs struct {
	// Args are the types of the vectors that Add receives: the arguments, then one
	// for each key of OrderBy.
	Args []types.T
	// NArgs is how many of Args are arguments.
	NArgs int
	Ret   types.T
	// AppendOnly promises that no weight is negative.
	AppendOnly bool
	Distinct   bool
	OrderBy    []SortKey // Col counts in Args
}

// AggImpl is how an aggregate keeps its state: exactly one of Flat and New is
// set.
type AggImpl struct {
	// Flat keeps fixed-width state inside the group's row, without pointers.
	Flat FlatAgg
	// New makes one accumulator object a group, for states that vary in size.
	New func() Acc
}

// FlatAgg is an aggregate whose state is Size bytes, all zero when empty. Adding
// rows and taking them away in any order leads back to all zero (except for
// append-only states, which never see a row taken away).
type FlatAgg interface {
	Size() int
	// Add folds in n rows: row i, of weight diff[i] (diff nil: +1), belongs to
	// the state at st[i][off:off+Size]. Rows sharing a state share the slice.
	// skip marks rows to leave out (FILTER); nil: none. NULL rules are the
	// aggregate's own.
	Add(c *Ctx, st [][]byte, off int, args []vec.Vector, diff []int64, skip vec.Bitmap) error
	// Result appends the aggregate's value; st is the Size bytes of the state.
	Result(c *Ctx, st []byte, dst vec.Vector) error
}

// Acc is the state of one aggregate of one group.
type Acc interface {
	// Add folds in row i of args with weight w, which may be negative.
	Add(c *Ctx, args []vec.Vector, i int, w int64) error
	// Result appends the aggregate's value.
	Result(c *Ctx, dst vec.Vector) error
	// Delta reports every entry of the state that changed since the last Delta,
	// so that a checkpoint writes what changed and not the whole state. val nil
	// means the entry is gone. Both slices are borrowed by emit.
	Delta(emit func(sub, val []byte))
	// Load restores one entry.
	Load(sub, val []byte) error
	// MemSize returns the memory held, in bytes.
	MemSize() int
}

// AggCall is an aggregate in a plan: its arguments are columns of the input.
type AggCall struct {
	Fn       *AggFunc
	Args     []int
	Filter   int // boolean column; -1: none
	Distinct bool
	OrderBy  []SortKey // ORDER BY inside the call, or WITHIN GROUP; Col is a column of the input
	Typ      types.T
}

// SortKey orders rows by a column.
type SortKey struct {
	Col        int
	Desc       bool
	NullsFirst bool
}

// Columns returns the input columns whose vectors Add must be given, in order:
// the arguments, then the keys of ORDER BY.
func (a *AggCall) Columns() []int {
	out := append([]int(nil), a.Args...)
	for _, k := range a.OrderBy {
		out = append(out, k.Col)
	}
	return out
}

// Make returns the accumulator forms of the call over an input with columns of
// the types in. DISTINCT and ORDER BY are taken care of inside: the caller
// passes the vectors of Columns to Add and nothing else.
func (a *AggCall) Make(in []types.T, appendOnly bool) AggImpl {
	m := MakeArgs{NArgs: len(a.Args), Ret: a.Typ, AppendOnly: appendOnly, Distinct: a.Distinct}
	for _, c := range a.Columns() {
		m.Args = append(m.Args, in[c])
	}
	for i, k := range a.OrderBy {
		k.Col = len(a.Args) + i
		m.OrderBy = append(m.OrderBy, k)
	}
	if a.Distinct && a.Fn.DistinctIsNoop {
		m.Distinct = false
	}
	if m.Distinct && !a.Fn.OrderMatters && !a.Fn.OrderedSet {
		return distinctOf(a.Fn, m)
	}
	return a.Fn.Make(m)
}
