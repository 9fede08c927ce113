package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamdb/streamdb/connector/registry"
	"github.com/streamdb/streamdb/engine"
	tpchdata "github.com/streamdb/streamdb/internal/tpch"
	"github.com/streamdb/streamdb/tests/serverproc"
	"github.com/streamdb/streamdb/tests/tpch"
	"github.com/streamdb/streamdb/wire"
)

// sqlBench is the TPC-H comparison with PostgreSQL: StreamDB in this process,
// PostgreSQL started on a directory that is thrown away, both over their protocol.
type sqlBench struct {
	data    *tpchdata.Data
	queries []tpchdata.Query
	runs    int
	batches int
	part    float64
	pair    *tpch.Pair
	eng     *engine.Engine
	local   *engine.Local
	pg      pgCPU
	wrong   int
}

// oneOff are the medians of a query's runs, in ms.
type oneOff struct {
	Query    string  `json:"query"`
	Rows     int     `json:"rows"`
	Plan     float64 `json:"plan_ms"`
	Ours     float64 `json:"streamdb_ms"`
	OursCPU  float64 `json:"streamdb_cpu_ms"`
	Theirs   float64 `json:"postgresql_ms"`
	TheirCPU float64 `json:"postgresql_cpu_ms"`
	Wrong    string  `json:"difference,omitempty"`
}

// upkeep is what keeping a query as a view costs, in ms for each batch of changes.
type upkeep struct {
	Query      string  `json:"query"`
	Changes    int     `json:"changed_rows"` // of all batches
	Ours       float64 `json:"streamdb_ms"`
	OursCPU    float64 `json:"streamdb_cpu_ms"`
	Refresh    float64 `json:"refresh_ms"`
	RefreshCPU float64 `json:"refresh_cpu_ms"`
	Recompute  float64 `json:"recompute_ms"`
	StateMB    float64 `json:"state_mb"`
	Wrong      string  `json:"difference,omitempty"`
}

func benchSQL(args []string) error {
	f := flag.NewFlagSet("streamdb bench sql", flag.ContinueOnError)
	scale := f.Float64("scale", 0.1, "scale factor; 1 is about 1 GB of text")
	seed := f.Uint64("seed", 1, "of the data")
	query := f.String("query", "all", "queries, comma separated (q1,q5), or all")
	mode := f.String("mode", "both", "oneoff, views or both")
	runs := f.Int("runs", 5, "measured runs of a query; the median counts")
	part := f.Float64("changes", 0.01, "share of the rows that change under a view")
	shared := f.String("shared", "auto", "shared_arrangements of the views: auto, on or off")
	batches := f.Int("batches", 10, "transactions that the changes come in; the smaller they are, the more the fixed cost of a commit counts")
	format := f.String("format", "text", "text or json")
	profile := f.String("cpuprofile", "", "`file` for a CPU profile of the measured part")
	if err := f.Parse(args); err != nil {
		return err
	}
	tuneRuntime()
	b := &sqlBench{data: tpchdata.New(*scale, *seed), runs: *runs, batches: *batches, part: *part}
	for _, q := range b.data.Queries() {
		if *query == "all" || slices.Contains(strings.Split(*query, ","), q.Name) {
			b.queries = append(b.queries, q)
		}
	}
	if len(b.queries) == 0 {
		return fmt.Errorf("no query of q1 to q22 is named %q", *query)
	}
	stop, err := b.open()
	if err != nil {
		return err
	}
	defer stop()
	if err := tpch.Exec(context.Background(), b.pair.Stream, "SET shared_arrangements = '"+strings.ReplaceAll(*shared, "'", "''")+"'"); err != nil {
		return err
	}
	stopProfile, err := startProfile(*profile)
	if err != nil {
		return err
	}
	defer stopProfile()
	return b.run(*mode, *format == "json")
}

func (b *sqlBench) run(mode string, asJSON bool) error {
	ctx := context.Background()
	var out struct {
		OneOff []oneOff `json:"one_off,omitempty"`
		Views  []upkeep `json:"views,omitempty"`
	}
	var err error
	if mode != "views" {
		if out.OneOff, err = b.oneOffs(ctx, asJSON); err != nil {
			return err
		}
	}
	if mode != "oneoff" {
		if out.Views, err = b.views(ctx, asJSON); err != nil {
			return err
		}
	}
	if asJSON {
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	if err == nil && b.wrong > 0 {
		err = fmt.Errorf("%d results differ from PostgreSQL's", b.wrong)
	}
	return err
}

// open starts both servers and loads the data.
func (b *sqlBench) open() (stop func(), err error) {
	var closers []func()
	stop = func() {
		for i := len(closers) - 1; i >= 0; i-- {
			closers[i]()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	dir, err := os.MkdirTemp("", "streamdb-bench-")
	if err != nil {
		return nil, err
	}
	closers = append(closers, func() { os.RemoveAll(dir) })
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	eng, err := engine.Open(engine.Config{Dir: dir, BarrierInterval: time.Second, Connectors: registry.All(), Log: log, Version: version})
	if err != nil {
		return nil, err
	}
	closers = append(closers, func() { eng.Close() })
	b.eng = eng
	srv := wire.NewServer(eng, wire.Config{MaxConnections: 10, Log: log})
	l, err := srv.Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go srv.Serve(l)
	pg, err := serverproc.StartPostgres("shared_buffers=1GB", "work_mem=64MB", "autovacuum=off", "max_wal_size=4GB")
	if err != nil {
		return nil, err
	}
	closers = append(closers, func() { pg.Stop() })
	ctx := context.Background()
	b.pair, err = tpch.Connect(ctx, "postgres://streamdb@"+l.Addr().String()+"/streamdb?sslmode=disable", pg.DSN("postgres"))
	if err != nil {
		return nil, err
	}
	closers = append(closers, func() {
		b.pair.Close(ctx)
		c, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		srv.Shutdown(c)
	})
	if b.local, err = eng.OpenLocal(); err != nil {
		return nil, err
	}
	closers = append(closers, b.local.Close)
	b.pg = pgCPU{server: pg.Pid(), backend: int(b.pair.Postgres.PID())}
	return stop, b.pair.Load(ctx, b.data)
}

// oneOffs runs each query in turn on either server.
func (b *sqlBench) oneOffs(ctx context.Context, quiet bool) ([]oneOff, error) {
	var out []oneOff
	say(quiet, "%-5s %6s %9s %12s %12s %12s %12s %7s\n", "query", "rows", "plan ms", "StreamDB ms", "CPU ms", "PostgreSQL", "CPU ms", "ratio")
	for _, q := range b.queries {
		r := oneOff{Query: q.Name}
		var err error
		if r.Rows, err = b.pair.Compare(ctx, q.SQL, q.SQL); err != nil { // warms both, too
			r.Wrong, b.wrong = err.Error(), b.wrong+1
		}
		var plan, ours, oursCPU, theirs, theirCPU []float64
		for range b.runs {
			plan = append(plan, elapsed(func() { _, err = b.local.Exec(ctx, "EXPLAIN "+q.SQL) }))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", q.Name, err)
			}
			t, cpu, err := timed(ctx, b.pair.Stream, q.SQL, cpuSeconds)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", q.Name, err)
			}
			ours, oursCPU = append(ours, t), append(oursCPU, cpu)
			if t, cpu, err = timed(ctx, b.pair.Postgres, q.SQL, b.pg.seconds); err != nil {
				return nil, fmt.Errorf("%s: PostgreSQL: %w", q.Name, err)
			}
			theirs, theirCPU = append(theirs, t), append(theirCPU, cpu)
		}
		r.Plan, r.Ours, r.OursCPU, r.Theirs, r.TheirCPU = median(plan), median(ours), median(oursCPU), median(theirs), mean(theirCPU)
		say(quiet, "%-5s %6d %9.2f %12.1f %12.1f %12.1f %12.1f %7.2f %s\n", r.Query, r.Rows, r.Plan, r.Ours, r.OursCPU, r.Theirs, r.TheirCPU, r.Ours/r.Theirs, r.Wrong)
		out = append(out, r)
	}
	say(quiet, "geometric mean of StreamDB/PostgreSQL: %.2f elapsed, %.2f CPU\n\n",
		geometric(out, func(r oneOff) float64 { return r.Ours / r.Theirs }), geometric(out, func(r oneOff) float64 { return r.OursCPU / r.TheirCPU }))
	return out, nil
}

func say(quiet bool, format string, args ...any) {
	if !quiet {
		fmt.Printf(format, args...)
	}
}

func elapsed(f func()) float64 {
	t0 := time.Now()
	f()
	return float64(time.Since(t0).Microseconds()) / 1000
}

// timed runs statements and returns ms of time and of CPU.
func timed(ctx context.Context, c *pgconn.PgConn, sql string, cpu func() float64) (ms, cpuMS float64, err error) {
	c0 := cpu()
	ms = elapsed(func() { err = tpch.Exec(ctx, c, sql) })
	return ms, 1000 * (cpu() - c0), err
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// geometric is the geometric mean; what was too short to measure counts as 0.01.
func geometric[T any](rs []T, f func(T) float64) float64 {
	sum := 0.0
	for _, r := range rs {
		v := f(r)
		if math.IsNaN(v) || v < 0.01 {
			v = 0.01
		}
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(rs)))
}

// pgCPU reads the CPU time of a PostgreSQL connection and of the parallel workers
// that have ended.
type pgCPU struct{ server, backend int }

func (p pgCPU) seconds() float64 {
	return onCPU(p.backend) + procTimes(p.server, 15, 16)
}

// onCPU is how long a process of one thread has run, in seconds.
func onCPU(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		return procTimes(pid, 13, 14)
	}
	ns, _, _ := strings.Cut(string(text), " ")
	v, _ := strconv.ParseFloat(ns, 64)
	return v / 1e9
}

// procTimes adds fields of /proc/PID/stat, counted from 0, in seconds.
func procTimes(pid int, fields ...int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	words := strings.Fields(rest) // the third field of the line is the first here
	sum := 0.0
	for _, f := range fields {
		if f-2 < len(words) {
			v, _ := strconv.ParseFloat(words[f-2], 64)
			sum += v / 100 // clock ticks
		}
	}
	return sum
}
