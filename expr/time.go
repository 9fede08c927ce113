package expr

import (
	"math"
	"strings"
	"time"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// unixMicros is the Unix epoch in microseconds from 2000-01-01.
const unixMicros = -10957 * microsPerDay

func clock() int64 { return time.Now().UnixMicro() + unixMicros }

func nowFunc(name string, t types.T, f func(r *row) int64) *Func {
	g := safe(fn(name, nil, t, func(r *row) error {
		if t.ID == types.Date {
			return r.putI4(int(f(r)))
		}
		return r.putI8(f(r))
	}))
	return ofNow(g)
}

// ofNow marks a function that reads the time of the transaction.
func ofNow(f *Func) *Func {
	f.Clock = true
	return stable(f)
}

func timeFuncs() []*Func {
	now := func(r *row) int64 { return r.c.session().NowMicros }
	local := func(r *row) int64 { return r.zone().ToLocal(now(r)) }
	out := []*Func{
		nowFunc("now", tTSTZ, now), nowFunc("current_timestamp", tTSTZ, now), nowFunc("transaction_timestamp", tTSTZ, now),
		nowFunc("statement_timestamp", tTSTZ, now), nowFunc("localtimestamp", tTS, local),
		nowFunc("current_date", tDate, func(r *row) int64 { return floorDiv(local(r), microsPerDay) }),
		nowFunc("localtime", tTime, func(r *row) int64 { return wrapDay(local(r)) }),
		volatile(safe(fn("clock_timestamp", nil, tTSTZ, func(r *row) error { return r.putI8(clock()) }))),
		fn("age", ts(tTS, tTS), tIv, func(r *row) error { return putAge(r, r.i8(0), r.i8(1)) }),
		stable(fn("age", ts(tTSTZ, tTSTZ), tIv, func(r *row) error {
			return putAge(r, r.zone().ToLocal(r.i8(0)), r.zone().ToLocal(r.i8(1)))
		})),
		ofNow(fn("age", ts(tTS), tIv, func(r *row) error { return putAge(r, truncDay(local(r)), r.i8(0)) })),
		ofNow(fn("age", ts(tTSTZ), tIv, func(r *row) error { return putAge(r, truncDay(local(r)), r.zone().ToLocal(r.i8(0))) })),
		fn("to_timestamp", ts(tF8), tTSTZ, func(r *row) error { return putI8Err(r)(types.ToTimestamp(r.f8(0))) }),
		fn("make_date", ts(tI4, tI4, tI4), tDate, func(r *row) error {
			d, err := types.MakeDate(r.i4(0), r.i4(1), r.i4(2))
			if err != nil {
				return err
			}
			return r.putI4(int(d))
		}),
		fn("make_time", ts(tI4, tI4, tF8), tTime, func(r *row) error { return putI8Err(r)(types.MakeTime(r.i4(0), r.i4(1), r.f8(2))) }),
		fn("make_timestamp", ts(tI4, tI4, tI4, tI4, tI4, tF8), tTS, func(r *row) error { return makeTimestamp(r, nil) }),
		stable(fn("make_timestamptz", ts(tI4, tI4, tI4, tI4, tI4, tF8), tTSTZ, func(r *row) error { return makeTimestamp(r, r.zone()) })),
		fn("make_timestamptz", ts(tI4, tI4, tI4, tI4, tI4, tF8, tText), tTSTZ, func(r *row) error {
			if err := makeTimestamp(&row{c: r.c, dst: vec.New(tTS, 1), args: r.args, i: r.i}, nil); err != nil {
				return err // a wrong date comes before a wrong zone
			}
			z, err := types.SaneZone(r.s(6))
			if err != nil {
				return err
			}
			return makeTimestamp(r, z)
		}),
		safe(fn("isfinite", ts(tDate), types.TBool, func(r *row) error { return r.putBool(!infiniteDate(r.d4(0))) })),
		safe(fn("isfinite", ts(tTS), types.TBool, func(r *row) error { return r.putBool(!infiniteTS(r.i8(0))) })),
		safe(fn("isfinite", ts(tTSTZ), types.TBool, func(r *row) error { return r.putBool(!infiniteTS(r.i8(0))) })),
		safe(fn("isfinite", ts(tIv), types.TBool, func(r *row) error { return r.putBool(true) })),
		fn("justify_hours", ts(tIv), tIv, func(r *row) error { return putIvErr(r)(types.JustifyHours(r.iv(0))) }),
		fn("justify_days", ts(tIv), tIv, func(r *row) error { return putIvErr(r)(types.JustifyDays(r.iv(0))) }),
		fn("justify_interval", ts(tIv), tIv, func(r *row) error { return putIvErr(r)(types.JustifyInterval(r.iv(0))) }),
		withZone("timezone", tTS, tTSTZ, func(r *row, z *types.Zone) error { return r.putTS(z.ToUTC(r.i8(1))) }),
		withZone("timezone", tTSTZ, tTS, func(r *row, z *types.Zone) error { return r.putTS(z.ToLocal(r.i8(1))) }),
		fn("timezone", ts(tIv, tTSTZ), tTS, func(r *row) error { return shiftZone(r, 1) }),
		fn("timezone", ts(tIv, tTS), tTSTZ, func(r *row) error { return shiftZone(r, -1) }),
		fn("date_bin", ts(tIv, tTS, tTS), tTS, dateBin), fn("date_bin", ts(tIv, tTSTZ, tTSTZ), tTSTZ, dateBin),
		fn("time_bucket", ts(tIv, tTS), tTS, dateBin), fn("time_bucket", ts(tIv, tTSTZ), tTSTZ, dateBin),
		{Name: "make_interval", Args: ts(tI4, tI4, tI4, tI4, tI4, tI4, tF8), Optional: 7, Ret: tIv, MayFail: true, Eval: rows(makeInterval)},
	}
	out = append(out, overlapsFuncs()...)
	out = append(out, truncFuncs()...)
	out = append(out, formatFuncs()...)
	return append(out, extractFuncs()...)
}

// shiftZone is AT TIME ZONE with an interval for a zone, in whole seconds.
func shiftZone(r *row, sign int64) error {
	if infiniteTS(r.i8(1)) {
		return r.putI8(r.i8(1))
	}
	v := r.iv(0)
	if v.Months != 0 || v.Days != 0 {
		return pgerr.New(pgerr.InvalidParameterValue, "interval time zone \"%s\" must not include months or days", types.AppendInterval(nil, v))
	}
	return r.putTS(r.i8(1) + sign*(v.Micros/1e6*1e6))
}

func truncDay(us int64) int64 { return floorDiv(us, microsPerDay) * microsPerDay }

// withZone makes a function of a zone name and a value; the last zone is
// remembered.
func withZone(name string, arg, ret types.T, f func(r *row, z *types.Zone) error) *Func {
	return &Func{Name: name, Args: ts(tText, arg), Ret: ret, MayFail: true, New: func() Kernel {
		var last string
		var z *types.Zone
		return rows(func(r *row) error {
			if infiniteTS(r.i8(1)) {
				return r.putI8(r.i8(1))
			}
			if s := r.s(0); z == nil || s != last {
				x, err := types.LoadZone(strings.Clone(s))
				if err != nil {
					return err
				}
				last, z = strings.Clone(s), x
			}
			return f(r, z)
		})
	}}
}

func truncFuncs() []*Func {
	zoned := func(r *row, z *types.Zone) error {
		if infiniteTS(r.i8(1)) {
			return r.putI8(r.i8(1))
		}
		return putI8Err(r)(types.DateTruncZone(types.ParseField(r.s(0)), r.s(0), r.i8(1), z))
	}
	return []*Func{
		fn("date_trunc", ts(tText, tTS), tTS, func(r *row) error {
			if infiniteTS(r.i8(1)) {
				return r.putI8(r.i8(1))
			}
			return putI8Err(r)(types.DateTrunc(types.ParseField(r.s(0)), r.s(0), r.i8(1)))
		}),
		stable(fn("date_trunc", ts(tText, tTSTZ), tTSTZ, func(r *row) error { return zoned(r, r.zone()) })),
		fn("date_trunc", ts(tText, tTSTZ, tText), tTSTZ, func(r *row) error {
			if infiniteTS(r.i8(1)) {
				return r.putI8(r.i8(1))
			}
			z, err := types.LoadZone(r.s(2))
			if err != nil {
				return err
			}
			return zoned(r, z.Plain())
		}),
		fn("date_trunc", ts(tText, tIv), tIv, func(r *row) error {
			return putIvErr(r)(types.IntervalTrunc(types.ParseField(r.s(0)), r.s(0), r.iv(1)))
		}),
	}
}

func putI8Err(r *row) func(int64, error) error {
	return func(v int64, err error) error {
		if err != nil {
			return err
		}
		return r.putI8(v)
	}
}

// fieldOf computes extract's value of argument 1.
func fieldOf(r *row, t types.T) (d types.Decimal, null bool, err error) {
	name := r.s(0)
	f := types.ParseField(name)
	switch t.ID {
	case types.Interval:
		d, err = types.ExtractInterval(f, name, r.iv(1))
	case types.Time:
		d, err = types.ExtractTime(f, name, r.i8(1))
	case types.Date:
		return types.ExtractDate(f, name, r.d4(1))
	case types.Timestamptz:
		return types.ExtractTimestamp(f, name, r.i8(1), r.zone())
	default:
		return types.ExtractTimestamp(f, name, r.i8(1), nil)
	}
	return d, false, err
}

// partOf computes date_part's value of argument 1, for which a date is a
// timestamp.
func partOf(r *row, t types.T) (d types.Decimal, null bool, err error) {
	if t.ID != types.Date {
		return fieldOf(r, t)
	}
	us, err := types.DateToTimestamp(r.d4(1))
	if err != nil {
		return d, false, err
	}
	return types.ExtractTimestamp(types.ParseField(r.s(0)), r.s(0), us, nil)
}

func extractFuncs() []*Func {
	out := []*Func{}
	for _, t := range ts(tDate, tTime, tTS, tTSTZ, tIv) {
		ext := fn("extract", ts(tText, t), tNum, func(r *row) error {
			d, null, err := fieldOf(r, t)
			if err != nil {
				return err
			} else if null {
				return r.null()
			}
			return r.putDec(d)
		})
		part := fn("date_part", ts(tText, t), tF8, func(r *row) error {
			d, null, err := partOf(r, t)
			if err != nil {
				return err
			} else if null {
				return r.null()
			}
			return r.putF8(d.Float64())
		})
		if t.ID == types.Timestamptz {
			stable(ext)
			stable(part)
		}
		out = append(out, ext, part)
	}
	return out
}

func putAge(r *row, a, b int64) error { return putIvErr(r)(types.Age(a, b)) }

func makeTimestamp(r *row, z *types.Zone) error {
	us, err := types.MakeTimestamp(r.i4(0), r.i4(1), r.i4(2), r.i4(3), r.i4(4), r.f8(5))
	if err != nil {
		return err
	}
	if z != nil {
		us = z.ToUTC(us)
	}
	return r.putTS(us)
}

func makeInterval(r *row) error {
	months := int64(r.intOr(0, 0))*12 + int64(r.intOr(1, 0))
	days := int64(r.intOr(2, 0))*7 + int64(r.intOr(3, 0))
	us := int64(r.intOr(4, 0))*3600000000 + int64(r.intOr(5, 0))*60000000
	if len(r.args) > 6 {
		secs := math.RoundToEven(r.f8(6) * 1e6)
		if math.IsNaN(secs) || math.Abs(secs) > math.MaxInt64/2 {
			return errIntervalRange
		}
		us += int64(secs)
	}
	if int64(int32(months)) != months || int64(int32(days)) != days {
		return errIntervalRange
	}
	return r.putIv(types.IntervalValue{Micros: us, Days: int32(days), Months: int32(months)})
}

// dateBin is date_bin; time_bucket's origin is Monday, 3 January 2000.
func dateBin(r *row) error {
	origin := int64(2 * microsPerDay)
	if len(r.args) > 2 {
		origin = r.i8(2)
	}
	return putI8Err(r)(types.DateBin(r.iv(0), r.i8(1), origin))
}

// formatFuncs are to_char and its inverses.
func formatFuncs() []*Func {
	putErr := func(r *row) func(string, error) error {
		return func(s string, err error) error {
			if err != nil {
				return err
			}
			return r.putS(s)
		}
	}
	number := func(t types.T, f func(r *row) (string, error)) *Func {
		return fn("to_char", ts(t, tText), tText, func(r *row) error { return putErr(r)(f(r)) })
	}
	return []*Func{
		fn("to_char", ts(tTS, tText), tText, func(r *row) error {
			if infiniteTS(r.i8(0)) || r.s(1) == "" {
				return r.null()
			}
			return r.putAppended(func(dst []byte) ([]byte, error) { return types.ToCharTimestamp(dst, r.i8(0), r.s(1), nil) })
		}),
		stable(fn("to_char", ts(tTSTZ, tText), tText, func(r *row) error {
			if infiniteTS(r.i8(0)) || r.s(1) == "" {
				return r.null()
			}
			return r.putAppended(func(dst []byte) ([]byte, error) { return types.ToCharTimestamp(dst, r.i8(0), r.s(1), r.zone()) })
		})),
		fn("to_char", ts(tIv, tText), tText, func(r *row) error {
			return r.putAppended(func(dst []byte) ([]byte, error) { return types.ToCharInterval(dst, r.iv(0), r.s(1)) })
		}),
		number(tNum, func(r *row) (string, error) { return types.ToCharNumeric(r.dec(0), r.s(1)) }),
		number(tI4, func(r *row) (string, error) { return types.ToCharInt(r.int(0), 32, r.s(1)) }),
		number(tI8, func(r *row) (string, error) { return types.ToCharInt(r.int(0), 64, r.s(1)) }),
		number(types.TFloat4, func(r *row) (string, error) {
			return types.ToCharFloat(float64(r.args[0].(*vec.Col[float32]).Vals[r.i]), 6, r.s(1))
		}),
		number(tF8, func(r *row) (string, error) { return types.ToCharFloat(r.f8(0), 15, r.s(1)) }),
		fn("to_number", ts(tText, tText), tNum, func(r *row) error {
			d, null, err := types.ToNumber(r.s(0), r.s(1))
			switch {
			case err != nil:
				return err
			case null:
				return r.null()
			}
			return r.putDec(d)
		}),
		stable(fn("to_timestamp", ts(tText, tText), tTSTZ, func(r *row) error {
			return putI8Err(r)(types.ToTimestampFormat(r.s(0), r.s(1), r.zone()))
		})),
		fn("to_date", ts(tText, tText), tDate, func(r *row) error {
			d, err := types.ToDateFormat(r.s(0), r.s(1))
			if err != nil {
				return err
			}
			return r.putI4(int(d))
		}),
	}
}

// overlapsFuncs are (a, b) OVERLAPS (c, d). Ends may be intervals; a range may
// be given backwards, and NULL ends are looked through where the rest decides.
func overlapsFuncs() []*Func {
	var out []*Func
	for _, t := range ts(tTS, tTSTZ, tTime) {
		for _, ends := range [][2]types.T{{t, t}, {tIv, tIv}, {t, tIv}, {tIv, t}} {
			f := fnNulls("overlaps", ts(t, ends[0], t, ends[1]), tBool, func(r *row) error {
				return overlaps(r, t)
			})
			if t.ID == types.Timestamptz {
				stable(f)
			}
			out = append(out, f)
		}
	}
	return out
}

func overlaps(r *row, t types.T) error {
	// end returns the bounds of a range in order; ok false: NULL.
	bound := func(k int) (int64, bool, error) {
		if r.isNull(k) {
			return 0, false, nil
		}
		if r.typ(k).ID != types.Interval {
			return r.i8(k), true, nil
		}
		if r.isNull(k - 1) {
			return 0, false, nil
		}
		if t.ID == types.Time {
			return types.TimeAdd(r.i8(k-1), r.iv(k)), true, nil
		}
		var z *types.Zone
		if t.ID == types.Timestamptz {
			z = r.zone()
		}
		v, err := addInterval(r.i8(k-1), r.iv(k), z)
		return v, true, err
	}
	var v [4]int64
	var ok [4]bool
	for k := range v {
		var err error
		if v[k], ok[k], err = bound(k); err != nil {
			return err
		}
	}
	return overlapping(r, v, ok)
}

// overlapping tells whether [v0, v1) and [v2, v3) overlap, where ok false stands for NULL.
func overlapping(r *row, v [4]int64, ok [4]bool) error {
	for k := 0; k < 4; k += 2 { // order each range, a NULL end last
		switch {
		case !ok[k] && !ok[k+1]:
			return r.null()
		case !ok[k], ok[k+1] && v[k] > v[k+1]:
			v[k], v[k+1], ok[k], ok[k+1] = v[k+1], v[k], ok[k+1], ok[k]
		}
	}
	a, b := 0, 2
	switch {
	case v[a] == v[b]:
		if !ok[a+1] || !ok[b+1] {
			return r.null()
		}
		return r.putBool(true)
	case v[a] > v[b]:
		a, b = b, a
	}
	// Range a begins first: they overlap if it lasts beyond b's start.
	if ok[a+1] {
		if v[b] < v[a+1] {
			return r.putBool(true)
		}
		if !ok[b+1] {
			return r.null()
		}
		return r.putBool(false)
	}
	return r.null()
}
