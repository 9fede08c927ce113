package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamdb/streamdb/tests/tpch"
)

// upkeep is what keeping a query as a view costs, in ms for each transaction: means
// over all of them, and for REFRESH and recomputation over fewer.
type upkeep struct {
	Query   string `json:"view"`
	Changes int    `json:"changed_rows"` // of all transactions
	// Ours is COMMIT with the view up to date at its end. Bare is COMMIT of the same
	// changes on an engine without a view, and Upkeep the difference, with its
	// standard error.
	Ours      float64 `json:"commit_ms"`
	OursCPU   float64 `json:"commit_cpu_ms"`
	BareCPU   float64 `json:"commit_without_view_cpu_ms"`
	UpkeepCPU float64 `json:"upkeep_cpu_ms"`
	UpkeepErr float64 `json:"upkeep_cpu_error_ms"`
	// WholeCPU is BEGIN, the statements and COMMIT, which for PostgreSQL does not
	// contain REFRESH.
	WholeCPU   float64 `json:"transaction_cpu_ms"`
	TheirCPU   float64 `json:"postgresql_transaction_cpu_ms"`
	Refresh    float64 `json:"refresh_ms"`
	RefreshCPU float64 `json:"refresh_cpu_ms"`
	Recompute  float64 `json:"recompute_ms"`
	StateMB    float64 `json:"state_mb"`
	Wrong      string  `json:"difference,omitempty"`
}

// cheaper is REFRESH against the whole COMMIT, which writes the tables as well.
func (r *upkeep) cheaper() float64 { return r.RefreshCPU / max(r.OursCPU, 0.01) }

// alone is REFRESH against what the view adds to a COMMIT; a difference that is
// smaller than its error counts as the error.
func (r *upkeep) alone() float64 { return r.RefreshCPU / max(r.UpkeepCPU, r.UpkeepErr, 0.01) }

// whole is the transaction and REFRESH against the transaction with the view.
func (r *upkeep) whole() float64 { return (r.TheirCPU + r.RefreshCPU) / max(r.WholeCPU, 0.01) }

// views measures each query as a view: the changes come in transactions, each of
// which runs on three servers: ours with the view, ours without any, and PostgreSQL.
// A query that cannot be run is shown and left out of the means.
func (b *sqlBench) views(ctx context.Context) error {
	changes := b.data.Changes()
	batch := func() (string, int) { return changes.Batch(b.part / float64(b.batches)) }
	for range 3 { // warms all, and makes the tables one graph
		sql, _ := batch()
		if _, err := b.transaction(ctx, sql, false); err != nil {
			return err
		}
	}
	b.say("%g of the rows change in %d transactions. CPU of each, in ms; \"no view\" is a COMMIT without any view:\n", b.part, b.batches)
	b.say("%-5s %8s %8s %15s %8s %8s %9s %8s %8s %7s | %9s %9s %9s %9s\n", "query", "COMMIT", "no view", "view alone", "whole", "PG whole", "REFRESH",
		"cheaper", "alone", "whole", "time:", "REFRESH", "recompute", "state MB")
	var out []upkeep
	for _, q := range b.queries {
		if ctx.Err() != nil {
			break
		}
		r, err := b.view(ctx, q.Name, q.SQL, batch)
		if err != nil || r.Wrong != "" {
			b.failed++
		}
		if err != nil {
			b.say("%-5s %v\n", q.Name, err)
			b.emit(upkeep{Query: q.Name, Wrong: err.Error()})
			continue
		}
		b.say("%-5s %8.2f %8.2f %7.2f ± %5.2f %8.1f %8.1f %9.1f %7.0fx %7.0fx %6.1fx | %9.2f %9.1f %9.1f %9.1f %s\n", r.Query, r.OursCPU, r.BareCPU, r.UpkeepCPU, r.UpkeepErr,
			r.WholeCPU, r.TheirCPU, r.RefreshCPU, r.cheaper(), r.alone(), r.whole(), r.Ours, r.Refresh, r.Recompute, r.StateMB, r.Wrong)
		b.emit(r)
		out = append(out, *r)
	}
	if len(out) == 0 {
		return nil
	}
	b.say("geometric means over %d views, by CPU: COMMIT %.0f times cheaper than REFRESH, what the view adds to it %.0f times; "+
		"whole transactions %.1f times cheaper than PostgreSQL's with REFRESH\n", len(out),
		geometric(out, func(r upkeep) float64 { return r.cheaper() }),
		geometric(out, func(r upkeep) float64 { return r.alone() }),
		geometric(out, func(r upkeep) float64 { return r.whole() }))
	b.say("by time: COMMIT %.0f times cheaper than REFRESH, %.0f than our own query\n",
		geometric(out, func(r upkeep) float64 { return r.Refresh / max(r.Ours, 0.01) }),
		geometric(out, func(r upkeep) float64 { return r.Recompute / max(r.Ours, 0.01) }))
	return nil
}

// view measures one view, alone, and drops it on both servers whatever happens.
func (b *sqlBench) view(ctx context.Context, name, sql string, batch func() (string, int)) (r *upkeep, err error) {
	r = &upkeep{Query: name}
	defer func() {
		for _, c := range []*pgconn.PgConn{b.pair.Stream, b.pair.Postgres} {
			if e := tpch.Exec(context.Background(), c, "DROP MATERIALIZED VIEW IF EXISTS "+name); err == nil {
				err = e
			}
		}
	}()
	create := "CREATE MATERIALIZED VIEW " + name + " AS" + sql
	if err := tpch.Exec(ctx, b.pair.Stream, create); err != nil {
		return nil, err
	}
	if err := tpch.Exec(ctx, b.pair.Postgres, create+" WITH NO DATA"); err != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", err)
	}
	if err := b.maintain(ctx, r, batch); err != nil {
		return nil, err
	}
	// REFRESH takes the same after each transaction.
	var refresh, refreshCPU, again []float64
	for len(refresh) < b.runs && (len(refresh) == 0 || refresh[0] < slowQuery) {
		ms, cpu, err := timed(ctx, b.pair.Postgres, "REFRESH MATERIALIZED VIEW "+name, b.pg.seconds)
		if err != nil {
			return nil, fmt.Errorf("PostgreSQL: %w", err)
		}
		refresh, refreshCPU = append(refresh, ms), append(refreshCPU, cpu)
		if len(again) < 3 {
			if ms, _, err = timed(ctx, b.pair.Stream, sql, cpuSeconds); err != nil {
				return nil, err
			}
			again = append(again, ms)
		}
	}
	r.Refresh, r.RefreshCPU, r.Recompute = mean(refresh), mean(refreshCPU), median(again)
	if _, err := b.pair.Compare(ctx, "SELECT * FROM "+name, "SELECT * FROM "+name); err != nil {
		r.Wrong = err.Error()
	}
	r.StateMB = float64(b.eng.Progress(name).StateBytes) / (1 << 20)
	return r, nil
}

// maintain runs the transactions and sets what they cost.
func (b *sqlBench) maintain(ctx context.Context, r *upkeep, batch func() (string, int)) error {
	var ours, cpu, bare, whole, theirs []float64
	for k := range b.batches {
		text, n := batch()
		r.Changes += n
		t, err := b.transaction(ctx, text, k%2 == 1)
		if err != nil {
			return err
		}
		ours, cpu, bare = append(ours, t.ours.commit), append(cpu, t.ours.commitCPU), append(bare, t.bare.commitCPU)
		whole, theirs = append(whole, t.ours.wholeCPU), append(theirs, t.theirs.wholeCPU)
	}
	r.Ours, r.OursCPU, r.BareCPU, r.WholeCPU, r.TheirCPU = mean(ours), mean(cpu), mean(bare), mean(whole), mean(theirs)
	r.UpkeepCPU, r.UpkeepErr = differences(cpu, bare)
	return nil
}

// cost of a transaction on one server, in ms.
type cost struct{ commit, commitCPU, wholeCPU float64 }

type costs struct{ ours, bare, theirs cost }

// transaction makes a batch's changes on all servers, in one of two orders of ours.
func (b *sqlBench) transaction(ctx context.Context, sql string, bareFirst bool) (c costs, err error) {
	if c.theirs, err = change(ctx, b.pair.Postgres, sql, b.pg.seconds); err != nil {
		return c, fmt.Errorf("PostgreSQL: %w", err)
	}
	if bareFirst {
		if c.bare, err = change(ctx, b.bare, sql, cpuSeconds); err != nil {
			return c, err
		}
	}
	if c.ours, err = change(ctx, b.pair.Stream, sql, cpuSeconds); err != nil || bareFirst {
		return c, err
	}
	c.bare, err = change(ctx, b.bare, sql, cpuSeconds)
	return c, err
}

// change runs a transaction and measures it.
func change(ctx context.Context, conn *pgconn.PgConn, sql string, cpu func() float64) (c cost, err error) {
	_, before, err := timed(ctx, conn, "BEGIN;"+sql, cpu)
	if err != nil {
		return c, err
	}
	c.commit, c.commitCPU, err = timed(ctx, conn, "COMMIT", cpu)
	c.wholeCPU = before + c.commitCPU
	return c, err
}
