package kafkasql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamdb/streamdb/pgerr"
)

// now runs a query once; its rows must be these, in any order.
func (w *world) now(text string, rows ...string) {
	w.t.Helper()
	got := w.query(text)
	slices.Sort(got)
	slices.Sort(rows)
	if !slices.Equal(got, rows) {
		w.t.Fatalf("%s\n got: %q\nwant: %q", text, got, rows)
	}
}

// A one-off query reads what a source holds at the moment, from the first record
// to the last, whatever the start mode, and is like any other query.
func TestSelectFromSource(t *testing.T) {
	w := newWorld(t)
	w.topic("o", 3)
	w.exec(`CREATE SOURCE o (id int NOT NULL, amount numeric, twice numeric AS amount * 2) INCLUDE PARTITION AS p` +
		w.with("o", ", scan.startup.mode = 'latest'") + ` FORMAT PLAIN ENCODE JSON`)
	w.now(`SELECT * FROM o`)
	w.now(`SELECT count(*) FROM o`, "0")
	w.produce("o", `
{"partition":0,"value":{"id":1,"amount":1.5}}
{"partition":2,"value":{"id":2,"amount":2}}
{"partition":2,"value":{"id":"three"}}
{"partition":0,"raw":"{"}
{"partition":1,"value":{"id":4,"amount":null}}`)
	w.now(`SELECT * FROM o`, "1|1.5|3.0|0", "2|2|4|2", "4|NULL|NULL|1")
	if n := w.sql.Notices; len(n) == 0 || !strings.Contains(n[len(n)-1], "2 records of source \"o\"") {
		t.Errorf("notices: %q", n)
	}
	w.now(`SELECT count(*), sum(amount), max(p) FROM o`, "3|3.5|2")
	w.now(`SELECT id FROM o WHERE amount > 1 ORDER BY id DESC LIMIT 1`, "2")
	w.now(`SELECT a.id, b.id FROM o a JOIN o b ON a.id < b.id`, "1|2", "1|4", "2|4")
	w.exec(`CREATE TABLE names (id int PRIMARY KEY, name text)`)
	w.exec(`INSERT INTO names VALUES (1, 'one'), (4, 'four')`)
	w.now(`SELECT name, amount FROM names LEFT JOIN o USING (id)`, "one|1.5", "four|NULL")
	w.now(`SELECT name FROM names n WHERE EXISTS (SELECT FROM o WHERE o.id = n.id AND amount > 1)`, "one")
	w.exec(`CREATE VIEW big AS SELECT id FROM o WHERE amount >= 2`)
	w.now(`SELECT * FROM big`, "2")
	w.exec(`INSERT INTO names SELECT id, 'from Kafka' FROM o WHERE id = 2`)
	w.now(`SELECT name FROM names WHERE id = 2`, "from Kafka")
	w.exec(`CREATE TABLE copied AS SELECT id, p FROM o`)
	w.now(`SELECT * FROM copied`, "1|0", "2|2", "4|1")
	w.exec(`BEGIN`)
	w.exec(`DECLARE c CURSOR FOR SELECT id FROM o`)
	if got := w.query(`FETCH 2 FROM c`); len(got) != 2 {
		t.Errorf("fetched %q", got)
	}
	w.exec(`ROLLBACK`)
	// Many records, of which few are wanted.
	var rs []*kgo.Record
	for i := range 20_000 {
		rs = append(rs, &kgo.Record{Topic: "o", Partition: int32(i % 3), Value: fmt.Appendf(nil, `{"id":%d,"amount":%d}`, i+10, i)})
	}
	w.write(rs...)
	w.now(`SELECT count(*), sum(amount) FROM o`, "20003|199990003.5")
	if got := w.query(`SELECT id FROM o LIMIT 5`); len(got) != 5 {
		t.Errorf("%q", got)
	}
}

// Only what was committed by now is read, and an open transaction is not waited
// for, in any isolation.
func TestSelectFromTransactions(t *testing.T) {
	w := newWorld(t)
	w.topic("paid", 1)
	writer := func(id string) *kgo.Client {
		cl, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.TransactionalID(id), kgo.DefaultProduceTopic("paid"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.Close)
		return cl
	}
	begin := func(cl *kgo.Client, v string) {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := cl.ProduceSync(context.Background(), &kgo.Record{Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	end := func(cl *kgo.Client, how kgo.TransactionEndTry) {
		if err := cl.EndTransaction(context.Background(), how); err != nil {
			t.Fatal(err)
		}
	}
	w.exec(`CREATE SOURCE s (id int)` + w.with("paid", "") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE SOURCE u (id int)` + w.with("paid", ", isolation = 'read_uncommitted'") + ` FORMAT PLAIN ENCODE JSON`)
	a, b := writer("a"), writer("b")
	begin(a, `{"id":1}`)
	w.now(`SELECT id FROM s`)
	begin(b, `{"id":2}`)
	end(b, kgo.TryCommit)
	w.now(`SELECT id FROM s`, "2")
	begin(b, `{"id":3}`)
	end(a, kgo.TryAbort)
	w.now(`SELECT id FROM s`, "2")
	w.now(`SELECT id FROM u`, "1", "2", "3")
	begin(a, `{"id":4}`)
	end(b, kgo.TryCommit)
	w.produce("paid", `{"value":{"id":5}}`)
	w.now(`SELECT id FROM s`, "2", "3", "5")
	end(a, kgo.TryCommit)
	w.now(`SELECT id FROM s`, "2", "3", "4", "5")
	w.now(`SELECT id FROM u`, "1", "2", "3", "4", "5")
}

// Of records that are the last rows of keys, a query sees the rows there are.
func TestSelectFromUpserts(t *testing.T) {
	w := newWorld(t)
	w.topic("p", 1)
	w.exec(`CREATE SOURCE p (id int PRIMARY KEY, n int NOT NULL, s text DEFAULT 'none')` + w.with("p", "") + ` FORMAT UPSERT ENCODE JSON`)
	w.produce("p", `
{"key":{"id":1},"value":{"n":1}}
{"key":{"id":2},"value":{"n":2,"s":"b"}}
{"key":{"id":1},"value":{"n":10}}
{"key":{"id":3},"value":{"n":3}}
{"key":{"id":3},"value":null}
{"key":{"id":2},"value":{"n":null}}`)
	w.now(`SELECT * FROM p`, "1|10|none", "2|2|b")
	w.now(`SELECT count(*), sum(n) FROM p`, "2|12")
	w.topic("d", 1)
	w.exec(`CREATE SOURCE d (id int PRIMARY KEY, s text)` + w.with("d", "") + ` FORMAT DEBEZIUM ENCODE JSON`)
	w.produce("d", `
{"key":{"id":1},"value":{"op":"c","before":null,"after":{"id":1,"s":"a"}}}
{"key":{"id":2},"value":{"op":"c","before":null,"after":{"id":2,"s":"b"}}}
{"key":{"id":1},"value":{"op":"u","before":{"id":1,"s":"a"},"after":{"id":1,"s":"__debezium_unavailable_value"}}}
{"key":{"id":2},"value":{"op":"d","before":{"id":2,"s":"b"},"after":null}}
{"key":{"id":4},"value":{"op":"c","before":null,"after":{"id":4,"s":"d"}}}`)
	w.now(`SELECT * FROM d`, "1|a", "4|d")
	w.exec(`CREATE MATERIALIZED VIEW m AS SELECT * FROM d`)
	w.want(`SELECT * FROM m`, "1|a", "4|d")
}

// What cannot be read says so.
func TestSelectFromSourceFails(t *testing.T) {
	w := newWorld(t)
	w.topic("e", 1)
	w.exec(`CREATE SOURCE strict (id int NOT NULL)` + w.with("e", ", on_error = 'fail'") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE SOURCE lax (id int)` + w.with("e", ", on_error = 'null'") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE SOURCE gen (n int) WITH (connector = 'datagen')`)
	w.produce("e", "{\"value\":{\"id\":1}}\n{\"value\":{\"id\":\"two\"}}")
	w.now(`SELECT id FROM lax`, "1", "NULL")
	if e := w.fails(`SELECT id FROM strict`, pgerr.InvalidTextRepresentation); !strings.Contains(e.Detail, "offset 1 of e/0") {
		t.Errorf("detail %q", e.Detail)
	}
	if e := w.fails(`SELECT n FROM gen`, pgerr.FeatureNotSupported); e.Pos != 15 || e.Hint == "" {
		t.Errorf("position %d, hint %q", e.Pos, e.Hint)
	}
	w.exec(`SET statement_timeout = '300ms'`)
	w.cluster.ControlKey(1, func(kmsg.Request) (kmsg.Response, error, bool) { // fetches are not answered
		w.cluster.KeepControl()
		w.cluster.SleepControl(func() { time.Sleep(2 * time.Second) })
		return nil, nil, false
	})
	w.fails(`SELECT id FROM lax`, pgerr.QueryCanceled)
	w.exec(`RESET statement_timeout`)
	w.cluster.Close()
	if _, err := w.try(`SELECT id FROM lax`); err == nil || pgerr.From(err).Hint == "" {
		t.Error("without brokers:", err)
	}
	w.now(`SELECT 1`, "1")
}
