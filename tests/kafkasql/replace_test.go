package kafkasql

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// expire deletes all that is in a topic's partitions.
func (w *world) expire(topic string) {
	w.t.Helper()
	adm := kadm.NewClient(w.kafka)
	ends, err := adm.ListEndOffsets(context.Background(), topic)
	if err == nil {
		_, err = adm.DeleteRecords(context.Background(), ends.Offsets())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// A replaced view keeps what it has made of records that the topics no longer
// have: groups, rows of keys, both sides of a join, and what did not decode.
func TestReplacedViewsKeepOldRecords(t *testing.T) {
	w := newWorld(t)
	w.topic("o", 2)
	w.topic("u", 2)
	w.exec(`CREATE SOURCE orders (id int, usr int, amount int)` + w.with("o", "") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE SOURCE users (id int PRIMARY KEY, name text)` + w.with("u", "") + ` FORMAT UPSERT ENCODE JSON`)
	w.exec(`CREATE MATERIALIZED VIEW sums AS SELECT usr, count(*) AS n, sum(amount) AS s FROM orders GROUP BY usr`)
	w.exec(`CREATE MATERIALIZED VIEW names AS SELECT id, name FROM users`)
	w.exec(`CREATE MATERIALIZED VIEW bought AS SELECT o.id, u.name, o.amount FROM orders o LEFT JOIN users u ON u.id = o.usr`)
	w.exec(`CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(s) AS s FROM sums`)
	w.produce("o", `
{"partition":0,"value":{"id":1,"usr":1,"amount":10}}
{"partition":1,"value":{"id":2,"usr":2,"amount":20}}
{"partition":1,"raw":"{"}
{"partition":0,"value":{"id":3,"usr":1,"amount":30}}
{"partition":1,"value":{"id":4,"usr":null,"amount":40}}`)
	w.produce("u", `
{"partition":0,"key":{"id":1},"value":{"name":"ann"}}
{"partition":1,"key":{"id":2},"value":{"name":"bob"}}
{"partition":1,"key":{"id":3},"value":{"name":"cat"}}`)
	bad := `SELECT job, record_offset FROM streamdb_catalog.source_errors`
	w.want(`SELECT * FROM sums`, "1|2|40", "2|1|20", "NULL|1|40")
	w.want(`SELECT * FROM names`, "1|ann", "2|bob", "3|cat")
	w.want(`SELECT * FROM bought`, "1|ann|10", "2|bob|20", "3|ann|30", "4|NULL|40")
	w.want(bad, "sums|1", "bought|1")
	w.expire("o")
	w.expire("u")

	w.exec(`CREATE OR REPLACE MATERIALIZED VIEW sums AS SELECT usr, count(*) AS n, sum(amount) AS s, sum(amount) / count(*) AS mean FROM orders GROUP BY usr HAVING count(*) > 1`)
	w.exec(`CREATE OR REPLACE MATERIALIZED VIEW names AS SELECT id, upper(name) AS name FROM users`)
	w.exec(`CREATE OR REPLACE MATERIALIZED VIEW bought AS SELECT name, sum(amount) AS s, max(id) AS last FROM (SELECT o.id, u.name, o.amount FROM orders o LEFT JOIN users u ON u.id = o.usr) x GROUP BY name`)
	now := func(text string, rows ...string) {
		t.Helper()
		if got, _ := w.try(text); len(got) != len(rows) {
			t.Fatalf("%s: %v at once, want %v", text, got, rows)
		}
		w.want(text, rows...)
	}
	now(`SELECT * FROM sums`, "1|2|40|20")
	now(`SELECT * FROM total`, "1|40")
	now(`SELECT * FROM names`, "1|ANN", "2|BOB", "3|CAT")
	now(`SELECT * FROM bought`, "ann|40|3", "bob|20|2", "NULL|40|4")
	now(bad, "sums|1", "bought|1")

	w.restart()
	w.produce("o", `
{"partition":1,"value":{"id":5,"usr":2,"amount":50}}
{"partition":0,"value":{"id":6,"usr":3,"amount":60}}`)
	w.produce("u", `
{"partition":1,"key":{"id":2},"value":{"name":"bea"}}
{"partition":0,"key":{"id":1},"value":null}`)
	w.want(`SELECT * FROM sums`, "1|2|40|20", "2|2|70|35")
	w.want(`SELECT * FROM total`, "2|110")
	w.want(`SELECT * FROM names`, "2|BEA", "3|CAT")
	w.want(`SELECT * FROM bought`, "bea|70|5", "cat|60|6", "NULL|80|4")

	// What reads the records themselves begins where CREATE would.
	w.exec(`CREATE OR REPLACE MATERIALIZED VIEW sums AS SELECT usr, count(*) AS n, sum(amount) AS s, max(amount)::bigint AS mean FROM orders WHERE amount > 10 GROUP BY usr`)
	w.want(`SELECT * FROM sums`, "2|1|50|50", "3|1|60|60")
	w.want(`SELECT * FROM total`, "2|110")
	w.want(bad, "bought|1")
}
