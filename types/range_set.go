package types

import (
	"slices"

	"github.com/streamdb/streamdb/pgerr"
)

// overlaps reports whether two ranges share a value.
func overlaps(t T, a, b Range) bool {
	return meets(t, a.Hi, b.Lo) > 0 && meets(t, b.Hi, a.Lo) > 0
}

// Union returns what a and b cover together, given that both are of t or of its
// multirange type.
func (s RangeSet) Union(t T, o RangeSet) RangeSet { return NewRangeSet(t, slices.Concat(s, o)) }

// NewRangeSet sorts ranges and joins those that overlap or touch.
func NewRangeSet(t T, rs []Range) RangeSet {
	t = t.RangeType()
	rs = slices.DeleteFunc(slices.Clone(rs), func(r Range) bool { return r.Empty })
	slices.SortStableFunc(rs, func(a, b Range) int {
		if c := cmpLower(t, a.Lo, b.Lo); c != 0 {
			return c
		}
		return cmpUpper(t, a.Hi, b.Hi)
	})
	var out RangeSet
	for _, r := range rs {
		if n := len(out); n > 0 && meets(t, out[n-1].Hi, r.Lo) >= 0 {
			if cmpUpper(t, r.Hi, out[n-1].Hi) > 0 {
				out[n-1].Hi = r.Hi
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

// Intersect returns what both cover.
func (s RangeSet) Intersect(t T, o RangeSet) RangeSet {
	t = t.RangeType()
	var out RangeSet
	for _, a := range s {
		for _, b := range o {
			if !overlaps(t, a, b) {
				continue
			}
			r := a
			if cmpLower(t, b.Lo, a.Lo) > 0 {
				r.Lo = b.Lo
			}
			if cmpUpper(t, b.Hi, a.Hi) < 0 {
				r.Hi = b.Hi
			}
			out = append(out, r)
		}
	}
	return out
}

// Minus returns what s covers and o does not.
func (s RangeSet) Minus(t T, o RangeSet) RangeSet {
	t = t.RangeType()
	out := slices.Clone(s)
	for _, cut := range o {
		var next RangeSet
		for _, r := range out {
			if !overlaps(t, r, cut) {
				next = append(next, r)
				continue
			}
			if cmpLower(t, r.Lo, cut.Lo) < 0 {
				next = append(next, Range{Lo: r.Lo, Hi: Bound{Val: cut.Lo.Val, Inc: !cut.Lo.Inc}})
			}
			if cmpUpper(t, r.Hi, cut.Hi) > 0 {
				next = append(next, Range{Lo: Bound{Val: cut.Hi.Val, Inc: !cut.Hi.Inc}, Hi: r.Hi})
			}
		}
		out = next
	}
	return out
}

// Contains reports whether s covers all of o.
func (s RangeSet) Contains(t T, o RangeSet) bool {
	t = t.RangeType()
	return !slices.ContainsFunc(o, func(b Range) bool {
		return !slices.ContainsFunc(s, func(a Range) bool {
			return cmpLower(t, a.Lo, b.Lo) <= 0 && cmpUpper(t, a.Hi, b.Hi) >= 0
		})
	})
}

// Overlaps reports whether both cover a value.
func (s RangeSet) Overlaps(t T, o RangeSet) bool {
	t = t.RangeType()
	return slices.ContainsFunc(s, func(a Range) bool {
		return slices.ContainsFunc(o, func(b Range) bool { return overlaps(t, a, b) })
	})
}

// HasValue reports whether s covers a value in AppendElem's form.
func (s RangeSet) HasValue(t T, v []byte) bool {
	at := Bound{Val: v, Inc: true}
	return s.Contains(t, RangeSet{{Lo: at, Hi: at}})
}

// Span returns the lower bound of the first range and the upper bound of the last.
func (s RangeSet) Span() Range {
	if len(s) == 0 {
		return Range{Empty: true}
	}
	return Range{Lo: s[0].Lo, Hi: s[len(s)-1].Hi}
}

// The relations of position; all are false when either side is empty.

// LeftOf reports s << o.
func (s RangeSet) LeftOf(t T, o RangeSet) bool {
	return len(s) > 0 && len(o) > 0 && meets(t.RangeType(), s[len(s)-1].Hi, o[0].Lo) <= 0
}

// NotRightOf reports s &< o: s does not go beyond o's upper bound.
func (s RangeSet) NotRightOf(t T, o RangeSet) bool {
	return len(s) > 0 && len(o) > 0 && cmpUpper(t.RangeType(), s[len(s)-1].Hi, o[len(o)-1].Hi) <= 0
}

// NotLeftOf reports s &> o.
func (s RangeSet) NotLeftOf(t T, o RangeSet) bool {
	return len(s) > 0 && len(o) > 0 && cmpLower(t.RangeType(), s[0].Lo, o[0].Lo) >= 0
}

// Adjacent reports s -|- o: the end of one touches the beginning of the other.
func (s RangeSet) Adjacent(t T, o RangeSet) bool {
	t = t.RangeType()
	return len(s) > 0 && len(o) > 0 &&
		(meets(t, s[len(s)-1].Hi, o[0].Lo) == 0 || meets(t, o[len(o)-1].Hi, s[0].Lo) == 0)
}

// OneRange returns the set as a single range; what names the operation in the
// error (22000) for a set of several.
func (s RangeSet) OneRange(what string) (Range, error) {
	if len(s) > 1 {
		return Range{}, pgerr.New(pgerr.DataException, "result of range %s would not be contiguous", what)
	}
	return s.Span(), nil
}
