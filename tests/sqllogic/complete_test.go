package sqllogic

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestComplete writes down what PostgreSQL answers: with STREAMDB_SLT_PG and
// STREAMDB_SLT_COMPLETE set, queries that have no ---- line get one with the
// rows, and "statement error ?" gets the message and SQLSTATE.
func TestComplete(t *testing.T) {
	dsn := os.Getenv("STREAMDB_SLT_PG")
	if dsn == "" || os.Getenv("STREAMDB_SLT_COMPLETE") == "" {
		return
	}
	for _, path := range caseFiles(t) {
		t.Run(path, func(t *testing.T) { complete(t, filepath.Join("cases", path), dsn) })
	}
}

func complete(t *testing.T, path, dsn string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + freshDatabase(t, dsn)
	sessions := map[string]*session{}
	defer func() {
		for _, s := range sessions {
			s.drop()
		}
	}()
	connection := ""
	blocks := strings.Split(strings.TrimRight(string(text), "\n"), "\n\n")
	for i, block := range blocks {
		block = strings.Trim(block, "\n")
		lines := strings.Split(block, "\n")
		first := 0
		for first < len(lines) && !strings.HasPrefix(lines[first], "statement") && !strings.HasPrefix(lines[first], "query") {
			if name, ok := strings.CutPrefix(lines[first], "connection "); ok {
				connection = name
			}
			first++
		}
		if first == len(lines) {
			continue
		}
		if sessions[connection] == nil {
			sessions[connection] = &session{dsn: u.String}
		}
		blocks[i] = completeBlock(t, sessions[connection], block, lines[first], lines[first+1:])
		connection = ""
	}
	if err := os.WriteFile(path, []byte(strings.Join(blocks, "\n\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func completeBlock(t *testing.T, s *session, block, head string, body []string) string {
	sql, _, done := strings.Cut(strings.Join(body, "\n"), "\n----")
	res, err := s.exec(t.Context(), plainViews(sql))
	if strings.HasSuffix(head, "error ?") {
		pg, ok := err.(*pgconn.PgError)
		if !ok {
			t.Errorf("no error from %s (%v)", sql, err)
			return block
		}
		pattern := regexp.QuoteMeta(fmt.Sprintf("ERROR: %s (SQLSTATE %s)", pg.Message, pg.Code))
		return strings.Replace(block, head, strings.TrimSuffix(head, "?")+pattern, 1)
	}
	if err != nil && !strings.Contains(head, "error") {
		t.Errorf("%s\n%v", sql, err)
	}
	if !strings.HasPrefix(head, "query") || done {
		return block
	}
	mode := SortNone
	for _, word := range strings.Fields(head) {
		if m, ok := sortModes[word]; ok {
			mode = m
		}
	}
	// "query ?" stands for as many columns as the server returns.
	if strings.HasPrefix(head, "query ?") {
		block = strings.Replace(block, "query ?", "query "+strings.Repeat("T", res.columns), 1)
	}
	return strings.TrimRight(strings.Join(append([]string{block, "----"}, resultLines(res.rows, mode)...), "\n"), "\n")
}
