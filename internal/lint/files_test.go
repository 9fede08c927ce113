package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/streamdb/streamdb"

// source is a parsed Go file of the repository.
type source struct {
	path string // slash-separated, relative to the repository root
	pkg  string // folder of the file, "." for the root
	text []byte
	ast  *ast.File
	set  *token.FileSet
}

func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s *source) line(p token.Pos) int { return s.set.Position(p).Line }

// files parses every Go file of the repository.
func files(t *testing.T) []*source {
	t.Helper()
	root := repoRoot(t)
	var out []*source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "data") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s := &source{path: filepath.ToSlash(rel), set: token.NewFileSet()}
		s.pkg = filepath.ToSlash(filepath.Dir(rel))
		if s.text, err = os.ReadFile(path); err != nil {
			return err
		}
		if s.ast, err = parser.ParseFile(s.set, s.path, s.text, parser.ParseComments); err != nil {
			return err
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func repoRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the package")
		}
		dir = filepath.Dir(dir)
	}
}
