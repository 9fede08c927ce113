package clients

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// inEncoding connects with a client_encoding.
func inEncoding(t *testing.T, dsn, name string) *pgconn.PgConn {
	t.Helper()
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["client_encoding"] = name
	c, err := pgconn.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// said is what a connection gets for an SQL text: values, or the error.
func said(c *pgconn.PgConn, sql string) string {
	results, err := c.Exec(context.Background(), sql).ReadAll()
	if err != nil {
		return wrong(err)
	}
	var out []string
	for _, r := range results {
		for _, row := range r.Rows {
			for i, v := range row {
				out = append(out, string(r.FieldDescriptions[i].Name)+"="+string(v))
			}
		}
	}
	return strings.Join(out, " ")
}

func wrong(err error) string {
	if pg, ok := err.(*pgconn.PgError); ok {
		return fmt.Sprintf("%s %s @%d", pg.Code, pg.Message, pg.Position)
	}
	return err.Error()
}

// Whatever way text takes between client and server, it is in the client's
// character set there and in UTF-8 here.
func TestClientEncoding(t *testing.T) {
	dsn := startServer(t)
	ctx := t.Context()
	utf, latin := inEncoding(t, dsn, "UTF8"), inEncoding(t, dsn, "latin-1")
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	want(latin.ParameterStatus("client_encoding"), "LATIN1")
	want(said(latin, "SHOW client_encoding"), "client_encoding=LATIN1")
	want(said(latin, "SELECT pg_client_encoding()"), "pg_client_encoding=LATIN1")
	want(said(utf, "DROP TABLE IF EXISTS texts"), "")
	want(said(latin, "CREATE TABLE texts (\"caf\xe9\" text, n int)"), "")
	want(said(latin, "INSERT INTO texts VALUES ('\xfcber', 1)"), "")
	want(said(utf, "SELECT * FROM texts"), "café=über n=1")
	want(said(latin, "SELECT * FROM texts WHERE \"caf\xe9\" = '\xfcber'"), "caf\xe9=\xfcber n=1")
	want(said(latin, "SELECT length('\xfc'), octet_length('\xfc')"), "length=1 octet_length=2")
	want(said(latin, "SELECT '\xfc' || nope"), "42703 column \"nope\" does not exist @15")
	want(said(latin, "SELECT \"\xfc\""), "42703 column \"\xfc\" does not exist @8")
	want(said(utf, "INSERT INTO texts VALUES ('5 €', 2)"), "")
	want(said(latin, "SELECT n, \"caf\xe9\" FROM texts WHERE n = 2"),
		`22P05 character with byte sequence 0xe2 0x82 0xac in encoding "UTF8" has no equivalent in encoding "LATIN1" @0`)
	want(said(latin, "SELECT n FROM texts WHERE n = 2"), "n=2")

	// Parameters and results of both formats.
	for _, format := range []int16{0, 1} {
		r := latin.ExecParams(ctx, "SELECT $1::text || '\xe4'", [][]byte{[]byte("\xf6")}, nil, []int16{format}, []int16{format}).Read()
		if r.Err != nil || len(r.Rows) != 1 || string(r.Rows[0][0]) != "\xf6\xe4" {
			t.Errorf("format %d: %q, %v", format, r.Rows, r.Err)
		}
	}

	// COPY in the client's set, in pieces, and in one of its own.
	var out bytes.Buffer
	if _, err := latin.CopyTo(ctx, &out, "COPY (SELECT \"caf\xe9\" FROM texts WHERE n = 1) TO STDOUT (FORMAT csv, HEADER)"); err != nil {
		t.Fatal(err)
	}
	want(out.String(), "caf\xe9\n\xfcber\n")
	out.Reset()
	if _, err := latin.CopyTo(ctx, &out, "COPY (SELECT \"caf\xe9\" FROM texts WHERE n = 2) TO STDOUT (ENCODING 'win1252')"); err != nil {
		t.Fatal(err)
	}
	want(out.String(), "5 \x80\n")
	if _, err := latin.CopyFrom(ctx, strings.NewReader("\xe0\t3\n"), "COPY texts FROM STDIN"); err != nil {
		t.Fatal(err)
	}
	// The second byte of this character is a backslash.
	if _, err := utf.CopyFrom(ctx, &byBytes{"\x95\x5c\\tx\t4\n"}, "COPY texts FROM STDIN (ENCODING 'sjis')"); err != nil {
		t.Fatal(err)
	}
	want(said(utf, "SELECT * FROM texts WHERE n > 2 ORDER BY n"), "café=à n=3 café=表\tx n=4")
	_, err := utf.CopyFrom(ctx, strings.NewReader("a\t5\n\x95"), "COPY texts FROM STDIN (ENCODING 'sjis')")
	want(wrong(err), `22021 invalid byte sequence for encoding "SJIS": 0x95 @0`)

	// It can be changed, and comes back with a rolled back transaction.
	want(said(latin, "SET client_encoding TO 'win1252'"), "")
	want(said(latin, "SELECT '\x80'"), "?column?=\x80")
	want(said(latin, "BEGIN; SET LOCAL client_encoding TO koi8r"), "")
	want(said(latin, "SELECT chr(1078) AS x"), "x=\xd6")
	want(said(latin, "ROLLBACK"), "")
	want(said(latin, "SELECT chr(8364) AS x"), "x=\x80")
	want(said(latin, "SET NAMES 'utf8'"), "")
	want(said(latin, "SELECT 'é'"), "?column?=é")
	want(said(latin, "SET client_encoding TO nonsense"), `22023 invalid value for parameter "client_encoding": "nonsense" @0`)
	if got := said(latin, "COPY texts TO STDOUT (ENCODING nonsense)"); !strings.HasPrefix(got, `22023 argument to option "encoding" must be a valid encoding name`) {
		t.Error(got)
	}
}

// byBytes gives a text byte by byte.
type byBytes struct{ text string }

func (b *byBytes) Read(to []byte) (int, error) {
	if b.text == "" {
		return 0, io.EOF
	}
	to[0], b.text = b.text[0], b.text[1:]
	return 1, nil
}
