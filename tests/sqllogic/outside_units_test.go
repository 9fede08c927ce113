package sqllogic

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// outsideUnit is one file of the suite that is run by itself.
type outsideUnit struct {
	root, name    string // the file is root/name; name begins with its folder
	notApplicable string // why it is not run at all
}

func (u outsideUnit) folder() string { return u.name[:strings.IndexByte(u.name, '/')] }

var includePattern = regexp.MustCompile(`(?m)^include\s+(\S+)`)

// outsideUnits lists the files to run, sorted. A file that another one includes
// by its name belongs to that one. A file that only includes others, and sets
// parameters, is taken apart, so that each file counts once and by itself;
// unless it loads tables (create_tables) that the others then query.
func outsideUnits(t *testing.T, root string) []outsideUnit {
	t.Helper()
	texts := map[string]string{}
	for _, folder := range outsideFolders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !isTestFile(p) || strings.Contains(p, "/templates/") {
				return err
			}
			text, err := os.ReadFile(p)
			rel, _ := filepath.Rel(root, p)
			texts[filepath.ToSlash(rel)] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	included := map[string]bool{}
	var include func(name string)
	include = func(name string) {
		for _, m := range includePattern.FindAllStringSubmatch(texts[name], -1) {
			if part := path.Join(path.Dir(name), m[1]); !included[part] {
				included[part] = true
				include(part)
			}
		}
	}
	for name, text := range texts {
		if !takenApart(text) {
			include(name)
		}
	}
	var units []outsideUnit
	for name, text := range texts {
		if !included[name] && !takenApart(text) {
			units = append(units, outsideUnit{root: root, name: name, notApplicable: inapplicableFile(name, text)})
		}
	}
	sort.Slice(units, func(i, j int) bool { return units[i].name < units[j].name })
	return units
}

func isTestFile(p string) bool {
	return strings.HasSuffix(p, ".slt") || strings.HasSuffix(p, ".slt.part")
}

// takenApart tells whether a file does nothing but include others.
func takenApart(text string) bool {
	if !includePattern.MatchString(text) || strings.Contains(text, "create_tables") {
		return false
	}
	for _, block := range strings.Split(text, "\n\n") {
		for _, line := range strings.Split(block, "\n") {
			line = strings.ToLower(strings.TrimSpace(line))
			switch {
			case line == "", line == "flush;", strings.HasPrefix(line, "#"), strings.HasPrefix(line, "include "),
				strings.HasPrefix(line, "set "), line == "statement ok":
			default:
				return false
			}
		}
	}
	return true
}

// inapplicableFile gives the reason why a file cannot say anything about this
// server, from its text alone.
func inapplicableFile(name, text string) string {
	switch {
	case regexp.MustCompile(`(?m)^system `).MatchString(text):
		return "runs commands of the shell"
	}
	for reason, pattern := range inapplicableText {
		if pattern.MatchString(text) {
			return reason
		}
	}
	return outsideOpinions[name]
}

// inapplicableText finds what belongs to a cluster of RisingWave alone.
var inapplicableText = map[string]*regexp.Regexp{}

// outsideOpinions names files whose expectations contradict PostgreSQL in a way
// that running them on PostgreSQL does not show.
var outsideOpinions = map[string]string{}
