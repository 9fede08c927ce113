package parity

import (
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"github.com/streamdb/streamdb/sql"
)

//go:embed privileges.sql
var privileges string

//go:embed privileges_own.txt
var ownPrivileges string

// statements are the lines of a file that are no comments.
func statements(text string) []string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if line != "" && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// TestPrivileges runs statements of every kind as a role without privileges, and
// with single ones, on both servers, which are to answer the same. What PostgreSQL
// does not have must fail as its list says.
func TestPrivileges(t *testing.T) {
	p := newPair(t)
	for _, name := range []string{"t", "u"} {
		p.both("DROP TABLE IF EXISTS " + name)
	}
	both := statements(privileges)
	for _, text := range both {
		pg, sdb := p.both(text)
		if strings.HasPrefix(text, "EXPLAIN") && pg.err == nil && sdb.err == nil {
			continue
		}
		if a, b := pg.text(true), sdb.text(true); a != b {
			t.Errorf("%s\nPostgreSQL %s\nStreamDB   %s", text, a, b)
		}
	}
	for _, text := range []string{
		"CREATE ROLE low", "CREATE TABLE IF NOT EXISTS t (a int)", "CREATE SCHEMA mine AUTHORIZATION low",
		"CREATE SOURCE src (v int) WITH (connector = 'datagen', rows = '1')", "CREATE SECRET sec AS 'x'", "CREATE SINK snk FROM t WITH (connector = 'blackhole')",
		"SET SESSION AUTHORIZATION low",
	} {
		if a := ask(p.sdb, text); a.err != nil {
			t.Fatalf("%s: %s", text, a.text(false))
		}
	}
	own := statements(ownPrivileges)
	for i, line := range own {
		want, text, _ := strings.Cut(line, " = ")
		own[i] = text
		if got := ask(p.sdb, text); got.text(false) != want {
			t.Errorf("%s\nwant %s\ngot  %s", text, want, got.text(false))
		}
	}
	checkKinds(t, append(both, own...))
}

// harmless are the kinds of statements that need no privilege, or that no server
// takes.
var harmless = map[string]string{
	"Begin": "", "Commit": "", "Rollback": "", "Savepoint": "", "Release": "", "RollbackTo": "", "SetTransaction": "", "SetConstraints": "",
	"Close": "a cursor of one's own", "Fetch": "checked by DECLARE", "Flush": "nothing to do",
	"Show": "definitions and settings are public", "Describe": "definitions are public",
	"Unlisten": "nothing to do", "Listen": "", "Notify": "", "Do": "refused", "Subscribe": "refused", "Cancel": "refused",
	"CreateConnection": "refused", "Unsupported": "refused",
}

// checkKinds wants each kind of statement that the parser knows among the texts, or
// among the harmless ones.
func checkKinds(t *testing.T, texts []string) {
	seen := map[string]bool{}
	for _, text := range texts {
		parsed, err := sql.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, p := range parsed {
			seen[reflect.TypeOf(p.Stmt).Elem().Name()] = true
			if e, ok := p.Stmt.(*sql.Explain); ok {
				seen[reflect.TypeOf(e.Stmt).Elem().Name()] = true
			}
		}
	}
	files, err := parser.ParseDir(token.NewFileSet(), "../../sql", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files["sql"].Files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != "stmtNode" || fn.Recv == nil {
				continue
			}
			n++
			name := fn.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name
			if _, ok := harmless[name]; !ok && !seen[name] {
				t.Errorf("no privilege of a %s is tested", name)
			}
		}
	}
	if n < 50 {
		t.Fatalf("the syntax tree has only %d kinds of statements", n)
	}
}
