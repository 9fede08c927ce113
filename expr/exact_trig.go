package expr

import "math"

// Sine, cosine and their inverses with the last digit right, as good C libraries have
// them: what math gives is improved in arithmetic of twice the precision. They are
// for angles of up to half a turn.

// pair is a number as the sum of two, the second of which is below the last digit of
// the first.
type pair struct{ hi, lo float64 }

func twoSum(a, b float64) pair {
	s := a + b
	t := s - a
	return pair{s, (a - (s - t)) + (b - t)}
}

func twoProduct(a, b float64) pair {
	p := a * b
	return pair{p, math.FMA(a, b, -p)}
}

// fast makes a pair of a number and a much smaller one.
func fast(hi, lo float64) pair {
	s := hi + lo
	return pair{s, lo - (s - hi)}
}

func (a pair) plus(b pair) pair {
	s, t := twoSum(a.hi, b.hi), twoSum(a.lo, b.lo)
	s = fast(s.hi, s.lo+t.hi)
	return fast(s.hi, s.lo+t.lo)
}

func (a pair) times(b pair) pair {
	p := twoProduct(a.hi, b.hi)
	return fast(p.hi, p.lo+(a.hi*b.lo+a.lo*b.hi))
}

func (a pair) neg() pair { return pair{-a.hi, -a.lo} }

// double is exact.
func (a pair) double() pair { return pair{2 * a.hi, 2 * a.lo} }

// over divides by a number.
func (a pair) over(d float64) pair {
	q := a.hi / d
	p := twoProduct(q, d)
	return fast(q, ((a.hi-p.hi)-p.lo+a.lo)/d)
}

// sineCosine computes both for |x| of at most π: by their series for a 64th of the
// angle, which is then doubled six times. The cosine is carried as what it lacks to 1.
func sineCosine(x float64) (sin, cos pair) { return sineCosineOf(pair{x, 0}) }

func sineCosineOf(x pair) (sin, cos pair) {
	const halvings, terms = 6, 8
	r := pair{math.Ldexp(x.hi, -halvings), math.Ldexp(x.lo, -halvings)}
	square := r.times(r)
	sin = r
	lack := square.over(2)
	a, b := r, lack // the terms of the two series
	for k := 1; k <= terms; k++ {
		n := float64(2 * k)
		a = a.times(square).over(n * (n + 1)).neg()
		b = b.times(square).over((n + 1) * (n + 2)).neg()
		sin, lack = sin.plus(a), lack.plus(b)
	}
	for range halvings {
		sin, lack = sin.plus(sin.times(lack).neg()).double(), sin.times(sin).double()
	}
	return sin, pair{1, 0}.plus(lack.neg())
}

// tiny bounds what is its own sine, the sign of zero included.
const tiny = 1e-100

func sine(x float64) float64 {
	if math.Abs(x) < tiny {
		return x
	}
	s, _ := sineCosine(x)
	return s.hi
}

func cosine(x float64) float64 { _, c := sineCosine(x); return c.hi }

// arcSine is for |x| of at most a half, arcCosine for the others up to 1.
func arcSine(x float64) float64 {
	if math.Abs(x) < tiny {
		return x
	}
	y := math.Asin(x)
	s, c := sineCosine(y)
	return y + pair{x, 0}.plus(s.neg()).hi/c.hi
}

func arcCosine(x float64) float64 {
	y := math.Acos(x)
	for range 2 { // math loses digits near 1
		s, c := sineCosine(y)
		if s.hi == 0 {
			break
		}
		y += c.plus(pair{-x, 0}).hi / s.hi
	}
	return y
}

func arcTangent(x float64) float64 { return arcTangent2(x, 1) }

// arcTangent2 is math.Atan2.
func arcTangent2(y, x float64) float64 {
	a := math.Atan2(y, x)
	_, ey := math.Frexp(y)
	_, ex := math.Frexp(x)
	if a == 0 || x == 0 || y == 0 || math.IsNaN(a) || math.IsInf(x, 0) || math.IsInf(y, 0) || ey-ex > 60 || ex-ey > 500 {
		return a // exact, or as near as can be
	}
	e := max(ey, ex)
	y, x = math.Ldexp(y, -e), math.Ldexp(x, -e)
	s, c := sineCosine(a)
	off := c.times(pair{y, 0}).plus(s.times(pair{-x, 0})).hi
	return a + off/(x*c.hi+y*s.hi)
}
