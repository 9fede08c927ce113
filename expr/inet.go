package expr

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

func (r *row) inet(k int) types.InetValue { return types.ViewInet(r.b(k)) }

func (r *row) putInet(v types.InetValue) error {
	d := r.dst.(*vec.Bytes)
	d.Data = types.AppendInet(d.Data, v)
	d.Finish()
	return nil
}

var tInet, tCidr = types.TInet, types.TCidr

// inetOps are the operators of network addresses, but for the comparisons that all
// types have. A cidr is an inet to them.
func inetOps() []*Func {
	test := func(name string, f func(a, b *types.InetValue) bool) *Func {
		return safe(fn(name, ts(tInet, tInet), tBool, func(r *row) error {
			a, b := r.inet(0), r.inet(1)
			return r.putBool(f(&a, &b))
		}))
	}
	both := func(name, verb string, f func(a, b byte) byte) *Func {
		return fn(name, ts(tInet, tInet), tInet, func(r *row) error {
			a, b := r.inet(0), r.inet(1)
			if a.V6 != b.V6 {
				return pgerr.New(pgerr.InvalidParameterValue, "cannot %s inet values of different sizes", verb)
			}
			x, y := a.Bytes(), b.Bytes()
			for i := range x {
				x[i] = f(x[i], y[i])
			}
			a.Bits = max(a.Bits, b.Bits)
			return r.putInet(a)
		})
	}
	add := func(at, n int, sign int64) func(r *row) error {
		return func(r *row) error {
			// The least bigint is its own opposite, also in PostgreSQL.
			v, err := types.AddInet(r.inet(at), sign*r.i8(n))
			if err != nil {
				return err
			}
			return r.putInet(v)
		}
	}
	return []*Func{
		test("<<", func(a, b *types.InetValue) bool { return a.Within(b, false) }),
		test("<<=", func(a, b *types.InetValue) bool { return a.Within(b, true) }),
		test(">>", func(a, b *types.InetValue) bool { return b.Within(a, false) }),
		test(">>=", func(a, b *types.InetValue) bool { return b.Within(a, true) }),
		test("&&", func(a, b *types.InetValue) bool { return a.Overlaps(b) }),
		safe(fn("~", ts(tInet), tInet, func(r *row) error {
			v := r.inet(0)
			b := v.Bytes()
			for i := range b {
				b[i] = ^b[i]
			}
			return r.putInet(v)
		})),
		both("&", "AND", func(a, b byte) byte { return a & b }),
		both("|", "OR", func(a, b byte) byte { return a | b }),
		fn("+", ts(tInet, tI8), tInet, add(0, 1, 1)),
		fn("+", ts(tI8, tInet), tInet, add(1, 0, 1)),
		fn("-", ts(tInet, tI8), tInet, add(0, 1, -1)),
		fn("-", ts(tInet, tInet), tI8, func(r *row) error {
			a, b := r.inet(0), r.inet(1)
			if a.V6 != b.V6 {
				return pgerr.New(pgerr.InvalidParameterValue, "cannot subtract inet values of different sizes")
			}
			d, err := types.SubInet(a, b)
			if err != nil {
				return err
			}
			return r.putI8(d)
		}),
	}
}

// inetFuncs are the functions of network addresses.
func inetFuncs() []*Func {
	text := func(name string, arg types.T, f func(dst []byte, v types.InetValue) []byte) *Func {
		return safe(fn(name, ts(arg), tText, func(r *row) error {
			v := r.inet(0)
			return r.putAppended(func(dst []byte) ([]byte, error) { return f(dst, v), nil })
		}))
	}
	inet := func(name string, ret types.T, f func(v types.InetValue) types.InetValue) *Func {
		return safe(fn(name, ts(tInet), ret, func(r *row) error { return r.putInet(f(r.inet(0))) }))
	}
	mask := func(t types.T) *Func {
		return fn("set_masklen", ts(t, tI4), t, func(r *row) error {
			v, n := r.inet(0), r.i4(1)
			if n == -1 {
				n = v.MaxBits()
			}
			if n < 0 || n > v.MaxBits() {
				return pgerr.New(pgerr.InvalidParameterValue, "invalid mask length: %d", n)
			}
			if v.Bits = n; t == tCidr {
				v = v.Masked()
			}
			return r.putInet(v)
		})
	}
	return []*Func{
		text("abbrev", tInet, func(dst []byte, v types.InetValue) []byte { return types.AppendInetText(dst, &v, v.Bits < v.MaxBits()) }),
		text("abbrev", tCidr, types.AppendCidrAbbrev),
		text("host", tInet, func(dst []byte, v types.InetValue) []byte { return types.AppendInetText(dst, &v, false) }),
		text("text", tInet, func(dst []byte, v types.InetValue) []byte { return types.AppendInetText(dst, &v, true) }),
		inet("broadcast", tInet, types.InetValue.Broadcast),
		inet("netmask", tInet, func(v types.InetValue) types.InetValue { return v.Netmask(false) }),
		inet("hostmask", tInet, func(v types.InetValue) types.InetValue { return v.Netmask(true) }),
		inet("network", tCidr, types.InetValue.Masked),
		inet("cidr", tCidr, types.InetValue.Masked),
		safe(fn("family", ts(tInet), tI4, func(r *row) error { return r.putI4(int(r.b(0)[0])) })),
		safe(fn("masklen", ts(tInet), tI4, func(r *row) error {
			v := r.inet(0)
			return r.putI4(v.Bits)
		})),
		mask(tInet), mask(tCidr),
		safe(fn("inet_same_family", ts(tInet, tInet), tBool, func(r *row) error { return r.putBool(r.b(0)[0] == r.b(1)[0]) })),
		fn("inet_merge", ts(tInet, tInet), tCidr, func(r *row) error {
			a, b := r.inet(0), r.inet(1)
			if a.V6 != b.V6 {
				return pgerr.New(pgerr.InvalidParameterValue, "cannot merge addresses from different families")
			}
			a.Bits = types.CommonBits(&a, &b, min(a.Bits, b.Bits))
			return r.putInet(a.Masked())
		}),
	}
}
