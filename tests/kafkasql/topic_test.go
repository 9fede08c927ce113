package kafkasql

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// contents returns the committed records of a topic's partition 0 as key=value,
// the key left out if there is none.
func (w *world) contents(topic string) []string {
	w.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(50*time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		w.t.Fatal(err)
	}
	defer cl.Close()
	var out []string
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
		fs := cl.PollFetches(ctx)
		cancel()
		if fs.NumRecords() == 0 {
			return out
		}
		fs.EachRecord(func(r *kgo.Record) {
			s := string(r.Value)
			if r.Value == nil {
				s = "gone"
			}
			if r.Key != nil {
				s = string(r.Key) + "=" + s
			}
			out = append(out, s)
		})
	}
}

// delivered waits until a topic holds exactly these records, in any order.
func (w *world) delivered(topic string, want ...string) {
	w.t.Helper()
	slices.Sort(want)
	var got []string
	for end := time.Now().Add(patience); time.Now().Before(end); {
		got = w.contents(topic)
		slices.Sort(got)
		if slices.Equal(got, want) {
			return
		}
	}
	w.t.Fatalf("topic %s\n got: %s\nwant: %s\nsinks: %q", topic, strings.Join(got, "\n"), strings.Join(want, "\n"), w.query("SHOW SINKS"))
}

// folded waits until the last records of a topic's keys are these.
func (w *world) folded(topic string, want ...string) {
	w.t.Helper()
	slices.Sort(want)
	var got []string
	for end := time.Now().Add(patience); time.Now().Before(end); {
		last := map[string]string{}
		for _, r := range w.contents(topic) {
			k, v, _ := strings.Cut(r, "=")
			if last[k] = v; v == "gone" {
				delete(last, k)
			}
		}
		got = got[:0]
		for k, v := range last {
			got = append(got, k+"="+v)
		}
		slices.Sort(got)
		if slices.Equal(got, want) {
			return
		}
	}
	w.t.Fatalf("topic %s\n got: %s\nwant: %s", topic, strings.Join(got, "\n"), strings.Join(want, "\n"))
}

func record(topic, key, value string) *kgo.Record {
	return &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(value)}
}

// jobStatus waits until a job has the status.
func (w *world) jobStatus(job, status string) {
	w.t.Helper()
	var rows []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		rows = w.query("SHOW JOBS")
		for _, r := range rows {
			if f := strings.Split(r, "|"); f[1] == job && f[3] == status {
				return
			}
		}
	}
	w.t.Fatalf("%s is not %s: %q", job, status, rows)
}
