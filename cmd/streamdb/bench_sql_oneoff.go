package main

import (
	"context"
	"fmt"

	"github.com/streamdb/streamdb/tests/tpch"
)

// oneOff are the medians of a query's runs, in ms.
type oneOff struct {
	Query    string  `json:"one_off"`
	Rows     int     `json:"rows"`
	Plan     float64 `json:"plan_ms"`
	Ours     float64 `json:"streamdb_ms"`
	OursCPU  float64 `json:"streamdb_cpu_ms"`
	Theirs   float64 `json:"postgresql_ms"`
	TheirCPU float64 `json:"postgresql_cpu_ms"`
	Wrong    string  `json:"difference,omitempty"`
}

// oneOffs runs each query in turn on either server. A query that cannot be run is
// shown and left out of the means.
func (b *sqlBench) oneOffs(ctx context.Context) {
	var out []oneOff
	b.say("%-5s %6s %9s %12s %12s %12s %12s %7s %7s\n", "query", "rows", "plan ms", "StreamDB ms", "CPU ms", "PostgreSQL", "CPU ms", "ratio", "CPU")
	for _, q := range b.queries {
		if ctx.Err() != nil {
			break
		}
		r, err := b.oneOff(ctx, q.Name, q.SQL)
		if err != nil || r.Wrong != "" {
			b.failed++
		}
		if err != nil {
			b.say("%-5s %v\n", q.Name, err)
			b.emit(oneOff{Query: q.Name, Wrong: err.Error()})
			continue
		}
		b.say("%-5s %6d %9.2f %12.1f %12.1f %12.1f %12.1f %7.2f %7.2f %s\n", r.Query, r.Rows, r.Plan, r.Ours, r.OursCPU, r.Theirs, r.TheirCPU,
			r.Ours/r.Theirs, r.OursCPU/r.TheirCPU, r.Wrong)
		b.emit(r)
		out = append(out, *r)
	}
	if len(out) > 0 {
		b.say("geometric mean of StreamDB/PostgreSQL over %d queries: %.2f elapsed, %.2f CPU\n\n", len(out),
			geometric(out, func(r oneOff) float64 { return r.Ours / r.Theirs }), geometric(out, func(r oneOff) float64 { return r.OursCPU / r.TheirCPU }))
	}
}

func (b *sqlBench) oneOff(ctx context.Context, name, sql string) (*oneOff, error) {
	r := &oneOff{Query: name}
	// The first run warms both, and is the only one of PostgreSQL if it is slow.
	c0 := b.pg.seconds()
	var want []string
	var err error
	slow := elapsed(func() { want, err = tpch.Rows(ctx, b.pair.Postgres, sql) })
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", err)
	}
	slowCPU := 1000 * (b.pg.seconds() - c0)
	got, err := tpch.Rows(ctx, b.pair.Stream, sql)
	if err != nil {
		return nil, err
	}
	if err := tpch.Equal(got, want); err != nil {
		r.Wrong = err.Error()
	}
	r.Rows = len(got)
	var plan, ours, oursCPU, theirs, theirCPU []float64
	for range b.runs {
		plan = append(plan, elapsed(func() { _, err = b.local.Exec(ctx, "EXPLAIN "+sql) }))
		if err != nil {
			return nil, err
		}
		t, cpu, err := timed(ctx, b.pair.Stream, sql, cpuSeconds)
		if err != nil {
			return nil, err
		}
		ours, oursCPU = append(ours, t), append(oursCPU, cpu)
		if slow > slowQuery {
			continue
		}
		if t, cpu, err = timed(ctx, b.pair.Postgres, sql, b.pg.seconds); err != nil {
			return nil, fmt.Errorf("PostgreSQL: %w", err)
		}
		theirs, theirCPU = append(theirs, t), append(theirCPU, cpu)
	}
	if slow > slowQuery {
		theirs, theirCPU = []float64{slow}, []float64{slowCPU}
	}
	r.Plan, r.Ours, r.OursCPU, r.Theirs, r.TheirCPU = median(plan), median(ours), median(oursCPU), median(theirs), mean(theirCPU)
	return r, nil
}
