package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/streamdb/streamdb/engine"
)

// latencyResult are the times from sending an INSERT to having read its effect in
// a view of a view, in ms.
type latencyResult struct {
	Beside     string  `json:"beside"`
	Writers    int     `json:"writers"`
	Statements int     `json:"statements"`
	PerSecond  float64 `json:"statements_per_second"`
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	P999       float64 `json:"p999_ms"`
}

// benchLatency measures single-row INSERTs, each followed by a SELECT on a view of
// a view that must show it, with fsync, alone and beside a saturating pipeline in
// another graph.
func benchLatency(args []string) error {
	f := flag.NewFlagSet("streamdb bench latency", flag.ContinueOnError)
	writers := f.Int("writers", 8, "concurrent sessions")
	seconds := f.Duration("duration", 5*time.Second, "time of each run")
	format := f.String("format", "text", "text or json")
	alone := f.Bool("alone", false, "leave out the run beside a pipeline")
	profile := f.String("cpuprofile", "", "`file` for a CPU profile")
	if err := f.Parse(args); err != nil {
		return err
	}
	tuneRuntime()
	stopProfile, err := startProfile(*profile)
	if err != nil {
		return err
	}
	defer stopProfile()
	var out []latencyResult
	for _, beside := range []string{"nothing", "a saturating pipeline"} {
		if *alone && beside != "nothing" {
			continue
		}
		r, err := latencyRun(*writers, *seconds, beside != "nothing")
		if err != nil {
			return err
		}
		r.Beside = beside
		out = append(out, r)
		if *format == "text" {
			fmt.Printf("%d writers beside %s: %.0f statements/s, p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms\n", r.Writers, beside, r.PerSecond, r.P50, r.P99, r.P999)
		}
	}
	if *format == "json" {
		return json.NewEncoder(os.Stdout).Encode(out)
	}
	return nil
}

func latencyRun(writers int, d time.Duration, saturate bool) (latencyResult, error) {
	eng, err := openBench(0, time.Second)
	if err != nil {
		return latencyResult{}, err
	}
	defer eng.close()
	set := []string{
		"CREATE TABLE t (id bigint PRIMARY KEY, k int, v int)",
		"CREATE MATERIALIZED VIEW per_key AS SELECT k, count(*) AS n, max(id) AS last FROM t GROUP BY k",
		"CREATE MATERIALIZED VIEW newest AS SELECT k, last FROM per_key WHERE n > 0",
	}
	if saturate {
		set = append(set, "CREATE SOURCE bid WITH (connector = 'nexmark', type = 'bid')",
			"CREATE MATERIALIZED VIEW busy AS SELECT auction % 100000 AS a, count(*) AS n, sum(price) AS s FROM bid GROUP BY auction % 100000")
	}
	if err := eng.exec(set...); err != nil {
		return latencyResult{}, err
	}
	return runWriters(eng.Engine, writers, d)
}

func runWriters(eng *engine.Engine, writers int, d time.Duration) (latencyResult, error) {
	var mu sync.Mutex
	var all []time.Duration
	var first error
	var wg sync.WaitGroup
	end := time.Now().Add(d)
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			ds, err := oneWriter(eng, w, end)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, ds...)
			if err != nil && first == nil {
				first = err
			}
		}()
	}
	wg.Wait()
	if first != nil || len(all) == 0 {
		return latencyResult{}, first
	}
	slices.Sort(all)
	at := func(p float64) float64 { return float64(all[int(p*float64(len(all)-1))].Microseconds()) / 1000 }
	return latencyResult{Writers: writers, Statements: len(all), PerSecond: float64(len(all)) / d.Seconds(), P50: at(0.5), P99: at(0.99), P999: at(0.999)}, nil
}

func oneWriter(eng *engine.Engine, w int, end time.Time) (ds []time.Duration, err error) {
	l, err := eng.OpenLocal()
	if err != nil {
		return nil, err
	}
	defer l.Close()
	ctx := context.Background()
	for i := int64(0); time.Now().Before(end); i++ {
		id := i*1000 + int64(w)
		t0 := time.Now()
		if _, err := l.Exec(ctx, fmt.Sprintf("INSERT INTO t VALUES (%d, %d, 1)", id, w)); err != nil {
			return ds, err
		}
		c, err := l.Exec(ctx, fmt.Sprintf("SELECT last FROM newest WHERE k = %d", w))
		if err != nil {
			return ds, err
		}
		ds = append(ds, time.Since(t0))
		if c == nil || c.Rows != 1 || c.Cols[0].Datum(0) != id {
			return ds, fmt.Errorf("writer %d: the view does not show row %d", w, id)
		}
	}
	return ds, nil
}
