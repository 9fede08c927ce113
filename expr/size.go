package expr

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

func sizeFuncs() []*Func {
	return []*Func{
		safe(fn("pg_size_pretty", ts(tI8), tText, func(r *row) error { return r.putS(sizePretty(r.i8(0))) })),
		fn("pg_size_pretty", ts(tNum), tText, numericSizePretty),
		fn("pg_size_bytes", ts(tText), tI8, sizeBytes),
	}
}

func numericSizePretty(r *row) error {
	d := r.dec(0)
	if d.IsNaN() || d.IsInf() {
		return r.putS(d.String() + " PB")
	}
	if d.Abs().Cmp(types.DecimalFromInt64(10*1024)) < 0 {
		return r.putS(d.String() + " bytes")
	}
	n, _ := new(big.Int).SetString(d.Trunc(0).String(), 10)
	return r.putS(bigSizePretty(n))
}

func sizePretty(n int64) string { return bigSizePretty(big.NewInt(n)) }

// bigSizePretty shows up to 10 * 1024 of a unit; the last step keeps one bit for
// rounding.
func bigSizePretty(n *big.Int) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB"}
	k := 0
	for limit := int64(10 * 1024); n.CmpAbs(big.NewInt(limit)) >= 0 && k < len(units)-1; k++ {
		shift := uint(10)
		if k == 0 {
			shift, limit = 9, 20*1024-1
		}
		n = new(big.Int).Quo(n, new(big.Int).Lsh(big.NewInt(1), shift))
	}
	if k > 0 {
		n = new(big.Int).Add(n, big.NewInt(int64(n.Sign())))
		n.Quo(n, big.NewInt(2))
	}
	return fmt.Sprintf("%s %s", n, units[k])
}

// sizeBytes reads what pg_size_pretty writes.
func sizeBytes(r *row) error {
	s := strings.Trim(r.s(0), " \t\n\r\f\v")
	i := 0
	digits := func() (n int) {
		for i < len(s) && isDigit(s[i]) {
			i, n = i+1, n+1
		}
		return n
	}
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	n := digits()
	if i < len(s) && s[i] == '.' {
		i++
		n += digits()
	}
	bad := pgerr.New(pgerr.InvalidParameterValue, "invalid size: \"%s\"", r.s(0))
	if n == 0 {
		return bad
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		at := i
		if i++; i < len(s) && (s[i] == '-' || s[i] == '+') {
			i++
		}
		if digits() == 0 {
			i = at
		}
	}
	d, err := types.ParseDecimal(s[:i])
	if err != nil {
		return err
	}
	unit := strings.TrimLeft(s[i:], " \t\n\r\f\v")
	shift := 0
	switch strings.ToLower(unit) {
	case "", "bytes", "b":
	case "kb":
		shift = 10
	case "mb":
		shift = 20
	case "gb":
		shift = 30
	case "tb":
		shift = 40
	case "pb":
		shift = 50
	default:
		return bad.WithDetail("Invalid size unit: \"%s\".", unit).
			WithHint("Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".")
	}
	v, err := types.DecimalToInt64(d.Mul(types.DecimalFromInt64(1<<shift)), 64)
	if err != nil {
		return err
	}
	return r.putI8(v)
}
