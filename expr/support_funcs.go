package expr

import (
	"strings"

	"github.com/streamdb/streamdb/types"
)

// orderFuncs are the functions that order two values and choose one of them, which
// stand behind PostgreSQL's indexes and aggregates. Of those that tell the order,
// the ones are here whose answer is -1, 0 or 1.
const orderFuncs = `
cmp: btarraycmp anyarray, btboolcmp bool, btfloat48cmp float4 float8, btfloat4cmp float4, btfloat84cmp float8 float4, btfloat8cmp float8,
cmp: btint24cmp int2 int4, btint28cmp int2 int8, btint42cmp int4 int2, btint48cmp int4 int8, btint4cmp int4, btint82cmp int8 int2,
cmp: btint84cmp int8 int4, btint8cmp int8, btoidcmp oid, btrecordcmp record, cash_cmp money, date_cmp date, date_cmp_timestamp date timestamp,
cmp: date_cmp_timestamptz date timestamptz, interval_cmp interval, macaddr8_cmp macaddr8, macaddr_cmp macaddr, numeric_cmp numeric,
cmp: range_cmp anyrange, multirange_cmp anymultirange, time_cmp time, timestamp_cmp timestamp, timestamp_cmp_date timestamp date,
cmp: timestamp_cmp_timestamptz timestamp timestamptz, timestamptz_cmp timestamptz, timestamptz_cmp_date timestamptz date,
cmp: timestamptz_cmp_timestamp timestamptz timestamp, timetz_cmp timetz, pg_lsn_cmp pg_lsn, xid8cmp xid8
pick: array_larger anyarray, array_smaller anyarray, bpchar_larger bpchar, bpchar_smaller bpchar, cashlarger money, cashsmaller money,
pick: date_larger date, date_smaller date, enum_larger anyenum, enum_smaller anyenum, float4larger float4, float4smaller float4,
pick: float8larger float8, float8smaller float8, int2larger int2, int2smaller int2, int4larger int4, int4smaller int4, int8larger int8,
pick: int8smaller int8, interval_larger interval, interval_smaller interval, network_larger inet, network_smaller inet, numeric_larger numeric,
pick: numeric_smaller numeric, oidlarger oid, oidsmaller oid, text_larger text, text_smaller text, time_larger time, time_smaller time,
pick: timestamp_larger timestamp, timestamp_smaller timestamp, timestamptz_larger timestamptz, timestamptz_smaller timestamptz,
pick: timetz_larger timetz, timetz_smaller timetz, pg_lsn_larger pg_lsn, pg_lsn_smaller pg_lsn, xid8_larger xid8,
pick: xid8_smaller xid8
`

func supportFuncs(ops map[string][]*Func) []*Func {
	var out []*Func
	for line := range strings.Lines(orderFuncs) {
		kind, list, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		for _, entry := range strings.Split(strings.TrimSuffix(list, ","), ", ") {
			name, operands, _ := strings.Cut(entry, " ")
			args := operandTypes(operands)
			if len(args) == 1 {
				args = append(args, args[0])
			}
			if kind == "cmp" {
				// Of two types, the comparison of their common one is meant.
				f := orderOf(name, operatorOver(ops, "<", args).target().Args)
				out = append(out, declaredOver(args, f))
			} else {
				out = append(out, oneOf(name, args))
			}
		}
	}
	return out
}

func orderOf(name string, args []types.T) *Func {
	return fn(name, args, tI4, func(r *row) error {
		t := r.typ(0)
		if t.ID == types.Record {
			if err := types.SimilarRecords(r.b(0), r.b(1)); err != nil {
				return err
			}
		}
		return r.putI4(types.Compare(t, r.datum(0), r.datum(1)))
	})
}

// oneOf gives the larger or smaller argument, the second of equal ones.
func oneOf(name string, args []types.T) *Func {
	want := 1
	if strings.HasSuffix(name, "smaller") {
		want = -1
	}
	f := safe(fn(name, args, args[0], func(r *row) error {
		if types.Compare(r.typ(0), r.datum(0), r.datum(1)) == want {
			return r.put(r.datum(0))
		}
		return r.put(r.datum(1))
	}))
	if args[0].IsPseudo() {
		return poly(f, sameAs(0))
	}
	return f
}

// otherNames are functions that PostgreSQL has under a second name: that, the
// function, and its arguments.
var otherNames = [][3]string{
	{"dexp", "exp", "float8"}, {"dlog1", "ln", "float8"}, {"dlog10", "log", "float8"},
	{"dround", "round", "float8"}, {"dtrunc", "trunc", "float8"}, {"numeric_exp", "exp", "numeric"}, {"numeric_ln", "ln", "numeric"},
	{"numeric_sqrt", "sqrt", "numeric"}, {"numeric_log", "log", "numeric numeric"}, {"numeric_div_trunc", "div", "numeric numeric"},
	{"timestamp", "datetime_pl", "date time"}, {"getpgusername", "current_user", ""},
}

// addOtherNames adds them to the functions there are.
func addOtherNames(funcs map[string][]*Func) {
	for _, n := range otherNames {
		if f := operatorOver(funcs, n[1], operandTypes(n[2])); f != nil {
			g := *f.target()
			g.Name = n[0]
			funcs[n[0]] = append(funcs[n[0]], &g)
		}
	}
}
