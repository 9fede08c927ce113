package types

import "github.com/streamdb/streamdb/pgerr"

var monthNames = [...]string{"january", "february", "march", "april", "may", "june", "july",
	"august", "september", "october", "november", "december"}

var dayNames = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// parseISO reads YYYY-MM-DD[( |T)HH:MM:SS[.ffffff]] and returns what follows.
func parseISO(s string) (days int, tod int64, rest string, ok bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return 0, 0, "", false
	}
	y, ok1 := atoiSmall(s[:4])
	m, ok2 := atoiSmall(s[5:7])
	d, ok3 := atoiSmall(s[8:10])
	if !ok1 || !ok2 || !ok3 || y == 0 || m < 1 || m > 12 || d < 1 || d > daysIn(y, m) {
		return 0, 0, "", false
	}
	days = CivilToDays(y, m, d)
	if len(s) == 10 {
		return days, 0, "", true
	}
	if len(s) < 19 || s[10] != ' ' && s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return 0, 0, "", false
	}
	h, ok1 := atoiSmall(s[11:13])
	mi, ok2 := atoiSmall(s[14:16])
	sec, ok3 := atoiSmall(s[17:19])
	if !ok1 || !ok2 || !ok3 || h > 23 || mi > 59 || sec > 59 {
		return 0, 0, "", false
	}
	tod = int64(h)*usPerHour + int64(mi)*usPerMin + int64(sec)*usPerSec
	rest = s[19:]
	if rest != "" && rest[0] == '.' {
		scale := usPerSec / 10
		i := 1
		for ; i < len(rest) && rest[i] >= '0' && rest[i] <= '9'; i++ {
			tod += int64(rest[i]-'0') * scale
			scale /= 10
		}
		if i == 1 || i > 7 {
			return 0, 0, "", false
		}
		rest = rest[i:]
	}
	return days, tod, rest, true
}

// ParseDate reads a date; opt gives the zone and clock of 'today'.
func ParseDate(s string, opt *Options) (int32, error) {
	if d, _, rest, ok := parseISO(s); ok && rest == "" {
		return int32(d), nil
	}
	var d dtDecoder
	if e := d.decode(s, opt); e != dtOK {
		return 0, d.toError(e, "date", s)
	}
	switch d.word {
	case wordNone:
	case wordInfinity:
		return DateInfinity, nil
	case wordNegInfinity:
		return DateNegInfinity, nil
	case wordEpoch:
		return -10957, nil
	}
	days := CivilToDays(d.year, d.month, d.day)
	if days < int(minDateDays) || days >= int(maxDateDays) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: \"%s\"", s)
	}
	return int32(days), nil
}

// local is the wall clock that was read; false where it is no timestamp and none
// could become one by moving to another zone.
func (d *dtDecoder) local() (us int64, ok bool) {
	days := CivilToDays(d.year, d.month, d.day)
	const year = 366
	if days < int(minDateDays)-year || days > int(maxTSDays)+year {
		return 0, false
	}
	return addInt64(int64(days)*usPerDay, d.tod())
}

// instant is the moment that was read.
func (d *dtDecoder) instant() (us int64, ok bool) {
	us, ok = d.local()
	switch {
	case !ok:
	case d.have&hasZone == 0:
		us = d.opt.zone().ToUTC(us)
	case d.zone != nil:
		us = d.zone.ToUTC(us)
	default:
		us, ok = addInt64(us, -int64(d.off)*usPerSec)
	}
	return us, ok
}

// ParseTimestamp reads a timestamp without time zone; a zone in the input is
// read and ignored, as PostgreSQL does.
func ParseTimestamp(s string, opt *Options) (int64, error) {
	if d, tod, rest, ok := parseISO(s); ok && rest == "" {
		return int64(d)*usPerDay + tod, nil
	}
	return parseStamp(s, "timestamp", opt, (*dtDecoder).local)
}

// ParseTimestamptz reads a timestamp with time zone; input without a zone is
// the wall clock of opt's zone.
func ParseTimestamptz(s string, opt *Options) (int64, error) {
	if d, tod, rest, ok := parseISO(s); ok {
		us := int64(d)*usPerDay + tod
		switch {
		case rest == "":
			return opt.zone().ToUTC(us), nil
		case rest == "Z" || rest == "+00":
			return us, nil
		case rest[0] == '+' || rest[0] == '-':
			if off, e := decodeOffset(rest); e == dtOK {
				return us - int64(off)*usPerSec, nil
			}
		}
	}
	return parseStamp(s, "timestamp with time zone", opt, (*dtDecoder).instant)
}

func parseStamp(s, typ string, opt *Options, value func(*dtDecoder) (int64, bool)) (int64, error) {
	var d dtDecoder
	if e := d.decode(s, opt); e != dtOK {
		return 0, d.toError(e, typ, s)
	}
	switch d.word {
	case wordInfinity:
		return TimestampInfinity, nil
	case wordNegInfinity:
		return TimestampNegInfinity, nil
	case wordEpoch:
		return -unixToPG * usPerSec, nil
	}
	us, ok := value(&d)
	if !ok || us < minTS || us >= maxTS {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range: \"%s\"", s)
	}
	return us, nil
}

// RoundMicros rounds a time or timestamp to prec (0 to 6) digits of seconds.
func RoundMicros(us int64, prec int) int64 {
	if prec >= 6 || prec < 0 || us == TimestampInfinity || us == TimestampNegInfinity {
		return us
	}
	m := int64(pow10tab[6-prec])
	if us >= 0 {
		return (us + m/2) / m * m
	}
	return -((-us + m/2) / m * m)
}
