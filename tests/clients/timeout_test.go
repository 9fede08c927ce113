package clients

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Connections that are idle for longer than they said end with PostgreSQL's errors,
// and what a transaction had written with them.
func TestIdleTimeouts(t *testing.T) {
	dsn := startServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	watcher, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close(context.Background())
	for _, c := range []struct {
		set, block string
		code, msg  string
	}{
		{"SET idle_session_timeout = '50ms'", "", "57P05", "terminating connection due to idle-session timeout"},
		{"SET idle_in_transaction_session_timeout = '50ms'", "BEGIN; INSERT INTO people VALUES (9, 'Idle')", "25P03", "terminating connection due to idle-in-transaction timeout"},
		{"SET idle_in_transaction_session_timeout = '50ms'", "BEGIN; SELECT 1/0", "25P03", "terminating connection due to idle-in-transaction timeout"},
	} {
		conn, err := pgconn.Connect(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(ctx, c.set).ReadAll(); err != nil {
			t.Fatal(err)
		}
		if c.block != "" {
			conn.Exec(ctx, c.block).ReadAll() // may fail
		}
		var pg *pgconn.PgError
		err = conn.WaitForNotification(ctx)
		if !errors.As(err, &pg) || pg.Severity != "FATAL" || pg.Code != c.code || pg.Message != c.msg {
			t.Errorf("%s; %s: %v", c.set, c.block, err)
		}
	}
	// Each limit is for its own state only, and those who set none stay.
	conn := twoConns(t, dsn)[0]
	if _, err := conn.Exec(ctx, "SET idle_in_transaction_session_timeout = '20ms'"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(60 * time.Millisecond)
	if _, err := conn.Exec(ctx, "SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = '20ms'; BEGIN"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(60 * time.Millisecond)
	if _, err := conn.Exec(ctx, "SET idle_session_timeout = 0; COMMIT"); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := watcher.QueryRow(ctx, "SELECT count(*) FROM people").Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows instead of 2, %v", n, err)
	}
}

// Each statement has its own time, in all ways in which one can come.
func TestStatementTimeout(t *testing.T) {
	dsn := startServer(t)
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	exec := func(text string, args ...any) error {
		_, err := conn.Exec(ctx, text, args...)
		return err
	}
	late := func(err error) {
		t.Helper()
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "57014" || pg.Message != "canceling statement due to statement timeout" {
			t.Errorf("got %v", err)
		}
	}
	if err := exec("SET statement_timeout = '100ms'"); err != nil {
		t.Fatal(err)
	}
	late(exec("SELECT pg_sleep(60)"))
	late(exec("SELECT pg_sleep($1)", 60.0))
	late(exec("INSERT INTO people (id, name) SELECT 7, 'x' WHERE pg_sleep(60) IS NOT NULL"))
	late(exec("SELECT 1; SELECT pg_sleep(60)"))
	// Reading a portal piece by piece is one statement each time.
	if err := exec("SET statement_timeout = '1s'"); err != nil {
		t.Fatal(err)
	}
	if err := exec("BEGIN"); err != nil {
		t.Fatal(err)
	}
	if err := exec("DECLARE c CURSOR FOR SELECT i FROM generate_series(1, 100000) i"); err != nil {
		t.Fatal(err)
	}
	for want := range 3 {
		var n int
		if err := conn.QueryRow(ctx, "FETCH 1 FROM c").Scan(&n); err != nil || n != want+1 {
			t.Fatalf("got %d, %v", n, err)
		}
		time.Sleep(400 * time.Millisecond)
	}
	if err := exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := exec("RESET statement_timeout"); err != nil {
		t.Fatal(err)
	}
	if err := exec("SELECT pg_sleep(0.15)"); err != nil {
		t.Error(err)
	}
}
