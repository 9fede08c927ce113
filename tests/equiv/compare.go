package equiv

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// The types whose equal values may differ in text.
const (
	oidFloat8       = 701
	oidNumeric      = 1700
	oidNumericArray = 1231
)

// difference is empty when the answers agree as multisets. Its first line says
// what kind of difference it is. shown reports answers that agree except for
// the trailing zeros of numbers and the last digits of floating point ones.
func difference(want, got *answer) (diff string, shown bool) {
	if !slices.Equal(want.header, got.header) {
		return fmt.Sprintf("columns\n- %s\n+ %s", strings.Join(want.header, " "), strings.Join(got.header, " ")), false
	}
	w, g := lines(want, false), lines(got, false)
	if slices.Equal(w, g) {
		return "", false
	}
	if slices.Equal(lines(want, true), lines(got, true)) {
		return "", true
	}
	only := func(mark string, a, b []string) {
		counts := map[string]int{}
		for _, l := range b {
			counts[l]++
		}
		for _, l := range a {
			if counts[l]--; counts[l] < 0 {
				diff += mark + l + "\n"
			}
		}
	}
	only("- ", w, g)
	only("+ ", g, w)
	return "rows\n" + diff, false
}

// lines are the sorted rows as text; with plain, numbers lose trailing zeros, zero
// loses its sign, and floating point numbers the digits that depend on the order
// of summing.
func lines(a *answer, plain bool) []string {
	out := make([]string, len(a.rows))
	for i, row := range a.rows {
		values := row
		if plain {
			values = slices.Clone(row)
			for j, v := range values {
				values[j] = plainNumber(a.types[j], v)
			}
		}
		out[i] = strings.Join(values, " | ")
	}
	sort.Strings(out)
	return out
}

func plainNumber(oid uint32, v string) string {
	if oid != oidFloat8 && oid != oidNumeric {
		return v
	}
	if oid == oidFloat8 {
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			v = strconv.FormatFloat(f, 'g', 11, 64)
		}
	}
	if oid == oidNumeric && strings.Contains(v, ".") {
		v = strings.TrimRight(strings.TrimRight(v, "0"), ".")
	}
	if v == "-0" {
		return "0"
	}
	return v
}
