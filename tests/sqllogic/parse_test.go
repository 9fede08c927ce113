package sqllogic

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func parseText(t *testing.T, text string) (*File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.slt")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return ParseFile(path)
}

func TestParseRecords(t *testing.T) {
	f, err := parseText(t, `# runner: no-restart
control substitution on

statement ok
CREATE TABLE a (x int)

statement count 2
INSERT INTO a
VALUES (1), (2)

connection second
onlyif streamdb
query IT rowsort label-1
SELECT 1, 'a'
----
1 a
2 b

statement error division by zero
SELECT 1/0

statement error
SELECT nothing
----
ERROR: line one

line two


query I retry 3 backoff 50ms
SELECT 1
----
1

sleep 5ms

halt

statement nonsense
`)
	if err != nil {
		t.Fatal(err)
	}
	if !f.NoRestart || len(f.Records) != 8 {
		t.Fatalf("NoRestart %v, %d records", f.NoRestart, len(f.Records))
	}
	if r := f.Records[2]; r.Count != 2 || r.SQL != "INSERT INTO a\nVALUES (1), (2)" || r.Pos.Line != 7 {
		t.Errorf("statement count: %+v", r)
	}
	if r := f.Records[3]; r.Connection != "second" || r.Types != "IT" || r.Sort != SortRows || r.Label != "label-1" ||
		strings.Join(r.Expected, "|") != "1 a|2 b" || r.OnlyIf[0] != "streamdb" {
		t.Errorf("query: %+v", r)
	}
	if r := f.Records[4]; r.Connection != "" || !r.Error.Wanted || !r.Error.Pattern.MatchString("x division by zero y") {
		t.Errorf("statement error: %+v", r)
	}
	if r := f.Records[5]; r.Error.Text != "ERROR: line one\n\nline two" && strings.TrimSpace(r.Error.Text) != "ERROR: line one\n\nline two" {
		t.Errorf("expected error: %q", r.Error.Text)
	}
	if r := f.Records[6]; r.Retry != 3 || r.Backoff != 50*time.Millisecond || r.Types != "I" {
		t.Errorf("retry: %+v", r)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"system ok\nrm -rf /\n", "statement maybe\nSELECT 1\n", "statement ok\n\n", "frobnicate now\n",
		"statement count x\nSELECT 1\n", "statement error (\nSELECT 1\n", "include nothing-here-*.slt\n", "control sortmode upwards\n",
	} {
		if _, err := parseText(t, text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestInclude(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.slt": "include part-*.slt\n\nstatement ok\nSELECT 3\n",
		"part-1.slt": "statement ok\nSELECT 1\n", "part-2.slt": "statement ok\nSELECT 2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := ParseFile(filepath.Join(dir, "main.slt"))
	if err != nil || len(f.Records) != 3 || f.Records[1].SQL != "SELECT 2" {
		t.Fatalf("%v %+v", err, f.Records)
	}
}

func TestSubstitution(t *testing.T) {
	t.Setenv("SLT_NAME", "value")
	s := substitutions{on: true, testDir: "/dir"}
	got, err := s.expand(`${SLT_NAME} $SLT_NAME ${SLT_NONE:else} $__TEST_DIR__ \$SLT_NAME $1 $$`)
	if want := `value value else /dir $SLT_NAME $1 $$`; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := s.expand("${SLT_NONE}"); err == nil {
		t.Error("an unset variable was accepted")
	}
}

func TestResultLines(t *testing.T) {
	rows := [][]string{{"b", "2"}, {"a b", "1"}, {"NULL", "(empty)"}}
	if got := strings.Join(resultLines(rows, SortNone), "|"); got != "b 2|a b 1|NULL (empty)" {
		t.Error(got)
	}
	if got := strings.Join(resultLines(rows, SortRows), "|"); got != "NULL (empty)|a b 1|b 2" {
		t.Error(got)
	}
	if got := strings.Join(resultLines(rows, SortValues), "|"); got != "(empty)|1|2|NULL|a b|b" {
		t.Error(got)
	}
	if text := compare([]string{"1", "2  x"}, []string{"1", "2 x"}); text != "" {
		t.Error(text)
	}
	if text := compare([]string{"1", "2", "3"}, []string{"1", "4", "3"}); !strings.Contains(text, "- 2\n+ 4\n  3\n") {
		t.Error(text)
	}
}
