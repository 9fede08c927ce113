package types

import (
	"math"

	"github.com/streamdb/streamdb/pgerr"
)

func isInfTS(us int64) bool { return us == TimestampInfinity || us == TimestampNegInfinity }

func errTS() *pgerr.Error { return errTypeRange("timestamp") }

// addMonths moves a day by whole months and keeps within the target month.
func addMonths(days int, months int32) int {
	y, m, d := DaysToCivil(days)
	t := y*12 + m - 1 + int(months)
	y, m = floorDiv(t, 12), floorMod(t, 12)+1
	return CivilToDays(y, m, min(d, daysIn(y, m)))
}

// TimestampAdd returns us + v: months first, then days, then time; 22008 out of
// range. Infinities stay.
func TimestampAdd(us int64, v IntervalValue) (int64, error) {
	if isInfTS(us) {
		return us, nil
	}
	if v.Months != 0 || v.Days != 0 {
		days, tod := splitTS(us)
		if v.Months != 0 {
			days = addMonths(days, v.Months)
		}
		var ok bool
		if us, ok = tsFromDays(days+int(v.Days), tod); !ok {
			return 0, errTS()
		}
	}
	r, ok := addInt64(us, v.Micros)
	if v.Micros == 0 {
		r, ok = us, true
	}
	if !ok || r < minTS || r >= maxTS {
		return 0, errTS()
	}
	return r, nil
}

// TimestamptzAdd is TimestampAdd whose months and days follow the wall clock
// of zone z.
func TimestamptzAdd(us int64, v IntervalValue, z *Zone) (int64, error) {
	if (v.Months != 0 || v.Days != 0) && !isInfTS(us) {
		local := z.ToLocal(us)
		if v.Months != 0 {
			l, err := TimestampAdd(local, IntervalValue{Months: v.Months})
			if err != nil {
				return 0, err
			}
			local = z.ToLocal(z.ToUTC(l)) // each step settles on an existing wall clock time
		}
		if v.Days != 0 {
			l, err := TimestampAdd(local, IntervalValue{Days: v.Days})
			if err != nil {
				return 0, err
			}
			local = l
		}
		us = z.ToUTC(local)
	}
	return TimestampAdd(us, IntervalValue{Micros: v.Micros})
}

// TimestampSub returns a - b in days and time, as timestamp - timestamp does.
func TimestampSub(a, b int64) (IntervalValue, error) {
	if isInfTS(a) || isInfTS(b) {
		return IntervalValue{}, pgerr.New(pgerr.DatetimeFieldOverflow, "cannot subtract infinite timestamps")
	}
	return JustifyHours(IntervalValue{Micros: a - b})
}

// DateAdd returns a date n days later; 22008 out of range.
func DateAdd(d int32, n int32) (int32, error) {
	if d == DateInfinity || d == DateNegInfinity {
		return d, nil
	}
	r := int64(d) + int64(n)
	if r < int64(minDateDays) || r >= int64(maxDateDays) {
		return 0, errTypeRange("date")
	}
	return int32(r), nil
}

// DateSub returns the days from b to a.
func DateSub(a, b int32) (int32, error) {
	inf := func(d int32) bool { return d == DateInfinity || d == DateNegInfinity }
	if inf(a) || inf(b) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "cannot subtract infinite dates")
	}
	return a - b, nil
}

// TimeAdd returns a time of day moved by the time part of v, around the clock.
func TimeAdd(tod int64, v IntervalValue) int64 {
	return floorMod(tod+floorMod(v.Micros, usPerDay), usPerDay)
}

// Age returns the symbolic difference a - b in years, months, days and time of
// two timestamps, or of two wall clock times of one zone.
func Age(a, b int64) (IntervalValue, error) {
	if isInfTS(a) || isInfTS(b) {
		return IntervalValue{}, errInterval()
	}
	neg := a < b
	if neg {
		a, b = b, a
	}
	ad, at := splitTS(a)
	bd, bt := splitTS(b)
	y1, m1, d1 := DaysToCivil(ad)
	y2, m2, d2 := DaysToCivil(bd)
	y, m, d, us := y1-y2, m1-m2, d1-d2, at-bt
	if us < 0 {
		us += usPerDay
		d--
	}
	for d < 0 {
		// The month borrowed from is that of the earlier time, in either
		// order of the arguments.
		d += daysIn(y2, m2)
		m--
	}
	for m < 0 {
		m += 12
		y--
	}
	r := IntervalValue{Months: int32(y*12 + m), Days: int32(d), Micros: us}
	if neg {
		return NegInterval(r)
	}
	return r, nil
}

// DateBin returns the start of the stride-long bin, aligned to origin, that
// holds us. The stride must have no months and be positive.
func DateBin(stride IntervalValue, us, origin int64) (int64, error) {
	if isInfTS(us) {
		return us, nil
	}
	if isInfTS(origin) {
		return 0, errTypeRange("origin")
	}
	if stride.Months != 0 {
		return 0, pgerr.New(pgerr.FeatureNotSupported, "timestamps cannot be binned into intervals containing months or years")
	}
	d := float64(stride.Days)*float64(usPerDay) + float64(stride.Micros)
	if d >= math.MaxInt64 || d <= math.MinInt64 {
		return 0, errInterval()
	}
	step := int64(stride.Days)*usPerDay + stride.Micros
	if step <= 0 {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "stride must be greater than zero")
	}
	diff := us - origin
	if (diff < us) != (origin > 0) && origin != 0 {
		return 0, errInterval()
	}
	r := origin + diff/step*step
	if diff%step < 0 {
		r -= step
	}
	if r < minTS || r > us {
		return 0, errTS()
	}
	return r, nil
}

// MakeDate builds a date; a negative year counts BC.
func MakeDate(year, month, day int) (int32, error) {
	shown := year
	if year < 0 && month >= 1 && month <= 12 && day >= 1 && day <= 31 || year < 0 && year > math.MinInt32 {
		shown++
	}
	return makeDate(year, month, day, shown)
}

// makeDate shows the year in its errors as told.
func makeDate(year, month, day, shown int) (int32, error) {
	y := year
	if y < 0 {
		y++
	}
	if year == 0 || year == math.MinInt32 || month < 1 || month > 12 || day < 1 || day > daysIn(y, month) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date field value out of range: %d-%02d-%02d", shown, month, day)
	}
	d := CivilToDays(y, month, day)
	if d < int(minDateDays) || d >= int(maxDateDays) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: %d-%02d-%02d", year, month, day)
	}
	return int32(d), nil
}

// MakeTime builds a time of day.
func MakeTime(hour, minute int, sec float64) (int64, error) {
	us := int64(math.RoundToEven(sec * 1e6))
	if hour < 0 || hour > 24 || minute < 0 || minute > 59 || !(sec >= 0 && sec <= 60) || hour == 24 && (minute > 0 || us > 0) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "time field value out of range: %d:%02d:%s", hour, minute, secondsText(sec))
	}
	return int64(hour)*usPerHour + int64(minute)*usPerMin + us, nil
}

func secondsText(sec float64) string {
	s := string(AppendFloat64(nil, sec))
	if len(s) < 2 {
		return "0" + s
	}
	return s
}

// MakeTimestamp builds a timestamp.
func MakeTimestamp(year, month, day, hour, minute int, sec float64) (int64, error) {
	d, err := makeDate(year, month, day, year)
	if err != nil {
		return 0, err
	}
	tod, err := MakeTime(hour, minute, sec)
	if err != nil {
		return 0, err
	}
	us, ok := tsFromDays(int(d), tod)
	if !ok {
		return 0, errTS()
	}
	return us, nil
}

// ToTimestamp converts seconds since 1970 to a timestamptz.
func ToTimestamp(sec float64) (int64, error) {
	switch {
	case math.IsNaN(sec):
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp cannot be NaN")
	case math.IsInf(sec, 1):
		return TimestampInfinity, nil
	case math.IsInf(sec, -1):
		return TimestampNegInfinity, nil
	}
	us := math.RoundToEven((sec - unixToPG) * 1e6)
	if us < float64(minTS) || us >= float64(maxTS) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range: \"%g\"", sec)
	}
	return int64(us), nil
}
