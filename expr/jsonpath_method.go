package expr

import (
	"math"
	"strconv"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// method applies .type(), .size() and the like.
func (e *pathEval) method(i *types.PathItem, v pathItem, unwrap bool, yield pathSink) (bool, error) {
	name := i.Text
	switch name {
	case "type":
		s := pathKindNames[v.kind]
		if v.kind == pathDatetime {
			s = v.typ.Base().String()
		}
		return e.next(i, stringItem(s), yield)
	case "size":
		n := 1
		if v.kind == pathArray {
			n = types.JSONLen(v.raw)
		} else if e.path.Strict && !e.lenient {
			return false, pathError("22039", "jsonpath item method .size() can only be applied to an array")
		}
		return e.next(i, numberItem(types.DecimalFromInt64(int64(n))), yield)
	}
	if unwrap && v.kind == pathArray {
		return e.elements(v, func(x pathItem) (bool, error) { return e.item(i, x, false, yield) })
	}
	switch name {
	case "abs", "floor", "ceiling":
		if v.kind != pathNumber {
			return false, pathError("22036", "jsonpath item method .%s() can only be applied to a numeric value", name)
		}
		d := map[string]func(types.Decimal) types.Decimal{"abs": types.Decimal.Abs, "floor": types.Decimal.Floor, "ceiling": types.Decimal.Ceil}[name](v.num)
		return e.next(i, numberItem(d), yield)
	case "double":
		return e.double(i, v, yield)
	case "keyvalue":
		return e.keyvalue(i, v, yield)
	}
	if v.kind != pathString {
		return false, pathError("22031", "jsonpath item method .datetime() can only be applied to a string")
	}
	t, err := e.datetime(i, v.str)
	if err != nil {
		return false, err
	}
	return e.next(i, pathItem{kind: pathDatetime, typ: t.Type, when: t.Value, zone: t.Zone}, yield)
}

// datetime reads a date or time, by the template of .datetime() if it has one.
func (e *pathEval) datetime(i *types.PathItem, s string) (types.JSONTime, error) {
	if i.Left == nil {
		return types.ParseJSONTime(s)
	}
	if err := types.CheckJSONTimeFormat(i.Left.Text); err != nil {
		e.fatal = err
		return types.JSONTime{}, err
	}
	return types.ParseJSONTimeFormat(s, i.Left.Text)
}

func (e *pathEval) double(i *types.PathItem, v pathItem, yield pathSink) (bool, error) {
	switch v.kind {
	case pathNumber:
		if f := v.num.Float64(); math.IsInf(f, 0) {
			return false, pathError("22036", "numeric argument of jsonpath item method .double() is out of range for type double precision")
		}
		return e.next(i, v, yield)
	case pathString:
		f, err := types.ParseFloat8(v.str)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return false, pathError("22036", "string argument of jsonpath item method .double() is not a valid representation of a double precision number")
		}
		return e.next(i, numberItem(types.DecimalFromFloat64(f)), yield)
	}
	return false, pathError("22036", "jsonpath item method .double() can only be applied to a string or numeric value")
}

// keyvalue yields an object for each member. Their ids tell objects of one document
// apart: 0 for the document itself, as in PostgreSQL, and where the object begins in
// its text for others.
func (e *pathEval) keyvalue(i *types.PathItem, v pathItem, yield pathSink) (bool, error) {
	if v.kind != pathObject {
		return false, pathError("2203C", "jsonpath item method .keyvalue() can only be applied to an object")
	}
	id := cap(e.root.raw) - cap(v.raw)
	if id < 0 || len(v.raw) == 0 || len(e.root.raw) == 0 || id >= len(e.root.raw) || &e.root.raw[id] != &v.raw[0] {
		id = 0
	}
	more, err := true, error(nil)
	types.JSONObjectEach(v.raw, func(k, x []byte) bool {
		b := append([]byte(`{"id": `), strconv.Itoa(id)...)
		b = append(append(b, `, "key": `...), k...)
		b = append(append(append(b, `, "value": `...), x...), '}')
		more, err = e.next(i, jsonItem(b), yield)
		return more && err == nil
	})
	return more, err
}

// compareTimes compares dates and times; ok is false for a time of day and a day.
// Those with and without a zone are compared by the functions called …_tz only.
func (e *pathEval) compareTimes(a, b pathItem) (d int, ok bool) {
	clock := func(t types.T) bool { return t.ID == types.Time || t.ID == types.Timetz }
	if clock(a.typ) != clock(b.typ) {
		return 0, false
	}
	common, zone := types.TTimestamp, types.TTimestamptz
	if clock(a.typ) {
		common, zone = types.TTime, types.TTimetz
	}
	zoned := a.typ == zone || b.typ == zone
	if a.typ != b.typ && zoned && !e.zoned {
		from, to := a.typ, zone
		if a.typ == zone {
			from = b.typ
		}
		e.fatal = pgerr.New(pgerr.FeatureNotSupported, "cannot convert value from %s to %s without time zone usage", from.TypName(), to.TypName()).
			WithHint("Use *_tz() function for time zone support.")
		return 0, false
	}
	if zoned {
		common = zone
	}
	x, err1 := castDatum(a.when, a.typ, common, false, e.zone)
	y, err2 := castDatum(b.when, b.typ, common, false, e.zone)
	if err1 != nil || err2 != nil {
		return 0, false
	}
	return types.Compare(common, x, y), true
}
