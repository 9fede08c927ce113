package types

import "github.com/streamdb/streamdb/pgerr"

// ToTimestampFormat is to_timestamp(text, format) in zone z.
func ToTimestampFormat(s, format string, z *Zone) (int64, error) {
	d, err := scanDateTime(s, parseDTFormat(format), false)
	if err != nil {
		return 0, err
	}
	v, err := d.value()
	if err != nil {
		return 0, err
	}
	return v.timestamptz(z)
}

// ToDateFormat is to_date(text, format).
func ToDateFormat(s, format string) (int32, error) {
	d, err := scanDateTime(s, parseDTFormat(format), false)
	if err != nil {
		return 0, err
	}
	v, err := d.value()
	if err != nil {
		return 0, err
	}
	return v.date(s)
}

// dtValue is a date and time that was read; month and day may be one that the year
// does not have.
type dtValue struct {
	year, month, day int32
	tod              int64 // µs of the day
	precision        int   // digits of the fraction; 0: all
	off              int32 // s east of UTC
	hasOff           bool
}

func (v *dtValue) days() int { return CivilToDays(int(v.year), int(v.month), int(v.day)) }

// valid reports whether the date is in the range that Julian days are computed for.
func (v *dtValue) valid() bool {
	return (v.year > -4713 || v.year == -4713 && v.month >= 11) && (v.year < 5874898 || v.year == 5874898 && v.month < 6)
}

func (v *dtValue) date(s string) (int32, error) {
	days := 0
	if v.valid() {
		days = v.days()
	}
	if !v.valid() || days < int(minDateDays) || days >= int(maxDateDays) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: \"%s\"", s)
	}
	return int32(days), nil
}

// timestamp is the local time; ok is false if it is out of range by more than a zone
// may bring back.
func (v *dtValue) timestamp() (us int64, ok bool) {
	if !v.valid() {
		return 0, false
	}
	days := v.days()
	if days < int(minDateDays)-1 || days > int(maxTSDays)+1 {
		return 0, false
	}
	return int64(days)*usPerDay + v.tod, true
}

func (v *dtValue) timestamptz(z *Zone) (int64, error) {
	us, ok := v.timestamp()
	if !ok {
		return 0, errTS()
	}
	if v.hasOff {
		us -= int64(v.off) * usPerSec
	} else {
		us = z.ToUTC(us)
	}
	if us < minTS || us >= maxTS {
		return 0, errTS()
	}
	return v.round(us), nil
}

// round keeps the digits of the fraction that FF1 to FF5 say.
func (v *dtValue) round(us int64) int64 {
	if v.precision == 0 {
		return us
	}
	return RoundMicros(us, v.precision)
}

// dateFields says which of the fields of a date were given.
type dateFields struct{ year, month, day bool }

// value puts the fields together.
func (d *dtScan) value() (*dtValue, error) {
	v := &dtValue{month: 1, day: 1, precision: d.precision}
	hour, min, sec, err := d.clock()
	if err != nil {
		return nil, err
	}
	given, err := d.putDate(v)
	if err != nil {
		return nil, err
	}
	fraction := int64(d.ms*1000) + int64(d.us)
	switch {
	case given.month && (v.month < 1 || v.month > 12), given.day && (v.day < 1 || v.day > 31):
		return nil, errDateRange(d.all)
	case given == dateFields{true, true, true} && int(v.day) > daysIn(int(v.year), int(v.month)):
		return nil, errDateRange(d.all)
	case hour < 0 || hour > 23 || min < 0 || min > 59 || sec < 0 || sec > 59 || fraction < 0 || fraction >= usPerSec:
		return nil, errDateRange(d.all)
	}
	v.tod = int64(hour)*usPerHour + int64(min)*usPerMin + int64(sec)*usPerSec + fraction
	if d.tzSign != 0 {
		if d.tzHour < 0 || d.tzHour > 15 || d.tzMin < 0 || d.tzMin > 59 {
			return nil, pgerr.New(pgerr.InvalidTimeZoneDisplacement, "time zone displacement out of range: \"%s\"", d.all)
		}
		v.off, v.hasOff = d.tzSign*(d.tzHour*3600+d.tzMin*60), true
	}
	return v, nil
}

func (d *dtScan) clock() (hour, min, sec int32, err error) {
	or := func(v, otherwise int32) int32 {
		if v != 0 {
			return v
		}
		return otherwise
	}
	hour = or(d.hour, d.secOfDay/3600)
	min = or(d.min, d.secOfDay%3600/60)
	sec = or(d.sec, d.secOfDay%60)
	if d.hour12 == 0 {
		return hour, min, sec, nil
	}
	switch {
	case hour < 1 || hour > 12:
		return 0, 0, 0, badDatetime("hour \"%d\" is invalid for the 12-hour clock", hour).
			WithHint("Use the 24-hour clock, or give an hour between 1 and 12.")
	case d.pm != 0 && hour < 12:
		hour += 12
	case d.pm == 0 && hour == 12:
		hour = 0
	}
	return hour, min, sec, nil
}

// fullYear is the year by year, century and era.
func (d *dtScan) fullYear() (year int32, given bool) {
	century := d.century
	if d.bc != 0 {
		century = -century
	}
	switch {
	case d.year != 0 && century != 0 && d.yearDigits <= 2: // two digits within the century
		year = d.year % 100
		switch {
		case year == 0 && century < 0:
			return century*100 + 1, true
		case year == 0:
			return century * 100, true
		case century < 0:
			return (century+1)*100 - year + 1, true
		}
		return year + (century-1)*100, true
	case d.year != 0:
		if year = d.year; d.bc != 0 {
			year = -year
		}
		if year < 0 { // there is no year 0
			year++
		}
		return year, true
	case century < 0:
		return century*100 + 1, true
	case century > 0:
		return (century-1)*100 + 1, true
	}
	return 0, false
}

// putDate sets the date by what was given of it: a later kind of fields goes before
// an earlier one.
func (d *dtScan) putDate(v *dtValue) (given dateFields, err error) {
	all := dateFields{true, true, true}
	setDays := func(days int) {
		y, m, day := DaysToCivil(days)
		v.year, v.month, v.day, given = int32(y), int32(m), int32(day), all
	}
	v.year, given.year = d.fullYear()
	if d.julian != 0 {
		setDays(int(d.julian) - epochJulian)
	}
	doy := d.doy
	switch {
	case d.week != 0 && d.iso:
		day := max(int(d.weekday)-2, 0)
		if d.weekday == 1 { // Sunday, the last of the week
			day = 6
		}
		setDays(isoWeekStart(int(v.year), int(d.week)) + day)
	case d.week != 0:
		doy = (d.week-1)*7 + 1
	}
	day := d.day
	if d.weekOfMonth != 0 {
		day = (d.weekOfMonth-1)*7 + 1
	}
	if day != 0 {
		v.day, given.day = day, true
	}
	if d.month != 0 {
		v.month, given.month = d.month, true
	}
	if doy == 0 || v.month > 1 && v.day > 1 {
		return given, nil
	}
	if v.year == 0 && d.bc == 0 {
		return given, badDatetime("cannot calculate day of year without year information")
	}
	if d.iso {
		setDays(isoWeekStart(int(v.year), 1) + int(doy) - 1)
		return given, nil
	}
	month, day := int32(1), doy
	for month <= 12 && day > int32(daysIn(int(v.year), int(month))) {
		day -= int32(daysIn(int(v.year), int(month)))
		month++
	}
	if v.month <= 1 {
		v.month = month
	}
	if v.day <= 1 {
		v.day = day
	}
	given.month, given.day = true, true
	return given, nil
}
