package clients

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A FETCH can be prepared before its cursor is declared, as in one pipeline with it.
func TestFetchPreparedBeforeDeclare(t *testing.T) {
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, startServer(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	sd, err := conn.Prepare(ctx, "f", "FETCH 2 FROM c")
	if err != nil || len(sd.Fields) != 0 {
		t.Fatalf("%v, %d fields", err, len(sd.Fields))
	}
	var pg *pgconn.PgError
	if _, err := conn.PgConn().ExecPrepared(ctx, "f", nil, nil, nil).Close(); !errors.As(err, &pg) || pg.Code != "34000" {
		t.Errorf("without a cursor: %v", err)
	}
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	b.Queue("DECLARE c CURSOR FOR SELECT i, 'x' || i FROM generate_series(1, 3) i")
	b.Queue("FETCH 2 FROM c")
	b.Queue("FETCH ALL FROM c")
	b.Queue("COMMIT")
	r := conn.SendBatch(ctx, b)
	defer r.Close()
	for range 2 {
		if _, err := r.Exec(); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{2, 1} {
		rows, err := r.Query()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for ; rows.Next(); n++ {
			if v, err := rows.Values(); err != nil || len(v) != 2 {
				t.Errorf("row %v, %v", v, err)
			}
		}
		if rows.Err() != nil || n != want {
			t.Errorf("%d rows instead of %d, %v", n, want, rows.Err())
		}
	}
}

// slowRows are rows of COPY that come slowly, the first a bad one.
type slowRows struct{ sent, most int }

func (s *slowRows) Read(b []byte) (int, error) {
	if s.sent++; s.sent > s.most {
		return 0, io.EOF
	}
	if s.sent == 1 {
		return copy(b, "\\N\n"), nil
	}
	time.Sleep(5 * time.Millisecond)
	return copy(b, "1\n"), nil
}

// A client that copies rows slowly learns what is wrong with one before it has sent
// all of them.
func TestSlowCopyFailsEarly(t *testing.T) {
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, startServer(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "CREATE TABLE strict (a int NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	rows := &slowRows{most: 5000}
	var pg *pgconn.PgError
	if _, err := conn.PgConn().CopyFrom(ctx, rows, "COPY strict FROM STDIN"); !errors.As(err, &pg) || pg.Code != "23502" {
		t.Errorf("got %v", err)
	}
	if rows.sent >= rows.most {
		t.Error("the error came after the last row")
	}
	var n int
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM strict").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// Rows for which the WHERE of COPY is not true are left out, before the constraints are
// looked at, and are not counted.
func TestCopyWhere(t *testing.T) {
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, startServer(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "CREATE TABLE kept (a int CHECK (a < 100), b text DEFAULT 'd', c int GENERATED ALWAYS AS (a + 1) STORED)"); err != nil {
		t.Fatal(err)
	}
	tag, err := conn.PgConn().CopyFrom(ctx, strings.NewReader("1\n\\N\n500\n30\n7\n"), "COPY kept (a) FROM STDIN WHERE a > 5 AND a < 100 AND b = 'd'")
	if err != nil || tag.String() != "COPY 2" {
		t.Errorf("%s, %v", tag, err)
	}
	var got string
	if err := conn.QueryRow(ctx, "SELECT string_agg(kept::text, ' ' ORDER BY a) FROM kept").Scan(&got); err != nil || got != "(7,d,8) (30,d,31)" {
		t.Errorf("%s, %v", got, err)
	}
	var b strings.Builder
	if _, err := conn.PgConn().CopyTo(ctx, &b, "COPY kept TO STDOUT"); err != nil || b.String() != "30\td\n7\td\n" && b.String() != "7\td\n30\td\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	// The length of a domain's type holds for what is copied too.
	if _, err := conn.Exec(ctx, "CREATE DOMAIN short AS varchar(3); CREATE TABLE shorts (a short)"); err != nil {
		t.Fatal(err)
	}
	var pg *pgconn.PgError
	if _, err := conn.PgConn().CopyFrom(ctx, strings.NewReader("abcd\n"), "COPY shorts FROM STDIN"); !errors.As(err, &pg) || pg.Code != "22001" {
		t.Errorf("got %v", err)
	}
}
