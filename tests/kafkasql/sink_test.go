package kafkasql

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamdb/streamdb/pgerr"
)

// The changes that an epoch makes to one sink key are one record: an update that
// moves rows over each other's keys leaves no key deleted that has a row. The key
// of the sink is only part of what tells the view's rows apart.
func TestSinkKeysAreFolded(t *testing.T) {
	w := newWorld(t)
	w.topic("cloth", 1)
	for _, s := range []string{`CREATE TABLE tier_one (id bigint, label text)`, `CREATE TABLE tier_two (id bigint, label text)`,
		`CREATE MATERIALIZED VIEW cloths AS SELECT id, label, 'one' AS tier FROM tier_one UNION SELECT id, label, 'two' AS tier FROM tier_two`,
		`CREATE SINK s FROM cloths` + w.with("cloth", ", primary_key = 'id'") + ` FORMAT UPSERT ENCODE JSON`,
		`INSERT INTO tier_one VALUES (1, 'wool'), (2, 'silk'), (3, 'jute')`, `INSERT INTO tier_two VALUES (9, 'flax')`} {
		w.exec(s)
	}
	row := func(id int, label, tier string) string {
		return fmt.Sprintf(`{"id":%d}={"id":%d,"label":"%s","tier":"%s"}`, id, id, label, tier)
	}
	w.folded("cloth", row(1, "wool", "one"), row(2, "silk", "one"), row(3, "jute", "one"), row(9, "flax", "two"))
	w.exec(`UPDATE tier_one SET label = 'felt' WHERE id = 1`)
	w.folded("cloth", row(1, "felt", "one"), row(2, "silk", "one"), row(3, "jute", "one"), row(9, "flax", "two"))
	w.exec(`UPDATE tier_one SET id = id + 1`)
	w.folded("cloth", row(2, "felt", "one"), row(3, "silk", "one"), row(4, "jute", "one"), row(9, "flax", "two"))
	var gone []string
	for _, r := range w.contents("cloth") {
		if strings.HasSuffix(r, "=gone") {
			gone = append(gone, r)
		}
	}
	if len(gone) != 1 || gone[0] != `{"id":1}=gone` {
		t.Errorf("tombstones: %q", gone)
	}
	// Two rows of one key: one of them stays, and that it is so is told.
	w.exec(`UPDATE tier_one SET id = id - 1 WHERE label = 'jute'`)
	for end := time.Now().Add(patience); ; {
		last := map[string]string{}
		for _, r := range w.contents("cloth") {
			k, v, _ := strings.Cut(r, "=")
			last[k] = v
		}
		if last[`{"id":4}`] == "gone" {
			if v := last[`{"id":3}`]; !strings.Contains(v, "silk") && !strings.Contains(v, "jute") {
				t.Errorf("key 3 ends as %s", v)
			}
			break
		}
		if status := w.query(`SELECT status FROM streamdb_catalog.sinks`); len(status) == 1 && status[0] == "failed" {
			break
		}
		if time.Now().After(end) {
			t.Fatal("neither a record nor an error", last, w.query("SHOW SINKS"), w.query("SHOW JOBS"))
		}
	}
}

// Epochs without rows of the sink commit nothing: a topic has one transaction's
// end for each epoch that brought records.
func TestEmptyEpochsCommitNothing(t *testing.T) {
	w := newWorld(t)
	w.topic("in", 1)
	w.topic("out", 1)
	w.exec(`CREATE SOURCE s (n int)` + w.with("in", "") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE SINK k AS SELECT n FROM s WHERE n >= 0` + w.with("out", "") + ` FORMAT PLAIN ENCODE JSON`)
	w.produce("in", `{"value":{"n":1}}`)
	w.delivered("out", `{"n":1}`)
	for i := range 20 {
		w.produce("in", `{"value":{"n":-1}}`)
		w.want(`SELECT committed_offset FROM streamdb_catalog.source_splits`, fmt.Sprint(i+2))
	}
	w.produce("in", `{"value":{"n":2}}`)
	w.delivered("out", `{"n":1}`, `{"n":2}`)
	if ends, err := kadm.NewClient(w.kafka).ListEndOffsets(context.Background(), "out"); err != nil || ends["out"][0].Offset != 4 {
		t.Errorf("two records and their transactions' ends are %d offsets, %v", ends["out"][0].Offset, err)
	}
}

// The brokers stop between an epoch's records and its commit until its
// transaction has timed out: the sink goes on by itself, and nothing is missing
// or there twice.
func TestStoppedBrokers(t *testing.T) {
	w := newWorld(t)
	w.topic("out", 1)
	w.exec(`CREATE TABLE t (n int PRIMARY KEY)`)
	w.exec(`CREATE SINK k FROM t` + w.with("out", ", properties.transaction.timeout.ms = '1000'") + ` FORMAT UPSERT ENCODE JSON`)
	w.exec(`INSERT INTO t VALUES (1)`)
	w.delivered("out", `{"n":1}={"n":1}`)
	stopped := make(chan struct{})
	w.cluster.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.DropControl() // once
		w.cluster.SleepControl(func() { close(stopped); time.Sleep(2500 * time.Millisecond) })
		return nil, nil, false
	})
	w.exec(`INSERT INTO t VALUES (2)`)
	<-stopped
	w.exec(`INSERT INTO t VALUES (3)`)
	w.delivered("out", `{"n":1}={"n":1}`, `{"n":2}={"n":2}`, `{"n":3}={"n":3}`)
	w.want(`SELECT status, pending_rows FROM streamdb_catalog.sinks`, "running|0")
}

// A timeout that the brokers do not allow is refused when the sink is created.
func TestTimeoutAboveTheMaximum(t *testing.T) {
	w := newWorld(t)
	w.topic("out", 1)
	w.exec(`CREATE TABLE t (n int PRIMARY KEY)`)
	e := w.fails(`CREATE SINK k FROM t`+w.with("out", ", properties.transaction.timeout.ms = '3600000'")+` FORMAT UPSERT ENCODE JSON`, pgerr.InvalidParameterValue)
	if !strings.Contains(e.Msg, "above the maximum") || e.Hint == "" {
		t.Errorf("%s, hint %q", e.Msg, e.Hint)
	}
	w.want(`SELECT count(*) FROM streamdb_catalog.sinks`, "0")
}

// The markers have vanished from Kafka: the sink cannot know what was delivered,
// and says so instead of delivering it again.
func TestLostMarkers(t *testing.T) {
	w := newWorld(t)
	w.topic("out", 1)
	w.exec(`CREATE TABLE t (n int PRIMARY KEY)`)
	w.exec(`CREATE SINK k FROM t` + w.with("out", "") + ` FORMAT UPSERT ENCODE JSON`)
	w.exec(`INSERT INTO t VALUES (1)`)
	w.delivered("out", `{"n":1}={"n":1}`)
	w.want(`SELECT pending_rows FROM streamdb_catalog.sinks`, "0")
	if err := w.eng.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := kadm.NewClient(w.kafka).DeleteTopic(context.Background(), "__streamdb_markers"); err != nil {
		t.Fatal(err)
	}
	w.open()
	w.exec(`INSERT INTO t VALUES (2)`)
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		r := w.query(`SELECT status, error FROM streamdb_catalog.sinks`)[0]
		if strings.Contains(r, "has delivered epoch") {
			break
		}
		if time.Now().After(end) {
			t.Fatal(r)
		}
	}
	w.exec(`DROP SINK k`)
	w.exec(`CREATE SINK k FROM t` + w.with("out", "") + ` FORMAT UPSERT ENCODE JSON`)
	w.delivered("out", `{"n":1}={"n":1}`, `{"n":1}={"n":1}`, `{"n":2}={"n":2}`) // a new sink begins with all rows
}

// A data directory that is older than what was delivered is not taken up.
func TestOlderDataDirectory(t *testing.T) {
	w := newWorld(t)
	w.topic("out", 1)
	w.exec(`CREATE TABLE t (n int PRIMARY KEY)`)
	w.exec(`CREATE SINK k FROM t` + w.with("out", "") + ` FORMAT UPSERT ENCODE JSON`)
	w.exec(`INSERT INTO t VALUES (1)`)
	w.delivered("out", `{"n":1}={"n":1}`)
	if err := w.eng.Close(); err != nil {
		t.Fatal(err)
	}
	old := w.copyData()
	w.open()
	for n := range 30 {
		w.exec(fmt.Sprintf(`INSERT INTO t VALUES (%d)`, n+2))
	}
	w.want(`SELECT pending_rows FROM streamdb_catalog.sinks`, "0")
	if err := w.eng.Close(); err != nil {
		t.Fatal(err)
	}
	w.cfg.Dir = old
	w.open()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		r := w.query(`SELECT status, error FROM streamdb_catalog.sinks`)[0]
		if strings.Contains(r, "but the data directory ends at") {
			break
		}
		if time.Now().After(end) {
			t.Fatal(r)
		}
	}
	if n := len(w.contents("out")); n != 31 {
		t.Errorf("%d records", n)
	}
}
