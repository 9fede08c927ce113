package types

import (
	"math"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// dtField is one token of date/time input.
type dtField struct {
	kind byte // 'n' number, 'd' date, 't' time, 's' word, 'z' signed offset
	text string
}

// dtParts is decoded date/time input.
type dtParts struct {
	special          string // epoch, infinity, -infinity, now, today, …
	year, month, day int
	hour, min        int
	us               int64 // seconds and their fraction
	off              int
	zone             *Zone
	hasDate, hasTime bool
	hasOff, bc       bool
	ampm             byte
	nums             []string // numbers not yet given a meaning
	iso              bool     // year first
	doy              int
	order            string // of the fields of a date, as Options.DateOrder
	timeOnly         bool   // a bare number is a time
}

// splitFields cuts input into fields as PostgreSQL's ParseDateTime does.
func splitFields(s string) ([]dtField, bool) {
	var out []dtField
	i := 0
	take := func(from int, ok func(c byte) bool) int {
		for from < len(s) && ok(s[from]) {
			from++
		}
		return from
	}
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	letter := func(c byte) bool { c |= 0x20; return c >= 'a' && c <= 'z' || c >= 0x80|0x20 }
	for i < len(s) && len(out) < 25 {
		c := s[i]
		switch {
		case isSpace(c) || c == ',' || c == '(' || c == ')':
			i++
		case digit(c):
			j := take(i, digit)
			kind := byte('n')
			switch {
			case j < len(s) && s[j] == ':':
				j = take(j, func(c byte) bool { return digit(c) || c == ':' || c == '.' })
				kind = 't'
			case j < len(s) && (s[j] == '-' || s[j] == '/' || s[j] == '.'):
				d := s[j]
				k := take(j+1, digit)
				if k == j+1 && d == '-' || k < len(s) && s[k] == d || d != '.' {
					j = take(j+1, func(c byte) bool { return digit(c) || letter(c) && !(c == 'T' || c == 't') || c == d })
					j = fixDateEnd(s, i, j)
					kind = 'd'
				} else {
					j = k
				}
			}
			out = append(out, dtField{kind, s[i:j]})
			i = j
		case letter(c):
			j := take(i, letter)
			if j < len(s) && (s[j] == '/' || s[j] == '_') {
				j = take(j, func(c byte) bool { return letter(c) || c == '/' || c == '_' || c == '-' || c == '+' || digit(c) })
			} else if j < len(s) && (s[j] == '-' || s[j] == '.') && j+1 < len(s) && digit(s[j+1]) && monthOf(s[i:j]) > 0 {
				j = take(j, func(c byte) bool { return digit(c) || c == '-' || c == '.' })
				out = append(out, dtField{'d', s[i:j]})
				i = j
				continue
			}
			out = append(out, dtField{'s', s[i:j]})
			i = j
		case c == '+' || c == '-':
			j := take(i+1, isSpace)
			if j < len(s) && digit(s[j]) {
				k := take(j, func(c byte) bool { return digit(c) || c == ':' })
				out = append(out, dtField{'z', s[i:i+1] + s[j:k]})
				i = k
			} else if k := take(j, letter); k > j {
				out = append(out, dtField{'s', s[i:i+1] + s[j:k]})
				i = k
			} else {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	return out, i == len(s) && len(out) > 0
}

// fixDateEnd keeps letters in a date only where they spell a month, so that the
// T of 2024-01-02T03:04 and a zone glued to a date end it.
func fixDateEnd(s string, from, to int) int {
	t := s[from:to]
	last := strings.LastIndexAny(t, "-/.")
	for k := last + 1; k < len(t); k++ {
		if c := t[k]; c >= '0' && c <= '9' {
			continue
		}
		if k > last+1 {
			return from + k
		}
		break
	}
	return to
}

var monthNames = [...]string{"january", "february", "march", "april", "may", "june", "july",
	"august", "september", "october", "november", "december"}

var dayNames = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// monthOf reads a month's name or its abbreviation; 0 if it is none.
func monthOf(w string) int {
	w = strings.ToLower(strings.TrimSuffix(w, "."))
	for i, m := range monthNames {
		if w == m || w == m[:3] || w == "sept" && i == 8 {
			return i + 1
		}
	}
	return 0
}

func isDayName(w string) bool {
	for _, d := range dayNames {
		if w == d || w == d[:3] || w == "tues" || w == "wednes" || w == "weds" || w == "thur" || w == "thurs" {
			return true
		}
	}
	return false
}

type dtErr uint8

const (
	dtOK dtErr = iota
	dtBad
	dtRange
	dtMonthDay // no month or day at all: perhaps their order is another
	dtZone
)

func (e dtErr) toError(typ, s string) error {
	switch e {
	case dtBad:
		return errDateSyntax(typ, s)
	case dtRange:
		return errDateRange(s)
	case dtMonthDay:
		return errDateRange(s).WithHint("Perhaps you need a different \"datestyle\" setting.")
	case dtZone:
		return pgerr.New(pgerr.InvalidTimeZoneDisplacement, "time zone displacement out of range: \"%s\"", s)
	}
	return nil
}

func decodeDateTime(s, order string) (dtParts, dtErr) { return decodeParts(s, dtParts{order: order}) }

// decodeTimeOnly reads a time of day, which may have a date and a zone.
func decodeTimeOnly(s, order string) (dtParts, dtErr) {
	return decodeParts(s, dtParts{order: order, timeOnly: true})
}

func decodeParts(s string, p dtParts) (_ dtParts, e dtErr) {
	fields, ok := splitFields(s)
	if !ok {
		return p, dtBad
	}
	for i, f := range fields {
		switch f.kind {
		case 't':
			e = p.setTime(f.text)
		case 'd':
			if clock, zone, ok := packedTime(f.text); p.timeOnly && ok {
				if e = p.number(clock, nil, 0); e == dtOK {
					e = p.setOffset(zone, nil, 0)
				}
			} else if p.hasDate {
				e = dtBad
			} else {
				e = p.setDate(f.text)
			}
		case 'z':
			e = p.setOffset(f.text, fields, i)
		case 's':
			e = p.word(f.text)
		default:
			e = p.number(f.text, fields, i)
		}
		if e != dtOK {
			return p, e
		}
	}
	if p.special != "" {
		return p, dtOK
	}
	if e = p.resolveNums(); e != dtOK {
		return p, e
	}
	return p, p.check()
}

// packedTime cuts hhmmss-08 into time and offset.
func packedTime(s string) (clock, zone string, ok bool) {
	i := strings.IndexByte(s, '-')
	if i != 4 && i != 6 || strings.Count(s, "-") != 1 {
		return "", "", false
	}
	_, ok = atoiSmall(s[i+1:])
	return s[:i], s[i:], ok
}

func (p *dtParts) setOffset(t string, fields []dtField, i int) dtErr {
	off, ok := parseOffset(t)
	if !ok {
		if len(t) > 1 && len(t) < 8 {
			return dtZone
		}
		return dtBad
	}
	if i > 0 && fields[i-1].kind == 's' && p.zone != nil { // UTC-3 reads as a POSIX zone
		off, p.zone = -off, nil
	}
	if p.hasOff {
		return dtBad
	}
	p.off, p.hasOff = off, true
	return dtOK
}

func (p *dtParts) setTime(t string) dtErr {
	if p.hasTime {
		return dtBad
	}
	p.hasTime = true
	fs := strings.Split(t, ":")
	if len(fs) > 3 {
		return dtBad
	}
	var v [2]int
	secs := ""
	for i, f := range fs {
		if i == 2 || i == 1 && len(fs) == 2 && strings.IndexByte(f, '.') >= 0 {
			secs = f
			if i == 1 { // mm:ss.fff
				v[0], v[1] = 0, v[0]
			}
			break
		}
		n, ok := atoiSmall(f)
		if !ok {
			return dtBad
		}
		v[i] = n
	}
	p.hour, p.min = v[0], v[1]
	if secs != "" {
		us, ok := parseSeconds(secs)
		if !ok {
			return dtBad
		}
		p.us = us
	}
	if p.hour > 24 || p.min > 59 || p.us > 60*usPerSec || p.hour == 24 && (p.min > 0 || p.us > 0) {
		return dtRange
	}
	return dtOK
}

// parseSeconds reads ss[.ffffff…] into microseconds, rounding.
func parseSeconds(t string) (int64, bool) {
	whole, frac, _ := strings.Cut(t, ".")
	n, ok := atoiSmall(whole)
	if !ok && whole != "" {
		return 0, false
	}
	us := int64(n) * usPerSec
	if frac != "" {
		f, err := strconv.ParseFloat("0."+frac, 64)
		if err != nil {
			return 0, false
		}
		us += int64(math.RoundToEven(f * 1e6))
	}
	return us, true
}

func (p *dtParts) setDate(t string) dtErr {
	d := byte('-')
	if i := strings.IndexAny(t, "-/."); i >= 0 {
		d = t[i]
	}
	fs := strings.Split(strings.TrimSuffix(t, string(d)), string(d))
	if len(fs) == 2 && len(fs[1]) == 3 && len(fs[0]) >= 4 { // yyyy-ddd
		return p.setDoy(fs[0], fs[1])
	}
	if len(fs) != 3 {
		return dtBad
	}
	p.hasDate = true
	month := -1
	for i, f := range fs {
		if m := monthOf(f); m > 0 && month < 0 {
			month = i
			p.month = m
		} else if _, ok := atoiSmall(f); !ok {
			return dtBad
		}
	}
	if month >= 0 {
		rest := append(append([]string{}, fs[:month]...), fs[month+1:]...)
		return p.orderYD(rest[0], rest[1])
	}
	return p.orderYMD(fs[0], fs[1], fs[2])
}

func (p *dtParts) setDoy(y, doy string) dtErr {
	yy, ok := atoiSmall(y)
	dd, ok2 := atoiSmall(doy)
	if !ok || !ok2 {
		return dtBad
	}
	p.hasDate = true
	p.year, p.month, p.day, p.doy = yy, 1, 1, dd
	if dd < 1 || dd > 366 {
		return dtRange
	}
	return dtOK
}

func (p *dtParts) setYD(y, d string) dtErr {
	p.year, p.day = mustInt(y), mustInt(d)
	if len(y) <= 2 {
		p.year = pivotYear(p.year)
	}
	return dtOK
}

func pivotYear(y int) int {
	if y < 70 {
		return y + 2000
	}
	return y + 1900
}

func mustInt(s string) int { v, _ := atoiSmall(s); return v }

func (p *dtParts) word(w string) dtErr {
	l := strings.ToLower(w)
	if m := monthOf(l); m > 0 {
		if p.month != 0 {
			return dtBad
		}
		p.month = m
		return dtOK
	}
	switch l {
	case "epoch", "infinity", "-infinity", "now", "today", "tomorrow", "yesterday":
		if p.special != "" {
			return dtBad
		}
		p.special = l
		return dtOK
	case "+infinity":
		p.special = "infinity"
		return dtOK
	case "allballs":
		p.hasTime, p.hasOff, p.off = true, true, 0
		return dtOK
	case "am", "pm", "a", "p":
		p.ampm = l[0]
		return dtOK
	case "bc", "b":
		p.bc = true
		return dtOK
	case "ad", "at", "t", "on", "of", "dst":
		return dtOK
	case "j", "jd", "julian":
		return dtOK
	}
	if isDayName(l) {
		return dtOK
	}
	if off, ok := zoneAbbrevs[l]; ok {
		if p.hasOff {
			return dtBad
		}
		if p.zone == nil {
			p.zone = FixedZone(w, off)
		}
		return dtOK
	}
	if z := loadNamed(w); z != nil && p.zone == nil {
		p.zone = z
		return dtOK
	}
	return dtBad
}

// number handles a plain number: a packed date or time, a Julian day, or a
// piece of a date whose meaning resolveNums finds.
func (p *dtParts) number(t string, fields []dtField, i int) dtErr {
	if i > 0 && fields[i-1].kind == 's' {
		switch strings.ToLower(fields[i-1].text) {
		case "j", "jd", "julian":
			v, err := strconv.ParseFloat(t, 64)
			if err != nil {
				return dtBad
			}
			day := math.Floor(v)
			p.year, p.month, p.day = DaysToCivil(int(day) - epochJulian)
			p.hasDate = true
			if frac := v - day; frac > 0 {
				us := int64(math.Round(frac * float64(usPerDay)))
				p.hasTime, p.hour, p.min, p.us = true, int(us/usPerHour), int(us/usPerMin%60), us%usPerMin
			}
			return dtOK
		}
	}
	whole, frac, dotted := strings.Cut(t, ".")
	if len(whole) == 8 && !p.hasDate && p.month == 0 && !dotted { // yyyymmdd
		p.hasDate = true
		p.year, p.month, p.day = mustInt(t[:4]), mustInt(t[4:6]), mustInt(t[6:])
		return dtOK
	}
	if (p.hasDate || p.timeOnly) && !p.hasTime && (len(whole) == 6 || len(whole) == 4) { // hhmmss, hhmm
		h := whole[:2] + ":" + whole[2:4]
		if len(whole) == 6 {
			h += ":" + whole[4:]
			if dotted {
				h += "." + frac
			}
		}
		return p.setTime(h)
	}
	if len(whole) == 6 && !p.hasDate && p.month == 0 && !dotted { // yymmdd
		p.hasDate = true
		p.year, p.month, p.day = pivotYear(mustInt(t[:2])), mustInt(t[2:4]), mustInt(t[4:])
		return dtOK
	}
	// An hour before AM or PM.
	if i+1 < len(fields) && fields[i+1].kind == 's' && !p.hasTime && !dotted {
		switch strings.ToLower(fields[i+1].text) {
		case "am", "pm":
			p.hasTime, p.hour = true, mustInt(t)
			return dtOK
		}
	}
	if dotted || len(whole) > 7 {
		return dtBad
	}
	p.nums = append(p.nums, t)
	return dtOK
}

func (p *dtParts) resolveNums() dtErr {
	switch n := len(p.nums); {
	case n == 0:
		if p.month != 0 && !p.hasDate {
			return dtBad
		}
		return dtOK
	case p.hasDate:
		return dtBad
	case p.month != 0 && n == 2: // a month's name with a day and a year
		p.hasDate = true
		return p.orderYD(p.nums[0], p.nums[1])
	case p.month == 0 && n == 3:
		p.hasDate = true
		return p.orderYMD(p.nums[0], p.nums[1], p.nums[2])
	}
	return dtBad
}

func (p *dtParts) check() dtErr {
	if p.ampm != 0 {
		if p.hour > 12 || !p.hasTime {
			return dtRange
		}
		p.hour %= 12
		if p.ampm == 'p' {
			p.hour += 12
		}
	}
	if !p.hasDate {
		return dtOK
	}
	if p.bc {
		if p.year <= 0 {
			return dtRange
		}
		p.year = 1 - p.year
	} else if p.year == 0 {
		return dtRange
	}
	if p.month < 1 || p.month > 12 || p.day < 1 || p.day > 31 {
		return dtMonthDay
	}
	if p.doy > 0 {
		p.year, p.month, p.day = DaysToCivil(CivilToDays(p.year, 1, 1) + p.doy - 1)
		return dtOK
	}
	if p.day > daysIn(p.year, p.month) {
		return dtRange
	}
	return dtOK
}

func (p *dtParts) tod() int64 {
	return int64(p.hour)*usPerHour + int64(p.min)*usPerMin + p.us
}

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
	p, e := decodeDateTime(s, opt.dateOrder())
	if e != dtOK {
		return 0, e.toError("date", s)
	}
	switch p.special {
	case "":
	case "infinity":
		return DateInfinity, nil
	case "-infinity":
		return DateNegInfinity, nil
	case "epoch":
		return -10957, nil
	default:
		days, _ := splitTS(opt.zone().ToLocal(specialTS(p.special, opt)))
		return int32(days), nil
	}
	if !p.hasDate {
		return 0, errDateSyntax("date", s)
	}
	days := CivilToDays(p.year, p.month, p.day)
	if days < int(minDateDays) || days >= int(maxDateDays) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: \"%s\"", s)
	}
	return int32(days), nil
}

// specialTS returns the timestamptz of now, today, tomorrow or yesterday.
func specialTS(w string, opt *Options) int64 {
	now := opt.now()
	if w == "now" {
		return now
	}
	z := opt.zone()
	days, _ := splitTS(z.ToLocal(now))
	switch w {
	case "tomorrow":
		days++
	case "yesterday":
		days--
	}
	return z.ToUTC(int64(days) * usPerDay)
}

// ParseTime reads a time of day in microseconds.
func ParseTime(s string, opt *Options) (int64, error) {
	p, e := decodeTimeOnly(s, opt.dateOrder())
	switch {
	case e != dtOK:
		return 0, e.toError("time", s)
	case p.special == "now":
		_, tod := splitTS(opt.zone().ToLocal(opt.now()))
		return tod, nil
	case p.special != "" || !p.hasTime:
		return 0, errDateSyntax("time", s)
	}
	return p.tod(), nil
}

// ParseTimestamp reads a timestamp without time zone; a zone in the input is
// read and ignored, as PostgreSQL does.
func ParseTimestamp(s string, opt *Options) (int64, error) {
	if d, tod, rest, ok := parseISO(s); ok && rest == "" {
		return int64(d)*usPerDay + tod, nil
	}
	p, e := decodeDateTime(s, opt.dateOrder())
	if e != dtOK {
		return 0, e.toError("timestamp", s)
	}
	switch p.special {
	case "":
	case "infinity":
		return TimestampInfinity, nil
	case "-infinity":
		return TimestampNegInfinity, nil
	case "epoch":
		return -unixToPG * usPerSec, nil
	default:
		us := opt.zone().ToLocal(specialTS(p.special, opt))
		return us + p.tod(), nil
	}
	return p.local("timestamp", s)
}

func (p *dtParts) local(typ, s string) (int64, error) {
	if !p.hasDate {
		return 0, errDateSyntax(typ, s)
	}
	us, ok := tsFromDays(CivilToDays(p.year, p.month, p.day), p.tod())
	if !ok {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range: \"%s\"", s)
	}
	return us, nil
}

// ParseTimestamptz reads a timestamp with time zone; input without a zone is
// the wall clock of opt's zone.
func ParseTimestamptz(s string, opt *Options) (int64, error) {
	const typ = "timestamp with time zone"
	if d, tod, rest, ok := parseISO(s); ok {
		us := int64(d)*usPerDay + tod
		switch {
		case rest == "":
			return opt.zone().ToUTC(us), nil
		case rest == "Z" || rest == "+00":
			return us, nil
		case rest[0] == '+' || rest[0] == '-':
			if off, ok := parseOffset(rest); ok {
				return us - int64(off)*usPerSec, nil
			}
		}
	}
	p, e := decodeDateTime(s, opt.dateOrder())
	if e != dtOK {
		return 0, e.toError(typ, s)
	}
	switch p.special {
	case "":
	case "infinity":
		return TimestampInfinity, nil
	case "-infinity":
		return TimestampNegInfinity, nil
	case "epoch":
		return -unixToPG * usPerSec, nil
	default:
		return specialTS(p.special, opt) + p.tod(), nil
	}
	us, err := p.local(typ, s)
	switch {
	case err != nil:
		return 0, err
	case p.hasOff:
		us -= int64(p.off) * usPerSec
	case p.zone != nil:
		us = p.zone.ToUTC(us)
	default:
		us = opt.zone().ToUTC(us)
	}
	if us < minTS || us >= maxTS {
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
