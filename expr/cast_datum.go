package expr

import (
	"math"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// castDatum converts one value that is not NULL. The planner has checked that
// the cast exists.
func castDatum(v types.Datum, from, to types.T, explicit bool, opt *types.Options) (types.Datum, error) {
	switch {
	case from.ID == types.Array && to.ID == types.Array:
		return castArray(v, from, to, explicit, opt)
	case isString(to) || to.ID == types.Char:
		return castToString(v, from, to, explicit, opt)
	case isString(from) || from.ID == types.Unknown || from.ID == types.Char && to.ID != types.Int4:
		s := v.(string)
		if from.ID == types.Bpchar {
			s = strings.TrimRight(s, " ")
		}
		return parseText(s, to, opt)
	}
	switch to.ID {
	case types.Bool:
		return castToBool(v, from)
	case types.Int2, types.Int4, types.Int8:
		return castToInt(v, from, to)
	case types.Float4, types.Float8:
		return castToFloat(v, from, to)
	case types.Numeric:
		return castToNumeric(v, from, to)
	case types.Date, types.Time, types.Timestamp, types.Timestamptz, types.Interval:
		return castToTime(v, from, to, opt)
	case types.JSONB, types.JSON:
		if to.ID == types.JSONB {
			return parseText(v.(string), to, opt)
		}
		return v, nil
	case types.Oid, types.Regclass, types.Regtype, types.Regproc, types.Regnamespace:
		n := datumInt(v)
		if n < math.MinInt32 || n > math.MaxUint32 {
			return nil, pgerr.New(pgerr.NumericValueOutOfRange, "OID out of range")
		}
		return int64(uint32(n)), nil
	}
	return nil, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", from.Base(), to.Base())
}

func datumInt(v types.Datum) int64 {
	switch x := v.(type) {
	case int16:
		return int64(x)
	case int32:
		return int64(x)
	case int64:
		return x
	}
	return 0
}

func castToString(v types.Datum, from, to types.T, explicit bool, opt *types.Options) (types.Datum, error) {
	var s string
	switch {
	case from.ID == types.Bool:
		s = "false"
		if v.(bool) {
			s = "true"
		}
	case from.ID == types.Bpchar:
		s = v.(string)
		if to.ID != types.Bpchar {
			s = strings.TrimRight(s, " ")
		}
	case from.ID == types.Int4 && to.ID == types.Char:
		n := v.(int32)
		if n < -128 || n > 127 {
			return nil, pgerr.New(pgerr.NumericValueOutOfRange, `"char" out of range`)
		}
		return string([]byte{byte(n)}), nil
	default:
		s = textOf(from, v, opt)
	}
	switch to.ID {
	case types.Name:
		return types.TruncateName(s), nil
	case types.Char:
		if len(s) > 1 {
			s = s[:1]
		}
		return s, nil
	}
	return types.ApplyTextMod(s, to, explicit)
}

func castToBool(v types.Datum, from types.T) (types.Datum, error) {
	if from.ID == types.JSONB {
		switch v.(string) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, jsonCastError(v.(string), "boolean")
	}
	return v.(int32) != 0, nil
}

func jsonCastError(s, to string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "cannot cast jsonb %s to type %s", jsonKind(s), to)
}

// jsonKind names the kind of a canonical jsonb text.
func jsonKind(s string) string {
	if s == "" {
		return "null"
	}
	switch s[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "numeric"
}

// numericOf returns a number or jsonb number as a numeric.
func numericOf(v types.Datum, from, to types.T) (types.Decimal, error) {
	switch x := v.(type) {
	case int16, int32, int64:
		return types.DecimalFromInt64(datumInt(x)), nil
	case float32:
		return types.DecimalFromFloat32(x), nil
	case float64:
		return types.DecimalFromFloat64(x), nil
	case bool:
		n := int64(0)
		if x {
			n = 1
		}
		return types.DecimalFromInt64(n), nil
	case string:
		if from.ID == types.Numeric {
			return types.DatumDecimal(v), nil
		}
		if from.ID == types.Char {
			if x == "" {
				return types.DecimalFromInt64(0), nil
			}
			return types.DecimalFromInt64(int64(int8(x[0]))), nil
		}
		if from.ID == types.JSONB {
			if jsonKind(x) != "numeric" {
				return types.Decimal{}, jsonCastError(x, to.Base().String())
			}
			return types.ParseDecimal(x)
		}
	}
	return types.Decimal{}, pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", from.Base(), to.Base())
}

func castToInt(v types.Datum, from, to types.T) (types.Datum, error) {
	d, err := numericOf(v, from, to)
	if err != nil {
		return nil, err
	}
	if d.IsNaN() || d.IsInf() {
		what := "NaN"
		if d.IsInf() {
			what = "infinity"
		}
		return nil, pgerr.New(pgerr.FeatureNotSupported, "cannot convert %s to %s", what, to)
	}
	n, ok := d.Round(0).Int64()
	switch to.ID {
	case types.Int2:
		if !ok || int64(int16(n)) != n {
			return nil, errInt2Range
		}
		return int16(n), nil
	case types.Int4:
		if !ok || int64(int32(n)) != n {
			return nil, errInt4Range
		}
		return int32(n), nil
	}
	if !ok {
		return nil, errInt8Range
	}
	return n, nil
}

func castToFloat(v types.Datum, from, to types.T) (types.Datum, error) {
	d, err := numericOf(v, from, to)
	if err != nil {
		return nil, err
	}
	f := d.Float64()
	if to.ID == types.Float8 {
		return f, nil
	}
	g := float32(f)
	if math.IsInf(float64(g), 0) && !math.IsInf(f, 0) {
		return nil, pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type real", d)
	}
	return g, nil
}

func castToNumeric(v types.Datum, from, to types.T) (types.Datum, error) {
	d, err := numericOf(v, from, to)
	if err == nil {
		d, err = d.Typmod(to.Mod)
	}
	if err != nil {
		return nil, err
	}
	return types.DecimalDatum(d), nil
}

func zoneOf(opt *types.Options) *types.Zone {
	if opt == nil || opt.Zone == nil {
		return types.UTC()
	}
	return opt.Zone
}

func infiniteTS(us int64) bool {
	return us == types.TimestampInfinity || us == types.TimestampNegInfinity
}

func castToTime(v types.Datum, from, to types.T, opt *types.Options) (types.Datum, error) {
	switch to.ID {
	case types.Interval:
		if us, ok := v.(int64); ok {
			return types.IntervalValue{Micros: us}, nil
		}
		return v, nil
	case types.Time:
		return types.RoundMicros(timeOfDay(v, from, opt), int(to.Mod)), nil
	}
	us, err := localMicros(v, from, opt)
	if err != nil {
		return nil, err
	}
	if to.ID == types.Date {
		return dateOf(us), nil
	}
	if to.ID == types.Timestamptz && from.ID != types.Timestamptz && !infiniteTS(us) {
		us = zoneOf(opt).ToUTC(us)
	}
	if from.ID == types.Timestamptz && to.ID == types.Timestamptz {
		us = v.(int64)
	}
	if infiniteTS(us) {
		return us, nil
	}
	return types.RoundMicros(us, int(to.Mod)), nil
}

// localMicros returns a date or timestamp as local microseconds.
func localMicros(v types.Datum, from types.T, opt *types.Options) (int64, error) {
	switch x := v.(type) {
	case int32:
		us, ok := dateMicros(x)
		if !ok {
			return 0, errDateRange
		}
		return us, nil
	case int64:
		if from.ID == types.Timestamptz && !infiniteTS(x) {
			return zoneOf(opt).ToLocal(x), nil
		}
		return x, nil
	}
	return 0, nil
}

func dateOf(us int64) int32 {
	switch us {
	case types.TimestampInfinity:
		return types.DateInfinity
	case types.TimestampNegInfinity:
		return types.DateNegInfinity
	}
	return int32(floorDiv(us, microsPerDay))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func timeOfDay(v types.Datum, from types.T, opt *types.Options) int64 {
	us := int64(0)
	switch x := v.(type) {
	case types.IntervalValue:
		us = x.Micros
	case int64:
		us = x
		if from.ID == types.Timestamptz {
			us = zoneOf(opt).ToLocal(x)
		}
	}
	return us - floorDiv(us, microsPerDay)*microsPerDay
}

func castArray(v types.Datum, from, to types.T, explicit bool, opt *types.Options) (types.Datum, error) {
	view := types.ViewArray([]byte(v.(string)))
	fe, te := from.ElemType(), to.ElemType()
	var b types.ArrayBuilder
	for i := range view.Len() {
		e, null := view.At(i)
		if null {
			b.AddNull()
			continue
		}
		d := types.ElemDatum(fe.Kind(), e)
		var err error
		if !same(fe, te) || te.Mod >= 0 {
			if d, err = castDatum(d, fe, te, explicit, opt); err != nil {
				return nil, err
			}
		}
		b.AddDatum(d)
	}
	var dims []int32
	for i := range view.Dims() {
		dims = append(dims, int32(view.DimLen(i)), int32(view.Lower(i)))
	}
	if len(dims) == 0 {
		return string(b.Append(nil)), nil
	}
	return string(shaped(dims, &b)), nil
}
