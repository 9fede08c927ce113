package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamdb/streamdb/tests/tpch"
)

// views measures each query as a view: the changes come in batches, and the cost
// of a batch is that of its whole COMMIT, the writing of the tables included, which
// is also measured without a view. PostgreSQL refreshes its view as often.
func (b *sqlBench) views(ctx context.Context, quiet bool) ([]upkeep, error) {
	changes := b.data.Changes()
	batch := func() (string, int) { return changes.Batch(b.part / float64(b.batches)) }
	var base, baseCPU []float64
	for range max(b.batches, 3) {
		sql, _ := batch()
		ms, cpu, err := b.apply(ctx, sql)
		if err != nil {
			return nil, err
		}
		base, baseCPU = append(base, ms), append(baseCPU, cpu)
	}
	plain, plainCPU := mean(base), mean(baseCPU)
	say(quiet, "%g of the rows change in %d transactions; committing one takes %.1f ms (%.1f ms CPU) without views. Each, in ms:\n", b.part, b.batches, plain, plainCPU)
	say(quiet, "%-5s %10s %9s %10s %9s %11s %8s %10s\n", "query", "COMMIT", "CPU", "REFRESH", "CPU", "recompute", "state MB", "cheaper")
	var out []upkeep
	for _, q := range b.queries {
		r, err := b.view(ctx, q.Name, q.SQL, batch)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.Name, err)
		}
		say(quiet, "%-5s %10.2f %9.2f %10.1f %9.1f %11.1f %8.1f %9.0fx %s\n", r.Query, r.Ours, r.OursCPU, r.Refresh, r.RefreshCPU, r.Recompute, r.StateMB,
			r.RefreshCPU/max(r.OursCPU, 0.01), r.Wrong)
		out = append(out, *r)
	}
	say(quiet, "geometric means: %.0f times cheaper than REFRESH by CPU, %.0f by time, %.0f than our own query by time\n",
		geometric(out, func(r upkeep) float64 { return r.RefreshCPU / max(r.OursCPU, 0.01) }),
		geometric(out, func(r upkeep) float64 { return r.Refresh / max(r.Ours, 0.01) }),
		geometric(out, func(r upkeep) float64 { return r.Recompute / max(r.Ours, 0.01) }))
	return out, nil
}

func (b *sqlBench) view(ctx context.Context, name, sql string, batch func() (string, int)) (*upkeep, error) {
	r := &upkeep{Query: name}
	create := "CREATE MATERIALIZED VIEW " + name + " AS" + sql
	if err := tpch.Exec(ctx, b.pair.Stream, create); err != nil {
		return nil, err
	}
	if err := tpch.Exec(ctx, b.pair.Postgres, create); err != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", err)
	}
	var ours, cpus, refresh, refreshCPU, again []float64
	for k := range b.batches {
		text, n := batch()
		r.Changes += n
		ms, cpu, err := b.apply(ctx, text)
		if err != nil {
			return nil, err
		}
		ours, cpus = append(ours, ms), append(cpus, cpu)
		if k >= b.runs { // REFRESH takes the same each time
			continue
		}
		if ms, cpu, err = timed(ctx, b.pair.Postgres, "REFRESH MATERIALIZED VIEW "+name, b.pg.seconds); err != nil {
			return nil, err
		}
		refresh, refreshCPU = append(refresh, ms), append(refreshCPU, cpu)
	}
	if _, err := b.pair.Compare(ctx, "SELECT * FROM "+name, sql); err != nil {
		r.Wrong, b.wrong = err.Error(), b.wrong+1
	}
	for range min(b.runs, 3) {
		ms, _, err := timed(ctx, b.pair.Stream, sql, cpuSeconds)
		if err != nil {
			return nil, err
		}
		again = append(again, ms)
	}
	r.Ours, r.OursCPU = mean(ours), mean(cpus)
	r.Refresh, r.RefreshCPU, r.Recompute = mean(refresh), mean(refreshCPU), median(again)
	r.StateMB = float64(b.eng.Progress(name).StateBytes) / (1 << 20)
	for _, c := range []*pgconn.PgConn{b.pair.Stream, b.pair.Postgres} {
		if err := tpch.Exec(ctx, c, "DROP MATERIALIZED VIEW "+name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// apply makes a batch's changes on both servers and measures our COMMIT.
func (b *sqlBench) apply(ctx context.Context, sql string) (ms, cpu float64, err error) {
	if err := tpch.Exec(ctx, b.pair.Postgres, "BEGIN;"+sql+"COMMIT"); err != nil {
		return 0, 0, fmt.Errorf("PostgreSQL: %w", err)
	}
	if err := tpch.Exec(ctx, b.pair.Stream, "BEGIN"); err != nil {
		return 0, 0, err
	}
	if err := tpch.Exec(ctx, b.pair.Stream, sql); err != nil {
		return 0, 0, err
	}
	return timed(ctx, b.pair.Stream, "COMMIT", cpuSeconds)
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
