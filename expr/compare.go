package expr

import (
	"bytes"
	"cmp"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// cmpOp is a comparison operator.
type cmpOp uint8

const (
	opEq cmpOp = iota
	opNe
	opLt
	opLe
	opGt
	opGe
)

var cmpNames = [...]string{"=", "<>", "<", "<=", ">", ">="}

func (o cmpOp) holds(d int) bool {
	switch o {
	case opEq:
		return d == 0
	case opNe:
		return d != 0
	case opLt:
		return d < 0
	case opLe:
		return d <= 0
	case opGt:
		return d > 0
	}
	return d >= 0
}

// compareKernel returns the kernel of l op r for two values of type t.
func compareKernel(t types.T, op cmpOp) Kernel {
	switch t.Kind() {
	case types.KInt16:
		return cmpOrdered[int16](op)
	case types.KInt32:
		return cmpOrdered[int32](op)
	case types.KInt64:
		return cmpOrdered[int64](op)
	case types.KFloat32:
		return cmpFloat[float32](op)
	case types.KFloat64:
		return cmpFloat[float64](op)
	case types.KBytes:
		if op <= opNe && rawEqual(t) {
			return bytesEqual(op == opNe)
		}
	}
	if t.Kind() == types.KBytes {
		return compareEncodings(bytesComparer(t), op)
	}
	f := comparerOf(t)
	return func(_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		d := dst.(*vec.Col[bool])
		d.Resize(n)
		hasNull := len(args[0].Nulls()) > 0 || len(args[1].Nulls()) > 0
		for i := range d.Vals {
			d.Vals[i] = (!hasNull || !anyNull(args, i)) && op.holds(f(args[0], i, args[1], i))
		}
		return nil
	}
}

// compareEncodings is the kernel of a variable-width type.
func compareEncodings(f func(a, b []byte) int, op cmpOp) Kernel {
	return func(_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		d := dst.(*vec.Col[bool])
		d.Resize(n)
		a, b := args[0].(*vec.Bytes), args[1].(*vec.Bytes)
		hasNull := len(a.Null) > 0 || len(b.Null) > 0
		for i := range d.Vals {
			d.Vals[i] = (!hasNull || !anyNull(args, i)) && op.holds(f(a.At(i), b.At(i)))
		}
		return nil
	}
}

// rawEqual reports whether values of t are equal exactly if their bytes are.
func rawEqual(t types.T) bool {
	switch t.ID {
	case types.Text, types.Varchar, types.Name, types.Char, types.Bytea, types.Unknown:
		return true
	}
	return t.HasCodec()
}

func bytesEqual(negate bool) Kernel {
	return func(_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		d := dst.(*vec.Col[bool])
		d.Resize(n)
		a, b := args[0].(*vec.Bytes), args[1].(*vec.Bytes)
		for i := range d.Vals {
			d.Vals[i] = bytes.Equal(a.At(i), b.At(i)) != negate
		}
		return nil
	}
}

type ordered interface{ int16 | int32 | int64 }

func cmpOrdered[T ordered](op cmpOp) Kernel {
	return func(_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		d := dst.(*vec.Col[bool])
		d.Resize(n)
		out := d.Vals
		a, b := args[0].(*vec.Col[T]).Vals[:len(out)], args[1].(*vec.Col[T]).Vals[:len(out)]
		switch op {
		case opEq:
			for i := range out {
				out[i] = a[i] == b[i]
			}
		case opNe:
			for i := range out {
				out[i] = a[i] != b[i]
			}
		case opLt:
			for i := range out {
				out[i] = a[i] < b[i]
			}
		case opLe:
			for i := range out {
				out[i] = a[i] <= b[i]
			}
		case opGt:
			for i := range out {
				out[i] = a[i] > b[i]
			}
		case opGe:
			for i := range out {
				out[i] = a[i] >= b[i]
			}
		}
		return nil
	}
}

// cmpFloat orders NaN above everything and equal to itself.
func cmpFloat[T float32 | float64](op cmpOp) Kernel {
	return func(_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		d := dst.(*vec.Col[bool])
		d.Resize(n)
		out := d.Vals
		a, b := args[0].(*vec.Col[T]).Vals[:len(out)], args[1].(*vec.Col[T]).Vals[:len(out)]
		for i := range out {
			out[i] = op.holds(compareFloats(a[i], b[i]))
		}
		return nil
	}
}

func compareFloats[T float32 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	case a == a: // b is NaN
		return -1
	case b == b:
		return 1
	}
	return 0
}

// comparer orders row i of a against row j of b; both are not NULL and of one
// type.
type comparer func(a vec.Vector, i int, b vec.Vector, j int) int

func comparerOf(t types.T) comparer {
	switch t.Kind() {
	case types.KBool:
		return func(a vec.Vector, i int, b vec.Vector, j int) int {
			x, y := a.(*vec.Col[bool]).Vals[i], b.(*vec.Col[bool]).Vals[j]
			if x == y {
				return 0
			} else if y {
				return -1
			}
			return 1
		}
	case types.KInt16:
		return compareCol[int16]
	case types.KInt32:
		return compareCol[int32]
	case types.KInt64:
		return compareCol[int64]
	case types.KFloat32:
		return func(a vec.Vector, i int, b vec.Vector, j int) int {
			return compareFloats(a.(*vec.Col[float32]).Vals[i], b.(*vec.Col[float32]).Vals[j])
		}
	case types.KFloat64:
		return func(a vec.Vector, i int, b vec.Vector, j int) int {
			return compareFloats(a.(*vec.Col[float64]).Vals[i], b.(*vec.Col[float64]).Vals[j])
		}
	case types.KInterval:
		return func(a vec.Vector, i int, b vec.Vector, j int) int {
			return compareIntervals(a.(*vec.Col[types.IntervalValue]).Vals[i], b.(*vec.Col[types.IntervalValue]).Vals[j])
		}
	case types.KUUID:
		return func(a vec.Vector, i int, b vec.Vector, j int) int {
			x, y := a.(*vec.Col[types.UUIDValue]).Vals[i], b.(*vec.Col[types.UUIDValue]).Vals[j]
			return bytes.Compare(x[:], y[:])
		}
	}
	f := bytesComparer(t)
	return func(a vec.Vector, i int, b vec.Vector, j int) int {
		return f(a.(*vec.Bytes).At(i), b.(*vec.Bytes).At(j))
	}
}

func compareCol[T ordered](a vec.Vector, i int, b vec.Vector, j int) int {
	return cmp.Compare(a.(*vec.Col[T]).Vals[i], b.(*vec.Col[T]).Vals[j])
}

func compareIntervals(a, b types.IntervalValue) int {
	h1, l1 := vec.IntervalKey(a)
	h2, l2 := vec.IntervalKey(b)
	if h1 != h2 {
		return cmp.Compare(h1, h2)
	}
	return cmp.Compare(l1, l2)
}

// bytesComparer orders the encodings of a variable-width type.
func bytesComparer(t types.T) func(a, b []byte) int {
	if t.HasCodec() {
		return func(a, b []byte) int { return types.CompareBytes(t, a, b) }
	}
	switch t.ID {
	case types.Numeric:
		return compareNumerics
	case types.Bpchar:
		return func(a, b []byte) int {
			return bytes.Compare(bytes.TrimRight(a, " "), bytes.TrimRight(b, " "))
		}
	case types.JSONB, types.Array, types.Record:
		return func(a, b []byte) int { return compareEncoded(t, a, b) }
	}
	if t.IsRange() || t.IsMultirange() {
		return func(a, b []byte) int { return compareEncoded(t, a, b) }
	}
	return bytes.Compare
}

// comparable types, each with the six operators.
func comparableTypes() []types.T {
	return ts(types.TBool, types.TInt2, types.TInt4, types.TInt8, types.TFloat4, types.TFloat8, types.TNumeric,
		types.TText, types.TBpchar, types.TChar, types.TName, types.TBytea, types.TDate, types.TTime,
		types.TTimestamp, types.TTimestamptz, types.TInterval, types.TUUID, types.TJSONB, types.TOid,
		types.TInet, types.TMacaddr, types.TMacaddr8, types.TBit, types.TVarbit, types.TTimetz, types.TMoney, types.TLSN, types.TXid8)
}

// mixedPairs are the pairs that PostgreSQL compares without a cast in the tree;
// here they resolve to the operator of the wider type.
func mixedPairs() [][3]types.T {
	return [][3]types.T{
		{types.TInt2, types.TInt4, types.TInt4}, {types.TInt2, types.TInt8, types.TInt8}, {types.TInt4, types.TInt8, types.TInt8},
		{types.TFloat4, types.TFloat8, types.TFloat8}, {types.TDate, types.TTimestamp, types.TTimestamp},
		{types.TDate, types.TTimestamptz, types.TTimestamptz}, {types.TTimestamp, types.TTimestamptz, types.TTimestamptz},
		{types.TName, types.TText, types.TText},
	}
}

func compareOps() []*Func {
	var out []*Func
	for op, name := range cmpNames {
		byType := map[types.T]*Func{}
		for _, t := range comparableTypes() {
			f := &Func{Name: name, Args: ts(t, t), Ret: types.TBool, Eval: compareKernel(t, cmpOp(op))}
			byType[t] = f
			out = append(out, f)
		}
		for _, m := range mixedPairs() {
			as := byType[m[2]]
			out = append(out, &Func{Name: name, Args: ts(m[0], m[1]), Ret: types.TBool, As: as},
				&Func{Name: name, Args: ts(m[1], m[0]), Ret: types.TBool, As: as})
		}
		poly := func(t types.T) *Func {
			return &Func{Name: name, Args: ts(t, t), Ret: types.TBool, New: func() Kernel { return polyCompare(cmpOp(op)) }}
		}
		out = append(out, poly(AnyArray), poly(AnyEnum), poly(AnyRange), poly(AnyMultirange))
	}
	return out
}

// polyCompare picks its kernel by the type of the first chunk's arguments.
func polyCompare(op cmpOp) Kernel {
	var k Kernel
	return func(c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		if k == nil {
			k = compareKernel(args[0].Type(), op)
		}
		return k(c, dst, args, n)
	}
}

// CompareDatums orders two values of type t that are not NULL, as ORDER BY does.
func CompareDatums(t types.T, a, b types.Datum) int {
	x, y := vec.Const(t, a, 1), vec.Const(t, b, 1)
	return comparerOf(t)(x, 0, y, 0)
}
