package lint

import (
	"strconv"
	"strings"
	"testing"
)

// floors is the import table: what the packages of a folder may import besides
// themselves. Each entry also allows what its entries allow.
var floors = map[string][]string{
	"pgerr":        {},
	"internal/vfs": {},
	// The data and queries of a benchmark and its test.
	"internal/tpch": {},
	"charset":       {"pgerr"},
	"types":         {"pgerr"},
	"vec":           {"types"},
	"expr":          {"vec", "charset"},
	"expr/are":      {"pgerr"},
	"sql":           {"pgerr"},
	"state":         {"vec", "internal/vfs"},
	"connector":     {"vec"},
	"checkpoint":    {"state"},
	"colcache":      {"state"},
	"catalog":       {"expr", "sql"},
	"planner":       {"catalog"},
	"planner/plan":  {"expr"},
	"exec":          {"planner/plan", "expr", "state", "connector"},
	// engine satisfies the interfaces that wire declares; wire never sees engine.
	"engine":          {"engine/jobs", "engine/settings", "engine/define", "exec", "planner", "checkpoint", "colcache", "connector", "wire"},
	"engine/settings": {"planner"},
	"engine/define":   {"planner"},
	// Jobs know no sessions.
	"engine/jobs": {"engine/stage", "colcache", "connector"},
	// What both those who write and those who commit know of a write.
	"engine/stage": {"exec", "planner"},
	"wire":         {"vec", "types", "charset", "pgerr"},
}

// unrestricted folders may import anything: the program, and tests from outside.
var unrestricted = []string{"cmd", "tests", "internal/sim", "internal/lint"}

func TestImportFloors(t *testing.T) {
	for _, f := range files(t) {
		from := floorOf(f.pkg)
		if f.isTest() || within(f.pkg, unrestricted) {
			continue
		}
		if from == "" {
			t.Errorf("%s: the folder is not in the import table of internal/lint", f.path)
			continue
		}
		for _, imp := range f.ast.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			pkg, ours := strings.CutPrefix(path, module+"/")
			if ours && !allowed(from, floorOf(pkg), map[string]bool{}) {
				t.Errorf("%s:%d: %s must not import %s", f.path, f.line(imp.Pos()), from, pkg)
			}
		}
	}
}

// floorOf returns the longest entry of the table that the folder lies in.
func floorOf(pkg string) string {
	best := ""
	for floor := range floors {
		if (pkg == floor || strings.HasPrefix(pkg, floor+"/")) && len(floor) > len(best) {
			best = floor
		}
	}
	return best
}

// allowed tells whether to is from, or reachable from it in the table. A
// folder may also use its own sub-folders: planner uses planner/plan.
func allowed(from, to string, seen map[string]bool) bool {
	if to == "" || seen[from] {
		return false
	}
	seen[from] = true
	if to == from || strings.HasPrefix(to, from+"/") {
		return true
	}
	for _, next := range floors[from] {
		if allowed(next, to, seen) {
			return true
		}
	}
	return false
}

func within(pkg string, folders []string) bool {
	for _, f := range folders {
		if pkg == f || strings.HasPrefix(pkg, f+"/") {
			return true
		}
	}
	return false
}
