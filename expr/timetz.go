package expr

import (
	"cmp"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var tTimetz = types.TTimetz

func (r *row) timetz(k int) types.TimetzValue { return types.ViewTimetz(r.b(k)) }

func (r *row) putTimetz(v types.TimetzValue) error {
	d := r.dst.(*vec.Bytes)
	d.Data = types.AppendTimetz(d.Data, v)
	d.Finish()
	return nil
}

// timetzOps are the operators of time with time zone, but for the comparisons that all
// types have.
func timetzOps() []*Func {
	moved := func(name string, at int, f func(types.IntervalValue) types.IntervalValue) *Func {
		args := ts(tTimetz, tIv)
		if at == 1 {
			args = ts(tIv, tTimetz)
		}
		return safe(fn(name, args, tTimetz, func(r *row) error { return r.putTimetz(r.timetz(at).Add(f(r.iv(1 - at)))) }))
	}
	same := func(v types.IntervalValue) types.IntervalValue { return v }
	dated := func(at int) *Func {
		args := ts(tDate, tTimetz)
		if at == 0 {
			args = ts(tTimetz, tDate)
		}
		return fn("+", args, tTSTZ, func(r *row) error { return putI8Err(r)(types.DateTimetz(r.d4(1-at), r.timetz(at))) })
	}
	return []*Func{
		moved("+", 0, same), moved("+", 1, same),
		moved("-", 0, func(v types.IntervalValue) types.IntervalValue {
			return types.IntervalValue{Micros: -(v.Micros % microsPerDay)}
		}),
		dated(0), dated(1),
	}
}

func timetzFuncs() []*Func {
	return []*Func{
		fn("extract", ts(tText, tTimetz), tNum, func(r *row) error {
			d, err := types.ExtractTimetz(types.ParseField(r.s(0)), r.s(0), r.timetz(1))
			if err != nil {
				return err
			}
			return r.putDec(d)
		}),
		fn("date_part", ts(tText, tTimetz), tF8, func(r *row) error {
			d, err := types.ExtractTimetz(types.ParseField(r.s(0)), r.s(0), r.timetz(1))
			if err != nil {
				return err
			}
			if v := r.timetz(1); types.ParseField(r.s(0)) == types.FieldEpoch { // added up as floats
				return r.putF8(float64(v.Micros)/1e6 - float64(v.Off))
			}
			return r.putF8(d.Float64())
		}),
		ofNow(fn("timezone", ts(tText, tTimetz), tTimetz, func(r *row) error {
			off, err := zoneOffset(r.s(0), r.c.session().NowMicros)
			if err != nil {
				return err
			}
			return r.putTimetz(r.timetz(1).At(off))
		})),
		fn("timezone", ts(tIv, tTimetz), tTimetz, func(r *row) error {
			v := r.iv(0)
			if v.Months != 0 || v.Days != 0 {
				return pgerr.New(pgerr.InvalidParameterValue, "interval time zone \"%s\" must not include months or days", types.AppendInterval(nil, v))
			}
			return r.putTimetz(r.timetz(1).At(int32(v.Micros / 1e6)))
		}),
		fn("timestamptz", ts(tDate, tTimetz), tTSTZ, func(r *row) error { return putI8Err(r)(types.DateTimetz(r.d4(0), r.timetz(1))) }),
		fnNulls("overlaps", ts(tTimetz, tTimetz, tTimetz, tTimetz), tBool, overlapsTimetz),
	}
}

func zoneOffset(name string, now int64) (int32, error) {
	z, err := types.LoadZone(strings.Clone(name))
	if err != nil {
		return 0, err
	}
	return int32(z.Offset(now)), nil
}

// overlapsTimetz compares the four times by their rank among them.
func overlapsTimetz(r *row) error {
	var v [4]int64
	var ok [4]bool
	for k := range v {
		ok[k] = !r.isNull(k)
		for j := range v {
			if ok[k] && !r.isNull(j) && cmp.Compare(string(r.b(j)), string(r.b(k))) < 0 {
				v[k]++
			}
		}
	}
	return overlapping(r, v, ok)
}

// The parts of what depends on the time in the functions below are arguments of their
// own, so that a view computes its rows anew only where they change.
var (
	timetzOfTime = stable(safe(fn("timetz", ts(tTime, tDate), tTimetz, func(r *row) error {
		return r.putTimetz(types.TimeToTimetz(r.i8(0), int(r.d4(1)), r.zone()))
	})))
	timetzOfText = stable(fn("timetz", ts(tText, tDate), tTimetz, func(r *row) error {
		opt := *r.c.options()
		day := int64(r.d4(1)) * microsPerDay
		now := opt.Now
		opt.Now = func() int64 {
			if strings.Contains(strings.ToLower(r.s(0)), "now") && now != nil {
				return now()
			}
			return opt.Zone.ToUTC(day)
		}
		v, err := types.ParseTimetz(strings.Clone(r.s(0)), &opt)
		if err != nil {
			return err
		}
		return r.putTimetz(v)
	}))
	offsetOfZone = stable(fn("timezone_offset", ts(tText, tTSTZ), tI4, func(r *row) error {
		off, err := zoneOffset(r.s(0), r.i8(1))
		if err != nil {
			return err
		}
		return r.putI4(int(off))
	}))
	timetzAtOffset = safe(fn("timezone", ts(tI4, tTimetz), tTimetz, func(r *row) error { return r.putTimetz(r.timetz(1).At(int32(r.i4(0)))) }))
)

// toTimetz reads a time of day or a text as of today: without a zone of its own it gets
// the session's offset on this day.
func toTimetz(e Expr, to types.T) (Expr, error) {
	today, err := NewCall("current_date")
	if err != nil {
		return nil, err
	}
	f := timetzOfTime
	if e.Type().Underlying().ID != types.Time {
		f = timetzOfText
		e = &Cast{Arg: e, To: tText}
	}
	var out Expr = &Call{Fn: f, Args: []Expr{e, today}, Typ: tTimetz}
	if to.Mod >= 0 {
		out = &Cast{Arg: out, To: types.T{ID: types.Timetz, Mod: to.Mod}}
	}
	return out, nil
}

// AtZone is timezone(zone, time with time zone) with the zone's offset as a part of its
// own, which reads nothing but the zone's name and the time.
func AtZone(c *Call) (offset *Call, at func(offset Expr) Expr) {
	now, err := NewCall("now")
	if err != nil || c.Fn.Name != "timezone" {
		return nil, nil
	}
	offset = &Call{Fn: offsetOfZone, Args: []Expr{c.Args[0], now}, Typ: tI4}
	return offset, func(o Expr) Expr { return &Call{Fn: timetzAtOffset, Args: []Expr{o, c.Args[1]}, Typ: tTimetz} }
}

// TimetzShift is + or - of an interval that goes beyond the day, as window frames need it.
func TimetzShift(name string) *Func {
	sign := int64(1)
	if name == "-" {
		sign = -1
	}
	return safe(fn(name, ts(tTimetz, tIv), tTimetz, func(r *row) error {
		v := r.timetz(0)
		v.Micros += sign * r.iv(1).Micros
		return r.putTimetz(v)
	}))
}
