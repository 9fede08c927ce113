package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// patience bounds every poll; tests return as soon as the condition holds.
const patience = 30 * time.Second

func config(dir string) jobs.Config {
	return jobs.Config{Dir: dir, NoSync: true, BarrierInterval: 5 * time.Millisecond, Parallelism: 2,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

func open(t *testing.T, cfg jobs.Config) *Engine {
	t.Helper()
	e, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// client is a session that fails its test on unexpected errors.
type client struct {
	t testing.TB
	l *Local
}

func connect(t testing.TB, e *Engine) *client {
	t.Helper()
	l, err := e.OpenLocal()
	if err != nil {
		t.Fatal(err)
	}
	return &client{t, l}
}

func (c *client) try(format string, args ...any) error {
	_, err := c.l.Exec(context.Background(), fmt.Sprintf(format, args...))
	return err
}

func (c *client) exec(format string, args ...any) {
	c.t.Helper()
	if err := c.try(format, args...); err != nil {
		c.t.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
}

// query returns the rows as text, columns separated by |, weights expanded.
func (c *client) query(text string) []string {
	c.t.Helper()
	ch, err := c.l.Exec(context.Background(), text)
	if err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	return rowsOf(ch)
}

func rowsOf(ch *vec.Chunk) (out []string) {
	if ch == nil {
		return nil
	}
	for i := range ch.Rows {
		var b []byte
		for k, v := range ch.Cols {
			if k > 0 {
				b = append(b, '|')
			}
			if v.IsNull(i) {
				b = append(b, "NULL"...)
			} else {
				b = types.AppendText(b, v.Type(), v.Datum(i), &types.Options{})
			}
		}
		for range ch.Weight(i) {
			out = append(out, string(b))
		}
	}
	return out
}

func (c *client) one(text string) string {
	c.t.Helper()
	return strings.Join(c.query(text), "\n")
}

func (c *client) want(text, want string) {
	c.t.Helper()
	if got := c.one(text); got != want {
		c.t.Fatalf("%s\n got: %s\nwant: %s", text, got, want)
	}
}

// same checks that a view and a query agree.
func (c *client) same(view, query string) {
	c.t.Helper()
	a, b := c.query(view), c.query(query)
	if len(a) != len(b) {
		c.t.Fatalf("%s: %d rows, %s: %d rows", view, len(a), query, len(b))
	}
	for i := range a {
		if a[i] != b[i] {
			c.t.Fatalf("row %d: %s: %s, %s: %s", i, view, a[i], query, b[i])
		}
	}
}

func (c *client) status(job string) (status, msg string) {
	c.t.Helper()
	for _, r := range c.query("SHOW JOBS") {
		f := strings.Split(r, "|")
		if f[1] == job {
			return f[3], f[6]
		}
	}
	return "absent", ""
}

func (c *client) awaitStatus(job, want string) string {
	c.t.Helper()
	var got, msg string
	poll(c.t, func() bool { got, msg = c.status(job); return got == want }, func() string { return job + " is " + got + ": " + msg })
	return msg
}

func poll(t testing.TB, ok func() bool, state func() string) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not: %s", state())
		}
	}
}

func code(err error) string { return string(pgerr.CodeOf(err)) }

// goroutines waits until no more than n goroutines run.
func goroutines(t *testing.T, n int) {
	t.Helper()
	poll(t, func() bool { return runtime.NumGoroutine() <= n }, func() string {
		buf := make([]byte, 1<<20)
		return fmt.Sprintf("%d goroutines, expected %d\n%s", runtime.NumGoroutine(), n, buf[:runtime.Stack(buf, true)])
	})
}

// feed is a source connector under a test's control: numbers 0, 1, 2, ... in one
// split, as far as allowed.
type feedSource struct {
	mu      sync.Mutex
	limit   int64
	openErr error
	rest    time.Duration // between chunks
	gone    int64         // of the records before it nothing is left
	// broken makes the next chunks lack their column, which no operator survives.
	broken int
	grown  chan struct{}
}

func newFeed() *feedSource { return &feedSource{grown: make(chan struct{})} }

func (f *feedSource) allow(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit = n
	close(f.grown)
	f.grown = make(chan struct{})
}

func (f *feedSource) set(g func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g()
}

func (f *feedSource) definition() connector.Definition {
	return connector.Definition{Name: "feed", Source: func(connector.SourceSpec) (connector.Source, error) { return f, nil }}
}

func (f *feedSource) Columns() []connector.Column {
	return []connector.Column{{Name: "n", Typ: types.TInt8}}
}
func (f *feedSource) AppendOnly() bool            { return true }
func (f *feedSource) Check(context.Context) error { return nil }
func (f *feedSource) Open(_ context.Context, cols []int, inst, _ int, offsets map[string]string) (connector.Reader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.openErr != nil {
		return nil, f.openErr
	}
	r := &feedReader{f: f, cols: cols, idle: inst != 0}
	r.at = f.gone
	fmt.Sscan(offsets["0"], &r.at)
	return r, nil
}

type feedReader struct {
	f    *feedSource
	cols []int
	at   int64
	idle bool
	told bool // the first batch, which tells where reading begins
}

func (r *feedReader) Close() error { return nil }
func (r *feedReader) Read(ctx context.Context) (*connector.Batch, error) {
	if !r.told {
		r.told = true
		return &connector.Batch{}, nil
	}
	for {
		r.f.mu.Lock()
		limit, grown := r.f.limit, r.f.grown
		broken := r.f.broken > 0 && r.at < limit && !r.idle
		if broken {
			r.f.broken--
		}
		r.f.mu.Unlock()
		if r.idle || r.at >= limit {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-grown:
			}
			continue
		}
		c := vec.NewChunk([]types.T{types.TInt8}, 16)
		for ; r.at < limit && c.Rows < 100; r.at++ {
			c.AppendRow(1, r.at)
		}
		if broken {
			c.Cols = nil
		} else if len(r.cols) == 0 {
			c.Cols = nil
		}
		time.Sleep(r.f.rest)
		return &connector.Batch{Chunk: c, Offsets: map[string]string{"0": fmt.Sprint(r.at)}}, nil
	}
}

// targetSink is a sink connector under a test's control.
type targetSink struct {
	mu      sync.Mutex
	err     error         // of Open and Deliver
	stuck   chan struct{} // set: Deliver waits for it, whatever its context says
	panicky int           // Encode panics that often
	epochs  []types.Epoch
	rows    []string
}

func (s *targetSink) definition() connector.Definition {
	return connector.Definition{Name: "target", Sink: func(connector.SinkSpec) (connector.Sink, error) { return s, nil }}
}

func (s *targetSink) set(g func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g()
}

func (s *targetSink) Check(context.Context) error { return nil }
func (s *targetSink) Encoder() connector.Encoder  { return (*targetEncoder)(s) }
func (s *targetSink) Open(context.Context) (connector.Deliverer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (*targetDeliverer)(s), s.err
}

type targetEncoder targetSink

func (s *targetEncoder) Encode(dst []byte, c *vec.Chunk) ([]byte, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.panicky > 0 {
		s.panicky--
		panic("the encoder is broken")
	}
	n := 0
	for i := range c.Rows {
		dst = fmt.Appendf(dst, "%+d %v\n", c.Weight(i), c.Cols[0].Datum(i))
		n++
	}
	return dst, n, nil
}

type targetDeliverer targetSink

func (s *targetDeliverer) Close() error { return nil }
func (s *targetDeliverer) Last(context.Context) (types.Epoch, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.epochs) == 0 {
		return 0, true, nil
	}
	return s.epochs[len(s.epochs)-1], true, nil
}

func (s *targetDeliverer) Deliver(_ context.Context, e types.Epoch, records []byte) error {
	s.mu.Lock()
	stuck := s.stuck
	s.mu.Unlock()
	if stuck != nil {
		<-stuck
		return errors.New("was stuck")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.epochs = append(s.epochs, e)
	s.rows = append(s.rows, strings.Fields(strings.ReplaceAll(string(records), " ", ":"))...)
	return nil
}

// withConnectors is a configuration with the given test connectors.
func withConnectors(dir string, ds ...connector.Definition) jobs.Config {
	c := config(dir)
	c.Connectors = map[string]connector.Definition{}
	for _, d := range ds {
		c.Connectors[d.Name] = d
	}
	return c
}
