package types

import (
	"fmt"
	"strings"
)

// The fields of an interval type's modifier, as PostgreSQL numbers them: which
// fields values have, in the upper half, and the digits of the seconds in the
// lower.
const (
	fieldYear, fieldMonth, fieldDay       = 1 << 2, 1 << 1, 1 << 3
	fieldHour, fieldMinute, fieldSecond   = 1 << 10, 1 << 11, 1 << 12
	allFields, fullPrecision              = 0x7fff, 0xffff
	fieldsTime                            = fieldHour | fieldMinute | fieldSecond
	fieldsToMonth, fieldsToHour           = fieldYear | fieldMonth, fieldDay | fieldHour
	fieldsToMinute, fieldsToSecond        = fieldDay | fieldHour | fieldMinute, fieldDay | fieldsTime
	fieldsHourToMinute, fieldsMinToSecond = fieldHour | fieldMinute, fieldMinute | fieldSecond
)

var intervalFieldNames = map[int32]string{
	fieldYear: "year", fieldMonth: "month", fieldDay: "day", fieldHour: "hour", fieldMinute: "minute", fieldSecond: "second",
	fieldsToMonth: "year to month", fieldsToHour: "day to hour", fieldsToMinute: "day to minute", fieldsToSecond: "day to second",
	fieldsHourToMinute: "hour to minute", fieldsTime: "hour to second", fieldsMinToSecond: "minute to second",
}

// IntervalOf returns interval restricted to fields ("YEAR TO MONTH" in any case;
// empty: all) with so many digits of the seconds; a negative precision leaves
// them all. It reports whether there are such fields.
func IntervalOf(fields string, precision int) (T, bool) {
	if fields == "" && precision < 0 {
		return TInterval, true
	}
	if precision < 0 {
		precision = fullPrecision
	}
	if fields == "" {
		return T{ID: Interval, Mod: allFields<<16 | int32(precision)}, true
	}
	for mask, name := range intervalFieldNames {
		if strings.EqualFold(name, fields) {
			return T{ID: Interval, Mod: mask<<16 | int32(precision)}, true
		}
	}
	return T{}, false
}

// IntervalMod returns the fields (in lower case; empty: all) and the precision (-1:
// all digits) of an interval type.
func (t T) IntervalMod() (fields string, precision int) {
	if t.Mod < 0 {
		return "", -1
	}
	precision = int(t.Mod & 0xffff)
	if precision == fullPrecision {
		precision = -1
	}
	return intervalFieldNames[t.Mod>>16], precision
}

// intervalName is the type's name in SQL.
func intervalName(t T) string {
	fields, precision := t.IntervalMod()
	name := "interval"
	if fields != "" {
		name += " " + fields
	}
	if precision >= 0 {
		name += fmt.Sprintf("(%d)", precision)
	}
	return name
}

// bareUnit is what a number without a unit counts in a text read as an interval
// with modifier mod: its smallest field.
func bareUnit(mod int32) intervalUnit {
	if mod < 0 {
		return intervalUnit{us: usPerSec}
	}
	switch mod >> 16 {
	case fieldYear:
		return intervalUnit{months: 12}
	case fieldMonth, fieldsToMonth:
		return intervalUnit{months: 1}
	case fieldDay:
		return intervalUnit{days: 1}
	case fieldHour, fieldsToHour:
		return intervalUnit{us: usPerHour}
	case fieldMinute, fieldsHourToMinute, fieldsToMinute:
		return intervalUnit{us: usPerMin}
	}
	return intervalUnit{us: usPerSec}
}

// RestrictInterval drops what the fields of modifier mod leave out and rounds the
// seconds to its precision, half away from zero.
func RestrictInterval(v IntervalValue, mod int32) IntervalValue {
	if mod < 0 {
		return v
	}
	switch mod >> 16 {
	case fieldYear:
		v = IntervalValue{Months: v.Months / 12 * 12}
	case fieldMonth, fieldsToMonth:
		v = IntervalValue{Months: v.Months}
	case fieldDay:
		v.Micros = 0
	case fieldHour, fieldsToHour:
		v.Micros -= v.Micros % usPerHour
	case fieldMinute, fieldsHourToMinute, fieldsToMinute:
		v.Micros -= v.Micros % usPerMin
	}
	if p := mod & 0xffff; p < 6 {
		unit := int64(1)
		for range 6 - p {
			unit *= 10
		}
		half := unit / 2
		if v.Micros < 0 {
			half = -half
		}
		if s := v.Micros + half; s < 0 == (half < 0) { // else it would overflow
			v.Micros = s - s%unit
		}
	}
	return v
}
