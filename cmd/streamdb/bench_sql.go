package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
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
	json    bool
	pair    *tpch.Pair
	eng     *engine.Engine
	local   *engine.Local
	// bare is a connection to a second engine, which has the tables and never a view.
	bare   *pgconn.PgConn
	pg     pgCPU
	failed int // queries that could not be run, or whose results differ
}

// slowQuery is what a query of PostgreSQL takes, in ms, to be run once only.
const slowQuery = 5000

func benchSQL(args []string) error {
	f := flag.NewFlagSet("streamdb bench sql", flag.ContinueOnError)
	scale := f.Float64("scale", 0.1, "scale factor; 1 is about 1 GB of text")
	seed := f.Uint64("seed", 1, "of the data")
	query := f.String("query", "all", "queries, comma separated (q1,q5), or all")
	mode := f.String("mode", "both", "oneoff, views or both")
	runs := f.Int("runs", 5, "measured runs of a query; the median counts. What takes PostgreSQL more than 5 s is measured once")
	part := f.Float64("changes", 0.01, "share of the rows that change under a view")
	shared := f.String("shared", "auto", "shared_arrangements of the views: auto, on or off")
	batches := f.Int("batches", 10, "transactions that the changes come in; the smaller they are, the more the fixed cost of a commit counts")
	format := f.String("format", "text", "text, or json: a line for each query")
	profile := f.String("cpuprofile", "", "`file` for a CPU profile of the measured part")
	if err := f.Parse(args); err != nil {
		return err
	}
	tuneRuntime()
	b := &sqlBench{data: tpchdata.New(*scale, *seed), runs: max(*runs, 1), batches: max(*batches, 1), part: *part, json: *format == "json"}
	for _, q := range b.data.Queries() {
		if *query == "all" || slices.Contains(strings.Split(*query, ","), q.Name) {
			b.queries = append(b.queries, q)
		}
	}
	if len(b.queries) == 0 {
		return fmt.Errorf("no query of q1 to q22 is named %q", *query)
	}
	// The first signal ends the run with the means of what has been measured.
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	context.AfterFunc(ctx, cancel)
	stop, err := b.open(ctx, *mode != "oneoff")
	if err != nil {
		return err
	}
	defer stop()
	if err := tpch.Exec(ctx, b.pair.Stream, "SET shared_arrangements = '"+strings.ReplaceAll(*shared, "'", "''")+"'"); err != nil {
		return err
	}
	stopProfile, err := startProfile(*profile)
	if err != nil {
		return err
	}
	defer stopProfile()
	if *mode != "views" {
		b.oneOffs(ctx)
	}
	if *mode != "oneoff" && ctx.Err() == nil {
		if err := b.views(ctx); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case b.failed > 0:
		return fmt.Errorf("%d queries failed or differ from PostgreSQL's results", b.failed)
	}
	return nil
}

// open starts the servers and loads the data.
func (b *sqlBench) open(ctx context.Context, bare bool) (stop func(), err error) {
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
	eng, addr, end, err := serveBench()
	if err != nil {
		return nil, err
	}
	closers = append(closers, end)
	b.eng = eng
	pg, err := serverproc.StartPostgres("shared_buffers=1GB", "work_mem=64MB", "autovacuum=off", "max_wal_size=4GB")
	if err != nil {
		return nil, err
	}
	closers = append(closers, func() { pg.Stop() })
	dsn := func(addr string) string { return "postgres://streamdb@" + addr + "/streamdb?sslmode=disable" }
	if b.pair, err = tpch.Connect(ctx, dsn(addr), pg.DSN("postgres")); err != nil {
		return nil, err
	}
	closers = append(closers, func() { b.pair.Close(context.Background()) })
	if b.local, err = eng.OpenLocal(); err != nil {
		return nil, err
	}
	closers = append(closers, b.local.Close)
	b.pg = pgCPU{server: pg.Pid(), backend: int(b.pair.Postgres.PID())}
	if err := b.pair.Load(ctx, b.data); err != nil || !bare {
		return stop, err
	}
	if _, addr, end, err = serveBench(); err != nil {
		return nil, err
	}
	closers = append(closers, end)
	if b.bare, err = pgconn.Connect(ctx, dsn(addr)); err != nil {
		return nil, err
	}
	closers = append(closers, func() { b.bare.Close(context.Background()) })
	return stop, tpch.Fill(ctx, b.bare, b.data)
}

// serveBench opens an engine on a directory that is thrown away and serves it.
func serveBench() (eng *engine.Engine, addr string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "streamdb-bench-")
	if err != nil {
		return nil, "", nil, err
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	eng, err = engine.Open(engine.Config{Dir: dir, BarrierInterval: time.Second, Connectors: registry.All(), Log: log, Version: version})
	if err != nil {
		os.RemoveAll(dir)
		return nil, "", nil, err
	}
	srv := wire.NewServer(eng, wire.Config{MaxConnections: 10, Log: log})
	stop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		srv.Shutdown(ctx)
		eng.Close()
		os.RemoveAll(dir)
	}
	l, err := srv.Listen("127.0.0.1:0")
	if err != nil {
		stop()
		return nil, "", nil, err
	}
	go srv.Serve(l)
	return eng, l.Addr().String(), stop, nil
}

// say prints for people.
func (b *sqlBench) say(format string, args ...any) {
	if !b.json {
		fmt.Printf(format, args...)
	}
}

// emit prints a result as a line of JSON, if that is asked for.
func (b *sqlBench) emit(result any) {
	if b.json {
		json.NewEncoder(os.Stdout).Encode(result)
	}
}
