package expr

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// wordOps are the operators of pg_lsn and xid, but for the comparisons that all types
// with an order have.
func wordOps() []*Func {
	move := func(verb string, lsn, n int, minus bool) func(r *row) error {
		return func(r *row) error {
			d := r.dec(n)
			if d.IsNaN() {
				return pgerr.New(pgerr.FeatureNotSupported, "cannot %s pg_lsn", verb)
			}
			if minus {
				d = d.Neg()
			}
			b, err := types.DecimalToLSN(types.LSNDecimal(r.b(lsn)).Add(d))
			if err != nil {
				return err
			}
			return r.putB(b)
		}
	}
	out := []*Func{
		safe(fn("-", ts(types.TLSN, types.TLSN), tNum, lsnDiff)),
		fn("+", ts(types.TLSN, tNum), types.TLSN, move("add NaN to", 0, 1, false)),
		fn("+", ts(tNum, types.TLSN), types.TLSN, move("add NaN to", 1, 0, false)),
		fn("-", ts(types.TLSN, tNum), types.TLSN, move("subtract NaN from", 0, 1, true)),
	}
	for name, want := range map[string]bool{"=": true, "<>": false} {
		out = append(out,
			safe(fn(name, ts(types.TXid, types.TXid), tBool, func(r *row) error { return r.putBool((string(r.b(0)) == string(r.b(1))) == want) })),
			safe(fn(name, ts(types.TXid, tI4), tBool, func(r *row) error {
				return r.putBool((uint32(types.ViewWord(r.b(0))) == uint32(r.i4(1))) == want)
			})))
	}
	return out
}

func lsnDiff(r *row) error {
	return r.putDec(types.LSNDecimal(r.b(0)).Sub(types.LSNDecimal(r.b(1))))
}

func wordFuncs() []*Func {
	return []*Func{
		safe(fn("pg_wal_lsn_diff", ts(types.TLSN, types.TLSN), tNum, lsnDiff)),
		fn("pg_lsn", ts(tNum), types.TLSN, func(r *row) error {
			b, err := types.DecimalToLSN(r.dec(0))
			if err != nil {
				return err
			}
			return r.putB(b)
		}),
	}
}

// putWord puts a number of a transaction.
func (r *row) putWord(v int64) error {
	return r.putB(binary.BigEndian.AppendUint64(nil, uint64(v)))
}
