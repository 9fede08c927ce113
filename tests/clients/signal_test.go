package clients

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestSignals ends a statement, and then the session, of another client.
func TestSignals(t *testing.T) {
	dsn := startServer(t)
	ctx := t.Context()
	conns := twoConns(t, dsn)
	pid := conns[1].PgConn().PID()
	for _, c := range []struct{ function, code string }{{"pg_cancel_backend", "57014"}, {"pg_terminate_backend", "57P01"}} {
		ended := make(chan error, 1)
		go func() {
			_, err := conns[1].Exec(ctx, "SELECT pg_sleep(600)")
			ended <- err
		}()
		awaitActive(t, conns[0], pid)
		var found bool
		if err := conns[0].QueryRow(ctx, "SELECT "+c.function+"($1)", int32(pid)).Scan(&found); err != nil || !found {
			t.Fatalf("%s: %v, %v", c.function, found, err)
		}
		var pg *pgconn.PgError
		if err := <-ended; !errors.As(err, &pg) || pg.Code != c.code {
			t.Errorf("%s: got %v, want %s", c.function, err, c.code)
		}
	}
	var found bool
	if err := conns[0].QueryRow(ctx, "SELECT pg_cancel_backend(-1) OR pg_terminate_backend(-1)").Scan(&found); err != nil || found {
		t.Errorf("there is no such process: %v, %v", found, err)
	}
}

// awaitActive waits until a session runs its pg_sleep.
func awaitActive(t *testing.T, conn *pgx.Conn, pid uint32) {
	t.Helper()
	for {
		var n int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND query LIKE '%pg_sleep%'", int32(pid)).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			return
		}
	}
}
