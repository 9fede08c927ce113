package clients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Clients that let people edit what they see ask of which table a column is.
func TestColumnOrigins(t *testing.T) {
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, startServer(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, s := range []string{
		"DROP TABLE IF EXISTS orig CASCADE", "CREATE TABLE orig (gone int, a int PRIMARY KEY, b text)", "ALTER TABLE orig DROP COLUMN gone",
		"CREATE VIEW orig_view AS SELECT b, a FROM orig", "CREATE MATERIALIZED VIEW orig_mat AS SELECT a + 1 AS c, b FROM orig",
	} {
		if _, err := conn.Exec(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	names := map[uint32]string{0: "-"}
	for _, n := range []string{"orig", "orig_view", "orig_mat"} {
		var oid uint32
		if err := conn.QueryRow(ctx, "SELECT $1::text::regclass::oid", n).Scan(&oid); err != nil {
			t.Fatal(err)
		}
		names[oid] = n
	}
	for sql, want := range map[string]string{
		"SELECT * FROM orig":                                                "orig.2 orig.3",
		"SELECT b AS x, a + 1, o.a FROM orig o":                             "orig.3 -.0 orig.2",
		"SELECT * FROM orig_view":                                           "orig_view.1 orig_view.2",
		"SELECT * FROM orig_mat":                                            "orig_mat.1 orig_mat.2",
		"SELECT m.b, o.* FROM orig o LEFT JOIN orig_mat m ON m.c = o.a":     "orig_mat.2 orig.2 orig.3",
		"SELECT * FROM (SELECT b, count(*) FROM orig GROUP BY b) q":         "orig.3 -.0",
		"WITH w AS (SELECT a FROM orig) SELECT a FROM w ORDER BY a LIMIT 1": "orig.2",
		"SELECT a FROM orig UNION SELECT a FROM orig":                       "-.0",
		"SELECT a, (SELECT b FROM orig LIMIT 1) FROM orig":                  "orig.2 -.0",
		"SELECT a FROM orig JOIN orig_mat USING (b)":                        "orig.2",
		"SELECT count(a), max(b) FROM orig":                                 "-.0 -.0",
		"UPDATE orig SET b = 'x' RETURNING b, a * 2, a":                     "orig.3 -.0 orig.2",
		"INSERT INTO orig VALUES (1) RETURNING *":                           "orig.2 orig.3",
	} {
		d, err := conn.Prepare(ctx, "", sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		var got []string
		for _, f := range d.Fields {
			got = append(got, fmt.Sprintf("%s.%d", names[f.TableOID], f.TableAttributeNumber))
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: %s, want %s", sql, g, want)
		}
	}
}
