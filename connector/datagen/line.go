package datagen

import (
	"math"
	"strconv"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Integers, times and decimals of a fixed scale lie on a line of int64, which
// counts and draws for all of them.

// span is a type's stretch of the line: what it may hold, and where random
// values are drawn from by default.
type span struct{ lo, hi, from, to int64 }

const usPerDay = 86400 * 1_000_000

func (f *field) span(scale int) span {
	day := func(y, m, d int) int64 { return int64(types.CivilToDays(y, m, d)) }
	switch t := f.col.Typ; t.ID {
	case types.Int2:
		return span{math.MinInt16, math.MaxInt16, 0, math.MaxInt16}
	case types.Int4:
		return span{math.MinInt32, math.MaxInt32, 0, math.MaxInt32}
	case types.Date:
		return span{day(1, 1, 1), day(9999, 12, 31), day(2024, 1, 1), day(2024, 12, 31)}
	case types.Time:
		return span{0, usPerDay - 1, 0, usPerDay - 1}
	case types.Timestamp, types.Timestamptz:
		return span{day(1, 1, 1) * usPerDay, day(10000, 1, 1)*usPerDay - 1, day(2024, 1, 1) * usPerDay, day(2025, 1, 1)*usPerDay - 1}
	case types.Numeric:
		digits := 18
		if t.Mod >= 0 {
			p, _ := t.NumericMod()
			digits = min(p, digits)
		}
		hi := pow10(digits) - 1
		return span{-hi, hi, 0, min(hi, 1000*pow10(scale))}
	}
	if t := f.col.Typ; t.ID == types.Varchar && t.Mod >= 4 {
		hi := pow10(min(int(t.Mod)-4, 18)) - 1 // as many digits as fit
		return span{0, hi, 0, hi}
	}
	return span{math.MinInt64, math.MaxInt64, 0, math.MaxInt64}
}

func pow10(n int) int64 {
	x := int64(1)
	for range n {
		x *= 10
	}
	return x
}

func (f *field) line(sequence bool) (fill, error) {
	scale, err := f.scale()
	if err != nil {
		return nil, err
	}
	s := f.span(scale)
	if sequence {
		return f.sequence(s, scale)
	}
	lo, err := f.point("min", s.from, s, scale)
	if err != nil {
		return nil, err
	}
	hi, err := f.point("max", max(s.to, lo), s, scale)
	if err != nil {
		return nil, err
	}
	if hi < lo {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "option \"%s\" is less than \"%s\"", f.option("max"), f.option("min"))
	}
	return f.emit(scale, func(n int64) int64 { return between(f.random(n), lo, hi) }), nil
}

func (f *field) sequence(s span, scale int) (fill, error) {
	first := int64(1)
	switch f.col.Typ.ID {
	case types.Date, types.Time, types.Timestamp, types.Timestamptz:
		first = s.from
	case types.Numeric:
		first = min(pow10(scale), s.hi)
	}
	start, err := f.point("start", first, s, scale)
	if err != nil {
		return nil, err
	}
	step, err := f.step(scale)
	if err != nil {
		return nil, err
	}
	last := s.hi
	if step < 0 {
		last = s.lo
	}
	end, err := f.point("end", last, s, scale)
	if err != nil {
		return nil, err
	}
	f.rows = count(start, end, step)
	return f.emit(scale, func(n int64) int64 { return start + n*step }), nil
}

// count is the number of steps' ends from start to end.
func count(start, end, step int64) int64 {
	var n uint64
	switch {
	case step > 0 && start <= end:
		n = (uint64(end) - uint64(start)) / uint64(step)
	case step < 0 && start >= end:
		n = (uint64(start) - uint64(end)) / -uint64(step)
	default:
		return 0
	}
	if n >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(n) + 1
}

// scale is the number of decimals of a numeric column: its type's, or that of
// the options.
func (f *field) scale() (int, error) {
	t := f.col.Typ
	if t.ID != types.Numeric {
		return 0, nil
	}
	if t.Mod >= 0 {
		p, s := t.NumericMod()
		if s < 0 || s > 18 || p < s {
			return 0, pgerr.Unsupported("type "+t.String()+" in a datagen source", "Give the column a scale between 0 and 18.")
		}
		return s, nil
	}
	most := 0
	for _, name := range []string{"min", "max", "start", "end", "step"} {
		if v, ok := f.opts[name]; ok {
			d, err := types.ParseDecimal(v)
			if err != nil || d.Scale() > 15 {
				return 0, errValue(f.option(name), v)
			}
			most = max(most, d.Scale())
		}
	}
	return most, nil
}

// point reads an option that is a value of the column's type.
func (f *field) point(name string, def int64, s span, scale int) (int64, error) {
	v := f.take(name, "")
	if v == "" {
		return def, nil
	}
	t := f.col.Typ
	if t.Kind() == types.KBytes && t.ID != types.Numeric {
		t = types.TInt8 // texts count in numbers
	}
	d, err := types.ParseText(t, v, &types.Options{})
	if err != nil {
		return 0, errValue(f.option(name), v).WithDetail("%s", pgerr.From(err).Msg)
	}
	x, ok := int64(0), true
	switch d := d.(type) {
	case int16:
		x = int64(d)
	case int32:
		x = int64(d)
	case int64:
		x = d
	default:
		x, ok = scaled(types.DatumDecimal(d), scale)
	}
	if !ok || x < s.lo || x > s.hi {
		return 0, errValue(f.option(name), v).WithHint("It is out of the range of a %s column.", f.col.Typ)
	}
	return x, nil
}

func scaled(d types.Decimal, scale int) (int64, bool) {
	if d.IsNaN() || d.IsInf() {
		return 0, false
	}
	return d.Mul(types.DecimalFromInt64(pow10(scale))).Int64()
}

// step reads the distance of a sequence's values: days of dates, an interval of
// times, else a number.
func (f *field) step(scale int) (int64, error) {
	v := f.take("step", "")
	bad := errValue(f.option("step"), v)
	var n int64
	var err error
	switch f.col.Typ.ID {
	case types.Time, types.Timestamp, types.Timestamptz:
		if v == "" {
			return 1_000_000, nil
		}
		i, e := types.ParseInterval(v)
		if err = e; err == nil && i.Months != 0 {
			return 0, bad.WithHint("It must be an interval without months.")
		}
		n = int64(i.Days)*usPerDay + i.Micros
	case types.Numeric:
		if v == "" {
			return pow10(scale), nil
		}
		d, e := types.ParseDecimal(v)
		ok := false
		if err = e; err == nil {
			if n, ok = scaled(d, scale); !ok {
				return 0, bad
			}
		}
	default:
		if v == "" {
			return 1, nil
		}
		n, err = strconv.ParseInt(v, 10, 64)
	}
	if err != nil || n == 0 {
		return 0, bad.WithHint("It must not be zero.")
	}
	return n, nil
}

// emit turns points of the line into values.
func (f *field) emit(scale int, at func(n int64) int64) fill {
	return func(v vec.Vector, lo, hi int64) {
		switch c := v.(type) {
		case *vec.Col[int16]:
			for n := lo; n < hi; n++ {
				c.Vals = append(c.Vals, int16(at(n)))
			}
		case *vec.Col[int32]:
			for n := lo; n < hi; n++ {
				c.Vals = append(c.Vals, int32(at(n)))
			}
		case *vec.Col[int64]:
			rounded := c.Typ.ID != types.Int8
			for n := lo; n < hi; n++ {
				x := at(n)
				if rounded {
					x = types.RoundMicros(x, int(c.Typ.Mod))
				}
				c.Vals = append(c.Vals, x)
			}
		case *vec.Bytes:
			for n := lo; n < hi; n++ {
				if c.Typ.ID == types.Numeric {
					c.Data = types.AppendDecimal(c.Data, types.DecimalFromScaled(at(n), scale))
				} else {
					c.Data = types.AppendInt(c.Data, at(n))
				}
				c.Finish()
			}
		}
	}
}
