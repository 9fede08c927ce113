package expr

import (
	"strings"

	"github.com/streamdb/streamdb/types"
)

// operatorFuncs are the functions that PostgreSQL's operators call, which users
// may call too: booleq, int4pl, numeric_mul, texteq. Each is the operator's own
// kernel under another name.
func operatorFuncs(ops map[string][]*Func) []*Func {
	var out []*Func
	add := func(name, op string, args ...types.T) {
		for _, f := range ops[op] {
			if len(f.Args) != len(args) || f.Name != op {
				continue
			}
			exact := true
			for i, a := range args {
				exact = exact && f.Args[i] == a
			}
			if exact {
				g := *f.target()
				g.Name = name
				out = append(out, &g)
			}
		}
	}
	compare := map[string]string{"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
	for _, t := range []struct {
		prefix string
		typ    types.T
	}{{"bool", tBool}, {"int2", types.TInt2}, {"int4", tI4}, {"int8", tI8}, {"float4", types.TFloat4}, {"float8", tF8}, {"oid", tOid},
		{"bytea", types.TBytea}, {"bpchar", types.TBpchar}, {"name", tName}, {"numeric_", types.TNumeric}, {"date_", types.TDate},
		{"cash_", types.TMoney}, {"time_", types.TTime}, {"timetz_", types.TTimetz}, {"timestamp_", types.TTimestamp}, {"timestamptz_", types.TTimestamptz}, {"interval_", types.TInterval},
		{"network_", types.TInet}, {"macaddr_", types.TMacaddr}, {"macaddr8_", types.TMacaddr8},
		{"bit", types.TBit}, {"varbit", types.TVarbit}, {"uuid_", types.TUUID}, {"jsonb_", types.TJSONB}, {"text", tText}} {
		for suffix, op := range compare {
			name := t.prefix + suffix
			if t.typ == tText && op != "=" && op != "<>" {
				name = "text_" + suffix
			}
			add(name, op, t.typ, t.typ)
		}
	}
	arithmetic := map[string]string{"pl": "+", "mi": "-", "mul": "*", "div": "/", "mod": "%"}
	for prefix, t := range map[string]types.T{"int2": types.TInt2, "int4": tI4, "int8": tI8, "float4": types.TFloat4, "float8": tF8} {
		for suffix, op := range arithmetic {
			add(prefix+suffix, op, t, t)
		}
	}
	for name, op := range map[string]string{"add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%"} {
		add("numeric_"+name, op, types.TNumeric, types.TNumeric)
	}
	for _, t := range []struct {
		name string
		typ  types.T
	}{{"int2", types.TInt2}, {"int4", tI4}, {"int8", tI8}, {"flt4", types.TFloat4}, {"flt8", tF8}} {
		add("cash_mul_"+t.name, "*", tMoney, t.typ)
		add(t.name+"_mul_cash", "*", t.typ, tMoney)
		add("cash_div_"+t.name, "/", tMoney, t.typ)
	}
	add("cash_pl", "+", tMoney, tMoney)
	add("cash_mi", "-", tMoney, tMoney)
	add("cash_div_cash", "/", tMoney, tMoney)
	add("textcat", "||", tText, tText)
	add("byteacat", "||", types.TBytea, types.TBytea)
	add("textlike", "~~", tText, tText)
	add("textnlike", "!~~", tText, tText)
	add("texticlike", "~~*", tText, tText)
	add("texticnlike", "!~~*", tText, tText)
	add("textregexeq", "~", tText, tText)
	add("textregexne", "!~", tText, tText)
	add("texticregexeq", "~*", tText, tText)
	add("texticregexne", "!~*", tText, tText)
	add("interval_pl", "+", types.TInterval, types.TInterval)
	add("interval_mi", "-", types.TInterval, types.TInterval)
	add("interval_mul", "*", types.TInterval, tF8)
	add("interval_div", "/", types.TInterval, tF8)
	add("date_pli", "+", types.TDate, tI4)
	add("date_mii", "-", types.TDate, tI4)
	add("date_mi", "-", types.TDate, types.TDate)
	add("inetmi", "-", types.TInet, types.TInet)
	for name, op := range map[string]string{"contains": "@>", "contained": "<@", "concat": "||"} {
		add("jsonb_"+name, op, tJSONB, tJSONB)
	}
	add("jsonb_exists", "?", tJSONB, tText)
	add("jsonb_exists_any", "?|", tJSONB, tTextArray)
	add("jsonb_exists_all", "?&", tJSONB, tTextArray)
	add("jsonb_delete", "-", tJSONB, tText)
	add("jsonb_delete", "-", tJSONB, tI4)
	add("jsonb_delete_path", "#-", tJSONB, tTextArray)
	for prefix, t := range map[string]types.T{"json": tJSON, "jsonb": tJSONB} {
		add(prefix+"_object_field", "->", t, tText)
		add(prefix+"_object_field_text", "->>", t, tText)
		add(prefix+"_array_element", "->", t, tI4)
		add(prefix+"_array_element_text", "->>", t, tI4)
	}
	return out
}

// sendFuncs give the binary form that values have in the protocol.
func sendFuncs() []*Func {
	var out []*Func
	for _, t := range ts(tBool, types.TInt2, tI4, tI8, types.TFloat4, tF8, types.TNumeric, tText, types.TVarchar, types.TBpchar, tName, types.TBytea,
		types.TInet, types.TCidr, types.TMacaddr, types.TMacaddr8, types.TBit, types.TVarbit, types.TMoney, types.TDate, types.TTime, types.TTimetz, types.TTimestamp, types.TTimestamptz, types.TInterval, types.TUUID, types.TJSON, types.TJSONB, tOid) {
		name := t.TypName() + "send"
		switch t.ID {
		case types.Money:
			name = "cash_send"
		case types.Numeric, types.Date, types.Time, types.Timetz, types.Timestamp, types.Timestamptz, types.Interval, types.UUID, types.JSON, types.JSONB,
			types.Inet, types.Cidr, types.Macaddr, types.Macaddr8, types.Bit, types.Varbit:
			name = strings.TrimSuffix(name, "send") + "_send"
		}
		out = append(out, safe(fn(name, ts(t), types.TBytea, func(r *row) error {
			return r.putB(types.AppendBinary(nil, t, r.datum(0)))
		})))
	}
	return out
}
