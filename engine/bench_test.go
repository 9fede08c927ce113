package engine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/streamdb/streamdb/connector/registry"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/types"
)

// benchEngine opens an engine with a table of n rows.
func benchEngine(b *testing.B, n int) (*Engine, *Local) {
	b.Helper()
	e, err := Open(jobs.Config{Dir: b.TempDir(), NoSync: true, Connectors: registry.All(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	l, err := e.OpenLocal()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close(); e.Close() })
	for _, q := range []string{
		"CREATE TABLE accounts (id int PRIMARY KEY, branch int, balance int, filler text)",
		fmt.Sprintf("INSERT INTO accounts SELECT g, g %% 10, 0, 'x' FROM generate_series(1, %d) g", n),
	} {
		if _, err := l.Exec(context.Background(), q); err != nil {
			b.Fatal(err)
		}
	}
	return e, l
}

func BenchmarkPointSelect(b *testing.B) {
	_, l := benchEngine(b, 10000)
	ctx := context.Background()
	i := 0
	for b.Loop() {
		i++
		c, err := l.Exec(ctx, fmt.Sprintf("SELECT balance FROM accounts WHERE id = %d", i%10000+1))
		if err != nil || c.Rows != 1 {
			b.Fatal(err, c)
		}
	}
}

func BenchmarkInsertIntoViewOfView(b *testing.B) {
	_, l := benchEngine(b, 1000)
	ctx := context.Background()
	for _, q := range []string{
		"CREATE MATERIALIZED VIEW per_branch AS SELECT branch, count(*) AS n, sum(balance) AS total FROM accounts GROUP BY branch",
		"CREATE MATERIALIZED VIEW big AS SELECT branch FROM per_branch WHERE n > 10",
	} {
		if _, err := l.Exec(ctx, q); err != nil {
			b.Fatal(err)
		}
	}
	i := 1000000
	for b.Loop() {
		i++
		if _, err := l.Exec(ctx, fmt.Sprintf("INSERT INTO accounts VALUES (%d, %d, 1, 'y')", i, i%10)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPreparedPointSelect executes a prepared statement by key.
func BenchmarkPreparedPointSelect(b *testing.B) {
	_, l := benchEngine(b, 10000)
	ctx := context.Background()
	sts, err := l.s.Parse(ctx, "SELECT balance FROM accounts WHERE id = $1")
	if err != nil {
		b.Fatal(err)
	}
	l.s.Begin(false)
	p, err := l.s.Prepare(ctx, sts[0], nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		o, err := p.Bind(ctx, []types.Datum{int32(i%10000 + 1)})
		if err != nil {
			b.Fatal(err)
		}
		c, err := o.Next(ctx)
		if err != nil || c == nil || c.Rows != 1 {
			b.Fatal(err, c)
		}
		o.Close()
	}
}
