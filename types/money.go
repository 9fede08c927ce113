package types

import (
	"math"
	"math/bits"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// Money is counted in cents. It is read and shown as in the locale C, which for money is
// that of en_US: -$1,234.50.

func errMoneyRange() *pgerr.Error { return errOutOfRange("money") }

// ParseMoney reads an amount. The currency sign and the sign may stand before or behind
// it, and parentheses make it negative; what lies beyond cents is rounded by its first
// digit.
func ParseMoney(s string) (int64, error) {
	t := trimSpace(s)
	drop := func(prefix string) bool {
		rest, ok := strings.CutPrefix(t, prefix)
		if ok {
			t = rest
		}
		return ok
	}
	space := func() { t = strings.TrimLeft(t, " \t\n\v\f\r") }
	drop("$")
	space()
	neg := drop("-") || drop("(")
	if !neg {
		drop("+")
	}
	space()
	drop("$")
	space()
	amount, rest, ok := moneyDigits(t)
	t = rest
	for t != "" {
		switch {
		case isSpace(t[0]) || t[0] == ')' || t[0] == '+' || t[0] == '$':
		case t[0] == '-':
			neg = true
		default:
			return 0, errInput("money", s)
		}
		t = t[1:]
	}
	switch {
	case !ok || amount > 1<<63 || amount == 1<<63 && !neg:
		return 0, errRange("money", s)
	case neg:
		return -int64(amount), nil
	}
	return int64(amount), nil
}

// moneyDigits reads digits with separators and up to two decimals into cents; ok is
// false beyond what 64 bits hold.
func moneyDigits(t string) (cents uint64, rest string, ok bool) {
	ok = true
	add := func(d uint64) {
		hi, lo := bits.Mul64(cents, 10)
		var carry uint64
		cents, carry = bits.Add64(lo, d, 0)
		ok = ok && hi == 0 && carry == 0
	}
	decimals, dot := 0, false
	for ; t != ""; t = t[1:] {
		c := t[0]
		switch {
		case c >= '0' && c <= '9' && decimals < 2:
			add(uint64(c - '0'))
			if dot {
				decimals++
			}
			continue
		case c == '.' && !dot:
			dot = true
			continue
		case c == ',':
			continue
		}
		break
	}
	up := t != "" && t[0] >= '5' && t[0] <= '9' && decimals == 2
	for ; decimals < 2; decimals++ {
		add(0)
	}
	if up {
		cents++
	}
	return cents, strings.TrimLeft(t, "0123456789"), ok
}

// AppendMoney appends an amount: $1,234.50.
func AppendMoney(dst []byte, v int64) []byte {
	u := uint64(v)
	if v < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = append(dst, '$')
	at := len(dst)
	dst = AppendInt(dst, int64(u/100))
	for i := len(dst) - 3; i > at; i -= 3 {
		dst = append(dst[:i+1], dst[i:]...)
		dst[i] = ','
	}
	return append2(append(dst, '.'), int(u%100))
}

// MoneyOf is a whole number of dollars; 22003.
func MoneyOf(dollars int64) (int64, error) {
	hi, lo := bits.Mul64(uint64(max(dollars, -dollars)), 100)
	if dollars == math.MinInt64 || hi != 0 || lo > math.MaxInt64 {
		return 0, errOutOfRange("bigint")
	}
	return dollars * 100, nil
}

// MoneyFromDecimal rounds to cents; 22003.
func MoneyFromDecimal(d Decimal) (int64, error) {
	return DecimalToInt64(d.Mul(DecimalFromInt64(100)), 64)
}

// MoneyFromFloat rounds cents half to even; 22003.
func MoneyFromFloat(cents float64) (int64, error) {
	v, ok := Float64ToInt64(cents, 64)
	if !ok {
		return 0, errMoneyRange()
	}
	return v, nil
}

// MoneyTimes is v n times; 22003.
func MoneyTimes(v, n int64) (int64, error) {
	r := v * n
	if v != 0 && (r/v != n || v == -1 && n == math.MinInt64) {
		return 0, errMoneyRange()
	}
	return r, nil
}

// AddMoney is a + b; 22003.
func AddMoney(a, b int64) (int64, error) {
	r, ok := addInt64(a, b)
	if !ok {
		return 0, errMoneyRange()
	}
	return r, nil
}

// SubMoney is a - b; 22003.
func SubMoney(a, b int64) (int64, error) {
	r := a - b
	if (a < 0) != (b < 0) && (r < 0) != (a < 0) {
		return 0, errMoneyRange()
	}
	return r, nil
}

var (
	upToTwenty = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen " +
		"fifteen sixteen seventeen eighteen nineteen twenty")
	tens   = strings.Fields("- ten twenty thirty forty fifty sixty seventy eighty ninety")
	scales = []string{"", " thousand ", " million ", " billion ", " trillion ", " quadrillion "}
)

// MoneyWords tells an amount in English.
func MoneyWords(v int64) string {
	u := uint64(v)
	out := ""
	if v < 0 {
		u = -u
		out = "minus "
	}
	dollars, cents := u/100, u%100
	words := ""
	for i, rest := 0, dollars; rest > 0; i, rest = i+1, rest/1000 {
		if rest%1000 > 0 {
			words = wordsBelow1000(int(rest%1000)) + scales[i] + words
		}
	}
	if words == "" {
		words = upToTwenty[0]
	}
	out += words
	if dollars == 1 {
		out += " dollar and "
	} else {
		out += " dollars and "
	}
	out += wordsBelow1000(int(cents)) + " cent"
	if cents != 1 {
		out += "s"
	}
	return strings.ToUpper(out[:1]) + out[1:]
}

func wordsBelow1000(n int) string {
	hundreds, rest := n/100, n%100
	below := func(and string) string {
		switch {
		case rest <= 20 && (rest < 20 || hundreds == 0):
			return and + upToTwenty[rest]
		case rest%10 == 0:
			return tens[rest/10]
		}
		return tens[rest/10] + " " + upToTwenty[rest%10]
	}
	switch {
	case hundreds == 0:
		return below("")
	case rest == 0:
		return upToTwenty[hundreds] + " hundred"
	}
	return upToTwenty[hundreds] + " hundred " + below("and ")
}
