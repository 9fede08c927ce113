package parity

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamdb/streamdb/tests/serverproc"
)

// pair is a connection to each of the two servers.
type pair struct {
	t             *testing.T
	pg, sdb       *pgconn.PgConn
	pgDSN, sdbDSN string
}

func newPair(t *testing.T) *pair {
	pgDSN, sdbDSN := os.Getenv("PARITY_PG"), os.Getenv("PARITY_SDB")
	if pgDSN == "" {
		p, err := serverproc.StartPostgres()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Stop() })
		// Of the name that StreamDB's has, for messages that name it.
		admin := connect(t, p.DSN("postgres"))
		if a := ask(admin, "CREATE DATABASE streamdb"); a.err != nil {
			t.Fatal(a.text(false))
		}
		pgDSN = p.DSN("streamdb")
	}
	if sdbDSN == "" {
		bin, err := serverproc.Build(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s, err := serverproc.Start(serverproc.Options{Bin: bin, Data: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Kill() })
		sdbDSN = s.DSN()
	}
	p := &pair{t: t, pgDSN: pgDSN, sdbDSN: sdbDSN}
	p.reconnect()
	return p
}

// reconnect opens connections in place of those that are not there. The last
// digits of floats are not compared: the mathematical libraries differ in them.
func (p *pair) reconnect() {
	if p.pg == nil || p.pg.IsClosed() {
		p.pg = connect(p.t, p.pgDSN)
		ask(p.pg, "SET extra_float_digits = -3; SET jit = off; SET statement_timeout = '5s'")
	}
	if p.sdb == nil || p.sdb.IsClosed() {
		p.sdb = connect(p.t, p.sdbDSN)
		ask(p.sdb, "SET extra_float_digits = -3")
	}
}

func connect(t *testing.T, dsn string) *pgconn.PgConn {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// answer is the outcome of a statement.
type answer struct {
	rows string
	err  *pgconn.PgError
}

// ask runs one statement, or several at once.
func ask(c *pgconn.PgConn, sql string) answer {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	results, err := c.Exec(ctx, sql).ReadAll()
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return answer{err: pg}
	}
	if err != nil {
		return answer{err: &pgconn.PgError{Code: "connection", Message: err.Error()}}
	}
	var b strings.Builder
	for _, r := range results {
		for _, row := range r.Rows {
			for i, v := range row {
				if i > 0 {
					b.WriteByte('|')
				}
				if v == nil {
					b.WriteString("NULL")
				} else {
					b.Write(v)
				}
			}
			b.WriteByte('\n')
		}
	}
	return answer{rows: strings.TrimSuffix(b.String(), "\n")}
}

// both asks both servers at the same time.
func (p *pair) both(sql string) (pg, sdb answer) {
	done := make(chan answer)
	go func() { done <- ask(p.pg, sql) }()
	sdb = ask(p.sdb, sql)
	pg = <-done
	p.reconnect()
	return pg, sdb
}

// text shows an answer; with the position of an error if wanted.
func (a answer) text(position bool) string {
	if a.err == nil {
		return a.rows
	}
	s := fmt.Sprintf("%s: %s", a.err.Code, a.err.Message)
	if position {
		s += fmt.Sprintf(" @%d", a.err.Position)
	}
	return s
}
