package clients

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Advisory locks keep other sessions out until they are freed, by the end of the
// transaction or of the connection if nothing else does.
func TestAdvisoryLocks(t *testing.T) {
	ctx := t.Context()
	dsn := startServer(t)
	open := func() *pgx.Conn {
		c, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.Background()) })
		return c
	}
	a, b := open(), open()
	run := func(c *pgx.Conn, q string) {
		t.Helper()
		if _, err := c.Exec(ctx, q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	try := func(c *pgx.Conn, q string, want bool) {
		t.Helper()
		var got bool
		if err := c.QueryRow(ctx, "SELECT "+q).Scan(&got); err != nil || got != want {
			t.Fatalf("%s: %v, %v", q, got, err)
		}
	}
	fails := func(err error, code string) {
		t.Helper()
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != code {
			t.Fatalf("got %v, not %s", err, code)
		}
	}
	waiting := func() {
		t.Helper()
		for n := 0; n == 0; {
			if err := b.QueryRow(ctx, "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&n); err != nil {
				t.Fatal(err)
			}
		}
	}

	run(a, "SELECT pg_advisory_lock(1)")
	run(a, "SELECT pg_advisory_lock(1)")
	try(b, "pg_try_advisory_lock(1)", false)
	try(b, "pg_try_advisory_lock_shared(1)", false)
	try(b, "pg_try_advisory_lock(0, 1)", true) // two numbers are another lock
	run(a, "SELECT pg_advisory_unlock(1)")
	try(b, "pg_try_advisory_lock(1)", false)
	run(a, "SELECT pg_advisory_unlock(1)")
	try(b, "pg_try_advisory_lock_shared(1)", true)
	try(a, "pg_try_advisory_lock_shared(1)", true)
	try(a, "pg_try_advisory_lock(1)", false)
	run(b, "SET lock_timeout = '20ms'")
	_, err := b.Exec(ctx, "SELECT pg_advisory_lock(1)")
	fails(err, "55P03")
	run(b, "SET lock_timeout = 0; SELECT pg_advisory_unlock_all()")

	// Who waits has the lock when the transaction that holds it ends, and sees what it
	// has written.
	run(a, "SELECT pg_advisory_unlock_all(); CREATE TABLE done (a int)")
	run(a, "BEGIN; SELECT pg_advisory_xact_lock(7); INSERT INTO done VALUES (1)")
	c := open()
	got := make(chan int, 1)
	go func() {
		var n int
		if _, err := c.Exec(ctx, "SELECT pg_advisory_lock(7)"); err == nil {
			_ = c.QueryRow(ctx, "SELECT count(*) FROM done").Scan(&n)
		}
		got <- n
	}()
	waiting()
	run(a, "COMMIT")
	if n := <-got; n != 1 {
		t.Fatalf("saw %d rows", n)
	}
	try(a, "pg_try_advisory_lock(7)", false)
	c.Close(ctx)
	run(a, "SELECT pg_advisory_lock(7)")

	// Two that wait for one another do not wait for ever.
	d := open()
	run(d, "SELECT pg_advisory_lock(8)")
	ended := make(chan error, 1)
	go func() {
		_, err := d.Exec(ctx, "SELECT pg_advisory_lock(7)")
		ended <- err
	}()
	waiting()
	_, err = a.Exec(ctx, "SELECT pg_advisory_lock(8)")
	fails(err, "40P01")
	run(a, "SELECT pg_advisory_unlock(7)")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	// A failed statement of a block frees what the block has taken.
	run(a, "BEGIN; SELECT pg_advisory_xact_lock(9)")
	if _, err := a.Exec(ctx, "SELECT 1 / 0"); err == nil {
		t.Fatal("no error")
	}
	try(b, "pg_try_advisory_lock(9)", true)
}
