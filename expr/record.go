package expr

import (
	"github.com/streamdb/streamdb/types"
)

// RowIsNull is IS NULL of a composite value, true also when all its fields are
// NULL, and IS NOT NULL, true when none is.
func RowIsNull(arg Expr, not bool) Expr {
	f := rowIsNull
	if not {
		f = rowIsNotNull
	}
	return &Call{Fn: f, Args: []Expr{arg}, Typ: types.TBool}
}

var (
	rowIsNull = safe(fnNulls("row_is_null", ts(types.TRecord), types.TBool, func(r *row) error {
		all := r.isNull(0)
		if !all {
			all, _ = types.RecordNulls(r.b(0))
		}
		return r.putBool(all)
	}))
	rowIsNotNull = safe(fnNulls("row_is_not_null", ts(types.TRecord), types.TBool, func(r *row) error {
		some := r.isNull(0)
		if !some {
			_, some = types.RecordNulls(r.b(0))
		}
		return r.putBool(!some)
	}))
)

// recordOps compare records. Records of different shapes are told apart only when
// they meet, as nothing before knows the shape of every record.
func recordOps() []*Func {
	var out []*Func
	for op, name := range cmpNames {
		op := cmpOp(op)
		out = append(out, &Func{Name: name, Args: ts(types.TRecord, types.TRecord), Ret: types.TBool, MayFail: true,
			Eval: rows(func(r *row) error {
				if err := types.SimilarRecords(r.b(0), r.b(1)); err != nil {
					return err
				}
				return r.putBool(op.holds(types.CompareBytes(types.TRecord, r.b(0), r.b(1))))
			})})
	}
	return out
}
