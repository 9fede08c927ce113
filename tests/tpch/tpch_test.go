package tpch

import (
	"context"
	"testing"
	"time"

	"github.com/streamdb/streamdb/internal/tpch"
	"github.com/streamdb/streamdb/tests/serverproc"
)

// TestQueries runs the 22 queries at a small scale as one-off queries and as
// views over a history of changes, against PostgreSQL.
func TestQueries(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	bin, err := serverproc.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	srv, err := serverproc.Start(serverproc.Options{Bin: bin, Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Stop()
	pg, err := serverproc.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	defer pg.Stop()
	p, err := Connect(ctx, srv.DSN(), pg.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(ctx)
	d := tpch.New(0.003, 1)
	if err := p.Load(ctx, d); err != nil {
		t.Fatal(err)
	}
	queries := d.Queries()
	for _, q := range queries {
		if _, err := p.Compare(ctx, q.SQL, q.SQL); err != nil {
			t.Errorf("%s: %v", q.Name, err)
		}
		if err := Exec(ctx, p.Stream, "CREATE MATERIALIZED VIEW "+q.Name+" AS"+q.SQL); err != nil {
			t.Errorf("%s as a view: %v", q.Name, err)
		}
	}
	changes := d.Changes()
	for _, part := range []float64{0.0005, 0.02} {
		sql, _ := changes.Batch(part)
		sql = "BEGIN;\n" + sql + "COMMIT"
		if err := Exec(ctx, p.Stream, sql); err != nil {
			t.Fatal(err)
		}
		if err := Exec(ctx, p.Postgres, sql); err != nil {
			t.Fatal(err)
		}
		for _, q := range queries {
			if _, err := p.Compare(ctx, "SELECT * FROM "+q.Name, q.SQL); err != nil {
				t.Errorf("%s as a view after changes of %g of the rows: %v", q.Name, part, err)
			}
		}
	}
	for _, q := range queries {
		if _, err := p.Compare(ctx, q.SQL, q.SQL); err != nil {
			t.Errorf("%s after changes: %v", q.Name, err)
		}
	}
}
