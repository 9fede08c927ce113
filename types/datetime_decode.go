package types

import (
	"math"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// dtErr is why input is none.
type dtErr uint8

const (
	dtOK dtErr = iota
	dtBad
	dtRange
	dtMonthDay // no month or day at all: perhaps their order is another
	dtZone
	dtNoZone // the name of a zone that does not exist
)

// dtDecoder gives the fields of input their meaning.
type dtDecoder struct {
	opt    *Options // the order of the fields of a date, and what today is
	order  string
	fields []dtField

	word             int // infinity, -infinity or epoch, or wordNone
	year, month, day int
	hour, min, sec   int
	us               int64 // the fraction of the second
	off              int   // seconds east, if hasZone is in have and zone is nil
	zone             *Zone
	badZone          string // the name that dtNoZone means

	have                        dtMask
	label                       int // of the next field, or wordNone
	doy                         int
	textMonth, julian, twoDigit bool
	bc, ampm, pm                bool
}

func (d *dtDecoder) toError(e dtErr, typ, s string) error {
	switch e {
	case dtBad:
		return errDateSyntax(typ, s)
	case dtRange:
		return errDateRange(s)
	case dtMonthDay:
		return errDateRange(s).WithHint("Perhaps you need a different \"datestyle\" setting.")
	case dtZone:
		return pgerr.New(pgerr.InvalidTimeZoneDisplacement, "time zone displacement out of range: \"%s\"", s)
	case dtNoZone:
		return errZone(d.badZone)
	}
	return nil
}

// split begins to decode s.
func (d *dtDecoder) split(s string, opt *Options) dtErr {
	d.opt, d.order = opt, opt.dateOrder()
	var ok bool
	if d.fields, ok = splitFields(s); !ok {
		return dtBad
	}
	return dtOK
}

// read decodes the fields of s one by one, none of which may say again what another has
// said.
func (d *dtDecoder) read(s string, opt *Options, field func(i int) (dtMask, dtErr)) dtErr {
	if e := d.split(s, opt); e != dtOK {
		return e
	}
	for i := range d.fields {
		mask, e := field(i)
		if e != dtOK {
			return e
		}
		if mask&d.have != 0 {
			return dtBad
		}
		d.have |= mask
	}
	return d.check()
}

// decode reads a date with or without a time.
func (d *dtDecoder) decode(s string, opt *Options) dtErr {
	if e := d.read(s, opt, d.field); e != dtOK {
		return e
	}
	if d.word != wordNone {
		return dtOK
	}
	if d.have&fullDate != fullDate || d.have&hasSummerMark != 0 && (d.zone != nil || d.have&hasZone == 0) {
		return dtBad
	}
	return dtOK
}

func (d *dtDecoder) field(i int) (dtMask, dtErr) {
	switch f := d.fields[i]; f.kind {
	case dtDate:
		if d.label == unitJulian || d.label != wordNone || d.have&(hasMonth|hasDay) == hasMonth|hasDay {
			return d.glued(f.text)
		}
		return d.date(f.text, d.have)
	case dtTime:
		if d.label != wordNone && d.label != unitTime {
			return 0, dtBad
		}
		d.label = wordNone
		mask, e := d.clock(f.text)
		if e == dtOK && d.timeOverflows() {
			e = dtRange
		}
		return mask, e
	case dtOffset:
		return d.offset(f.text)
	case dtNumber:
		if d.label != wordNone {
			return d.labelled(f.text)
		}
		point := strings.IndexByte(f.text, '.')
		switch {
		case point >= 0 && d.have&fullDate == 0:
			return d.date(f.text, d.have)
		case point > 2, len(f.text) >= 6 && (d.have&fullDate == 0 || d.have&fullTime == 0):
			return d.packed(f.text, d.have)
		}
		return d.number(f.text, d.have, d.textMonth)
	default:
		return d.text(i)
	}
}

// glued reads a field with separators where there is a date already: a Julian day
// or a time with its offset, or the name of a zone.
func (d *dtDecoder) glued(t string) (dtMask, dtErr) {
	if d.label == unitJulian {
		day, rest, e := leadingInt(t)
		if e != dtOK || day < 0 {
			return 0, dtRange
		}
		d.setJulian(day)
		mask, e := d.offset(rest)
		d.label = wordNone
		return fullDate | fullTime | mask, e
	}
	if !isDigit(t[0]) && d.label == wordNone {
		return d.named(t)
	}
	if d.label != wordNone && d.label != unitTime || d.have&fullTime == fullTime {
		return 0, dtBad
	}
	d.label = wordNone
	return d.packedWithOffset(t, d.have)
}

// packedWithOffset reads hhmmss-08.
func (d *dtDecoder) packedWithOffset(t string, have dtMask) (dtMask, dtErr) {
	i := strings.IndexByte(t, '-')
	if i < 0 {
		return 0, dtBad
	}
	zone, e := d.offset(t[i:])
	if e != dtOK {
		return 0, e
	}
	mask, e := d.packed(t[:i], have)
	return mask | zone, e
}

// named finds a zone by its name.
func (d *dtDecoder) named(t string) (dtMask, dtErr) {
	z := findZone(t, false)
	if z == nil {
		d.badZone = t
		return 0, dtNoZone
	}
	d.zone = z
	return hasZone, dtOK
}

// leadingInt reads digits from the front: dtRange where they do not fit in 32 bits,
// dtBad where there are none.
func leadingInt(t string) (v int, rest string, e dtErr) {
	i := 0
	for i < len(t) && isDigit(t[i]) {
		i++
	}
	if i == 0 {
		return 0, t, dtBad
	}
	n, err := strconv.ParseInt(t[:i], 10, 32)
	if err != nil {
		return 0, t, dtRange
	}
	return int(n), t[i:], dtOK
}

// leadingDigits is leadingInt to which nothing is zero.
func leadingDigits(t string) (int, string, dtErr) {
	v, rest, e := leadingInt(t)
	if e == dtBad {
		e = dtOK
	}
	return v, rest, e
}

func (d *dtDecoder) setJulian(day int) {
	d.year, d.month, d.day = DaysToCivil(day - epochJulian)
	d.julian = true
}

// fraction reads a point and what follows as microseconds.
func fraction(t string) (int64, dtErr) {
	if t == "." {
		return 0, dtOK
	}
	f, err := strconv.ParseFloat("0"+t, 64)
	if err != nil {
		return 0, dtBad
	}
	return int64(math.RoundToEven(f * 1e6)), dtOK
}

// labelled reads a number behind y, m, d, h, mm, s, j or t.
func (d *dtDecoder) labelled(t string) (mask dtMask, e dtErr) {
	v, rest, e := leadingDigits(t)
	label := d.label
	switch {
	case e != dtOK:
		return 0, e
	case rest != "" && label != unitJulian && label != unitTime && label != unitSecond:
		return 0, dtBad
	}
	d.label, d.word = wordNone, wordNone
	switch label {
	case unitYear:
		d.year, mask = v, hasYear
	case unitMonth:
		if d.have&(hasMonth|hasHour) == hasMonth|hasHour { // minutes
			d.min, mask = v, hasMinute
		} else {
			d.month, mask = v, hasMonth
		}
	case unitDay:
		d.day, mask = v, hasDay
	case unitHour:
		d.hour, mask = v, hasHour
	case unitMinute:
		d.min, mask = v, hasMinute
	case unitSecond:
		d.sec, mask = v, hasSecond
		if rest != "" {
			d.us, e = fraction(rest)
			mask |= hasFraction
		}
	case unitJulian:
		d.setJulian(v)
		mask = fullDate
		if rest != "" {
			part, err := strconv.ParseFloat("0"+rest, 64)
			if err != nil {
				return 0, dtBad
			}
			d.setTime(int64(part * float64(usPerDay)))
			mask |= fullTime
		}
	case unitTime:
		if mask, e = d.packed(t, d.have|fullDate); e == dtOK && mask != fullTime {
			e = dtBad
		}
	default:
		e = dtBad
	}
	return mask, e
}

// date reads a field with separators, or with a point, as a date.
func (d *dtDecoder) date(t string, have dtMask) (got dtMask, e dtErr) {
	var parts []string
	for i := 0; i < len(t) && len(parts) < maxDTFields; {
		for i < len(t) && !isAlnum(t[i]) {
			i++
		}
		if i == len(t) {
			return 0, dtBad
		}
		is := isLetter
		if isDigit(t[i]) {
			is = isDigit
		}
		j := i
		for j < len(t) && is(t[j]) {
			j++
		}
		parts = append(parts, t[i:j])
		i = j + 1 // without the separator
	}
	month := false
	for i, p := range parts {
		if !isLetter(p[0]) {
			continue
		}
		w := dtWords[p]
		switch {
		case w.role == isFiller:
			continue
		case w.role != hasMonth || have&hasMonth != 0:
			return 0, dtBad
		}
		d.month, month, parts[i] = w.val, true, ""
		have, got = have|hasMonth, got|hasMonth
	}
	for _, p := range parts {
		if p == "" {
			continue
		}
		mask, e := d.number(p, have, month)
		if e != dtOK {
			return 0, e
		}
		if have&mask != 0 {
			return 0, dtBad
		}
		have, got = have|mask, got|mask
	}
	if have&^(hasDoy|hasZone) != fullDate {
		return 0, dtBad
	}
	return got, dtOK
}

// number gives a plain number its meaning by what is there already.
func (d *dtDecoder) number(t string, have dtMask, textMonth bool) (dtMask, dtErr) {
	v, rest, e := leadingInt(t)
	switch {
	case e != dtOK:
		return 0, e
	case rest != "" && rest[0] != '.':
		return 0, dtBad
	case rest != "" && len(t)-len(rest) > 2:
		return d.packed(t, have|fullDate)
	case rest != "":
		if d.us, e = fraction(rest); e != dtOK {
			return 0, e
		}
	}
	if len(t) == 3 && have&fullDate == hasYear && v >= 1 && v <= 366 {
		d.doy = v
		return hasDoy | hasMonth | hasDay, dtOK
	}
	long := len(t) >= 3
	switch have & fullDate {
	case 0:
		switch {
		case long || d.order == OrderYMD:
			return d.setYear(v, t)
		case d.order == OrderDMY:
			return d.setDay(v)
		}
		return d.setMonth(v)
	case hasYear, hasDay:
		return d.setMonth(v)
	case hasMonth:
		if textMonth && (long || d.order == OrderYMD) {
			return d.setYear(v, t)
		}
		return d.setDay(v)
	case hasYear | hasMonth:
		if textMonth && long && d.twoDigit { // what came first was the day
			d.day, d.year, d.twoDigit = d.year, v, false
			return hasDay, dtOK
		}
		return d.setDay(v)
	case hasMonth | hasDay:
		return d.setYear(v, t)
	case fullDate:
		return d.packed(t, have)
	}
	return 0, dtBad
}

func (d *dtDecoder) setYear(v int, t string) (dtMask, dtErr) {
	d.year, d.twoDigit = v, len(t) <= 2
	return hasYear, dtOK
}

func (d *dtDecoder) setMonth(v int) (dtMask, dtErr) { d.month = v; return hasMonth, dtOK }

func (d *dtDecoder) setDay(v int) (dtMask, dtErr) { d.day = v; return hasDay, dtOK }

// packed reads a date or a time without separators.
func (d *dtDecoder) packed(t string, have dtMask) (dtMask, dtErr) {
	whole, frac, point := strings.Cut(t, ".")
	n := len(whole)
	switch {
	case point:
		f, _ := strconv.ParseFloat("0."+frac, 64)
		d.us = int64(math.RoundToEven(f * 1e6))
	case have&fullDate != fullDate && n >= 6:
		d.year, d.month, d.day = wrapInt(whole[:n-4]), wrapInt(whole[n-4:n-2]), wrapInt(whole[n-2:])
		d.twoDigit = d.twoDigit || n == 6
		return fullDate, dtOK
	}
	if have&fullTime != fullTime && (n == 4 || n == 6) {
		d.hour, d.min, d.sec = wrapInt(whole[:2]), wrapInt(whole[2:4]), 0
		if n == 6 {
			d.sec = wrapInt(whole[4:])
		}
		return fullTime, dtOK
	}
	return 0, dtBad
}

// wrapInt reads digits; too many are too large for any date.
func wrapInt(s string) int {
	v, err := strconv.Atoi(s)
	if err != nil {
		return math.MaxInt32
	}
	return v
}

// clock reads hh:mm, hh:mm:ss with a fraction, or mm:ss.fraction.
func (d *dtDecoder) clock(t string) (dtMask, dtErr) {
	var e dtErr
	if d.hour, t, e = leadingDigits(t); e != dtOK {
		return 0, e
	}
	if t == "" || t[0] != ':' {
		return 0, dtBad
	}
	if d.min, t, e = leadingDigits(t[1:]); e != dtOK {
		return 0, e
	}
	d.sec, d.us = 0, 0
	switch {
	case t == "":
	case t[0] == '.':
		d.us, e = fraction(t)
		d.hour, d.min, d.sec = 0, d.hour, d.min
	default:
		if d.sec, t, e = leadingDigits(t[1:]); e != dtOK {
			return 0, e
		}
		switch {
		case t == "":
		case t[0] == '.':
			d.us, e = fraction(t)
		default:
			e = dtBad
		}
	}
	if e == dtOK && (d.min > 59 || d.sec > 60 || d.us > usPerSec) {
		e = dtRange
	}
	return fullTime, e
}

// timeOverflows tells whether the time of day is past 24:00.
func (d *dtDecoder) timeOverflows() bool {
	return d.hour > 24 || d.min > 59 || d.sec > 60 || d.us > usPerSec || d.tod() > usPerDay
}

// decodeOffset reads +hh, +hhmm, +hh:mm or +hh:mm:ss into seconds east.
func decodeOffset(t string) (int, dtErr) {
	if t == "" || t[0] != '+' && t[0] != '-' {
		return 0, dtBad
	}
	var p [3]int
	rest := t[1:]
	for i := range p {
		v, r, e := leadingInt(rest)
		if e == dtRange {
			return 0, dtZone
		}
		p[i], rest = v, r
		if i == 2 || !strings.HasPrefix(rest, ":") {
			break
		}
		rest = rest[1:]
	}
	if rest == "" && len(t) > 3 && !strings.Contains(t, ":") {
		p[0], p[1] = p[0]/100, p[0]%100
	}
	if p[0] > 15 || p[1] > 59 || p[2] > 59 {
		return 0, dtZone
	}
	off := p[0]*3600 + p[1]*60 + p[2]
	if t[0] == '-' {
		off = -off
	}
	if rest != "" {
		return 0, dtBad
	}
	return off, dtOK
}

func (d *dtDecoder) offset(t string) (dtMask, dtErr) {
	off, e := decodeOffset(t)
	d.off = off
	return hasZone, e
}

// text reads a word.
func (d *dtDecoder) text(i int) (dtMask, dtErr) {
	t := d.fields[i].text
	if a, ok := zoneAbbrevs()[t]; ok {
		if a.zone != "" {
			d.zone = abbrevZone(t)
			return hasZone | hasSummer, dtOK
		}
		if d.off = a.off; a.summer {
			return hasZone | hasSummer, dtOK
		}
		return hasZone, dtOK
	}
	w, ok := dtWords[t]
	if !ok {
		if mask, e := d.named(t); e == dtOK {
			return mask, e
		}
		return 0, dtBad
	}
	switch w.role {
	case isFiller:
		return 0, dtOK
	case isReserved:
		return d.reserved(w.val), dtOK
	case hasMonth:
		mask := hasMonth
		if d.have&hasMonth != 0 && !d.textMonth && d.have&hasDay == 0 && d.month >= 1 && d.month <= 31 {
			d.day, mask = d.month, hasDay // a number taken for the month was the day
		}
		d.textMonth, d.month = true, w.val
		return mask, dtOK
	case hasSummer:
		d.off += w.val
		return hasSummer | hasSummerMark, dtOK
	case hasAMPM:
		d.ampm, d.pm = true, w.val == 1
	case hasEra:
		d.bc = w.val == 1
	case isUnit:
		d.label = w.val
		return 0, dtOK
	case isTimeMark:
		if d.have&fullDate != fullDate || !d.timeFollows(i) {
			return 0, dtBad
		}
		d.label = unitTime
		return 0, dtOK
	}
	return w.role, dtOK
}

func (d *dtDecoder) reserved(word int) dtMask {
	day := d.opt.today()
	d.word = wordNone
	switch word {
	case wordNow:
		now := d.opt.now()
		z := d.opt.zone()
		d.off = z.Offset(now)
		_, tod := splitTS(z.ToLocal(now))
		d.setTime(tod)
		d.year, d.month, d.day = DaysToCivil(day)
		return fullDate | fullTime | hasZone
	case wordTomorrow:
		day++
	case wordYesterday:
		day--
	case wordToday:
	case wordAllballs:
		d.off, d.hour, d.min, d.sec = 0, 0, 0, 0
		return fullTime | hasZone
	default:
		d.word = word
		return isReserved
	}
	d.year, d.month, d.day = DaysToCivil(day)
	return fullDate
}

func (d *dtDecoder) setTime(us int64) {
	d.hour, d.min, d.sec, d.us = int(us/usPerHour), int(us/usPerMin%60), int(us/usPerSec%60), us%usPerSec
}

func (d *dtDecoder) timeFollows(i int) bool {
	if i+1 >= len(d.fields) {
		return false
	}
	k := d.fields[i+1].kind
	return k == dtNumber || k == dtTime || k == dtDate
}

// check settles the year and the hour, and looks whether they make sense.
func (d *dtDecoder) check() dtErr {
	if d.have&hasYear != 0 {
		switch {
		case d.julian:
		case d.bc && d.year <= 0:
			return dtRange
		case d.bc:
			d.year = 1 - d.year
		case d.twoDigit && d.year < 70:
			d.year += 2000
		case d.twoDigit && d.year < 100:
			d.year += 1900
		case d.year <= 0:
			return dtRange
		}
	}
	if d.have&hasDoy != 0 {
		d.year, d.month, d.day = DaysToCivil(CivilToDays(d.year, 1, 1) + d.doy - 1)
	}
	if d.have&hasMonth != 0 && (d.month < 1 || d.month > 12) || d.have&hasDay != 0 && (d.day < 1 || d.day > 31) {
		return dtMonthDay
	}
	if d.have&fullDate == fullDate && d.day > daysIn(d.year, d.month) {
		return dtRange
	}
	if d.ampm {
		switch {
		case d.hour > 12:
			return dtRange
		case !d.pm && d.hour == 12:
			d.hour = 0
		case d.pm && d.hour != 12:
			d.hour += 12
		}
	}
	return dtOK
}

func (d *dtDecoder) tod() int64 {
	return int64(d.hour)*usPerHour + int64(d.min)*usPerMin + int64(d.sec)*usPerSec + d.us
}
