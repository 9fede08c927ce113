package expr

import (
	"bytes"
	mathbits "math/bits"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var tBit = types.TBit

func (r *row) bits(k int) types.BitsValue { return types.ViewBits(r.b(k)) }

func (r *row) putBits(v types.BitsValue) error {
	d := r.dst.(*vec.Bytes)
	d.Data = types.AppendBits(d.Data, v)
	d.Finish()
	return nil
}

// combineBits is a, changed, or a failure where the lengths differ.
func combineBits(a, b types.BitsValue, op byte) (types.BitsValue, error) {
	if a.Len != b.Len {
		return a, pgerr.New(pgerr.StringDataLengthMismatch, "cannot %s bit strings of different sizes", map[byte]string{'&': "AND", '|': "OR", '#': "XOR"}[op])
	}
	for i, x := range b.Data {
		switch op {
		case '&':
			a.Data[i] &= x
		case '|':
			a.Data[i] |= x
		default:
			a.Data[i] ^= x
		}
	}
	return a, nil
}

// bitOps are the operators of bit strings, but for the comparisons that all types have.
func bitOps() []*Func {
	both := func(op byte) *Func {
		return fn(string(op), ts(tBit, tBit), tBit, func(r *row) error {
			a := r.bits(0)
			v, err := combineBits(types.BitsValue{Data: bytes.Clone(a.Data), Len: a.Len}, r.bits(1), op)
			if err != nil {
				return err
			}
			return r.putBits(v)
		})
	}
	shift := func(name string, sign int) *Func {
		return safe(fn(name, ts(tBit, tI4), tBit, func(r *row) error { return r.putBits(r.bits(0).Shift(sign * r.i4(1))) }))
	}
	return []*Func{
		both('&'), both('|'), both('#'), shift("<<", 1), shift(">>", -1),
		safe(fn("~", ts(tBit), tBit, func(r *row) error { return r.putBits(r.bits(0).Not()) })),
		fn("||", ts(types.TVarbit, types.TVarbit), types.TVarbit, func(r *row) error { return r.putBits(r.bits(0).Concat(r.bits(1))) }),
	}
}

// bitFuncs are the functions of bit strings.
func bitFuncs() []*Func {
	length := func(name string, f func(v types.BitsValue) int) *Func {
		return safe(fn(name, ts(tBit), tI4, func(r *row) error { return r.putI4(f(r.bits(0))) }))
	}
	index := func(v types.BitsValue, i int) error {
		if i < 0 || i >= v.Len {
			return pgerr.New(pgerr.ArraySubscriptError, "bit index %d out of valid range (0..%d)", i, v.Len-1)
		}
		return nil
	}
	return []*Func{
		length("length", func(v types.BitsValue) int { return v.Len }),
		length("bit_length", func(v types.BitsValue) int { return v.Len }),
		length("octet_length", func(v types.BitsValue) int { return len(v.Data) }),
		safe(fn("bit_count", ts(tBit), tI8, func(r *row) error {
			n := 0
			for _, x := range r.bits(0).Data {
				n += mathbits.OnesCount8(x)
			}
			return r.putI8(int64(n))
		})),
		fn("get_bit", ts(tBit, tI4), tI4, func(r *row) error {
			v := r.bits(0)
			if err := index(v, r.i4(1)); err != nil {
				return err
			}
			return r.putI4(int(v.At(r.i4(1))))
		}),
		fn("set_bit", ts(tBit, tI4, tI4), tBit, func(r *row) error {
			v := r.bits(0)
			if err := index(v, r.i4(1)); err != nil {
				return err
			}
			v.Data = bytes.Clone(v.Data)
			switch r.i4(2) {
			case 0:
				v.Clear(r.i4(1))
			case 1:
				v.Set(r.i4(1))
			default:
				return pgerr.New(pgerr.InvalidParameterValue, "new bit must be 0 or 1")
			}
			return r.putBits(v)
		}),
		safe(fn("position", ts(tBit, tBit), tI4, func(r *row) error { return r.putI4(bitPosition(r.bits(0), r.bits(1))) })),
		fn("substring", ts(tBit, tI4), tBit, func(r *row) error {
			v := r.bits(0)
			return r.putBits(bitSubstring(v, r.i4(1), v.Len+1))
		}),
		fn("substring", ts(tBit, tI4, tI4), tBit, func(r *row) error {
			if r.i4(2) < 0 {
				return pgerr.New(pgerr.SubstringError, "negative substring length not allowed")
			}
			return r.putBits(bitSubstring(r.bits(0), r.i4(1), r.i4(1)+r.i4(2)))
		}),
		fn("overlay", ts(tBit, tBit, tI4), tBit, func(r *row) error { return overlayBits(r, r.bits(1).Len) }),
		fn("overlay", ts(tBit, tBit, tI4, tI4), tBit, func(r *row) error { return overlayBits(r, r.i4(3)) }),
	}
}

// bitSubstring is bits [start, end), counted from 1, as far as there are any.
func bitSubstring(v types.BitsValue, start, end int) types.BitsValue {
	lo, hi := max(start, 1)-1, min(end-1, v.Len)
	if lo >= hi {
		return types.BitsValue{}
	}
	return v.Slice(lo, hi)
}

func overlayBits(r *row, n int) error {
	v, at := r.bits(0), r.i4(2)
	if at <= 0 {
		return pgerr.New(pgerr.SubstringError, "negative substring length not allowed")
	}
	if at+n > 1<<31-1 {
		return pgerr.New(pgerr.NumericValueOutOfRange, "integer out of range")
	}
	return r.putBits(bitSubstring(v, 1, at).Concat(r.bits(1)).Concat(bitSubstring(v, at+n, v.Len+1)))
}

// bitPosition is where part begins in v, counted from 1; 0: nowhere.
func bitPosition(v, part types.BitsValue) int {
	switch {
	case v.Len == 0 || part.Len > v.Len:
		return 0
	case part.Len == 0:
		return 1
	}
	for at := 0; at+part.Len <= v.Len; at++ {
		i := 0
		for i < part.Len && v.At(at+i) == part.At(i) {
			i++
		}
		if i == part.Len {
			return at + 1
		}
	}
	return 0
}

// bitStringAggs combine the bit strings of a group.
func bitStringAggs() []*AggFunc {
	agg := func(name string, op byte) *AggFunc {
		return &AggFunc{Name: name, Args: ts(tBit), Ret: tBit, Make: func(m MakeArgs) AggImpl {
			return collect(m, true, func(_ *Ctx, a *collectAcc, dst vec.Vector) error {
				var out types.BitsValue
				any := false
				err := a.rows(func(c *vec.Chunk) error {
					v := types.ViewBits(c.Cols[0].(*vec.Bytes).At(0))
					if !any {
						any = true
						out = types.BitsValue{Data: bytes.Clone(v.Data), Len: v.Len}
						return nil
					}
					var err error
					out, err = combineBits(out, v, op)
					return err
				})
				if err != nil || !any {
					if err == nil {
						dst.AppendNull()
					}
					return err
				}
				dst.AppendDatum(string(types.AppendBits(nil, out)))
				return nil
			})
		}}
	}
	return []*AggFunc{agg("bit_and", '&'), agg("bit_or", '|'), agg("bit_xor", '#')}
}
