package catalog

// maxDistance is how many edits a suggestion may be away from a name.
func maxDistance(name string) int { return min(3, max(1, len(name)/3)) }

// Closest returns the candidate most like name, or "" when none is near.
func Closest(name string, candidates []string) string {
	best, bestDist := "", maxDistance(name)+1
	for _, c := range candidates {
		if d := Distance(name, c, bestDist); d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

// Distance returns the Levenshtein distance of two names in bytes; it may stop
// early and return limit+1 when the distance is above limit.
func Distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag, best := row[0], i
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			v := min(diag+cost, row[j]+1, row[j-1]+1)
			diag, row[j] = row[j], v
			best = min(best, v)
		}
		if best > limit {
			return limit + 1
		}
	}
	return row[len(b)]
}
