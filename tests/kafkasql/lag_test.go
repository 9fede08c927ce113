package kafkasql

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/tests/serverproc"
)

const splits = `SELECT job, split, next_offset, committed_offset, end_offset, lag, status FROM streamdb_catalog.source_splits`

// Markers and aborted records are passed over, an open transaction is not waited
// for, and the lag is what the log still holds.
func TestTransactionalTopic(t *testing.T) {
	w := newWorld(t)
	w.topic("paid", 1)
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.TransactionalID("writer"), kgo.DefaultProduceTopic("paid"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx := context.Background()
	begin := func(v string) {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := cl.ProduceSync(ctx, &kgo.Record{Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	end := func(how kgo.TransactionEndTry) {
		if err := cl.EndTransaction(ctx, how); err != nil {
			t.Fatal(err)
		}
	}
	begin(`{"id":1}`)
	end(kgo.TryCommit)
	w.exec(`CREATE SOURCE paid (id int)` + w.with("paid", "") + ` FORMAT PLAIN ENCODE JSON`)
	w.want(`SELECT status, jobs, lag FROM streamdb_catalog.sources`, "not read|0|NULL")
	w.exec(`CREATE MATERIALIZED VIEW v AS SELECT id FROM paid`)
	w.want(`SELECT * FROM v`, "1")
	w.want(splits, "v|0|2|2|2|0|running")
	begin(`{"id":2}`)
	end(kgo.TryAbort)
	w.want(splits, "v|0|4|4|4|0|running")
	begin(`{"id":3}`)
	w.want(splits, "v|0|4|4|5|1|running")
	w.want(`SELECT * FROM v`, "1")
	end(kgo.TryCommit)
	w.want(`SELECT * FROM v`, "1", "3")
	w.restart()
	w.exec(`CREATE MATERIALIZED VIEW u AS SELECT id FROM paid`)
	w.want(`SELECT * FROM u`, "1", "3")
	w.want(splits, "v|0|6|6|6|0|running", "u|0|6|6|6|0|running")
	w.want(`SHOW SOURCES`, "paid|kafka|PLAIN JSON|running|2|0|0|NULL|NULL")
	w.want(`SHOW SOURCES LIKE 'x%'`)
}

// A partition that appears later is read from its first record, whatever the
// start mode.
func TestNewPartition(t *testing.T) {
	w := newWorld(t)
	w.topic("bell", 1)
	w.produce("bell", `{"value":{"n":100000}}`)
	w.exec(`CREATE SOURCE bell (n int)` + w.with("bell", ", scan.startup.mode = 'latest', scan.discovery.interval.ms = 50") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(n) AS s FROM bell`)
	w.produce("bell", `{"value":{"n":1}}`)
	if _, err := kadm.NewClient(w.kafka).CreatePartitions(context.Background(), 1, "bell"); err != nil {
		t.Fatal(err)
	}
	w.reconnect()
	w.produce("bell", "{\"partition\":1,\"value\":{\"n\":10}}\n{\"partition\":1,\"value\":{\"n\":100}}")
	w.want(`SELECT * FROM v`, "3|111")
	w.produce("bell", `{"partition":1,"value":{"n":1000}}`)
	w.want(`SELECT * FROM v`, "4|1111")
	w.restart()
	w.want(`SELECT * FROM v`, "4|1111")
}

// While the brokers are away, sources and sinks say so, since when and why; when
// they are back, both go on.
func TestBrokersAway(t *testing.T) {
	addr, err := serverproc.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	same := []kfake.Opt{kfake.Ports(n), kfake.DataDir(t.TempDir())}
	w := newWorld(t, same...)
	w.topic("in", 1)
	w.topic("out", 1)
	w.exec(`CREATE TABLE t (a int PRIMARY KEY)`)
	w.exec(`CREATE SOURCE s (id int)` + w.with("in", "") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE MATERIALIZED VIEW v AS SELECT id FROM s`)
	w.exec(`CREATE SINK k FROM t` + w.with("out", ", primary_key = 'a'") + ` FORMAT UPSERT ENCODE JSON`)
	w.exec(`CREATE SINK idle FROM t` + w.with("out", ", primary_key = 'a'") + ` FORMAT UPSERT ENCODE JSON`)
	w.produce("in", `{"value":{"id":1}}`)
	w.want(`SELECT * FROM v`, "1")
	w.exec(`INSERT INTO t VALUES (1)`)
	w.want(`SELECT name, status, pending_epochs FROM streamdb_catalog.sinks`, "k|running|0", "idle|running|0")
	w.cluster.Close()
	const state = `SELECT 'sink', name, status, error LIKE 'could not reach the Kafka brokers at 127.0.0.1%', since IS NOT NULL FROM streamdb_catalog.sinks
		UNION ALL SELECT 'source', name, status, error LIKE 'could not reach%', since < now() FROM streamdb_catalog.sources
		UNION ALL SELECT 'split', job, status, error LIKE 'could not reach%', since < now() FROM streamdb_catalog.source_splits WHERE status <> 'running'
		UNION ALL SELECT 'job', name, status, error LIKE 'could not reach%', since < now() FROM streamdb_catalog.jobs`
	away := []string{"sink|k|retrying|t|t", "sink|idle|retrying|t|t", "source|s|retrying|t|t", "job|v|retrying|t|t", "job|k|retrying|t|t", "job|idle|retrying|t|t"}
	w.want(state, append(away, "split|v|retrying|t|t")...)
	w.exec(`INSERT INTO t VALUES (2), (3)`)
	w.want(`SELECT count(*) FROM t`, "3")
	w.want(`SELECT name, pending_epochs, pending_rows, pending_bytes > 0, pending_since < now() FROM streamdb_catalog.sinks`, "k|1|2|t|t", "idle|1|2|t|t")
	if got := w.query("SHOW SINKS"); !strings.Contains(got[0], "|retrying|1|2|") {
		t.Error(got)
	}
	c, err := kfake.NewCluster(append(same, kfake.NumBrokers(1))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w.cluster = c
	w.reconnect()
	w.produce("in", `{"value":{"id":2}}`)
	w.want(`SELECT * FROM v`, "1", "2")
	w.folded("out", `{"a":1}={"a":1}`, `{"a":2}={"a":2}`, `{"a":3}={"a":3}`)
	w.want(`SELECT name, status, error, pending_rows FROM streamdb_catalog.sinks`, "k|running|NULL|0", "idle|running|NULL|0")
	w.want(`SELECT name, status FROM streamdb_catalog.jobs`, "v|running", "k|running", "idle|running")
}
