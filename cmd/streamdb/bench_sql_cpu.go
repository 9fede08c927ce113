package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamdb/streamdb/tests/tpch"
)

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
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// differences returns the mean of a-b, pair by pair, and its standard error.
func differences(a, b []float64) (m, se float64) {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	m = mean(d)
	if len(d) < 2 {
		return m, 0
	}
	sum := 0.0
	for _, x := range d {
		sum += (x - m) * (x - m)
	}
	return m, math.Sqrt(sum / float64(len(d)-1) / float64(len(d)))
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
