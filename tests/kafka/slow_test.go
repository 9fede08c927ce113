//go:build kafka

package kafka

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/tests/serverproc"
)

// TestKafkaSlowBroker gives an exactly-once sink more than fits into the timeout
// of its transactions, by a quota, and then stops the broker for longer than that.
// The sink goes on by itself, and every row arrives once.
func TestKafkaSlowBroker(t *testing.T) {
	bin, err := serverproc.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	broker, err := startBroker(broker{properties: []string{"transaction.abort.timed.out.transaction.cleanup.interval.ms=500"}})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Stop()
	ctx := t.Context()
	if err := CreateTopics(ctx, broker.Addr(), "out"); err != nil {
		t.Fatal(err)
	}
	server, err := serverproc.Start(serverproc.Options{Bin: bin, Data: filepath.Join(t.TempDir(), "data")})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	conn, err := pgx.Connect(ctx, server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	exec := func(text string) {
		t.Helper()
		if _, err := conn.Exec(ctx, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	const rows = 20_000
	exec("CREATE TABLE t (k int PRIMARY KEY, s text)")
	exec(fmt.Sprintf("INSERT INTO t SELECT g, repeat('x', 150) FROM generate_series(1, %d) g", rows))
	with := func(timeout int) string {
		return fmt.Sprintf(` WITH (connector = 'kafka', topic = 'out', properties.bootstrap.server = '%s', primary_key = 'k', properties.client.id = 'slow',
			properties.compression.type = 'none', properties.transaction.timeout.ms = '%d') FORMAT UPSERT ENCODE JSON`, broker.Addr(), timeout)
	}
	if _, err := conn.Exec(ctx, "CREATE SINK k FROM t"+with(3600000)); err == nil || !strings.Contains(err.Error(), "22023") {
		t.Fatalf("a timeout above the broker's maximum: %v", err)
	}
	quota(t, broker.Addr(), 500_000) // of about 4 MB
	exec("CREATE SINK k FROM t" + with(3000))
	onceEach(t, broker.Addr(), rows)
	quota(t, broker.Addr(), 0)

	// The broker stops while epochs are delivered.
	for i := range 10 {
		if i == 3 {
			if err := broker.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
		exec(fmt.Sprintf("INSERT INTO t VALUES (%d, 'late')", rows+1+i))
	}
	time.Sleep(8 * time.Second)
	if err := broker.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	onceEach(t, broker.Addr(), rows+10)
	t.Logf("%d rows exactly once, through a quota and a broker that stood still", rows+10)
}

// quota bounds what the client slow may write in bytes per second; 0: no bound.
func quota(t *testing.T, addr string, rate float64) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	name := "slow"
	_, err = kadm.NewClient(cl).AlterClientQuotas(t.Context(), []kadm.AlterClientQuotaEntry{{
		Entity: kadm.ClientQuotaEntity{{Type: "client-id", Name: &name}},
		Ops:    []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: rate, Remove: rate == 0}},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// onceEach waits until the topic out holds as many committed records, and checks
// that each key has one.
func onceEach(t *testing.T, addr string, want int) {
	t.Helper()
	var got map[string]int
	poll(func() bool {
		got = map[string]int{}
		err := ReadCommitted(t.Context(), addr, "out", func(r *kgo.Record) error { got[string(r.Key)]++; return nil })
		if err != nil {
			t.Logf("reading: %v", err)
		}
		return err == nil && len(got) >= want
	})
	for k, n := range got {
		if n != 1 {
			t.Fatalf("key %s is there %d times", k, n)
		}
	}
	if len(got) != want {
		t.Fatalf("%d of %d keys are there", len(got), want)
	}
}
