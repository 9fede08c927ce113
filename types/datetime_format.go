package types

import "strconv"

func append2(dst []byte, v int) []byte { return append(dst, byte('0'+v/10%10), byte('0'+v%10)) }

func appendYMD(dst []byte, days int) (out []byte, bc bool) {
	y, m, d := DaysToCivil(days)
	if y <= 0 {
		bc, y = true, 1-y
	}
	if y < 10000 {
		dst = append2(append2(dst, y/100), y%100)
	} else {
		dst = strconv.AppendInt(dst, int64(y), 10)
	}
	dst = append2(append(dst, '-'), m)
	return append2(append(dst, '-'), d), bc
}

// AppendDate appends a date in ISO style.
func AppendDate(dst []byte, days int32) []byte {
	switch days {
	case DateInfinity:
		return append(dst, "infinity"...)
	case DateNegInfinity:
		return append(dst, "-infinity"...)
	}
	dst, bc := appendYMD(dst, int(days))
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// AppendTime appends a time of day: 04:05:06.789.
func AppendTime(dst []byte, us int64) []byte {
	dst = append2(dst, int(us/usPerHour))
	dst = append2(append(dst, ':'), int(us/usPerMin%60))
	dst = append2(append(dst, ':'), int(us/usPerSec%60))
	return appendFrac(dst, us%usPerSec)
}

// appendFrac appends .ffffff without trailing zeros; nothing for zero.
func appendFrac(dst []byte, f int64) []byte {
	if f == 0 {
		return dst
	}
	dst = append(dst, '.', 0, 0, 0, 0, 0, 0)
	b := dst[len(dst)-6:]
	for i := 5; i >= 0; i-- {
		b[i] = byte('0' + f%10)
		f /= 10
	}
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// AppendTimestamp appends a timestamp without time zone in ISO style.
func AppendTimestamp(dst []byte, us int64) []byte { return appendTS(dst, us, nil) }

// AppendTimestamptz appends a timestamp as the wall clock of zone z with its
// offset: 2024-01-02 03:04:05+01. A nil zone is UTC.
func AppendTimestamptz(dst []byte, us int64, z *Zone) []byte {
	if z == nil {
		return appendTS(dst, us, []byte("+00"))
	}
	if us == TimestampInfinity || us == TimestampNegInfinity {
		return appendTS(dst, us, nil)
	}
	off := z.Offset(us)
	var buf [12]byte
	return appendTS(dst, us+int64(off)*usPerSec, appendOffset(buf[:0], off))
}

func appendTS(dst []byte, us int64, off []byte) []byte {
	switch us {
	case TimestampInfinity:
		return append(dst, "infinity"...)
	case TimestampNegInfinity:
		return append(dst, "-infinity"...)
	}
	days, tod := splitTS(us)
	dst, bc := appendYMD(dst, days)
	dst = AppendTime(append(dst, ' '), tod)
	dst = append(dst, off...)
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// appendOffset appends +HH[:MM[:SS]].
func appendOffset(dst []byte, off int) []byte {
	sign := byte('+')
	if off < 0 {
		sign, off = '-', -off
	}
	dst = append2(append(dst, sign), off/3600)
	if off%3600 != 0 {
		dst = append2(append(dst, ':'), off/60%60)
		if off%60 != 0 {
			dst = append2(append(dst, ':'), off%60)
		}
	}
	return dst
}
