package lint

import (
	"bytes"
	"go/ast"
	"go/format"
	"path"
	"regexp"
	"strings"
	"testing"
)

// maxLines is how long a file may be; tests and generated code are exempt.
const maxLines = 800

// panicAllowed lists folders whose panics mark broken invariants that no input
// of a user can reach.
var panicAllowed = []string{"vec", "internal", "exec", "expr", "state", "tests", "cmd"}

// goroutineFiles are the files of exec that run tasks and exchanges; all else
// in exec is operators, which are pure step functions.
var goroutineFiles = regexp.MustCompile(`^exec/.*(task|exchange|runtime|runner|graph|driver|source|sink|deliver|worker|drain)[a-z0-9_]*\.go$`)

// clockFiles are the files of exec that may look at the clock.
var clockFiles = regexp.MustCompile(`^exec/.*(task|exchange|runtime|runner|graph|driver|source|sink|deliver|clock|pace|seat|metrics)[a-z0-9_]*\.go$`)

var (
	unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	generated  = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
)

func TestFilesAreShort(t *testing.T) {
	for _, f := range files(t) {
		if n := bytes.Count(f.text, []byte("\n")); n > maxLines && !f.isTest() && !generated.Match(f.text) {
			t.Errorf("%s: %d lines, at most %d: split it by concept", f.path, n, maxLines)
		}
	}
}

func TestFilesAreFormatted(t *testing.T) {
	for _, f := range files(t) {
		want, err := format.Source(f.text)
		if err != nil {
			t.Errorf("%s: %v", f.path, err)
		} else if !bytes.Equal(want, f.text) {
			t.Errorf("%s: gofmt would change it", f.path)
		}
	}
}

func TestNothingIsUnfinished(t *testing.T) {
	for _, f := range files(t) {
		if f.isTest() {
			continue
		}
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if unfinished.MatchString(c.Text) {
					t.Errorf("%s:%d: unfinished: %s", f.path, f.line(c.Pos()), c.Text)
				}
			}
		}
	}
}

func TestEveryPackageHasDoc(t *testing.T) {
	docs, folders := map[string]bool{}, map[string]bool{}
	for _, f := range files(t) {
		if f.isTest() {
			continue
		}
		folders[f.pkg] = true
		if path.Base(f.path) == "doc.go" && f.ast.Doc != nil {
			docs[f.pkg] = true
		}
	}
	for pkg := range folders {
		if !docs[pkg] {
			t.Errorf("%s: no doc.go with a package comment", pkg)
		}
	}
}

func TestNoForbiddenCode(t *testing.T) {
	for _, f := range files(t) {
		base := path.Base(f.path)
		for _, word := range []string{"util", "utils", "common", "helper", "helpers", "manager"} {
			if strings.TrimSuffix(base, ".go") == word || path.Base(f.pkg) == word {
				t.Errorf("%s: %s says nothing about what is inside", f.path, word)
			}
		}
		if !f.isTest() {
			checkCode(t, f)
		}
	}
}

func checkCode(t *testing.T, f *source) {
	inExec := f.pkg == "exec" || strings.HasPrefix(f.pkg, "exec/")
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil {
				t.Errorf("%s:%d: init function: register explicitly instead", f.path, f.line(n.Pos()))
			}
		case *ast.GoStmt:
			if inExec && !goroutineFiles.MatchString(f.path) {
				t.Errorf("%s:%d: an operator must not start goroutines", f.path, f.line(n.Pos()))
			}
		case *ast.CallExpr:
			if isCall(n, "", "panic") && len(n.Args) == 1 && isText(n.Args[0]) && !within(f.pkg, panicAllowed) {
				t.Errorf("%s:%d: panic: return an error", f.path, f.line(n.Pos()))
			}
			if inExec && isCall(n, "time", "Now") && !clockFiles.MatchString(f.path) {
				t.Errorf("%s:%d: an operator must not read the clock", f.path, f.line(n.Pos()))
			}
		}
		return true
	})
}

func isText(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Value[0] != '\''
}

// isCall tells whether the call is of pkg.name, or of name when pkg is empty.
func isCall(call *ast.CallExpr, pkg, name string) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return pkg == "" && fun.Name == name
	case *ast.SelectorExpr:
		x, ok := fun.X.(*ast.Ident)
		return ok && x.Name == pkg && fun.Sel.Name == name
	}
	return false
}
