package wire_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamdb/streamdb/wire"
)

// copyIn sends data in pieces of n bytes.
func (c *client) copyIn(stmt, data string, n int) string {
	c.t.Helper()
	c.Send(query(stmt))
	for len(data) > 0 {
		k := min(n, len(data))
		c.Send(&pgproto3.CopyData{Data: []byte(data[:k])})
		data = data[k:]
	}
	return c.do(&pgproto3.CopyDone{})
}

func TestCopyIn(t *testing.T) {
	for _, tc := range []struct{ stmt, data, want string }{
		{"", "1\ta\n2\t\\N\n", "[1:a 2:<nil>]"},
		{"", "1\ta\\tb\\\\\\n\n2\t\\x41\\101\\q", "[1:a\tb\\\n 2:AAq]"},
		{"", "1\ta\\\nb\n", "[1:a\nb]"},
		{"", "1\ta\r\n2\tb\r\n", "[1:a 2:b]"},
		{"", "1\ta\n\\.\nrubbish", "[1:a]"},
		{" header", "id\tv\n1\ta\n", "[1:a]"},
		{" csv", "1,a\n2,\n3,\"\"\n4,\"x,\"\"y\"\"\nz\"\n", "[1:a 2:<nil> 3: 4:x,\"y\"\nz]"},
		{" csv", "1,a\r\n2,b", "[1:a 2:b]"},
	} {
		for _, n := range []int{1, 3, 1000} {
			s := start(t, wire.Config{})
			c := s.connect(t)
			got := c.copyIn("COPY jars FROM STDIN"+tc.stmt, tc.data, n)
			if !strings.HasPrefix(got, "G(0:2) C(COPY") || !strings.HasSuffix(got, " Z(I)") {
				t.Errorf("%q: %s", tc.data, got)
			}
			if got := fmt.Sprint(s.jars.all()); got != tc.want {
				t.Errorf("%q in pieces of %d: %q, want %q", tc.data, n, got, tc.want)
			}
		}
	}
}

func TestCopyInErrors(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	for _, tc := range []struct{ stmt, data, code, where string }{
		{"", "1\ta\nx\tb\n", "22P02", `COPY jars, line 2, column id: "x"`},
		{"", "1\n", "22P04", `COPY jars, line 1: "1"`},
		{"", "1\ta\tb\n", "22P04", `COPY jars, line 1: "1` + "\ta\tb" + `"`},
		{" csv", "1,\"a\n", "22P04", "COPY jars, line 1: \"1,\"a\n\""},
		{" csv", "1\n", "22P04", `COPY jars, line 1: "1"`},
		{" binary", "no signature here", "22P04", ``},
	} {
		c.Send(query("COPY jars FROM STDIN" + tc.stmt))
		c.Send(&pgproto3.CopyData{Data: []byte(tc.data)})
		c.Send(&pgproto3.CopyDone{})
		c.Flush()
		c.Receive()
		m, err := c.Receive()
		e, ok := m.(*pgproto3.ErrorResponse)
		if err != nil || !ok || e.Code != tc.code || e.Where != tc.where {
			t.Errorf("%q: %+v, %v", tc.data, m, err)
		}
		c.read()
	}
	c.expect("G(0:2) E(57014) Z(I)", query("COPY jars FROM STDIN"), &pgproto3.CopyFail{Message: "no more"})
	// What arrives after the error is dropped.
	c.expect("G(0:2) E(22P02) Z(I)", query("COPY jars FROM STDIN"), &pgproto3.CopyData{Data: []byte("x\ty\n")},
		&pgproto3.CopyData{Data: []byte("1\ty\n")}, &pgproto3.CopyDone{})
	c.expect(`T(count:20:0) D("0") C(SELECT 1) Z(I)`, query("SELECT count(*) FROM jars"))
	c.expect("1 2 G(0:2) C(COPY 1) Z(I)", msgs(pbe("COPY jars FROM STDIN"), syncMsg, &pgproto3.CopyData{Data: []byte("5\tz\n")}, &pgproto3.CopyDone{}, syncMsg)...)
	if got := fmt.Sprint(s.jars.all()); got != "[5:z]" {
		t.Errorf("rows %s", got)
	}
}

func TestCopyOut(t *testing.T) {
	c := start(t, wire.Config{}).connect(t)
	c.expect(`H(0:2) d("1\ta\\tb\\\\\\n\"q\",\n") d("2\t\\N\n") d("2\t\\N\n") c C(COPY 3) Z(I)`, query("COPY jars TO STDOUT"))
	c.expect(`H(0:2) d("1,\"a\tb\\\n\"\"q\"\",\"\n") d("2,\n") d("2,\n") c C(COPY 3) Z(I)`, query("COPY jars TO STDOUT csv"))
	got := c.do(query("COPY jars TO STDOUT header"))
	if !strings.HasPrefix(got, `H(0:2) d("id\tv\n")`) {
		t.Errorf("header: %s", got)
	}
	got = c.do(query("COPY jars TO STDOUT binary"))
	if !strings.HasPrefix(got, `H(1:2) d("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00\x01`) ||
		!strings.HasSuffix(got, `d("\xff\xff") c C(COPY 3) Z(I)`) {
		t.Errorf("binary: %s", got)
	}
}

func TestCopyBinaryIn(t *testing.T) {
	sig := "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	row := "\x00\x02\x00\x00\x00\x04\x00\x00\x00\x07\x00\x00\x00\x01z"
	null := "\x00\x02\x00\x00\x00\x04\x00\x00\x00\x08\xff\xff\xff\xff"
	for _, n := range []int{1, 5, 1000} {
		s := start(t, wire.Config{})
		c := s.connect(t)
		got := c.copyIn("COPY jars FROM STDIN binary", sig+row+null+"\xff\xff", n)
		if !strings.HasSuffix(got, " Z(I)") || fmt.Sprint(s.jars.all()) != "[7:z 8:<nil>]" {
			t.Errorf("%s, rows %v", got, s.jars.all())
		}
	}
}

func TestPgxModes(t *testing.T) {
	s := start(t, wire.Config{})
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec"} {
		c, err := pgxConnect(t, s, "ann", "x", "sslmode=disable default_query_exec_mode="+mode)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		for range 2 {
			var n int
			var txt string
			var raw []byte
			if err := c.QueryRow(ctx, "SELECT $1::int AS n, $2::bytea AS b", 5, []byte("xy")).Scan(&n, &raw); err != nil || n != 5 || string(raw) != "xy" {
				t.Errorf("%s: %d %q, %v", mode, n, raw, err)
			}
			if err := c.QueryRow(ctx, "SELECT $1 AS x", "hello").Scan(&txt); err != nil || txt != "hello" {
				t.Errorf("%s: %q, %v", mode, txt, err)
			}
		}
		if err := c.Ping(ctx); err != nil {
			t.Errorf("%s: ping %v", mode, err)
		}
		b := &pgx.Batch{}
		b.Queue("INSERT INTO jars VALUES ($1,$2)", 1, "one")
		b.Queue("SELECT 1/0")
		if err := c.SendBatch(ctx, b).Close(); codeOf(err) != "22012" {
			t.Errorf("%s: batch %v", mode, err)
		}
	}
	if got := s.jars.all(); len(got) != 0 {
		t.Errorf("half a batch stayed: %v", got)
	}
}
