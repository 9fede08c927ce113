package expr

import "math"

// Exponentials, logarithms and trigonometry in radians with the last digit right, like
// those of exact_trig.go.

// The constants have three parts, each below the last digit of the one before.
var (
	ln2Parts    = [3]float64{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111}
	halfPiParts = [3]float64{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110}
)

// reduce is x less k times a constant.
func reduce(x, k float64, parts [3]float64) pair {
	r := twoProduct(-k, parts[0])
	r = pair{x, 0}.plus(r)
	r = r.plus(twoProduct(-k, parts[1]))
	return r.plus(twoProduct(-k, parts[2]))
}

// exponential is e to the power x, as a pair to be multiplied by 2 to the power k: by
// the series for a 256th of what is left after whole powers of two, squared eight times.
// Until then it is carried as what it exceeds 1 by.
func exponential(x float64) (e pair, k int) {
	const halvings, terms = 8, 10
	n := math.RoundToEven(x / ln2Parts[0])
	r := reduce(x, n, ln2Parts)
	r = pair{math.Ldexp(r.hi, -halvings), math.Ldexp(r.lo, -halvings)}
	sum, term := r, r
	for i := 2; i <= terms; i++ {
		term = term.times(r).over(float64(i))
		sum = sum.plus(term)
	}
	for range halvings {
		sum = sum.double().plus(sum.times(sum))
	}
	return pair{1, 0}.plus(sum), int(n)
}

// exactExp is math.Exp.
func exactExp(x float64) float64 {
	if !(x > -708 && x < 710) || math.Abs(x) < tiny {
		return math.Exp(x)
	}
	e, k := exponential(x)
	return math.Ldexp(e.hi, k)
}

// exactLog is math.Log, improved by what x and the power of it differ by.
func exactLog(x float64) float64 {
	y := math.Log(x)
	if !(x > 1e-300 && x < 1e300) || y == 0 {
		return y
	}
	e, k := exponential(-y)
	m, n := math.Frexp(x)
	p := e.times(pair{m, 0})
	p = pair{math.Ldexp(p.hi, n+k), math.Ldexp(p.lo, n+k)}
	return y + p.plus(pair{-1, 0}).hi
}

// farAngle bounds what is brought into one turn here.
const farAngle = 1e6

// quadrant is an angle less quarters of a turn, and how many.
func quadrant(x float64) (sin, cos pair, quarters int) {
	k := math.RoundToEven(x / halfPiParts[0])
	sin, cos = sineCosineOf(reduce(x, k, halfPiParts))
	return sin, cos, int(k) & 3
}

func exactSin(x float64) float64 {
	if !(math.Abs(x) < farAngle) || math.Abs(x) < tiny {
		return math.Sin(x)
	}
	s, c, q := quadrant(x)
	return [4]float64{s.hi, c.hi, -s.hi, -c.hi}[q]
}

func exactCos(x float64) float64 {
	if !(math.Abs(x) < farAngle) || math.Abs(x) < tiny {
		return math.Cos(x)
	}
	s, c, q := quadrant(x)
	return [4]float64{c.hi, -s.hi, -c.hi, s.hi}[q]
}

func exactTan(x float64) float64 {
	if !(math.Abs(x) < farAngle) || math.Abs(x) < tiny {
		return math.Tan(x)
	}
	s, c, q := quadrant(x)
	if q&1 == 1 {
		s, c = c.neg(), s
	}
	t := s.hi / c.hi
	off := s.plus(c.times(pair{-t, 0}))
	return t + off.hi/c.hi
}

func exactAsin(x float64) float64 {
	y := math.Asin(x)
	if math.Abs(x) < tiny || !(math.Abs(x) < 1) {
		return y
	}
	s, c := sineCosine(y)
	return y + pair{x, 0}.plus(s.neg()).hi/c.hi
}
