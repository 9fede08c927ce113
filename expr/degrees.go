package expr

import "math"

// Trigonometry in degrees, exact at the angles that have exact values, and bit for bit
// as PostgreSQL has it with a C library that rounds well.

func degreeFuncs() []*Func {
	unit := func(x float64) bool { return !(x < -1 || x > 1) }
	finite := func(x float64) bool { return !math.IsInf(x, 0) }
	inf := func(name string, f func(float64) float64) *Func {
		return fn(name, ts(tF8), tF8, func(r *row) error {
			x := r.f8(0)
			if math.IsInf(x, 0) {
				return errInput
			}
			return r.putF8(f(x)) // infinite at the poles
		})
	}
	return []*Func{
		float1("sind", within(sinDegrees, finite)), float1("cosd", within(cosDegrees, finite)),
		inf("tand", tanDegrees), inf("cotd", cotDegrees),
		float1("asind", within(asinDegrees, unit)), float1("acosd", within(acosDegrees, unit)),
		float1("atand", total(atanDegrees)),
		safe(fn("atan2d", ts(tF8, tF8), tF8, func(r *row) error {
			return r.putF8(arcTangent2(r.f8(0), r.f8(1)) / arcTangent(1) * 45)
		})),
	}
}

var perDegree = math.Pi / 180 // a variable, so that equal angles are rounded equally

// Within the first quadrant the functions are scaled so that 30, 45 and 60
// degrees come out exact.

func sinTo30(x float64) float64 { return sine(x*perDegree) / sine(30*perDegree) / 2 }

func cosTo60(x float64) float64 {
	return 1 - (1-cosine(x*perDegree))/(1-cosine(60*perDegree))/2
}

func sinQuadrant(x float64) float64 {
	if x <= 30 {
		return sinTo30(x)
	}
	return cosTo60(90 - x)
}

func cosQuadrant(x float64) float64 {
	if x <= 60 {
		return cosTo60(x)
	}
	return sinTo30(90 - x)
}

// fold brings an angle into the first quadrant and says which sign its sine and
// its cosine have.
func fold(x float64) (q, sin, cos float64) {
	sin, cos = 1, 1
	if x = math.Mod(x, 360); x < 0 {
		x, sin = -x, -sin
	}
	if x > 180 {
		x, sin = 360-x, -sin
	}
	if x > 90 {
		x, cos = 180-x, -cos
	}
	return x, sin, cos
}

func sinDegrees(x float64) float64 { q, s, _ := fold(x); return s * sinQuadrant(q) }
func cosDegrees(x float64) float64 { q, _, c := fold(x); return c * cosQuadrant(q) }

func tanDegrees(x float64) float64 {
	q, s, c := fold(x)
	return noNegZero(s * c * (sinQuadrant(q) / cosQuadrant(q) / (sinQuadrant(45) / cosQuadrant(45))))
}

func cotDegrees(x float64) float64 {
	q, s, c := fold(x)
	return noNegZero(s * c * (cosQuadrant(q) / sinQuadrant(q) / (cosQuadrant(45) / sinQuadrant(45))))
}

func noNegZero(x float64) float64 {
	if x == 0 {
		return 0
	}
	return x
}

func asinQuadrant(x float64) float64 {
	if x <= 0.5 {
		return arcSine(x) / arcSine(0.5) * 30
	}
	return 90 - arcCosine(x)/arcCosine(0.5)*60
}

func acosQuadrant(x float64) float64 {
	if x <= 0.5 {
		return 90 - arcSine(x)/arcSine(0.5)*30
	}
	return arcCosine(x) / arcCosine(0.5) * 60
}

func asinDegrees(x float64) float64 {
	if x < 0 {
		return -asinQuadrant(-x)
	}
	return asinQuadrant(x)
}

func acosDegrees(x float64) float64 {
	if x < 0 {
		return 90 + asinQuadrant(-x)
	}
	return acosQuadrant(x)
}

func atanDegrees(x float64) float64 { return arcTangent(x) / arcTangent(1) * 45 }
