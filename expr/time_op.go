package expr

import (
	"math"

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

// addInterval adds months, then days, then time to a local timestamp.
func addInterval(us int64, iv types.IntervalValue, z *types.Zone) (int64, error) {
	if infiniteTS(us) {
		return us, nil
	}
	local := us
	if z != nil && (iv.Months != 0 || iv.Days != 0) {
		local = z.ToLocal(us)
	}
	if iv.Months != 0 {
		days, tod := splitMicros(local)
		y, m, d := types.DaysToCivil(days)
		months := int64(y)*12 + int64(m) - 1 + int64(iv.Months)
		y, m = int(floorDiv(months, 12)), int(months-floorDiv(months, 12)*12)+1
		if y < -4800 || y > 300000 {
			return 0, errTimestampRange
		}
		d = min(d, daysInMonth(y, m))
		local = int64(types.CivilToDays(y, m, d))*microsPerDay + tod
	}
	if iv.Days != 0 {
		x, ok := mul64(int64(iv.Days), microsPerDay)
		sum := local + x
		if !ok || (local^sum)&(x^sum) < 0 {
			return 0, errTimestampRange
		}
		local = sum
	}
	us = local
	if z != nil && (iv.Months != 0 || iv.Days != 0) {
		us = z.ToUTC(local)
	}
	sum := us + iv.Micros
	if (us^sum)&(iv.Micros^sum) < 0 || sum < minTimestamp || sum >= maxTimestamp {
		return 0, errTimestampRange
	}
	return sum, nil
}

// AddInterval adds an interval to a timestamp, or with a zone to a timestamptz;
// 22008 beyond the range.
func AddInterval(us int64, iv types.IntervalValue, z *types.Zone) (int64, error) {
	return addInterval(us, iv, z)
}

func splitMicros(us int64) (days int, tod int64) {
	d := floorDiv(us, microsPerDay)
	return int(d), us - d*microsPerDay
}

func daysInMonth(y, m int) int {
	if m == 12 {
		return 31
	}
	return types.CivilToDays(y, m+1, 1) - types.CivilToDays(y, m, 1)
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

// subTimestamps gives days and time, as timestamp_mi does.
func subTimestamps(r *row) error {
	a, b := r.i8(0), r.i8(1)
	if infiniteTS(a) || infiniteTS(b) {
		return pgerr.New(pgerr.DatetimeFieldOverflow, "cannot subtract infinite timestamps")
	}
	d := a - b
	if (a^b)&(a^d) < 0 {
		return errIntervalRange
	}
	return r.putIv(types.IntervalValue{Days: int32(d / microsPerDay), Micros: d % microsPerDay})
}

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

// parts are the fields of a local timestamp.
type parts struct {
	y, m, d int
	days    int
	tod     int64
}

func splitLocal(us int64) parts {
	days, tod := splitMicros(us)
	y, m, d := types.DaysToCivil(days)
	return parts{y, m, d, days, tod}
}

// isoWeek returns the ISO 8601 year and week of a day.
func isoWeek(days int) (year, week int) {
	thursday := days - mondayBased(days) + 3
	y, _, _ := types.DaysToCivil(thursday)
	return y, (thursday-types.CivilToDays(y, 1, 1))/7 + 1
}

// mondayBased returns the day of the week, Monday being 0; 2000-01-01 was a
// Saturday.
func mondayBased(days int) int { return int(int64(days+5) - floorDiv(int64(days+5), 7)*7) }

func dayOfYear(p parts) int { return p.days - types.CivilToDays(p.y, 1, 1) + 1 }

// epochUnix is the Unix epoch in days from 2000-01-01.
const epochUnix = -10957

func truncLocal(unit string, us int64) (int64, bool) {
	p := splitLocal(us)
	at := func(y, m, d int) (int64, bool) { return int64(types.CivilToDays(y, m, d)) * microsPerDay, true }
	unitMicros := int64(0)
	switch unit {
	case "microseconds":
		return us, true
	case "milliseconds":
		unitMicros = 1000
	case "second":
		unitMicros = 1000000
	case "minute":
		unitMicros = 60 * 1000000
	case "hour":
		unitMicros = 3600 * 1000000
	case "day":
		return int64(p.days) * microsPerDay, true
	case "week":
		return int64(p.days-mondayBased(p.days)) * microsPerDay, true
	case "month":
		return at(p.y, p.m, 1)
	case "quarter":
		return at(p.y, (p.m-1)/3*3+1, 1)
	case "year":
		return at(p.y, 1, 1)
	case "decade":
		return at(int(floorDiv(int64(p.y), 10))*10, 1, 1)
	case "century":
		return at(yearGroup(p.y, 100), 1, 1)
	case "millennium":
		return at(yearGroup(p.y, 1000), 1, 1)
	default:
		return 0, false
	}
	return us - p.tod%unitMicros, true
}

// yearGroup returns the first year of the century or millennium of y; there is
// no year 0 before 1 in that count, and year 0 here is 1 BC.
func yearGroup(y, n int) int {
	if y > 0 {
		return (y-1)/n*n + 1
	}
	return -((n-1-(y-1))/n)*n + 1
}

func groupNumber(y, n int) int {
	if y > 0 {
		return (y + n - 1) / n
	}
	return -((n - (y - 1) - 1) / n)
}

// normalUnit maps the spellings of a field to one; empty if unknown.
func normalUnit(s string) string {
	switch s {
	case "microsecond", "microseconds", "us", "usec", "usecs", "microsec":
		return "microseconds"
	case "millisecond", "milliseconds", "ms", "msec", "msecs", "millisec":
		return "milliseconds"
	case "second", "seconds", "s", "sec", "secs":
		return "second"
	case "minute", "minutes", "m", "min", "mins":
		return "minute"
	case "hour", "hours", "h", "hr", "hrs":
		return "hour"
	case "day", "days", "d":
		return "day"
	case "week", "weeks", "w":
		return "week"
	case "month", "months", "mon", "mons":
		return "month"
	case "quarter", "qtr":
		return "quarter"
	case "year", "years", "y", "yr", "yrs":
		return "year"
	case "decade", "decades", "dec", "decs":
		return "decade"
	case "century", "centuries", "c", "cent":
		return "century"
	case "millennium", "millennia", "mil", "mils":
		return "millennium"
	case "epoch", "dow", "isodow", "doy", "isoyear", "julian", "timezone", "timezone_hour", "timezone_minute":
		return s
	case "timezone_h":
		return "timezone_hour"
	case "timezone_m":
		return "timezone_minute"
	}
	return ""
}

// field computes a field of a timestamp as an exact number: value / 10^scale.
// us is the instant, local the wall clock, off the zone's offset in seconds
// (ok only for timestamptz).
func field(unit string, p parts, us int64, off int, zoned bool) (v int64, scale int, ok bool) {
	sec := p.tod % 60000000
	switch unit {
	case "microseconds":
		return sec, 0, true
	case "milliseconds":
		return sec, 3, true
	case "second":
		return sec, 6, true
	case "minute":
		return p.tod / 60000000 % 60, 0, true
	case "hour":
		return p.tod / 3600000000, 0, true
	case "day":
		return int64(p.d), 0, true
	case "week":
		_, w := isoWeek(p.days)
		return int64(w), 0, true
	case "month":
		return int64(p.m), 0, true
	case "quarter":
		return int64(p.m-1)/3 + 1, 0, true
	case "year":
		if p.y <= 0 {
			return int64(p.y) - 1, 0, true
		}
		return int64(p.y), 0, true
	case "decade":
		return floorDiv(int64(p.y), 10), 0, true
	case "century":
		return int64(groupNumber(p.y, 100)), 0, true
	case "millennium":
		return int64(groupNumber(p.y, 1000)), 0, true
	case "epoch":
		return us - epochUnix*microsPerDay, 6, true
	case "dow":
		return int64(mondayBased(p.days)+1) % 7, 0, true
	case "isodow":
		return int64(mondayBased(p.days)) + 1, 0, true
	case "doy":
		return int64(dayOfYear(p)), 0, true
	case "isoyear":
		y, _ := isoWeek(p.days)
		if y <= 0 {
			y--
		}
		return int64(y), 0, true
	case "timezone":
		return int64(off), 0, zoned
	case "timezone_hour":
		return int64(off / 3600), 0, zoned
	case "timezone_minute":
		return int64(off / 60 % 60), 0, zoned
	}
	return 0, 0, false
}

// intervalField is field for intervals.
func intervalField(unit string, v types.IntervalValue) (int64, int, bool) {
	t := v.Micros
	switch unit {
	case "microseconds":
		return t % 60000000, 0, true
	case "milliseconds":
		return t % 60000000, 3, true
	case "second":
		return t % 60000000, 6, true
	case "minute":
		return t / 60000000 % 60, 0, true
	case "hour":
		return t / 3600000000, 0, true
	case "day":
		return int64(v.Days), 0, true
	case "month":
		return int64(v.Months % 12), 0, true
	case "quarter":
		return int64(v.Months%12)/3 + 1, 0, true
	case "year":
		return int64(v.Months / 12), 0, true
	case "decade":
		return int64(v.Months / 120), 0, true
	case "century":
		return int64(v.Months / 1200), 0, true
	case "millennium":
		return int64(v.Months / 12000), 0, true
	case "epoch":
		// A year counts 365.25 days and a month 30.
		secs := int64(v.Months/12)*31557600 + int64(v.Months%12)*2592000 + int64(v.Days)*86400
		if secs > math.MaxInt64/1000000-1 || secs < math.MinInt64/1000000+1 {
			return 0, 0, false
		}
		return secs*1000000 + t, 6, true
	}
	return 0, 0, false
}
