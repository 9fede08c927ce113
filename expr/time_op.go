package expr

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var (
	tDate, tTime, tTS, tTSTZ, tIv = types.TDate, types.TTime, types.TTimestamp, types.TTimestamptz, types.TInterval

	errTimestampRange = pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range")
	errDateOut        = pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range")
)

// Limits of a finite timestamp: 4713-11-24 BC and the end of 294276.
const (
	minTimestamp = -211813488000000000
	maxTimestamp = 9223371331200000000
	minDate      = -2451545
	maxDate      = 2145031949
)

func (r *row) d4(k int) int32 { return r.args[k].(*vec.Col[int32]).Vals[r.i] }

func (r *row) putDate(d int64) error {
	if d < minDate || d >= maxDate {
		return errDateOut
	}
	return r.putI4(int(d))
}

func (r *row) putTS(us int64) error {
	if us < minTimestamp || us >= maxTimestamp {
		return errTimestampRange
	}
	return r.putI8(us)
}

func infiniteDate(d int32) bool { return d == types.DateInfinity || d == types.DateNegInfinity }

// zone returns the session's time zone.
func (r *row) zone() *types.Zone { return zoneOf(r.c.options()) }

// addInterval adds to a timestamp, or with a zone to a timestamptz.
func addInterval(us int64, iv types.IntervalValue, z *types.Zone) (int64, error) {
	if z == nil {
		return types.TimestampAdd(us, iv)
	}
	return types.TimestamptzAdd(us, iv, z)
}

func negate(iv types.IntervalValue) types.IntervalValue {
	return types.IntervalValue{Micros: -iv.Micros, Days: -iv.Days, Months: -iv.Months}
}

// plusInterval makes ts ± interval for timestamp or timestamptz, with argument
// ts at position k.
func plusInterval(name string, t types.T, k int, minus bool) *Func {
	args := ts(t, tIv)
	if k == 1 {
		args = ts(tIv, t)
	}
	return fn(name, args, t, func(r *row) error {
		iv := r.iv(1 - k)
		if minus {
			iv = negate(iv)
		}
		var z *types.Zone
		if t.ID == types.Timestamptz {
			z = r.zone()
		}
		us, err := addInterval(r.i8(k), iv, z)
		if err != nil {
			return err
		}
		return r.putI8(us)
	})
}

func timeOps() []*Func {
	out := []*Func{
		plusInterval("+", tTS, 0, false), plusInterval("+", tTS, 1, false), plusInterval("-", tTS, 0, true),
		stable(plusInterval("+", tTSTZ, 0, false)), stable(plusInterval("+", tTSTZ, 1, false)), stable(plusInterval("-", tTSTZ, 0, true)),
		fn("-", ts(tTS, tTS), tIv, subTimestamps), fn("-", ts(tTSTZ, tTSTZ), tIv, subTimestamps),
		fn("+", ts(tDate, tI4), tDate, func(r *row) error { return datePlus(r, r.d4(0), int64(r.i4(1))) }),
		fn("+", ts(tI4, tDate), tDate, func(r *row) error { return datePlus(r, r.d4(1), int64(r.i4(0))) }),
		fn("-", ts(tDate, tI4), tDate, func(r *row) error { return datePlus(r, r.d4(0), -int64(r.i4(1))) }),
		fn("-", ts(tDate, tDate), tI4, func(r *row) error {
			if infiniteDate(r.d4(0)) || infiniteDate(r.d4(1)) {
				return pgerr.New(pgerr.DatetimeFieldOverflow, "cannot subtract infinite dates")
			}
			return r.putI4(int(r.d4(0)) - int(r.d4(1)))
		}),
		fn("+", ts(tDate, tIv), tTS, func(r *row) error { return dateInterval(r, 0, false) }),
		fn("+", ts(tIv, tDate), tTS, func(r *row) error { return dateInterval(r, 1, false) }),
		fn("-", ts(tDate, tIv), tTS, func(r *row) error { return dateInterval(r, 0, true) }),
		fn("+", ts(tDate, tTime), tTS, func(r *row) error { return dateTime(r, r.d4(0), r.i8(1)) }),
		fn("+", ts(tTime, tDate), tTS, func(r *row) error { return dateTime(r, r.d4(1), r.i8(0)) }),
		safe(fn("+", ts(tTime, tIv), tTime, func(r *row) error { return r.putI8(wrapDay(r.i8(0) + r.iv(1).Micros%microsPerDay)) })),
		safe(fn("+", ts(tIv, tTime), tTime, func(r *row) error { return r.putI8(wrapDay(r.i8(1) + r.iv(0).Micros%microsPerDay)) })),
		safe(fn("-", ts(tTime, tIv), tTime, func(r *row) error { return r.putI8(wrapDay(r.i8(0) - r.iv(1).Micros%microsPerDay)) })),
		safe(fn("-", ts(tTime, tTime), tIv, func(r *row) error { return r.putIv(types.IntervalValue{Micros: r.i8(0) - r.i8(1)}) })),
		fn("+", ts(tIv, tIv), tIv, func(r *row) error { return putIvErr(r)(types.AddInterval(r.iv(0), r.iv(1))) }),
		fn("-", ts(tIv, tIv), tIv, func(r *row) error { return putIvErr(r)(types.SubInterval(r.iv(0), r.iv(1))) }),
		fn("-", ts(tIv), tIv, func(r *row) error { return putIvErr(r)(types.NegInterval(r.iv(0))) }),
		fn("*", ts(tIv, tF8), tIv, func(r *row) error { return putIvErr(r)(types.MulInterval(r.iv(0), r.f8(1))) }),
		fn("*", ts(tF8, tIv), tIv, func(r *row) error { return putIvErr(r)(types.MulInterval(r.iv(1), r.f8(0))) }),
		fn("/", ts(tIv, tF8), tIv, func(r *row) error { return putIvErr(r)(types.DivInterval(r.iv(0), r.f8(1))) }),
	}
	return out
}

func putIvErr(r *row) func(types.IntervalValue, error) error {
	return func(v types.IntervalValue, err error) error {
		if err != nil {
			return err
		}
		return r.putIv(v)
	}
}

func wrapDay(us int64) int64 { return us - floorDiv(us, microsPerDay)*microsPerDay }

func subTimestamps(r *row) error { return putIvErr(r)(types.TimestampSub(r.i8(0), r.i8(1))) }

func datePlus(r *row, d int32, n int64) error {
	if infiniteDate(d) {
		return r.putI4(int(d))
	}
	return r.putDate(int64(d) + n)
}

func dateInterval(r *row, k int, minus bool) error {
	us, ok := dateMicros(r.d4(k))
	if !ok {
		return errDateRange
	}
	iv := r.iv(1 - k)
	if minus {
		iv = negate(iv)
	}
	us, err := addInterval(us, iv, nil)
	if err != nil {
		return err
	}
	return r.putI8(us)
}

func dateTime(r *row, d int32, tod int64) error {
	us, ok := dateMicros(d)
	if !ok {
		return errDateRange
	}
	if infiniteTS(us) {
		return r.putI8(us)
	}
	return r.putTS(us + tod)
}
