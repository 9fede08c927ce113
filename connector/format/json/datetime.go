package json

import (
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

const (
	usPerSec = 1_000_000
	usPerDay = 86400 * usPerSec
)

func (d *Decoder) date(c *vec.Col[int32], raw []byte) error {
	text, err := d.scalar(c.Typ, raw)
	if err != nil {
		return err
	}
	days, ok := isoDate(text)
	if !ok || len(text) != 10 {
		if days, err = types.ParseDate(string(text), &d.opt); err != nil {
			return err
		}
	}
	c.Vals = append(c.Vals, days)
	return nil
}

func (d *Decoder) timestamp(t types.T, raw []byte) (int64, error) {
	text, err := d.scalar(t, raw)
	if err != nil {
		return 0, err
	}
	us, ok := isoTimestamp(text, t.ID == types.Timestamptz)
	switch {
	case ok:
	case t.ID == types.Timestamptz:
		us, err = types.ParseTimestamptz(string(text), &d.opt)
	default:
		us, err = types.ParseTimestamp(string(text), &d.opt)
	}
	if err != nil {
		return 0, err
	}
	return types.RoundMicros(us, int(t.Mod)), nil
}

func two(b []byte) (int, bool) {
	x, y := b[0]-'0', b[1]-'0'
	return int(x)*10 + int(y), x <= 9 && y <= 9
}

var monthDays = [...]int{1: 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// isoDate reads YYYY-MM-DD at the start of b.
func isoDate(b []byte) (int32, bool) {
	if len(b) < 10 || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	c, ok1 := two(b)
	y, ok2 := two(b[2:])
	m, ok3 := two(b[5:])
	d, ok4 := two(b[8:])
	y += c * 100
	if !ok1 || !ok2 || !ok3 || !ok4 || y == 0 || m < 1 || m > 12 || d < 1 {
		return 0, false
	}
	if d > monthDays[m] && (m != 2 || d > 29 || y%4 != 0 || y%100 == 0 && y%400 != 0) {
		return 0, false
	}
	return int32(types.CivilToDays(y, m, d)), true
}

// lastDay remembers the day of the timestamp read last, which is mostly that of the
// next one too.
type lastDay struct {
	text string
	days int32
}

// timestamp is isoTimestamp.
func (l *lastDay) timestamp(b []byte, zoned bool) (us int64, ok bool) {
	if len(b) < 10 {
		return 0, false
	}
	if string(b[:10]) != l.text {
		days, ok := isoDate(b)
		if !ok {
			return 0, false
		}
		l.text, l.days = string(b[:10]), days
	}
	return isoTime(b, l.days, zoned)
}

// isoTimestamp reads the usual form, 2024-01-02T03:04:05.678Z or with an offset
// of hours and minutes; ok is false for every other form, which the parser of
// the type's text form then reads. The zone counts only if zoned; without one
// the time is in UTC.
func isoTimestamp(b []byte, zoned bool) (us int64, ok bool) {
	days, ok := isoDate(b)
	if !ok {
		return 0, false
	}
	return isoTime(b, days, zoned)
}

// isoTime reads what follows the date in a timestamp of a day.
func isoTime(b []byte, days int32, zoned bool) (us int64, ok bool) {
	if len(b) < 19 || b[10] != 'T' && b[10] != ' ' || b[13] != ':' || b[16] != ':' {
		return 0, false
	}
	h, ok1 := two(b[11:])
	m, ok2 := two(b[14:])
	s, ok3 := two(b[17:])
	if !ok1 || !ok2 || !ok3 || h > 23 || m > 59 || s > 59 {
		return 0, false
	}
	us = int64(days)*usPerDay + int64(h*3600+m*60+s)*usPerSec
	b = b[19:]
	if len(b) > 1 && b[0] == '.' {
		n, unit := 1, int64(usPerSec/10)
		for ; n < len(b) && b[n]-'0' <= 9; n++ {
			us += int64(b[n]-'0') * unit
			unit /= 10
		}
		if n == 1 || n > 7 {
			return 0, false
		}
		b = b[n:]
	}
	switch {
	case len(b) == 0, len(b) == 1 && b[0] == 'Z':
		return us, true
	case len(b) == 6 && (b[0] == '+' || b[0] == '-') && b[3] == ':':
		oh, ok1 := two(b[1:])
		om, ok2 := two(b[4:])
		if !ok1 || !ok2 || oh > 14 || om > 59 {
			return 0, false
		}
		off := int64(oh*60+om) * 60 * usPerSec
		if b[0] == '-' {
			off = -off
		}
		if zoned {
			us -= off
		}
		return us, true
	}
	return 0, false
}
