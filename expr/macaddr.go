package expr

import (
	"bytes"

	"github.com/streamdb/streamdb/types"
)

// macaddrOps are the operators of macaddr and macaddr8, but for the comparisons that
// all types have.
func macaddrOps() []*Func {
	var out []*Func
	for _, t := range ts(types.TMacaddr, types.TMacaddr8) {
		both := func(name string, f func(a, b byte) byte) *Func {
			return safe(fn(name, ts(t, t), t, func(r *row) error {
				a, b := bytes.Clone(r.b(0)), r.b(1)
				for i := range a {
					a[i] = f(a[i], b[i])
				}
				return r.putB(a)
			}))
		}
		out = append(out, both("&", func(a, b byte) byte { return a & b }), both("|", func(a, b byte) byte { return a | b }),
			safe(fn("~", ts(t), t, func(r *row) error {
				a := bytes.Clone(r.b(0))
				for i := range a {
					a[i] = ^a[i]
				}
				return r.putB(a)
			})))
	}
	return out
}

func macaddrFuncs() []*Func {
	var out []*Func
	for _, t := range ts(types.TMacaddr, types.TMacaddr8) {
		out = append(out, safe(fn("trunc", ts(t), t, func(r *row) error {
			a := bytes.Clone(r.b(0))
			clear(a[3:])
			return r.putB(a)
		})))
	}
	return append(out, safe(fn("macaddr8_set7bit", ts(types.TMacaddr8), types.TMacaddr8, func(r *row) error {
		a := bytes.Clone(r.b(0))
		a[0] |= 2
		return r.putB(a)
	})))
}
