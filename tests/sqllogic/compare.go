package sqllogic

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
)

// maxDiffLines bounds a failure report; a result of thousands of rows would
// bury the rest.
const maxDiffLines = 60

// normalize makes runs of blanks one blank, as the dialect prescribes.
func normalize(line string) string { return strings.Join(strings.Fields(line), " ") }

// showValue is the text of a value in a result: the server's own text, with
// NULL and the empty string made visible.
func showValue(value []byte) string {
	switch {
	case value == nil:
		return "NULL"
	case len(value) == 0:
		return "(empty)"
	}
	return string(value)
}

// resultLines orders rows by the sort mode and makes one line of each row (of
// each value under SortValues).
func resultLines(rows [][]string, mode SortMode) []string {
	var lines []string
	switch mode {
	case SortRows:
		sort.SliceStable(rows, func(i, j int) bool { return lessRow(rows[i], rows[j]) })
	case SortValues:
		for _, row := range rows {
			for _, v := range row {
				lines = append(lines, normalize(v))
			}
		}
		sort.Strings(lines)
		return lines
	}
	for _, row := range rows {
		lines = append(lines, normalize(strings.Join(row, " ")))
	}
	return lines
}

func lessRow(a, b []string) bool {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i < len(b) && a[i] < b[i]
		}
	}
	return len(a) < len(b)
}

// hashLine is what a result longer than the hash threshold is compared by.
func hashLine(lines []string) string {
	sum := md5.New()
	for _, l := range lines {
		fmt.Fprintln(sum, l)
	}
	return fmt.Sprintf("%d values hashing to %s", len(lines), hex.EncodeToString(sum.Sum(nil)))
}

// compare returns "" when the lines agree, else a report with a diff.
func compare(expected, actual []string) string {
	want := make([]string, len(expected))
	for i, l := range expected {
		want[i] = normalize(l)
	}
	if len(want) == len(actual) {
		same := true
		for i := range want {
			same = same && want[i] == actual[i]
		}
		if same {
			return ""
		}
	}
	return diff(want, actual)
}

// diff marks lines that only the expectation has with -, those that only the
// server has with +, by the longest common subsequence.
func diff(want, got []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows expected, %d rows returned (- expected, + returned)\n", len(want), len(got))
	const limit = 2000 // the table below is quadratic
	if len(want) > limit {
		want = want[:limit]
	}
	if len(got) > limit {
		got = got[:limit]
	}
	printed := 0
	for _, line := range diffLines(want, got) {
		if printed++; printed > maxDiffLines {
			b.WriteString("  ...\n")
			break
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func diffLines(want, got []string) []string {
	common := make([][]int, len(want)+1)
	for i := range common {
		common[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if want[i] == got[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			out = append(out, "  "+want[i])
			i, j = i+1, j+1
		case i < len(want) && (j == len(got) || common[i+1][j] >= common[i][j+1]):
			out = append(out, "- "+want[i])
			i++
		default:
			out = append(out, "+ "+got[j])
			j++
		}
	}
	return out
}
