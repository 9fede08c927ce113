package sqllogic

import (
	"fmt"
	"sort"
	"strings"
)

// outsideReport gathers the verdicts of a run.
type outsideReport struct {
	verdicts []outsideVerdict
}

func (r *outsideReport) add(v outsideVerdict) { r.verdicts = append(r.verdicts, v) }

// String is the report: figures by folder, reasons by frequency, then for each
// file that did not pass its first failing record and the heads of the others.
func (r *outsideReport) String() string {
	var b strings.Builder
	r.figures(&b)
	for _, verdict := range []string{verdictFailed, verdictNot} {
		r.classes(&b, verdict)
	}
	for _, verdict := range []string{verdictFailed, verdictNot} {
		fmt.Fprintf(&b, "\n# Files %s\n", verdict)
		for _, v := range r.verdicts {
			if v.verdict != verdict {
				continue
			}
			fmt.Fprintf(&b, "\n## %s: %s\n", v.unit.name, v.class)
			if v.detail != "" {
				fmt.Fprintln(&b, v.detail)
			}
			for _, other := range v.others {
				fmt.Fprintf(&b, "also %s\n", other)
			}
		}
	}
	return b.String()
}

func (r *outsideReport) figures(b *strings.Builder) {
	type row struct{ passed, failed, not, records int }
	rows := map[string]*row{}
	names := append(append([]string(nil), outsideFolders...), "all")
	for _, n := range names {
		rows[n] = &row{}
	}
	for _, v := range r.verdicts {
		for _, n := range []string{v.unit.folder(), "all"} {
			rows[n].records += v.records[0]
			switch v.verdict {
			case verdictPassed:
				rows[n].passed++
			case verdictFailed:
				rows[n].failed++
			default:
				rows[n].not++
			}
		}
	}
	b.WriteString("| folder | passed | failed | not applicable | of the applicable | records passed |\n|---|---|---|---|---|---|\n")
	for _, n := range names {
		w := rows[n]
		share := "–"
		if w.passed+w.failed > 0 {
			share = fmt.Sprintf("%.1f%%", 100*float64(w.passed)/float64(w.passed+w.failed))
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d | %s | %d |\n", n, w.passed, w.failed, w.not, share, w.records)
	}
}

func (r *outsideReport) classes(b *strings.Builder, verdict string) {
	files := map[string][]string{}
	var classes []string
	for _, v := range r.verdicts {
		if v.verdict == verdict {
			if files[v.class] == nil {
				classes = append(classes, v.class)
			}
			files[v.class] = append(files[v.class], v.unit.name)
		}
	}
	sort.SliceStable(classes, func(i, j int) bool { return len(files[classes[i]]) > len(files[classes[j]]) })
	fmt.Fprintf(b, "\n# Reasons: %s\n\n", verdict)
	for _, c := range classes {
		fmt.Fprintf(b, "%4d  %s (%s)\n", len(files[c]), c, files[c][0])
	}
}
