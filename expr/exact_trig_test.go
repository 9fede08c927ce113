package expr

import (
	"math"
	"math/big"
	"testing"
)

// bigSine is the sine of x to 200 bits, by its series.
func bigSine(x float64) *big.Float {
	num := func(f float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(f) }
	term, sum := num(x), num(x)
	square := new(big.Float).Mul(num(x), num(x))
	for k := 2.0; k < 80; k += 2 {
		term.Mul(term, square)
		term.Quo(term, num(-k*(k+1)))
		sum.Add(sum, term)
	}
	return sum
}

// The nearest number to the true value comes out, here to the sine and to what has a
// number as its sine.
func TestExactTrig(t *testing.T) {
	for i := -3000; i <= 3000; i++ {
		x := float64(i) * 0.0010471
		want, _ := bigSine(x).Float64()
		if got := sine(x); got != want {
			t.Errorf("sine(%v) is %v, want %v", x, got, want)
		}
		if math.Abs(x) > 0.5 {
			continue
		}
		y := arcSine(x)
		below, above := bigSine(math.Nextafter(y, -4)), bigSine(math.Nextafter(y, 4))
		mid := bigSine(y)
		near := func(a *big.Float) *big.Float {
			return new(big.Float).Abs(new(big.Float).Sub(a, new(big.Float).SetFloat64(x)))
		}
		if near(below).Cmp(near(mid)) < 0 || near(above).Cmp(near(mid)) < 0 {
			t.Errorf("arcSine(%v) is %v, a neighbour is nearer", x, y)
		}
	}
	for x, want := range map[float64]float64{10: 1.4711276743037347, 1: math.Pi / 4, math.Inf(1): math.Pi / 2, 1e300: math.Pi / 2} {
		if got := arcTangent(x); got != want {
			t.Errorf("arcTangent(%v) is %v, want %v", x, got, want)
		}
	}
}
