package kafkasql

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector/registry"
	"github.com/streamdb/streamdb/engine"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// patience bounds every wait; tests go on as soon as the condition holds.
const patience = 30 * time.Second

// world is an engine, brokers and a client of each.
type world struct {
	t       *testing.T
	cluster *kfake.Cluster
	kafka   *kgo.Client
	cfg     engine.Config
	eng     *engine.Engine
	sql     *engine.Local
}

func newWorld(t *testing.T, opts ...kfake.Opt) *world {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := &world{t: t, cluster: c}
	w.reconnect()
	w.cfg = engine.Config{Dir: t.TempDir(), NoSync: true, BarrierInterval: 10 * time.Millisecond, Parallelism: 2,
		Connectors: registry.All(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	w.open()
	t.Cleanup(func() { w.eng.Close() })
	return w
}

// reconnect makes the tests' own client anew; it then knows of what has changed.
func (w *world) reconnect() {
	w.t.Helper()
	var err error
	w.kafka, err = kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(20*time.Millisecond))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.kafka.Close)
}

func (w *world) open() {
	w.t.Helper()
	var err error
	if w.eng, err = engine.Open(w.cfg); err != nil {
		w.t.Fatal(err)
	}
	if w.sql, err = w.eng.OpenLocal(); err != nil {
		w.t.Fatal(err)
	}
}

// restart closes the engine and opens it on the same data directory.
func (w *world) restart() {
	w.t.Helper()
	if err := w.eng.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open()
}

func (w *world) topic(name string, partitions int32) {
	w.t.Helper()
	if _, err := kadm.NewClient(w.kafka).CreateTopic(context.Background(), partitions, 1, nil, name); err != nil {
		w.t.Fatal(err)
	}
}

// with is the options of a connector on a topic, and more.
func (w *world) with(topic, more string) string {
	return fmt.Sprintf(" WITH (connector = 'kafka', topic = '%s', properties.bootstrap.server = '%s'%s)", topic, strings.Join(w.cluster.ListenAddrs(), ","), more)
}

// line is a record as the tests write it.
type line struct {
	Partition int32           `json:"partition"`
	Key       json.RawMessage `json:"key"`
	Value     json.RawMessage `json:"value"`
	Raw       *string         `json:"raw"` // the value as it is
}

// produce writes records, a line of JSON each, in order.
func (w *world) produce(topic, lines string) {
	w.t.Helper()
	for _, l := range strings.Split(strings.TrimSpace(lines), "\n") {
		var x line
		if err := json.Unmarshal([]byte(l), &x); err != nil {
			w.t.Fatalf("%s: %v", l, err)
		}
		r := &kgo.Record{Topic: topic, Partition: x.Partition, Key: x.Key}
		switch {
		case x.Raw != nil:
			r.Value = []byte(*x.Raw)
		case x.Value != nil && string(x.Value) != "null":
			r.Value = x.Value
		}
		w.write(r)
	}
}

func (w *world) write(rs ...*kgo.Record) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.kafka.ProduceSync(ctx, rs...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) try(text string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := w.sql.Exec(ctx, text)
	if err != nil || c == nil {
		return nil, err
	}
	var out []string
	for i := range c.Rows {
		var b []byte
		for k, v := range c.Cols {
			if k > 0 {
				b = append(b, '|')
			}
			if v.IsNull(i) {
				b = append(b, "NULL"...)
			} else {
				b = types.AppendText(b, v.Type(), v.Datum(i), &types.Options{})
			}
		}
		for range c.Weight(i) {
			out = append(out, string(b))
		}
	}
	return out, nil
}

func (w *world) exec(text string) {
	w.t.Helper()
	if _, err := w.try(text); err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
}

func (w *world) query(text string) []string {
	w.t.Helper()
	rows, err := w.try(text)
	if err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	return rows
}

// want waits until a query gives the rows, in any order.
func (w *world) want(text string, rows ...string) {
	w.t.Helper()
	slices.Sort(rows)
	var got []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		got = w.query(text)
		slices.Sort(got)
		if slices.Equal(got, rows) {
			return
		}
	}
	w.t.Fatalf("%s\n got: %q\nwant: %q\njobs: %q", text, got, rows, w.query("SHOW JOBS"))
}

// fails runs a statement that must fail with the code, and returns its error.
func (w *world) fails(text string, code pgerr.Code) *pgerr.Error {
	w.t.Helper()
	_, err := w.try(text)
	if pgerr.CodeOf(err) != code {
		w.t.Fatalf("%s: %v, want %s", text, err, code)
	}
	return pgerr.From(err)
}

// textLog logs everything to a buffer.
func textLog(b *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// copyData copies the data directory of the engine, which is closed.
func (w *world) copyData() string {
	w.t.Helper()
	dir := w.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(w.cfg.Dir)); err != nil {
		w.t.Fatal(err)
	}
	return dir
}
