package expr

import (
	"math"
	"strings"
	"time"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// unixMicros is the Unix epoch in microseconds from 2000-01-01.
const unixMicros = epochUnix * microsPerDay

func clock() int64 { return time.Now().UnixMicro() + unixMicros }

func nowFunc(name string, t types.T, f func(r *row) int64) *Func {
	g := safe(fn(name, nil, t, func(r *row) error {
		if t.ID == types.Date {
			return r.putI4(int(f(r)))
		}
		return r.putI8(f(r))
	}))
	return stable(g)
}

func timeFuncs() []*Func {
	now := func(r *row) int64 { return r.c.session().NowMicros }
	local := func(r *row) int64 { return r.zone().ToLocal(now(r)) }
	out := []*Func{
		nowFunc("now", tTSTZ, now), nowFunc("current_timestamp", tTSTZ, now), nowFunc("transaction_timestamp", tTSTZ, now),
		nowFunc("statement_timestamp", tTSTZ, now), nowFunc("localtimestamp", tTS, local),
		nowFunc("current_date", tDate, func(r *row) int64 { return floorDiv(local(r), microsPerDay) }),
		nowFunc("localtime", tTime, func(r *row) int64 { return wrapDay(local(r)) }),
		volatile(nowFunc("clock_timestamp", tTSTZ, func(*row) int64 { return clock() })),
		fn("age", ts(tTS, tTS), tIv, func(r *row) error { return putAge(r, r.i8(0), r.i8(1)) }),
		stable(fn("age", ts(tTSTZ, tTSTZ), tIv, func(r *row) error {
			return putAge(r, r.zone().ToLocal(r.i8(0)), r.zone().ToLocal(r.i8(1)))
		})),
		stable(fn("age", ts(tTS), tIv, func(r *row) error { return putAge(r, truncDay(local(r)), r.i8(0)) })),
		stable(fn("age", ts(tTSTZ), tIv, func(r *row) error { return putAge(r, truncDay(local(r)), r.zone().ToLocal(r.i8(0))) })),
		stable(fn("to_timestamp", ts(tF8), tTSTZ, func(r *row) error {
			x := r.f8(0)
			switch {
			case math.IsInf(x, 1):
				return r.putI8(types.TimestampInfinity)
			case math.IsInf(x, -1):
				return r.putI8(types.TimestampNegInfinity)
			case math.IsNaN(x):
				return pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp cannot be NaN")
			case math.Abs(x) > 1e13:
				return errTimestampRange
			}
			return r.putTS(int64(math.RoundToEven((x + epochUnix*86400) * 1e6)))
		})),
		fn("make_date", ts(tI4, tI4, tI4), tDate, makeDate),
		fn("make_time", ts(tI4, tI4, tF8), tTime, func(r *row) error {
			us, err := makeTime(r.i4(0), r.i4(1), r.f8(2))
			if err != nil {
				return err
			}
			return r.putI8(us)
		}),
		fn("make_timestamp", ts(tI4, tI4, tI4, tI4, tI4, tF8), tTS, func(r *row) error { return makeTimestamp(r, nil) }),
		stable(fn("make_timestamptz", ts(tI4, tI4, tI4, tI4, tI4, tF8), tTSTZ, func(r *row) error { return makeTimestamp(r, r.zone()) })),
		fn("make_timestamptz", ts(tI4, tI4, tI4, tI4, tI4, tF8, tText), tTSTZ, func(r *row) error {
			z, err := types.LoadZone(r.s(6))
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
		withZone("timezone", tTS, tTSTZ, func(r *row, z *types.Zone) error {
			if infiniteTS(r.i8(1)) {
				return r.putI8(r.i8(1))
			}
			return r.putTS(z.ToUTC(r.i8(1)))
		}),
		withZone("timezone", tTSTZ, tTS, func(r *row, z *types.Zone) error {
			if infiniteTS(r.i8(1)) {
				return r.putI8(r.i8(1))
			}
			return r.putTS(z.ToLocal(r.i8(1)))
		}),
		fn("timezone", ts(tIv, tTSTZ), tTS, func(r *row) error { return r.putTS(r.i8(1) + r.iv(0).Micros) }),
		fn("timezone", ts(tIv, tTS), tTSTZ, func(r *row) error { return r.putTS(r.i8(1) - r.iv(0).Micros) }),
		fn("date_bin", ts(tIv, tTS, tTS), tTS, dateBin), fn("date_bin", ts(tIv, tTSTZ, tTSTZ), tTSTZ, dateBin),
		fn("time_bucket", ts(tIv, tTS), tTS, dateBin), fn("time_bucket", ts(tIv, tTSTZ), tTSTZ, dateBin),
		{Name: "make_interval", Args: ts(tI4, tI4, tI4, tI4, tI4, tI4, tF8), Optional: 7, Ret: tIv, MayFail: true, Eval: rows(makeInterval)},
	}
	out = append(out, truncFuncs()...)
	return append(out, extractFuncs()...)
}

func truncDay(us int64) int64 { return floorDiv(us, microsPerDay) * microsPerDay }

// withZone makes a function of a zone name and a value; the last zone is
// remembered.
func withZone(name string, arg, ret types.T, f func(r *row, z *types.Zone) error) *Func {
	return &Func{Name: name, Args: ts(tText, arg), Ret: ret, MayFail: true, New: func() Kernel {
		var last string
		var z *types.Zone
		return rows(func(r *row) error {
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

func errUnit(unit string, t types.T, known bool) error {
	if !known {
		return pgerr.New(pgerr.InvalidParameterValue, "unit \"%s\" not recognized for type %s", unit, t)
	}
	return pgerr.New(pgerr.FeatureNotSupported, "unit \"%s\" not supported for type %s", unit, t)
}

func truncFuncs() []*Func {
	trunc := func(r *row, t types.T, z *types.Zone) error {
		us := r.i8(1)
		raw := strings.ToLower(r.s(0))
		unit := normalUnit(raw)
		if infiniteTS(us) {
			return r.putI8(us)
		}
		local := us
		if z != nil {
			local = z.ToLocal(us)
		}
		out, ok := truncLocal(unit, local)
		if !ok {
			return errUnit(raw, t, unit != "")
		}
		if z != nil {
			switch unit {
			case "hour", "minute", "second", "milliseconds", "microseconds":
				out = us - (local - out)
			default:
				out = z.ToUTC(out)
			}
		}
		return r.putI8(out)
	}
	return []*Func{
		fn("date_trunc", ts(tText, tTS), tTS, func(r *row) error { return trunc(r, tTS, nil) }),
		stable(fn("date_trunc", ts(tText, tTSTZ), tTSTZ, func(r *row) error { return trunc(r, tTSTZ, r.zone()) })),
		stable(fn("date_trunc", ts(tText, tTSTZ, tText), tTSTZ, func(r *row) error {
			z, err := types.LoadZone(r.s(2))
			if err != nil {
				return err
			}
			return trunc(r, tTSTZ, z)
		})),
		fn("date_trunc", ts(tText, tIv), tIv, func(r *row) error {
			raw := strings.ToLower(r.s(0))
			v, ok := truncInterval(normalUnit(raw), r.iv(1))
			if !ok {
				return errUnit(raw, tIv, normalUnit(raw) != "")
			}
			return r.putIv(v)
		}),
	}
}

func truncInterval(unit string, v types.IntervalValue) (types.IntervalValue, bool) {
	months := func(n int32) (types.IntervalValue, bool) {
		return types.IntervalValue{Months: v.Months / n * n}, true
	}
	micros := func(n int64) (types.IntervalValue, bool) {
		v.Micros -= v.Micros % n
		return v, true
	}
	switch unit {
	case "microseconds":
		return v, true
	case "milliseconds":
		return micros(1000)
	case "second":
		return micros(1000000)
	case "minute":
		return micros(60000000)
	case "hour":
		return micros(3600000000)
	case "day":
		v.Micros = 0
		return v, true
	case "month":
		return months(1)
	case "quarter":
		return months(3)
	case "year":
		return months(12)
	case "decade":
		return months(120)
	case "century":
		return months(1200)
	case "millennium":
		return months(12000)
	}
	return v, false
}

// fieldOf computes extract's value of argument 1.
func fieldOf(r *row, t types.T) (v int64, scale int, err error) {
	raw := strings.ToLower(r.s(0))
	unit := normalUnit(raw)
	ok := false
	switch t.ID {
	case types.Interval:
		v, scale, ok = intervalField(unit, r.iv(1))
	case types.Time:
		switch unit {
		case "hour", "minute", "second", "milliseconds", "microseconds":
			v, scale, ok = field(unit, parts{tod: r.i8(1)}, 0, 0, false)
		case "epoch":
			v, scale, ok = r.i8(1), 6, true
		}
	case types.Timestamptz:
		us := r.i8(1)
		off := r.zone().Offset(us)
		v, scale, ok = field(unit, splitLocal(us+int64(off)*1000000), us, off, true)
	case types.Date:
		us := int64(r.d4(1)) * microsPerDay
		switch unit {
		case "microseconds", "milliseconds", "second", "minute", "hour":
		case "epoch":
			v, ok = us/1000000-epochUnix*86400, true
		default:
			v, scale, ok = field(unit, splitLocal(us), us, 0, false)
		}
	default:
		v, scale, ok = field(unit, splitLocal(r.i8(1)), r.i8(1), 0, false)
	}
	if unit == "julian" && (t.ID == types.Date || t.ID == types.Timestamp) {
		return julian(r, t)
	}
	if !ok {
		return 0, 0, errUnit(raw, t, unit != "")
	}
	return v, scale, nil
}

func julian(r *row, t types.T) (int64, int, error) {
	if t.ID == types.Date {
		return int64(r.d4(1)) + 2451545, 0, nil
	}
	days, tod := splitMicros(r.i8(1))
	return (int64(days)+2451545)*1000000 + tod/86400, 6, nil
}

// infiniteField is extract of an infinite value: monotonic fields are infinite,
// the others NULL.
func infiniteField(r *row, t types.T) (f float64, null, infinite bool) {
	switch t.ID {
	case types.Date:
		infinite = infiniteDate(r.d4(1))
		f = float64(r.d4(1))
	case types.Timestamp, types.Timestamptz:
		infinite = infiniteTS(r.i8(1))
		f = float64(r.i8(1))
	}
	if !infinite {
		return 0, false, false
	}
	switch normalUnit(strings.ToLower(r.s(0))) {
	case "year", "decade", "century", "millennium", "isoyear", "epoch", "julian":
		return math.Inf(int(math.Copysign(1, f))), false, true
	}
	return 0, true, true
}

func extractFuncs() []*Func {
	out := []*Func{}
	for _, t := range ts(tDate, tTime, tTS, tTSTZ, tIv) {
		ext := fn("extract", ts(tText, t), tNum, func(r *row) error {
			if f, null, inf := infiniteField(r, t); null {
				return r.null()
			} else if inf {
				return r.putDec(types.DecimalFromFloat64(f))
			}
			v, scale, err := fieldOf(r, t)
			if err != nil {
				return err
			}
			return r.putDec(types.DecimalFromScaled(v, scale))
		})
		part := fn("date_part", ts(tText, t), tF8, func(r *row) error {
			if f, null, inf := infiniteField(r, t); null {
				return r.null()
			} else if inf {
				return r.putF8(f)
			}
			v, scale, err := fieldOf(r, t)
			if err != nil {
				return err
			}
			return r.putF8(float64(v) / math.Pow10(scale))
		})
		if t.ID == types.Timestamptz {
			stable(ext)
			stable(part)
		}
		out = append(out, ext, part)
	}
	return out
}

// putAge is the symbolic difference in years, months, days and time.
func putAge(r *row, a, b int64) error {
	if infiniteTS(a) || infiniteTS(b) {
		return pgerr.New(pgerr.DatetimeFieldOverflow, "interval out of range")
	}
	sign := int64(1)
	if a < b {
		a, b, sign = b, a, -1
	}
	p, q := splitLocal(a), splitLocal(b)
	months := (p.y-q.y)*12 + p.m - q.m
	days := p.d - q.d
	us := p.tod - q.tod
	if us < 0 {
		us += microsPerDay
		days--
	}
	if days < 0 {
		// Borrow a month, of the length of the earlier date's.
		days += daysInMonth(q.y, q.m)
		months--
	}
	return r.putIv(types.IntervalValue{Micros: sign * us, Days: int32(sign) * int32(days), Months: int32(sign) * int32(months)})
}

func civilDays(y, m, d int) (int64, bool) {
	if y < -4714 || y > 5874897 || m < 1 || m > 12 || d < 1 || d > daysInMonth(y, m) {
		return 0, false
	}
	return int64(types.CivilToDays(y, m, d)), true
}

func makeDate(r *row) error {
	y := r.i4(0)
	if y < 0 {
		y++
	} else if y == 0 {
		y = math.MaxInt32
	}
	d, ok := civilDays(y, r.i4(1), r.i4(2))
	if !ok {
		return pgerr.New(pgerr.DatetimeFieldOverflow, "date field value out of range: %d-%02d-%02d", r.i4(0), r.i4(1), r.i4(2))
	}
	return r.putDate(d)
}

func makeTime(h, m int, s float64) (int64, error) {
	us := int64(math.RoundToEven(s * 1e6))
	if h < 0 || m < 0 || m > 59 || !(s >= 0 && s <= 60) || h > 24 || h == 24 && (m > 0 || s > 0) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "time field value out of range: %d:%02d:%02g", h, m, s)
	}
	return int64(h)*3600000000 + int64(m)*60000000 + us, nil
}

func makeTimestamp(r *row, z *types.Zone) error {
	y := r.i4(0)
	if y < 0 {
		y++
	}
	d, ok := civilDays(y, r.i4(1), r.i4(2))
	if !ok || r.i4(0) == 0 {
		return pgerr.New(pgerr.DatetimeFieldOverflow, "date field value out of range: %d-%02d-%02d", r.i4(0), r.i4(1), r.i4(2))
	}
	tod, err := makeTime(r.i4(3), r.i4(4), r.f8(5))
	if err != nil {
		return err
	}
	us := d*microsPerDay + tod
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
		us += int64(math.RoundToEven(r.f8(6) * 1e6))
	}
	if int64(int32(months)) != months || int64(int32(days)) != days {
		return errIntervalRange
	}
	return r.putIv(types.IntervalValue{Micros: us, Days: int32(days), Months: int32(months)})
}

// dateBin floors a timestamp to a stride from an origin.
func dateBin(r *row) error {
	iv, us := r.iv(0), r.i8(1)
	origin := int64(0)
	if len(r.args) > 2 {
		origin = r.i8(2)
	} else {
		origin = 2 * microsPerDay // a Monday
	}
	if infiniteTS(us) {
		return r.putI8(us)
	}
	if infiniteTS(origin) {
		return pgerr.New(pgerr.DatetimeFieldOverflow, "origin out of range")
	}
	if iv.Months != 0 {
		return pgerr.New(pgerr.FeatureNotSupported, "timestamps cannot be binned into intervals containing months or years")
	}
	stride := iv.Micros + int64(iv.Days)*microsPerDay
	if stride <= 0 {
		return pgerr.New(pgerr.DatetimeFieldOverflow, "stride must be greater than zero")
	}
	return r.putTS(origin + floorDiv(us-origin, stride)*stride)
}
