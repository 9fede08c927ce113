package types

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// Field is a field of a date or time, or a unit to truncate to.
type Field uint8

// The fields. FieldInvalid is an unknown name.
const (
	FieldInvalid Field = iota
	FieldMicrosecond
	FieldMillisecond
	FieldSecond
	FieldMinute
	FieldHour
	FieldDay
	FieldWeek
	FieldMonth
	FieldQuarter
	FieldYear
	FieldDecade
	FieldCentury
	FieldMillennium
	FieldEpoch
	FieldDow
	FieldIsodow
	FieldDoy
	FieldIsoyear
	FieldJulian
	FieldTimezone
	FieldTimezoneHour
	FieldTimezoneMinute
)

// ParseField reads a field's name as extract and date_trunc do.
func ParseField(name string) Field {
	switch strings.ToLower(trimSpace(name)) {
	case "microseconds", "microsecond", "us", "usec", "usecs", "usecond", "useconds", "microsecon":
		return FieldMicrosecond
	case "milliseconds", "millisecond", "ms", "msec", "msecs", "msecond", "mseconds", "millisecon":
		return FieldMillisecond
	case "second", "seconds", "sec", "secs", "s":
		return FieldSecond
	case "minute", "minutes", "min", "mins", "m":
		return FieldMinute
	case "hour", "hours", "hr", "hrs", "h":
		return FieldHour
	case "day", "days", "d":
		return FieldDay
	case "week", "weeks", "w":
		return FieldWeek
	case "month", "months", "mon", "mons":
		return FieldMonth
	case "quarter", "qtr":
		return FieldQuarter
	case "year", "years", "yr", "yrs", "y":
		return FieldYear
	case "decade", "decades", "dec", "decs":
		return FieldDecade
	case "century", "centuries", "cent", "c":
		return FieldCentury
	case "millennium", "millennia", "mil", "mils":
		return FieldMillennium
	case "epoch":
		return FieldEpoch
	case "dow":
		return FieldDow
	case "isodow":
		return FieldIsodow
	case "doy":
		return FieldDoy
	case "isoyear":
		return FieldIsoyear
	case "julian", "jd", "j":
		return FieldJulian
	case "timezone":
		return FieldTimezone
	case "timezone_hour", "timezone_h":
		return FieldTimezoneHour
	case "timezone_minute", "timezone_m":
		return FieldTimezoneMinute
	}
	return FieldInvalid
}

// errUnit is the error of a unit that t has not, or that does not exist.
func errUnit(f Field, name string, t T) error {
	if f == FieldInvalid {
		return pgerr.New(pgerr.InvalidParameterValue, "unit \"%s\" not recognized for type %s", strings.ToLower(name), t)
	}
	return pgerr.New(pgerr.FeatureNotSupported, "unit \"%s\" not supported for type %s", strings.ToLower(name), t)
}

func decadeOf(y int) int {
	if y >= 0 {
		return y / 10
	}
	return -((8 - (y - 1)) / 10)
}

// spanOf numbers centuries and millennia, which begin with year 1.
func spanOf(y, n int) int {
	if y > 0 {
		return (y + n - 1) / n
	}
	return -((n - 1 - (y - 1)) / n)
}

// dateField returns a field that depends on the day only.
func dateField(f Field, days int) (int, bool) {
	y, m, d := DaysToCivil(days)
	switch f {
	case FieldDay:
		return d, true
	case FieldMonth:
		return m, true
	case FieldQuarter:
		return (m-1)/3 + 1, true
	case FieldWeek:
		_, w := isoWeek(days)
		return w, true
	case FieldYear:
		if y <= 0 {
			y--
		}
		return y, true
	case FieldDecade:
		return decadeOf(y), true
	case FieldCentury:
		return spanOf(y, 100), true
	case FieldMillennium:
		return spanOf(y, 1000), true
	case FieldIsoyear:
		iy, _ := isoWeek(days)
		if iy <= 0 {
			iy--
		}
		return iy, true
	case FieldDow:
		return floorMod(days+6, 7), true
	case FieldIsodow:
		return floorMod(days+5, 7) + 1, true
	case FieldDoy:
		return days - CivilToDays(y, 1, 1) + 1, true
	}
	return 0, false
}

// timeField returns a field of a time of day, with the scale extract gives it.
func timeField(f Field, tod int64) (Decimal, bool) {
	switch f {
	case FieldMicrosecond:
		return DecimalFromInt64(tod % usPerMin), true
	case FieldMillisecond:
		return DecimalFromScaled(tod%usPerMin, 3), true
	case FieldSecond:
		return DecimalFromScaled(tod%usPerMin, 6), true
	case FieldMinute:
		return DecimalFromInt64(tod / usPerMin % 60), true
	case FieldHour:
		return DecimalFromInt64(tod / usPerHour), true
	}
	return Decimal{}, false
}

// infField is a field of an infinite date: infinite if it grows with time, else
// NULL.
func infField(f Field, neg bool) (d Decimal, null bool) {
	switch f {
	case FieldYear, FieldDecade, FieldCentury, FieldMillennium, FieldJulian, FieldIsoyear, FieldEpoch:
		if neg {
			return DecimalNegInf(), false
		}
		return DecimalInf(), false
	}
	return Decimal{}, true
}

// ExtractTimestamp returns a field of a timestamp (z nil) or of a timestamptz
// seen in zone z, with the scale of PostgreSQL's extract; date_part is its
// Float64. name is for messages.
func ExtractTimestamp(f Field, name string, us int64, z *Zone) (d Decimal, null bool, err error) {
	t := TTimestamp
	if z != nil {
		t = TTimestamptz
	}
	if f == FieldInvalid || z == nil && f >= FieldTimezone {
		return d, false, errUnit(f, name, t)
	}
	if isInfTS(us) {
		d, null = infField(f, us == TimestampNegInfinity)
		return d, null, nil
	}
	if f == FieldEpoch {
		sec := floorDiv(us, usPerSec) + unixToPG
		hi := DecimalFromScaled(us-floorDiv(us, usPerSec)*usPerSec, 6)
		return DecimalFromInt64(sec).Add(hi), false, nil
	}
	if z != nil {
		off := int64(z.Offset(us))
		switch f {
		case FieldTimezone:
			return DecimalFromInt64(off), false, nil
		case FieldTimezoneHour:
			return DecimalFromInt64(off / 3600), false, nil
		case FieldTimezoneMinute:
			return DecimalFromInt64(off / 60 % 60), false, nil
		}
		us += off * usPerSec
	}
	days, tod := splitTS(us)
	if f == FieldJulian {
		frac, err := DecimalFromInt64(tod).Div(DecimalFromInt64(usPerDay))
		return DecimalFromInt64(int64(days + epochJulian)).Add(frac), false, err
	}
	if v, ok := dateField(f, days); ok {
		return DecimalFromInt64(int64(v)), false, nil
	}
	d, _ = timeField(f, tod)
	return d, false, nil
}

// ExtractDate returns a field of a date.
func ExtractDate(f Field, name string, days int32) (d Decimal, null bool, err error) {
	v, ok := dateField(f, int(days))
	switch {
	case ok:
	case f == FieldEpoch:
	case f == FieldJulian:
	case days == DateInfinity || days == DateNegInfinity:
		return d, false, errUnit(f, name, TTimestamp)
	default:
		return d, false, errUnit(f, name, TDate)
	}
	if days == DateInfinity || days == DateNegInfinity {
		d, null = infField(f, days == DateNegInfinity)
		return d, null, nil
	}
	switch f {
	case FieldEpoch:
		return DecimalFromInt64(int64(days)*86400 + unixToPG), false, nil
	case FieldJulian:
		return DecimalFromInt64(int64(days) + epochJulian), false, nil
	}
	return DecimalFromInt64(int64(v)), false, nil
}

// ExtractTime returns a field of a time of day.
func ExtractTime(f Field, name string, tod int64) (Decimal, error) {
	if f == FieldEpoch {
		return DecimalFromScaled(tod, 6), nil
	}
	if d, ok := timeField(f, tod); ok {
		return d, nil
	}
	return Decimal{}, errUnit(f, name, TTime)
}

// ExtractInterval returns a field of an interval.
func ExtractInterval(f Field, name string, v IntervalValue) (Decimal, error) {
	year, month := int64(v.Months/12), int64(v.Months%12)
	n := year
	switch f {
	case FieldDay:
		n = int64(v.Days)
	case FieldMonth:
		n = month
	case FieldQuarter:
		n = month/3 + 1
	case FieldYear:
	case FieldDecade:
		n /= 10
	case FieldCentury:
		n /= 100
	case FieldMillennium:
		n /= 1000
	case FieldEpoch:
		// A year counts 365.25 days and a month 30.
		secs := year*31557600 + month*30*86400 + int64(v.Days)*86400
		return DecimalFromInt64(secs).Add(DecimalFromScaled(v.Micros, 6)), nil
	default:
		if d, ok := timeField(f, v.Micros); ok {
			return d, nil
		}
		return Decimal{}, errUnit(f, name, TInterval)
	}
	return DecimalFromInt64(n), nil
}

// truncDays truncates a day to a unit of days or more.
func truncDays(f Field, days int) (int, bool) {
	y, m, _ := DaysToCivil(days)
	switch f {
	case FieldDay:
		return days, true
	case FieldWeek:
		return days - floorMod(days+5, 7), true
	case FieldMonth:
		return CivilToDays(y, m, 1), true
	case FieldQuarter:
		return CivilToDays(y, (m-1)/3*3+1, 1), true
	case FieldYear:
		return CivilToDays(y, 1, 1), true
	case FieldDecade:
		return CivilToDays(decadeOf(y)*10, 1, 1), true
	case FieldCentury:
		return CivilToDays(spanStart(y, 100), 1, 1), true
	case FieldMillennium:
		return CivilToDays(spanStart(y, 1000), 1, 1), true
	}
	return 0, false
}

func spanStart(y, n int) int {
	if y > 0 {
		return (y+n-1)/n*n - n + 1
	}
	return -((n-1-(y-1))/n)*n + 1
}

func truncUnit(f Field) int64 {
	return map[Field]int64{FieldMicrosecond: 1, FieldMillisecond: 1000, FieldSecond: usPerSec,
		FieldMinute: usPerMin, FieldHour: usPerHour}[f]
}

// DateTrunc truncates a timestamp to a unit.
func DateTrunc(f Field, name string, us int64) (int64, error) {
	if f == FieldInvalid || f > FieldMillennium {
		return 0, errUnit(f, name, TTimestamp)
	}
	if isInfTS(us) {
		return us, nil
	}
	if f <= FieldHour {
		return us - floorMod(us, truncUnit(f)), nil
	}
	days, _ := splitTS(us)
	days, _ = truncDays(f, days)
	r, ok := tsFromDays(days, 0)
	if !ok {
		return 0, errTS()
	}
	return r, nil
}

// DateTruncZone truncates a timestamptz by the wall clock of zone z. Units of
// an hour and less keep the offset, so the two hours of an autumn change stay
// apart; larger ones find the offset of the new wall clock time.
func DateTruncZone(f Field, name string, us int64, z *Zone) (int64, error) {
	if f == FieldInvalid || f > FieldMillennium {
		return 0, errUnit(f, name, TTimestamptz)
	}
	if isInfTS(us) {
		return us, nil
	}
	off := int64(z.Offset(us)) * usPerSec
	local, err := DateTrunc(f, name, us+off)
	if err != nil {
		return 0, err
	}
	if f <= FieldHour {
		return local - off, nil
	}
	return z.ToUTC(local), nil
}

// IntervalTrunc truncates an interval to a unit.
func IntervalTrunc(f Field, name string, v IntervalValue) (IntervalValue, error) {
	months := map[Field]int32{FieldMonth: 1, FieldQuarter: 3, FieldYear: 12, FieldDecade: 120, FieldCentury: 1200, FieldMillennium: 12000}
	switch {
	case f == FieldInvalid || f == FieldWeek || f > FieldMillennium:
		err := errUnit(f, name, TInterval)
		if f == FieldWeek {
			err = err.(*pgerr.Error).WithDetail("Months usually have fractional weeks.")
		}
		return v, err
	case f <= FieldHour:
		v.Micros -= v.Micros % truncUnit(f)
		return v, nil
	case f == FieldDay:
		return IntervalValue{Months: v.Months, Days: v.Days}, nil
	}
	return IntervalValue{Months: v.Months - v.Months%months[f]}, nil
}
