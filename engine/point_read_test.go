package engine

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/streamdb/streamdb/connector/registry"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/types"
)

// TestPreparedPointReads executes statements that read by key several times, so
// that the compiled form answers after the first, and expects the same as ever.
func TestPreparedPointReads(t *testing.T) {
	e, err := Open(jobs.Config{Dir: t.TempDir(), NoSync: true, Connectors: registry.All(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	l, err := e.OpenLocal()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx := context.Background()
	exec := func(q string) {
		t.Helper()
		if _, err := l.Exec(ctx, q); err != nil {
			t.Fatal(q, err)
		}
	}
	exec("CREATE TABLE t (a int, b text, n numeric, PRIMARY KEY (a, b))")
	exec("INSERT INTO t VALUES (1, 'x', 1.50), (1, 'y', NULL), (2, 'x', 0)")
	exec("CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS c FROM t GROUP BY a")
	type call struct {
		args []types.Datum
		want string // "-": no row, "!": an error
	}
	read := func(q string, calls ...call) {
		t.Helper()
		sts, err := l.s.Parse(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		l.s.Begin(false)
		p, err := l.s.Prepare(ctx, sts[0], nil)
		if err != nil {
			t.Fatal(q, err)
		}
		for i := range 3 * len(calls) {
			c := calls[i%len(calls)]
			o, err := p.Bind(ctx, c.args)
			if err != nil {
				t.Fatal(err)
			}
			got := "-"
			switch rows, err := o.Next(ctx); {
			case err != nil:
				got = "!"
			case rows != nil && rows.Rows == 1:
				got = ""
				for k, v := range rows.Cols {
					if k > 0 {
						got += "|"
					}
					if d := v.Datum(0); d != nil {
						got += string(types.AppendText(nil, v.Type(), d, &types.Options{}))
					}
				}
			}
			o.Close()
			if got != c.want {
				t.Errorf("%s, execution %d: %q, want %q", q, i, got, c.want)
			}
		}
		if p.(*prepared).point == nil {
			t.Errorf("%s was not compiled as a point read", q)
		}
	}
	read("SELECT n, b || $3, a + $1 FROM t WHERE a = $1 AND b = $2",
		call{[]types.Datum{int32(1), "x", "!"}, "1.50|x!|2"}, call{[]types.Datum{int32(1), "y", nil}, "||2"},
		call{[]types.Datum{int32(3), "x", "!"}, "-"}, call{[]types.Datum{nil, "x", "!"}, "-"})
	read("SELECT 1 / n FROM t WHERE b = 'x' AND a = $1 AND n < $2",
		call{[]types.Datum{int32(2), types.Datum(nil)}, "-"})
	read("SELECT q.s FROM (SELECT a, b, a * 10 AS s, n FROM t) q WHERE a = $1 AND b = 'x' AND s > $2::int",
		call{[]types.Datum{int32(2), int32(5)}, "20"}, call{[]types.Datum{int32(2), int32(20)}, "-"})
	read("SELECT 1 / (a - $1) FROM t WHERE a = $1 AND b = 'x'", call{[]types.Datum{int32(2)}, "!"}, call{[]types.Datum{int32(5)}, "-"})
	read("SELECT c FROM v WHERE a = $1", call{[]types.Datum{int32(1)}, "2"}, call{[]types.Datum{int32(2)}, "1"})
}
