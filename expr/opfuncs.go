package expr

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/types"
)

// operatorFuncs are the functions that PostgreSQL's operators call, which users
// may call too: booleq, int4pl, numeric_mul, texteq. Each is the operator's own
// kernel under another name.
func operatorFuncs(ops map[string][]*Func) []*Func {
	var out []*Func
	for line := range strings.Lines(operatorNames) {
		operands, list, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		args := operandTypes(operands)
		for _, entry := range strings.Split(list, ", ") {
			op, name, _ := strings.Cut(entry, " ")
			if f := operatorOver(ops, op, args); f != nil {
				g := *f.target()
				g.Name = name
				out = append(out, declaredOver(args, &g))
			}
		}
	}
	return out
}

// operatorOver is the operator over just these types, or nil.
func operatorOver(ops map[string][]*Func, op string, args []types.T) *Func {
	for _, f := range ops[op] {
		if slices.Equal(f.Args, args) {
			return f
		}
	}
	return nil
}

// declaredOver is f as a function of arguments of other types, which are converted to
// those that it computes with.
func declaredOver(args []types.T, f *Func) *Func {
	if slices.Equal(f.Args, args) {
		return f
	}
	return &Func{Name: f.Name, Args: args, Ret: f.Ret, Volatility: f.Volatility, As: f}
}

// operandTypes reads names of types, of polymorphic ones too.
func operandTypes(names string) []types.T {
	var out []types.T
	for _, n := range strings.Fields(names) {
		t, ok := types.ByName(n)
		switch n {
		case "record":
			t = types.TRecord
		case "char":
			t = types.TChar
		default:
			if !ok {
				t, _ = types.PseudoByName(n)
			}
		}
		out = append(out, t)
	}
	return out
}

// sendFuncs give the binary form that values have in the protocol.
func sendFuncs() []*Func {
	var out []*Func
	for name, t := range map[string]types.T{"range_send": AnyRange, "multirange_send": AnyMultirange} {
		out = append(out, safe(fn(name, ts(t), types.TBytea, func(r *row) error {
			return r.putB(types.AppendBinary(nil, r.typ(0), r.datum(0)))
		})))
	}
	for _, t := range ts(tBool, types.TInt2, tI4, tI8, types.TFloat4, tF8, types.TNumeric, tText, types.TVarchar, types.TBpchar, tName, types.TBytea,
		types.TInet, types.TCidr, types.TMacaddr, types.TMacaddr8, types.TBit, types.TVarbit, types.TMoney, types.TDate, types.TTime, types.TTimetz, types.TTimestamp, types.TTimestamptz, types.TInterval, types.TUUID, types.TJSON, types.TJSONB, tOid, types.TLSN, types.TXid8, types.TXid) {
		name := t.TypName() + "send"
		switch t.ID {
		case types.Money:
			name = "cash_send"
		case types.Numeric, types.Date, types.Time, types.Timetz, types.Timestamp, types.Timestamptz, types.Interval, types.UUID, types.JSON, types.JSONB,
			types.Inet, types.Cidr, types.Macaddr, types.Macaddr8, types.Bit, types.Varbit, types.LSN:
			name = strings.TrimSuffix(name, "send") + "_send"
		}
		out = append(out, safe(fn(name, ts(t), types.TBytea, func(r *row) error {
			return r.putB(types.AppendBinary(nil, t, r.datum(0)))
		})))
	}
	return out
}
