package types

import "strconv"

// Date styles other than ISO, and orders of a date's fields other than month, day,
// year.
const (
	DatePostgres = "Postgres"
	DateSQL      = "SQL"
	DateGerman   = "German"
	OrderDMY     = "DMY"
	OrderYMD     = "YMD"
)

// styled reports whether dates are shown in another style than ISO.
func (o *Options) styled() bool { return o != nil && o.DateStyle != "" }

// dateOrder is the order in which a date's fields are read and, but for ISO, shown.
func (o *Options) dateOrder() string {
	if o == nil {
		return ""
	}
	return o.DateOrder
}

// ISODates returns the options with dates in ISO style, as JSON has them.
func (o *Options) ISODates() *Options {
	if !o.styled() {
		return o
	}
	c := *o
	c.DateStyle = ""
	return &c
}

var (
	monthAbbrevs = [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
	dayAbbrevs   = [...]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}
)

func appendYear(dst []byte, y int) []byte {
	if y <= 0 {
		y = 1 - y
	}
	if y < 10000 {
		return append2(append2(dst, y/100), y%100)
	}
	return strconv.AppendInt(dst, int64(y), 10)
}

// AppendDateStyle is AppendDate in the style of the options.
func AppendDateStyle(dst []byte, days int32, o *Options) []byte {
	if !o.styled() || days == DateInfinity || days == DateNegInfinity {
		return AppendDate(dst, days)
	}
	y, m, d := DaysToCivil(int(days))
	dst = appendDayMonth(dst, m, d, o)
	dst = appendYear(dst, y)
	if y <= 0 {
		dst = append(dst, " BC"...)
	}
	return dst
}

// appendDayMonth appends day and month with separators, before a year.
func appendDayMonth(dst []byte, m, d int, o *Options) []byte {
	sep := map[string]byte{DateSQL: '/', DateGerman: '.', DatePostgres: '-'}[o.DateStyle]
	if o.DateOrder == OrderDMY || o.DateStyle == DateGerman {
		m, d = d, m
	}
	return append(append2(append(append2(dst, m), sep), d), sep)
}

// AppendTimestampStyle is AppendTimestamp in the style of the options.
func AppendTimestampStyle(dst []byte, us int64, o *Options) []byte {
	if !o.styled() || us == TimestampInfinity || us == TimestampNegInfinity {
		return AppendTimestamp(dst, us)
	}
	return o.appendStamp(dst, us, "")
}

// AppendTimestamptzStyle is AppendTimestamptz in the zone and style of the options.
func AppendTimestamptzStyle(dst []byte, us int64, o *Options) []byte {
	if !o.styled() || us == TimestampInfinity || us == TimestampNegInfinity {
		var z *Zone
		if o != nil {
			z = o.Zone
		}
		return AppendTimestamptz(dst, us, z)
	}
	z := o.zone()
	return o.appendStamp(dst, us+int64(z.Offset(us))*usPerSec, z.Abbrev(us))
}

func (o *Options) appendStamp(dst []byte, local int64, zone string) []byte {
	days, tod := splitTS(local)
	y, m, d := DaysToCivil(days)
	if o.DateStyle == DatePostgres { // Wed Dec 17 07:37:16 1997 PST
		dst = append(append(dst, dayAbbrevs[floorMod(days+6, 7)]...), ' ')
		if o.DateOrder == OrderDMY {
			dst = append(append(append2(dst, d), ' '), monthAbbrevs[m-1]...)
		} else {
			dst = append2(append(append(dst, monthAbbrevs[m-1]...), ' '), d)
		}
		dst = append(AppendTime(append(dst, ' '), tod), ' ')
		dst = appendYear(dst, y)
	} else {
		dst = appendYear(appendDayMonth(dst, m, d, o), y)
		dst = AppendTime(append(dst, ' '), tod)
	}
	if zone != "" {
		dst = append(append(dst, ' '), zone...)
	}
	if y <= 0 {
		dst = append(dst, " BC"...)
	}
	return dst
}
