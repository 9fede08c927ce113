package types

import "strings"

// decodeTime reads a time of day, which may have a zone, and a date for the zone's
// sake.
func (d *dtDecoder) decodeTime(s string, opt *Options) dtErr {
	if e := d.read(s, opt, d.timeField); e != dtOK {
		return e
	}
	if d.timeOverflows() {
		return dtRange
	}
	if d.have&fullTime != fullTime || d.have&hasSummerMark != 0 && (d.zone != nil || d.have&hasZone == 0) {
		return dtBad
	}
	dated := d.have&fullDate == fullDate
	if d.zone != nil && d.zone.meaning == "" && !d.zone.fixed() && !dated {
		return dtBad
	}
	if (d.have&hasZone == 0 || d.zone != nil && d.zone.meaning != "") && d.have&fullDate != 0 && !dated {
		return dtBad
	}
	return dtOK
}

func (d *dtDecoder) timeField(i int) (dtMask, dtErr) {
	f, n := d.fields[i], len(d.fields)
	last := d.fields[n-1].kind
	switch f.kind {
	case dtDate:
		switch {
		case i == 0 && n >= 2 && (last == dtDate || d.fields[1].kind == dtTime):
			return d.date(f.text, d.have)
		case !isDigit(f.text[0]):
			return d.named(f.text)
		case d.have&fullTime == fullTime:
			return 0, dtBad
		}
		return d.packedWithOffset(f.text, d.have|fullDate)
	case dtTime:
		return d.clock(f.text)
	case dtOffset:
		return d.offset(f.text)
	case dtNumber:
		if d.label != wordNone {
			return d.labelled(f.text)
		}
		point := strings.IndexByte(f.text, '.')
		switch {
		case point >= 0 && i == 0 && n >= 2 && last == dtDate:
			return d.date(f.text, d.have)
		case point > 2, point < 0 && len(f.text) > 4:
			return d.packed(f.text, d.have|fullDate)
		case point >= 0:
			return 0, dtBad
		}
		return d.number(f.text, d.have|fullDate, false)
	}
	if w, known := dtWords[f.text]; known {
		if _, zone := zoneAbbrevs()[f.text]; !zone {
			switch {
			case w.role == hasMonth || w.role == hasDow:
				return 0, dtBad
			case w.role == isReserved && w.val == wordNow:
				return d.reserved(w.val) & fullTime, dtOK
			case w.role == isReserved && w.val != wordAllballs:
				return 0, dtBad
			case w.role == isTimeMark:
				if !d.timeFollows(i) {
					return 0, dtBad
				}
				d.label = unitTime
				return 0, dtOK
			}
		}
	}
	return d.text(i)
}

// ParseTime reads a time of day in microseconds.
func ParseTime(s string, opt *Options) (int64, error) {
	var d dtDecoder
	if e := d.decodeTime(s, opt); e != dtOK {
		return 0, d.toError(e, "time", s)
	}
	return d.tod(), nil
}

// ParseTimetz reads a time of day with its zone; without one it is that of opt's zone
// on the day that stands with it, or today.
func ParseTimetz(s string, opt *Options) (v TimetzValue, err error) {
	var d dtDecoder
	if e := d.decodeTime(s, opt); e != dtOK {
		return v, d.toError(e, "time with time zone", s)
	}
	v.Micros = d.tod()
	z, days := d.zone, opt.today()
	if d.have&fullDate == fullDate {
		days = CivilToDays(d.year, d.month, d.day)
	}
	switch {
	case d.have&hasZone == 0:
		z = opt.zone()
	case z == nil:
		v.Off = int32(d.off)
		return v, nil
	}
	v.Off = int32(z.localOffset(int64(days)*usPerDay + v.Micros))
	return v, nil
}
