package types

import (
	"math"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// CastContext says where a cast may happen without being written.
type CastContext uint8

// The contexts, each including the ones before it.
const (
	CastNone       CastContext = iota // no such cast
	CastExplicit                      // CAST and :: only
	CastAssignment                    // also on INSERT and UPDATE
	CastImplicit                      // also inside expressions
)

// castRow gives the types reachable from one type, by context, as pg_cast does.
type castRow struct{ implicit, assignment, explicit []ID }

var castTable = [numIDs]castRow{
	Bool:        {nil, []ID{Text, Varchar, Bpchar}, []ID{Int4}},
	Int2:        {[]ID{Int4, Int8, Float4, Float8, Numeric, Oid}, nil, nil},
	Int4:        {[]ID{Int8, Float4, Float8, Numeric, Oid}, []ID{Int2, Money}, []ID{Bool, Char, Bit}},
	Int8:        {[]ID{Float4, Float8, Numeric, Oid}, []ID{Int2, Int4, Money}, []ID{Bit}},
	Float4:      {[]ID{Float8}, []ID{Int2, Int4, Int8, Numeric}, nil},
	Float8:      {nil, []ID{Int2, Int4, Int8, Float4, Numeric}, nil},
	Numeric:     {[]ID{Float4, Float8}, []ID{Int2, Int4, Int8, Money}, nil},
	Money:       {nil, []ID{Numeric}, nil},
	Text:        {[]ID{Varchar, Bpchar, Name, Regclass}, []ID{Char}, nil},
	Varchar:     {[]ID{Text, Bpchar, Name, Regclass}, []ID{Char}, nil},
	Bpchar:      {[]ID{Text, Varchar, Name}, []ID{Char}, nil},
	Char:        {[]ID{Text}, []ID{Varchar, Bpchar}, []ID{Int4}},
	Name:        {[]ID{Text}, []ID{Varchar, Bpchar}, nil},
	Date:        {[]ID{Timestamp, Timestamptz}, nil, nil},
	Time:        {[]ID{Interval, Timetz}, nil, nil},
	Timetz:      {nil, []ID{Time}, nil},
	Timestamp:   {[]ID{Timestamptz}, []ID{Date, Time}, nil},
	Timestamptz: {nil, []ID{Date, Time, Timestamp, Timetz}, nil},
	Interval:    {nil, []ID{Time}, nil},
	JSON:        {nil, []ID{JSONB}, nil},
	JSONB:       {nil, []ID{JSON}, []ID{Bool, Int2, Int4, Int8, Float4, Float8, Numeric}},
	Oid:         {nil, []ID{Int4, Int8}, nil},
	Bit:         {[]ID{Varbit}, nil, []ID{Int4, Int8}},
	Varbit:      {[]ID{Bit}, nil, nil},
	Inet:        {nil, []ID{Cidr}, nil},
	Cidr:        {[]ID{Inet}, nil, nil},
	Macaddr:     {[]ID{Macaddr8}, nil, nil},
	Macaddr8:    {[]ID{Macaddr}, nil, nil},
	Xid8:        {nil, nil, []ID{Xid}},
}

// IsString reports whether t is one of the string types of category S.
func (t T) IsString() bool {
	return t.ID == Text || t.ID == Varchar || t.ID == Bpchar || t.ID == Name
}

func hasID(ids []ID, id ID) bool {
	for _, x := range ids {
		if x == id {
			return true
		}
	}
	return false
}

// CastOf returns the context in which from may be cast to to, I/O conversions
// included: any type to a string on assignment, a string to any explicitly.
func CastOf(from, to T) CastContext {
	from, to = from.Underlying(), to.Underlying()
	switch {
	case from.SameType(to), from.ID == Unknown:
		return CastImplicit
	case from.ID == Array && to.ID == Array && from.Elem != Invalid && to.Elem != Invalid:
		return CastOf(from.ElemType().Base(), to.ElemType().Base())
	case from.ID == Record && to.ID == Record:
		if from.IsComposite() && to.Ref != 0 {
			return CastNone
		}
		return CastImplicit
	case from.ID == Void && to.IsString():
		return CastAssignment
	case from.ID == Void || to.ID == Void || from.ID == Invalid || to.ID == Invalid:
		return CastNone
	}
	row := &castTable[from.ID]
	switch {
	case from.ID.IsReg() || to.ID.IsReg() && (from.ID == Oid || from.ID == Int2 || from.ID == Int4 || from.ID == Int8):
		if c := castReg(from.ID, to.ID); c != CastNone {
			return c
		}
	}
	switch {
	case hasID(row.implicit, to.ID):
		return CastImplicit
	case hasID(row.assignment, to.ID):
		return CastAssignment
	case hasID(row.explicit, to.ID):
		return CastExplicit
	case to.IsString():
		return CastAssignment
	case from.IsRange() && to == from.MultirangeType():
		return CastExplicit
	case from.IsString() && (to.ID != Record || to.IsComposite()):
		return CastExplicit
	}
	return CastNone
}

// castReg is the context of a cast from a number to a reg type, or from one.
func castReg(from, to ID) CastContext {
	pair := func(a, b ID) bool { return from == a && to == b || from == b && to == a }
	switch {
	case !from.IsReg() || to == Oid || pair(Regproc, Regprocedure) || pair(Regoper, Regoperator):
		return CastImplicit
	case to == Int4 || to == Int8:
		return CastAssignment
	}
	return CastNone
}

func errCannotCast(from, to T) *pgerr.Error {
	return pgerr.New(pgerr.CannotCoerce, "cannot cast type %s to %s", from.Base(), to.Base())
}

// Float64ToInt64 rounds half to even; ok is false beyond bits wide, NaN, infinity.
func Float64ToInt64(f float64, width int) (int64, bool) {
	f = math.RoundToEven(f)
	limit := math.Ldexp(1, width-1)
	if !(f >= -limit && f < limit) {
		return 0, false
	}
	return int64(f), true
}

// Float64ToFloat32 narrows: 22003 on overflow and on underflow to zero.
func Float64ToFloat32(f float64) (float32, error) {
	r := float32(f)
	if math.IsInf(float64(r), 0) && !math.IsInf(f, 0) {
		return 0, pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow")
	}
	if r == 0 && f != 0 {
		return 0, pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: underflow")
	}
	return r, nil
}

// DecimalToInt64 rounds half away from zero into an integer of the given width.
func DecimalToInt64(d Decimal, width int) (int64, error) {
	name := intName(width)
	if d.form != decFinite {
		what := "NaN"
		if d.IsInf() {
			what = "infinity"
		}
		return 0, pgerr.New(pgerr.FeatureNotSupported, "cannot convert %s to %s", what, name)
	}
	v, ok := d.Int64()
	if !ok || v != v<<(64-width)>>(64-width) {
		return 0, errOutOfRange(name)
	}
	return v, nil
}

func intName(width int) string {
	return map[int]string{16: "smallint", 32: "integer", 64: "bigint"}[width]
}

// DateToTimestamp returns midnight of a day; 22008 beyond timestamp's range.
func DateToTimestamp(days int32) (int64, error) {
	switch {
	case days == DateInfinity:
		return TimestampInfinity, nil
	case days == DateNegInfinity:
		return TimestampNegInfinity, nil
	case days >= maxTSDays:
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range for timestamp")
	}
	return int64(days) * usPerDay, nil
}

// TimestampToDate drops the time of day.
func TimestampToDate(us int64) int32 {
	switch us {
	case TimestampInfinity:
		return DateInfinity
	case TimestampNegInfinity:
		return DateNegInfinity
	}
	d, _ := splitTS(us)
	return int32(d)
}

// CastDatum casts one value; explicit says that CAST or :: was written, which
// lets char and varchar truncate silently. NULL stays NULL.
func CastDatum(d Datum, from, to T, explicit bool, opt *Options) (Datum, error) {
	if d == nil {
		return nil, nil
	}
	from, to = from.Underlying(), to.Underlying()
	if from == to {
		return d, nil
	}
	v, err := castBase(d, from, to, explicit, opt)
	if err != nil {
		return nil, err
	}
	return ApplyMod(v, to, explicit)
}

// ApplyMod applies the modifier of t to a value of t: 22001, 22003.
func ApplyMod(d Datum, t T, explicit bool) (Datum, error) {
	if d == nil || t.Mod < 0 {
		return d, nil
	}
	switch t.ID {
	case Numeric:
		v, err := DatumDecimal(d).Typmod(t.Mod)
		if err != nil {
			return nil, err
		}
		return DecimalDatum(v), nil
	case Varchar, Bpchar:
		return box(ApplyTextMod(d.(string), t, explicit))
	case Bit, Varbit:
		v, err := fitBits(ViewBits([]byte(d.(string))), t, explicit)
		if err != nil {
			return nil, err
		}
		return string(AppendBits(nil, v)), nil
	case Time, Timestamp, Timestamptz:
		return RoundMicros(d.(int64), int(t.Mod)), nil
	case Timetz:
		return timetzDatum(ViewTimetz([]byte(d.(string))).Round(int(t.Mod))), nil
	case Interval:
		return RestrictInterval(d.(IntervalValue), t.Mod), nil
	case Array:
		elems := ArrayElems(t, d)
		for i := range elems {
			v, err := ApplyMod(elems[i], t.ElemType(), explicit)
			if err != nil {
				return nil, err
			}
			elems[i] = v
		}
		return ArrayShaped(d, elems), nil
	}
	return d, nil
}

// ArrayShaped returns an array with the dimensions of d and as many other elements.
func ArrayShaped(d Datum, elems []Datum) Datum {
	v := ViewArray([]byte(d.(string)))
	var b ArrayBuilder
	for i := range v.Dims() {
		b.dims = append(b.dims, [2]int{v.DimLen(i), v.Lower(i)})
	}
	for _, e := range elems {
		b.AddDatum(e)
	}
	return string(b.Append(nil))
}

func castBase(d Datum, from, to T, explicit bool, opt *Options) (Datum, error) {
	if from.SameType(to) {
		return d, nil
	}
	if from.ID == Record && to.ID == Record {
		return castRecord(d, to, explicit, opt)
	}
	if from.ID == Array && to.ID == Array {
		elems := ArrayElems(from, d)
		for i := range elems {
			v, err := CastDatum(elems[i], from.ElemType(), to.ElemType(), explicit, opt)
			if err != nil {
				return nil, err
			}
			elems[i] = v
		}
		return ArrayShaped(d, elems), nil
	}
	if CastOf(from, to) == CastNone {
		return nil, errCannotCast(from, to)
	}
	switch {
	case to.IsString() || to.ID == Char && from.ID != Int4:
		s := castText(d, from, opt)
		if to.ID == Name {
			s = TruncateName(s)
		} else if to.ID == Char {
			s = charOf(s)
		}
		return s, nil
	case from.ID == Unknown || from.IsString():
		return ParseText(to.Base(), d.(string), opt)
	}
	if to.ID.IsReg() {
		return castToOid(d)
	}
	if to.IsMultirange() {
		return string(AppendMultirange(nil, SetOf(from, []byte(d.(string))))), nil
	}
	switch to.ID {
	case Xid:
		return d.(string)[4:], nil
	case Int2, Int4, Int8:
		if from.ID == Bit {
			v, err := ViewBits([]byte(d.(string))).Int(8 * int(to.Size()))
			if err == nil && to.ID == Int4 {
				return int32(v), nil
			}
			return box(v, err)
		}
		return castToInt(d, from, to)
	case Varbit:
		return d, nil
	case Bit:
		if v, ok := asInt64(d); ok {
			return string(AppendBits(nil, IntToBits(v, max(int(to.Mod), 1)))), nil
		}
		return d, nil
	case Float4, Float8, Numeric:
		if from.ID == Money {
			return DecimalDatum(DecimalFromScaled(d.(int64), 2)), nil
		}
		return castToReal(d, from, to)
	case Money:
		if v, ok := asInt64(d); ok {
			return box(MoneyOf(v))
		}
		return box(MoneyFromDecimal(DatumDecimal(d)))
	case Bool:
		return castToBool(d, from)
	case Oid:
		return castToOid(d)
	case Char:
		v := d.(int32)
		if v < -128 || v > 127 {
			return nil, pgerr.New(pgerr.NumericValueOutOfRange, "\"char\" out of range")
		}
		if v == 0 {
			return "", nil
		}
		return string([]byte{byte(v)}), nil
	case JSON, Inet:
		return d, nil
	case JSONB:
		return box(ParseJSONB(d.(string)))
	case Cidr:
		v := ViewInet([]byte(d.(string)))
		return string(AppendInet(nil, v.Masked())), nil
	case Macaddr8:
		return Macaddr8Of(d.(string)), nil
	case Macaddr:
		return box(MacaddrOf(d.(string)))
	}
	return castDateTime(d, from, to, opt)
}

// castText is a cast to text: as output, but true and false in full, and
// without the padding of char(n).
func castText(d Datum, from T, opt *Options) string {
	switch v := d.(type) {
	case bool:
		if v {
			return "true"
		}
		return "false"
	case string:
		if from.ID == Bpchar {
			return strings.TrimRight(v, " ")
		}
		if from.IsString() || from.ID == Unknown {
			return v
		}
		if from.ID == Inet {
			x := ViewInet([]byte(v))
			return string(AppendInetText(nil, &x, true))
		}
	}
	return string(AppendText(nil, from, d, opt))
}

func asInt64(d Datum) (int64, bool) {
	switch v := d.(type) {
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	}
	return 0, false
}

func castToInt(d Datum, from, to T) (Datum, error) {
	width := 8 * int(to.Size())
	var v int64
	ok := true
	switch x := d.(type) {
	case bool:
		if x {
			v = 1
		}
	case float32:
		v, ok = Float64ToInt64(float64(x), width)
	case float64:
		v, ok = Float64ToInt64(x, width)
	case string:
		if from.ID == Char {
			if x != "" {
				v = int64(int8(x[0]))
			}
			break
		}
		dec, err := decimalOf(d, from, to)
		if err != nil {
			return nil, err
		}
		if v, err = DecimalToInt64(dec, width); err != nil {
			return nil, err
		}
	default:
		v, _ = asInt64(d)
		if from.Kind() == KInt64 && from.ID != Int8 && width == 32 {
			return int32(uint32(v)), nil // oid to integer keeps the bits
		}
	}
	if !ok || v != v<<(64-width)>>(64-width) {
		return nil, errOutOfRange(intName(width))
	}
	switch width {
	case 16:
		return int16(v), nil
	case 32:
		return int32(v), nil
	}
	return v, nil
}

// decimalOf reads a numeric, or the number of a jsonb.
func decimalOf(d Datum, from, to T) (Decimal, error) {
	if from.ID == JSONB {
		s := d.(string)
		if k := JSONType([]byte(s)); k != "number" {
			return Decimal{}, errJSONCast(k, to)
		}
		return ParseDecimal(s)
	}
	return DatumDecimal(d), nil
}

func errJSONCast(kind string, to T) error {
	return pgerr.New(pgerr.InvalidParameterValue, "cannot cast jsonb %s to type %s", kind, to.Base())
}

func castToReal(d Datum, from, to T) (Datum, error) {
	var f float64
	switch x := d.(type) {
	case float32:
		if to.ID == Numeric {
			return DecimalDatum(DecimalFromFloat32(x)), nil
		}
		f = float64(x)
	case float64:
		if to.ID == Numeric {
			return DecimalDatum(DecimalFromFloat64(x)), nil
		}
		f = x
	case string:
		dec, err := decimalOf(d, from, to)
		if err != nil {
			return nil, err
		}
		if to.ID == Numeric {
			return DecimalDatum(dec), nil
		}
		if f = dec.Float64(); math.IsInf(f, 0) && !dec.IsInf() {
			return nil, pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type double precision", dec)
		}
	default:
		v, _ := asInt64(d)
		switch to.ID {
		case Numeric:
			return DecimalDatum(DecimalFromInt64(v)), nil
		case Float4:
			return float32(v), nil
		}
		return float64(v), nil
	}
	if to.ID == Float4 {
		return box(Float64ToFloat32(f))
	}
	return f, nil
}

func castToBool(d Datum, from T) (Datum, error) {
	if s, ok := d.(string); ok {
		if k := JSONType([]byte(s)); k != "boolean" {
			return nil, errJSONCast(k, TBool)
		}
		return s == "true", nil
	}
	v, _ := asInt64(d)
	return v != 0, nil
}

func castToOid(d Datum) (Datum, error) {
	v, _ := asInt64(d)
	switch d.(type) {
	case int64:
		if v < 0 || v > math.MaxUint32 {
			return nil, pgerr.New(pgerr.NumericValueOutOfRange, "OID out of range")
		}
	default:
		v = int64(uint32(v))
	}
	return v, nil
}

func castDateTime(d Datum, from, to T, opt *Options) (Datum, error) {
	switch x := d.(type) {
	case string: // timetz
		return ViewTimetz([]byte(x)).Micros, nil
	case int32: // date
		us, err := DateToTimestamp(x)
		if err == nil && to.ID == Timestamptz {
			us = opt.zone().ToUTC(us)
		}
		return box(us, err)
	case IntervalValue:
		return floorMod(x.Micros, usPerDay), nil
	case int64:
		switch {
		case to.ID == Timetz && isInfTS(x) && from.ID == Timestamptz:
			return nil, nil
		case to.ID == Timetz && from.ID == Timestamptz:
			return timetzDatum(TimestamptzToTimetz(x, opt.zone())), nil
		case to.ID == Timetz:
			return timetzDatum(TimeToTimetz(x, opt.today(), opt.zone())), nil
		case from.ID == Time:
			return IntervalValue{Micros: x}, nil
		case from.ID == Timestamp && to.ID == Timestamptz:
			return opt.zone().ToUTC(x), nil
		case from.ID == Timestamptz:
			x = opt.zone().ToLocal(x)
		}
		switch to.ID {
		case Timestamp:
			return x, nil
		case Date:
			return TimestampToDate(x), nil
		}
		if x == TimestampInfinity || x == TimestampNegInfinity {
			return nil, nil
		}
		_, tod := splitTS(x)
		return tod, nil
	}
	return nil, errCannotCast(from, to)
}
