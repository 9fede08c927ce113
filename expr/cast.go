package expr

import (
	"math"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Stable reports whether the cast's result depends on session settings.
func (c *Cast) Stable() bool { return castIsStable(c.Arg.Type(), c.To) }

// castIsStable reports whether a cast's result depends on session settings.
func castIsStable(from, to types.T) bool {
	a, b := from.ID, to.ID
	if a == types.Array {
		a = from.Elem
	}
	if b == types.Array {
		b = to.Elem
	}
	if from.IsRange() || from.IsMultirange() {
		a = from.RangeSub().ID
	}
	if to.IsRange() || to.IsMultirange() {
		b = to.RangeSub().ID
	}
	timed := func(id types.ID) bool { return id == types.Timestamptz || isReg(id) }
	if a == b {
		return false
	}
	if timed(a) || timed(b) {
		return !(a == types.Oid || b == types.Oid || isInt(a) || isInt(b))
	}
	if a == types.Time && b == types.Timetz {
		return true // by the zone and the day
	}
	if isString(types.T{ID: b}) && (a == types.Date || a == types.Timestamp || a == types.Interval) {
		return true // by DateStyle and IntervalStyle
	}
	return isString(types.T{ID: a}) && sessionText(to)
}

// safeCast reports whether a cast cannot fail.
func safeCast(from, to types.T) bool {
	if from.Ref != 0 && from.Underlying() == to || to.Ref != 0 && to.Underlying() == from {
		return true
	}
	if to.Mod >= 0 {
		return false
	}
	if isString(to) && to.ID != types.Name || from.SameType(to) {
		return true
	}
	switch to.ID {
	case types.Int4:
		return from.ID == types.Int2
	case types.Int8:
		return from.ID == types.Int2 || from.ID == types.Int4
	case types.Float4, types.Float8, types.Numeric:
		return isInt(from.ID) || from.ID == types.Float4
	}
	return false
}

// relabels reports whether the cast only changes the type's name.
func relabels(from, to types.T) bool {
	from, to = from.Underlying(), to.Underlying()
	if to.Mod >= 0 && (to.ID == types.Bit || to.ID == types.Varbit || to.ID == types.Varchar || to.ID == types.Bpchar || to.ID == types.Numeric) && to.Mod != from.Mod {
		return false
	}
	if to.Mod >= 0 && to.ID == types.Bpchar && from.ID != types.Bpchar { // is padded, also at the same length
		return false
	}
	if from.SameType(to) {
		return to.Mod < 0 || to.Mod == from.Mod
	}
	textual := func(id types.ID) bool { return id == types.Text || id == types.Varchar || id == types.Unknown }
	if textual(from.ID) && (textual(to.ID) || to.ID == types.Bpchar) || from.ID == types.Name && textual(to.ID) {
		return true
	}
	if from.ID == types.Cidr && to.ID == types.Inet {
		return true
	}
	if to.Mod < 0 && (from.ID == types.Bit && to.ID == types.Varbit || from.ID == types.Varbit && to.ID == types.Bit) {
		return true
	}
	oidLike := func(id types.ID) bool { return id == types.Oid || isReg(id) }
	return oidLike(from.ID) && (oidLike(to.ID) || to.ID == types.Int8)
}

func buildCast(e *Cast) (node, error) {
	from, to := e.Arg.Type(), e.To
	arg, err := compile(e.Arg)
	if err != nil {
		return nil, err
	}
	if relabels(from, to) {
		return &relabelNode{arg: arg, to: to}, nil
	}
	f := &Func{Name: to.TypName(), Args: ts(from), Ret: to, Eval: castKernel(from, to, e.Explicit)}
	return &callNode{fn: f, kernel: f.Eval, args: []node{arg}, vals: make([]vec.Vector, 1), out: vec.New(to, 0)}, nil
}

// relabelNode gives the argument's vector another type without a copy.
type relabelNode struct {
	arg   node
	to    types.T
	bytes vec.Bytes
	ints  vec.Col[int64]
}

func (n *relabelNode) eval(c *Ctx, in *vec.Chunk) (vec.Vector, error) {
	v, err := n.arg.eval(c, in)
	if err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case *vec.Bytes:
		n.bytes = *x
		n.bytes.Typ = n.to
		return &n.bytes, nil
	case *vec.Col[int64]:
		n.ints = *x
		n.ints.Typ = n.to
		return &n.ints, nil
	}
	if v.Type().Ref != n.to.Ref {
		return vec.Retyped(v, n.to), nil
	}
	return v, nil
}

// castKernel returns the loop for a cast: typed for the hot pairs, else one
// value at a time.
func castKernel(from, to types.T, explicit bool) Kernel {
	if k := castNumber(from, to); k != nil {
		return k
	}
	switch {
	case from.ID == types.Date && to.ID == types.Timestamp && to.Mod < 0:
		return dateToTimestamp
	case isString(from) && (isInt(to.ID)):
		return textToInt(to)
	case isInt(from.ID) && to.ID == types.Numeric && to.Mod < 0:
		return rows(func(r *row) error { return r.putDec(types.DecimalFromInt64(r.int(0))) })
	case from.ID == types.Numeric && to.ID == types.Numeric:
		return rows(func(r *row) error {
			d, err := r.dec(0).Typmod(to.Mod)
			if err != nil {
				return err
			}
			return r.putDec(d)
		})
	case from.ID == types.Numeric && to.ID == types.Float8:
		return rows(func(r *row) error {
			d := r.dec(0)
			f := d.Float64()
			if math.IsInf(f, 0) && !d.IsInf() {
				return pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type double precision", d)
			}
			return r.putF8(f)
		})
	case (to.ID == types.Text || to.ID == types.Varchar && to.Mod < 0) && from.ID != types.Bool && from.ID != types.Bpchar && from.ID != types.Char && from.ID != types.Inet:
		return toText(from)
	}
	return rows(func(r *row) error {
		d, err := castDatum(r.datum(0), from, to, explicit, r.c.options())
		if err != nil {
			return err
		}
		return r.put(d)
	})
}

// toText writes values in their text form straight into the result.
func toText(from types.T) Kernel {
	return rows(func(r *row) error {
		d := r.dst.(*vec.Bytes)
		d.Data = appendVecText(d.Data, from, r.args[0], r.i, r.c.options())
		d.Finish()
		return nil
	})
}

func castNumber(from, to types.T) Kernel {
	switch from.ID {
	case types.Int2:
		return castFromInt[int16](to)
	case types.Int4:
		return castFromInt[int32](to)
	case types.Int8:
		return castFromInt[int64](to)
	case types.Float4:
		return castFromFloat[float32](to)
	case types.Float8:
		return castFromFloat[float64](to)
	}
	return nil
}

func castFromInt[F ordered](to types.T) Kernel {
	switch to.ID {
	case types.Int2:
		return narrow[F, int16]
	case types.Int4:
		return narrow[F, int32]
	case types.Int8:
		return narrow[F, int64]
	case types.Float4:
		return widen[F, float32]
	case types.Float8:
		return widen[F, float64]
	}
	return nil
}

func castFromFloat[F float](to types.T) Kernel {
	switch to.ID {
	case types.Int2:
		return roundTo[F, int16](math.MinInt16, -math.MinInt16)
	case types.Int4:
		return roundTo[F, int32](math.MinInt32, -math.MinInt32)
	case types.Int8:
		return roundTo[F, int64](math.MinInt64, -math.MinInt64)
	case types.Float8:
		return widen[F, float64]
	case types.Float4:
		return toFloat4[F]
	}
	return nil
}

type number interface{ ordered | float }

func widen[F, D number](_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	d := dst.(*vec.Col[D])
	d.Resize(n)
	out := d.Vals
	a := args[0].(*vec.Col[F]).Vals[:len(out)]
	for i := range out {
		out[i] = D(a[i])
	}
	return nil
}

// narrow converts between integers and fails rows that do not fit.
func narrow[F, D ordered](c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	d := dst.(*vec.Col[D])
	d.Resize(n)
	out := d.Vals
	a := args[0].(*vec.Col[F]).Vals[:len(out)]
	bad := false
	for i := range out {
		out[i] = D(a[i])
		bad = bad || int64(out[i]) != int64(a[i])
	}
	if !bad {
		return nil
	}
	return recheck(c, dst, args, n, rangeError[D](), func(i int) bool { return int64(out[i]) != int64(a[i]) })
}

// roundTo rounds half to even, as PostgreSQL's rint does; the result must lie in
// [lo, hi).
func roundTo[F float, D ordered](lo, hi float64) Kernel {
	return func(c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		d := dst.(*vec.Col[D])
		d.Resize(n)
		a := args[0].(*vec.Col[F]).Vals[:n]
		for i := range d.Vals {
			x := math.RoundToEven(float64(a[i]))
			if !(x >= lo && x < hi) {
				d.Vals[i] = 0
				if err := failRow(c, dst, args, i, rangeError[D]()); err != nil {
					return err
				}
				continue
			}
			d.Vals[i] = D(x)
		}
		return nil
	}
}

func toFloat4[F float](c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	d := dst.(*vec.Col[float32])
	d.Resize(n)
	a := args[0].(*vec.Col[F]).Vals[:n]
	for i, x := range a {
		y := float32(x)
		d.Vals[i] = y
		var err error
		if isInf(y) && !isInf(x) {
			err = errOverflow
		} else if y == 0 && x != 0 {
			err = errUnderflow
		}
		if err != nil {
			if err = failRow(c, dst, args, i, err); err != nil {
				return err
			}
		}
	}
	return nil
}

const microsPerDay = 86400 * 1000000

func dateToTimestamp(c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	d := dst.(*vec.Col[int64])
	d.Resize(n)
	for i, x := range args[0].(*vec.Col[int32]).Vals[:n] {
		v, ok := dateMicros(x)
		if d.Vals[i] = v; !ok {
			if err := failRow(c, dst, args, i, errDateRange); err != nil {
				return err
			}
		}
	}
	return nil
}

var errDateRange = pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range for timestamp")

// dateMicros converts days to microseconds, infinities included. A timestamp
// ends before the year 294277.
func dateMicros(x int32) (int64, bool) {
	switch x {
	case types.DateInfinity:
		return types.TimestampInfinity, true
	case types.DateNegInfinity:
		return types.TimestampNegInfinity, true
	}
	return int64(x) * microsPerDay, x < 106741035
}

func textToInt(to types.T) Kernel {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	switch to.ID {
	case types.Int2:
		lo, hi = math.MinInt16, math.MaxInt16
	case types.Int4:
		lo, hi = math.MinInt32, math.MaxInt32
	}
	return rows(func(r *row) error {
		v, ok := parseInt(r.s(0))
		if !ok || v < lo || v > hi {
			_, err := parseText(r.s(0), to, r.c.options())
			if err == nil {
				err = pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", to, r.s(0))
			}
			return err
		}
		switch d := r.dst.(type) {
		case *vec.Col[int16]:
			d.Vals = append(d.Vals, int16(v))
		case *vec.Col[int32]:
			d.Vals = append(d.Vals, int32(v))
		case *vec.Col[int64]:
			d.Vals = append(d.Vals, v)
		}
		return nil
	})
}

// parseInt reads plain decimal digits with a sign and blanks around; whatever it
// refuses is left to the type's input function, for its error.
func parseInt(s string) (v int64, ok bool) {
	for len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	neg := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 19 {
		return 0, false
	}
	var u uint64
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		u = u*10 + uint64(d)
	}
	if neg {
		return -int64(u), u <= 1<<63
	}
	return int64(u), u <= math.MaxInt64
}

// int returns an integer argument of any width.
func (r *row) int(k int) int64 {
	switch v := r.args[k].(type) {
	case *vec.Col[int16]:
		return int64(v.Vals[r.i])
	case *vec.Col[int32]:
		return int64(v.Vals[r.i])
	}
	return r.args[k].(*vec.Col[int64]).Vals[r.i]
}
