package clients

import (
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestNotify sends notifications to a client that waits for nothing else, and to one
// inside of a transaction, which gets them behind it.
func TestNotify(t *testing.T) {
	dsn := startServer(t)
	ctx := t.Context()
	conns := twoConns(t, dsn)
	exec := func(c *pgx.Conn, text string, args ...any) {
		t.Helper()
		if _, err := c.Exec(ctx, text, args...); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	want := func(payload string) {
		t.Helper()
		n, err := conns[0].WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n.Channel != "Jobs" || n.Payload != payload || n.PID != conns[1].PgConn().PID() {
			t.Fatalf("got %+v, want %s of Jobs", n, payload)
		}
	}
	exec(conns[0], `LISTEN "Jobs"`)
	sent := make(chan error, 1)
	for _, payload := range []string{"one", "two"} {
		go func() {
			_, err := conns[1].Exec(ctx, "SELECT pg_notify($1, $2)", "Jobs", payload)
			sent <- err
		}()
		want(payload)
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
	// The rows that a transaction tells of are there when it is told.
	exec(conns[1], "CREATE TABLE jobs (id int PRIMARY KEY)")
	exec(conns[1], "BEGIN")
	exec(conns[1], "INSERT INTO jobs VALUES (1)")
	exec(conns[1], `NOTIFY "Jobs", 'row'`)
	exec(conns[1], "COMMIT")
	want("row")
	var n int
	if err := conns[0].QueryRow(ctx, "SELECT count(*) FROM jobs").Scan(&n); err != nil || n != 1 {
		t.Fatalf("%d rows, %v", n, err)
	}
	// What is rolled back is never told, and a transaction hears nothing before its end.
	exec(conns[1], "BEGIN")
	exec(conns[1], `NOTIFY "Jobs", 'lost'`)
	exec(conns[1], "ROLLBACK")
	exec(conns[0], "BEGIN")
	exec(conns[1], `NOTIFY "Jobs", 'late'`)
	exec(conns[0], "SELECT 1")
	exec(conns[0], "COMMIT")
	want("late")
	exec(conns[0], "UNLISTEN *")
	exec(conns[1], `NOTIFY "Jobs", 'nobody'`)
	exec(conns[0], `LISTEN "Jobs"`)
	exec(conns[1], `NOTIFY "Jobs", 'last'`)
	want("last")

	// Whatever the listener does at the moment, it stays connected and hears all.
	const many = 300
	go func() {
		var err error
		for i := 0; i < many && err == nil; i++ {
			_, err = conns[1].Exec(ctx, "SELECT pg_notify('Jobs', $1::int::text)", i)
		}
		sent <- err
	}()
	for heard := 0; heard < many; {
		if _, err := conns[0].Exec(ctx, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
		n, err := conns[0].WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n.Payload != strconv.Itoa(heard) {
			t.Fatalf("got %s, want %d", n.Payload, heard)
		}
		heard++
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}
