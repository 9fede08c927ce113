package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/connector/registry"
	"github.com/streamdb/streamdb/engine"
)

// result is one measured query.
type result struct {
	Query         string  `json:"query"`
	Events        int64   `json:"events"`
	Seconds       float64 `json:"seconds"`
	EventsPerSec  float64 `json:"events_per_second"`
	CPUPerMillion float64 `json:"cpu_seconds_per_million_events"`
	GenPerMillion float64 `json:"generator_cpu_seconds_per_million_events"`
	PauseP50      float64 `json:"checkpoint_pause_p50_ms"`
	PauseP99      float64 `json:"checkpoint_pause_p99_ms"`
	StateBytes    int64   `json:"state_bytes"`
	PeakBytes     int64   `json:"peak_memory_bytes"`
}

// benchmark measures Nexmark queries end to end in this process: generator, plan
// from SQL, exactly-once epochs on disk, blackhole sink.
func benchmark(args []string) error {
	if len(args) > 0 && args[0] == "latency" {
		return benchLatency(args[1:])
	}
	if len(args) > 0 && args[0] == "sql" {
		return benchSQL(args[1:])
	}
	if len(args) > 0 && args[0] == "kafka" {
		return benchKafka(args[1:])
	}
	if len(args) == 0 || args[0] != "nexmark" {
		return fmt.Errorf("usage: streamdb bench nexmark|kafka|latency|sql [flags]")
	}
	f := flag.NewFlagSet("streamdb bench nexmark", flag.ContinueOnError)
	query := f.String("query", "all", "queries, comma separated, or all")
	events := f.Int64("events", 2000000, "events of all kinds")
	par := f.Int("parallelism", 0, "instances of each fragment; 0: the number of cores")
	format := f.String("format", "text", "text or json")
	interval := f.Duration("barrier-interval", time.Second, "time between epochs")
	profile := f.String("cpuprofile", "", "`file` for a CPU profile")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	tuneRuntime()
	stopProfile, err := startProfile(*profile)
	if err != nil {
		return err
	}
	defer stopProfile()
	qs := nexmarkOrder
	if *query != "all" {
		qs = strings.Split(*query, ",")
	}
	var out []result
	for _, q := range qs {
		text, ok := nexmarkQueries[q]
		if !ok {
			return fmt.Errorf("unknown query %q; there are %s", q, strings.Join(nexmarkOrder, ", "))
		}
		r, err := benchQuery(q, text, *events, *par, *interval)
		if err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
		out = append(out, r)
		if *format == "text" {
			fmt.Printf("%-4s %9.0f events/s  %6.3f CPU s/M (generator %.3f apart)  pause p50 %.1f ms p99 %.1f ms  state %d MB  peak %d MB\n",
				r.Query, r.EventsPerSec, r.CPUPerMillion, r.GenPerMillion, r.PauseP50, r.PauseP99, r.StateBytes>>20, r.PeakBytes>>20)
		}
	}
	if *format == "json" {
		return json.NewEncoder(os.Stdout).Encode(out)
	}
	return nil
}

func benchQuery(q, text string, events int64, par int, interval time.Duration) (result, error) {
	gen, err := generatorCPU(text, events)
	if err != nil {
		return result{}, err
	}
	runtime.GC()
	eng, err := openBench(par, interval)
	if err != nil {
		return result{}, err
	}
	defer eng.close()
	for _, k := range []string{"person", "auction", "bid"} {
		if err := eng.exec(fmt.Sprintf("CREATE SOURCE %s WITH (connector = 'nexmark', type = '%s', events = '%d')", k, k, events)); err != nil {
			return result{}, err
		}
	}
	cpu0, t0 := cpuSeconds(), time.Now()
	if err := eng.drain(q, text, func(p engine.JobProgress) bool { return p.Ended }); err != nil {
		return result{}, err
	}
	sec, cpu := time.Since(t0).Seconds(), cpuSeconds()-cpu0
	m := float64(events) / 1e6
	r := result{Query: q, Events: events, Seconds: sec, EventsPerSec: float64(events) / sec, CPUPerMillion: (cpu - gen) / m,
		GenPerMillion: gen / m, StateBytes: eng.Progress(q).StateBytes, PeakBytes: peakBytes()}
	r.PauseP50, r.PauseP99 = percentiles(eng.Pauses(q))
	return r, err
}

// generatorCPU measures the making of the events that a query's sources made,
// all columns it names, without the engine.
func generatorCPU(text string, events int64) (float64, error) {
	def := registry.All()["nexmark"]
	cpu0 := cpuSeconds()
	for _, k := range []string{"person", "auction", "bid"} {
		if !strings.Contains(text, k) {
			continue
		}
		src, err := def.Source(connector.SourceSpec{Options: map[string]string{"type": k, "events": fmt.Sprint(events)}})
		if err != nil {
			return 0, err
		}
		var cols []int
		for i, c := range src.Columns() {
			if strings.Contains(text, c.Name) || strings.Contains(text, "SELECT *") {
				cols = append(cols, i)
			}
		}
		r, err := src.Open(context.Background(), cols, 0, 1, nil)
		if err != nil {
			return 0, err
		}
		for end := false; !end; {
			b, err := r.Read(context.Background())
			if err != nil {
				return 0, err
			}
			b.Pool.Put(b.Chunk)
			end = b.End
		}
	}
	return cpuSeconds() - cpu0, nil
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	sec := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return sec(u.Utime) + sec(u.Stime)
}

func peakBytes() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Maxrss << 10
}

// resetPeak lets peakBytes begin anew, where the kernel can do that.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

func percentiles(ds []time.Duration) (p50, p99 float64) {
	if len(ds) == 0 {
		return 0, 0
	}
	slices.Sort(ds)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return ms(ds[len(ds)/2]), ms(ds[len(ds)*99/100])
}
