package types

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/pgerr"
)

// A time with time zone is stored in twelve bytes that order as SQL does: the time of
// day in UTC, then the offset, of two equal times the one further east first.

// TimetzValue is a time of day and the offset from UTC it was told with.
type TimetzValue struct {
	Micros int64 // of the day, on the clock of the zone
	Off    int32 // seconds east of UTC
}

// maxZoneOffset bounds the offsets, in seconds.
const maxZoneOffset = 16 * 3600

// AppendTimetz appends the stored form.
func AppendTimetz(dst []byte, v TimetzValue) []byte {
	utc := v.Micros - int64(v.Off)*usPerSec
	dst = binary.BigEndian.AppendUint64(dst, uint64(utc)^1<<63)
	return binary.BigEndian.AppendUint32(dst, uint32(-v.Off)^1<<31)
}

// ViewTimetz reads the stored form.
func ViewTimetz(b []byte) TimetzValue {
	if len(b) < 12 {
		return TimetzValue{}
	}
	off := -int32(binary.BigEndian.Uint32(b[8:]) ^ 1<<31)
	return TimetzValue{int64(binary.BigEndian.Uint64(b)^1<<63) + int64(off)*usPerSec, off}
}

func timetzDatum(v TimetzValue) string { return string(AppendTimetz(nil, v)) }

// TimeToTimetz gives a time of day the offset that zone z has then on a day.
func TimeToTimetz(us int64, days int, z *Zone) TimetzValue {
	return TimetzValue{us, int32(z.localOffset(int64(days)*usPerDay + us))}
}

// TimestamptzToTimetz is the time of day in zone z. us is finite.
func TimestamptzToTimetz(us int64, z *Zone) TimetzValue {
	off := z.Offset(us)
	return TimetzValue{floorMod(us+int64(off)*usPerSec, usPerDay), int32(off)}
}

// At is the same moment of the day on the clock of another offset.
func (v TimetzValue) At(off int32) TimetzValue {
	return TimetzValue{floorMod(v.Micros+int64(off-v.Off)*usPerSec, usPerDay), off}
}

// Add moves the time by the time part of an interval, around the clock.
func (v TimetzValue) Add(iv IntervalValue) TimetzValue {
	return TimetzValue{TimeAdd(v.Micros, iv), v.Off}
}

// Round rounds the seconds to prec digits.
func (v TimetzValue) Round(prec int) TimetzValue {
	return TimetzValue{RoundMicros(v.Micros, prec), v.Off}
}

// DateTimetz is the moment of a day's time with its zone; 22008 out of range.
func DateTimetz(days int32, v TimetzValue) (int64, error) {
	us, err := DateToTimestamp(days)
	switch {
	case err != nil:
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range for timestamp")
	case isInfTS(us):
		return us, nil
	}
	if us += v.Micros - int64(v.Off)*usPerSec; us < minTS || us >= maxTS {
		return 0, errTS()
	}
	return us, nil
}

// ExtractTimetz returns a field of a time with time zone.
func ExtractTimetz(f Field, name string, v TimetzValue) (Decimal, error) {
	off := int64(v.Off)
	switch f {
	case FieldTimezone:
		return DecimalFromInt64(off), nil
	case FieldTimezoneHour:
		return DecimalFromInt64(off / 3600), nil
	case FieldTimezoneMinute:
		return DecimalFromInt64(off / 60 % 60), nil
	case FieldEpoch:
		return DecimalFromScaled(v.Micros-off*usPerSec, 6), nil
	}
	if d, ok := timeField(f, v.Micros); ok {
		return d, nil
	}
	return Decimal{}, errUnit(f, name, TTimetz)
}

func appendTimetzText(dst, b []byte) []byte {
	v := ViewTimetz(b)
	return appendOffset(AppendTime(dst, v.Micros), int(v.Off))
}

func appendTimetzBinary(dst, b []byte) []byte {
	v := ViewTimetz(b)
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.Micros))
	return binary.BigEndian.AppendUint32(dst, uint32(-v.Off)) // counted westwards
}

func parseTimetzText(s string, t T, opt *Options) (string, error) {
	v, err := ParseTimetz(s, opt)
	if err != nil {
		return "", err
	}
	return timetzDatum(v.Round(int(t.Mod))), nil
}

func parseTimetzBinary(b []byte, t T) (string, error) {
	if len(b) != 12 {
		return "", errBinary()
	}
	v := TimetzValue{int64(binary.BigEndian.Uint64(b)), -int32(binary.BigEndian.Uint32(b[8:]))}
	if v.Micros < 0 || v.Micros > usPerDay {
		return "", errTypeRange("time")
	}
	if v.Off <= -maxZoneOffset || v.Off >= maxZoneOffset {
		return "", pgerr.New(pgerr.InvalidTimeZoneDisplacement, "time zone displacement out of range")
	}
	return timetzDatum(v.Round(int(t.Mod))), nil
}
