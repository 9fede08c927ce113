package tpch

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamdb/streamdb/internal/tpch"
)

// Pair is a connection to either server with the same tables on both.
type Pair struct {
	Stream, Postgres *pgconn.PgConn
}

// Connect opens both connections.
func Connect(ctx context.Context, stream, postgres string) (*Pair, error) {
	s, err := pgconn.Connect(ctx, stream)
	if err != nil {
		return nil, err
	}
	p, err := pgconn.Connect(ctx, postgres)
	if err != nil {
		s.Close(ctx)
		return nil, err
	}
	return &Pair{s, p}, nil
}

// Close ends both connections.
func (p *Pair) Close(ctx context.Context) {
	p.Stream.Close(ctx)
	p.Postgres.Close(ctx)
}

// Load makes the tables on both servers and fills them.
func (p *Pair) Load(ctx context.Context, d *tpch.Data) error {
	if err := Fill(ctx, p.Stream, d); err != nil {
		return fmt.Errorf("StreamDB: %w", err)
	}
	if err := Fill(ctx, p.Postgres, d); err != nil {
		return fmt.Errorf("PostgreSQL: %w", err)
	}
	return Exec(ctx, p.Postgres, "VACUUM (ANALYZE)")
}

// Fill makes the tables on one server and fills them.
func Fill(ctx context.Context, c *pgconn.PgConn, d *tpch.Data) error {
	for table, ddl := range tpch.Schema {
		if err := Exec(ctx, c, ddl); err != nil {
			return err
		}
		r, w := io.Pipe()
		go func() { w.CloseWithError(d.Write(table, w)) }()
		_, err := c.CopyFrom(ctx, r, "COPY "+tpch.Names[table]+" FROM STDIN")
		r.Close()
		if err != nil {
			return fmt.Errorf("loading %s: %w", tpch.Names[table], err)
		}
	}
	return nil
}

// Compare runs a query on either server and returns an error that shows how the
// rows differ, in any order.
func (p *Pair) Compare(ctx context.Context, stream, postgres string) (rows int, err error) {
	got, err := Rows(ctx, p.Stream, stream)
	if err != nil {
		return 0, fmt.Errorf("StreamDB: %w", err)
	}
	want, err := Rows(ctx, p.Postgres, postgres)
	if err != nil {
		return 0, fmt.Errorf("PostgreSQL: %w", err)
	}
	return len(got), Equal(got, want)
}

// Equal returns an error that shows how two results differ, in any order. It sorts
// both.
func Equal(got, want []string) error {
	slices.Sort(got)
	slices.Sort(want)
	if slices.Equal(got, want) {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "StreamDB has %d rows, PostgreSQL %d", len(got), len(want))
	show := func(mark string, rows, others []string) {
		n := 0
		for _, r := range rows {
			if _, found := slices.BinarySearch(others, r); !found && n < 5 {
				fmt.Fprintf(&b, "\n%s %s", mark, r)
				n++
			}
		}
	}
	show("StreamDB only:  ", got, want)
	show("PostgreSQL only:", want, got)
	return fmt.Errorf("%s", b.String())
}

// Exec runs statements and drops what they return.
func Exec(ctx context.Context, c *pgconn.PgConn, sql string) error {
	return c.Exec(ctx, sql).Close()
}

// Rows returns the rows of a query as text, columns between bars.
func Rows(ctx context.Context, c *pgconn.PgConn, sql string) ([]string, error) {
	res, err := c.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range res {
		for _, row := range r.Rows {
			var b strings.Builder
			for _, v := range row {
				if v == nil {
					b.WriteString("NULL|")
					continue
				}
				b.Write(v)
				b.WriteByte('|')
			}
			out = append(out, b.String())
		}
	}
	return out, nil
}
