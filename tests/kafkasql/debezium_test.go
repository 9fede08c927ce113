package kafkasql

import (
	"strings"
	"testing"
)

const memberEvents = `
{"partition":0,"key":{"id":1},"value":{"op":"r","before":null,"after":{"id":1,"nick":"ro"},"source":{"lsn":500,"snapshot":"last"}}}
{"partition":0,"key":{"id":1},"value":{"op":"d","before":{"id":1,"nick":"ro"},"after":null,"source":{"lsn":540,"txId":9}}}
{"partition":0,"key":{"id":1},"value":null}
{"partition":0,"key":{"id":2},"value":{"op":"c","before":null,"after":{"id":2,"nick":"ro"},"source":{"lsn":540,"txId":9}}}
{"partition":0,"key":{"id":3},"value":{"op":"c","before":null,"after":{"id":3,"nick":"su"},"source":{"lsn":560,"txId":10}}}
{"partition":0,"key":{"id":3},"value":{"op":"d","before":{"id":3,"nick":"su"},"after":null,"source":{"lsn":570,"txId":11}}}
{"partition":0,"key":{"id":3},"value":null}`

// A primary key that changes upstream is a deletion and a creation, in one
// partition or two; or one update.
func TestChangedKey(t *testing.T) {
	w := newWorld(t)
	def := func(name string) {
		w.topic(name, 2)
		w.exec(`CREATE SOURCE ` + name + ` (id int PRIMARY KEY, nick text)` + w.with(name, "") + ` FORMAT DEBEZIUM ENCODE JSON`)
		w.exec(`CREATE MATERIALIZED VIEW v_` + name + ` AS SELECT id, nick FROM ` + name)
	}
	def("members")
	w.produce("members", memberEvents)
	w.want(`SELECT * FROM v_members`, "2|ro")
	def("apart")
	lines := strings.Split(strings.TrimSpace(memberEvents), "\n")
	lines[3] = strings.Replace(lines[3], `"partition":0`, `"partition":1`, 1)
	lines[1], lines[2], lines[3] = lines[3], lines[1], lines[2]
	w.produce("apart", strings.Join(lines, "\n"))
	w.want(`SELECT * FROM v_apart`, "2|ro")
	def("updated")
	w.produce("updated", `
{"key":{"id":1},"value":{"op":"c","before":null,"after":{"id":1,"nick":"ro"}}}
{"key":{"id":4},"value":{"op":"u","before":{"id":1,"nick":"ro"},"after":{"id":4,"nick":"ro"}}}
{"key":{"id":5},"value":{"op":"c","before":null,"after":{"id":5,"nick":"x"}}}
{"key":{"id":5},"value":{"op":"d","before":null,"after":null}}`)
	w.want(`SELECT * FROM v_updated`, "4|ro")
	w.want(`SELECT count(*) FROM streamdb_catalog.source_errors`, "0")
}

// Large values that an update leaves out stay as they were, over a restart too.
func TestUnavailableValues(t *testing.T) {
	w := newWorld(t)
	w.topic("pages", 1)
	w.exec(`CREATE SOURCE pages (id int PRIMARY KEY, hits int, body text, bin bytea, tags text[], doc jsonb)` + w.with("pages", "") + ` FORMAT DEBEZIUM ENCODE JSON`)
	w.exec(`CREATE MATERIALIZED VIEW v AS SELECT * FROM pages`)
	w.exec(`CREATE MATERIALIZED VIEW n AS SELECT sum(hits) AS h, count(body) AS b FROM pages`)
	w.produce("pages", `
{"key":{"id":1},"value":{"op":"c","before":null,"after":{"id":1,"hits":0,"body":"long text A","bin":"AQID","tags":["x","y"],"doc":"{\"a\": 1}"}}}
{"key":{"id":2},"value":{"op":"c","before":null,"after":{"id":2,"hits":0,"body":"long text B","bin":null,"tags":[],"doc":null}}}
{"key":{"id":1},"value":{"op":"u","before":null,"after":{"id":1,"hits":5,"body":"__debezium_unavailable_value","bin":"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==","tags":["__debezium_unavailable_value"],"doc":"__debezium_unavailable_value"}}}`)
	w.want(`SELECT * FROM n`, "5|2")
	w.restart()
	w.produce("pages", `
{"key":{"id":2},"value":{"op":"u","before":null,"after":{"id":2,"hits":6,"body":null,"bin":null,"tags":[],"doc":null}}}
{"key":{"id":1},"value":{"op":"u","before":null,"after":{"id":1,"hits":5,"body":"__debezium_unavailable_value","bin":"AQID","tags":["__debezium_unavailable_value"],"doc":"__debezium_unavailable_value"}}}
{"key":{"id":3},"value":{"op":"u","before":null,"after":{"id":3,"hits":1,"body":"__debezium_unavailable_value"}}}`)
	w.want(`SELECT * FROM v`, `1|5|long text A|\x010203|{x,y}|{"a": 1}`, `2|6|NULL|NULL|{}|NULL`)
	w.want(`SELECT * FROM n`, "11|1")
	w.want(`SELECT job, sqlstate FROM streamdb_catalog.view_errors`, "v|22000", "n|22000")
}

// Events that come twice, and a second snapshot, change nothing.
func TestRepeatedEvents(t *testing.T) {
	for _, wrapped := range []bool{false, true} {
		w := newWorld(t)
		w.topic("seats", 1)
		w.exec(`CREATE SOURCE seats (id int PRIMARY KEY, zone text)` + w.with("seats", "") + ` FORMAT DEBEZIUM ENCODE JSON`)
		w.exec(`CREATE MATERIALIZED VIEW rows AS SELECT * FROM seats`)
		w.exec(`CREATE MATERIALIZED VIEW zones AS SELECT zone, count(*) AS n FROM seats GROUP BY zone`)
		for _, l := range strings.Split(strings.TrimSpace(seatEvents), "\n") {
			if wrapped {
				l = strings.Replace(l, `"value":{`, `"value":{"schema":{"op":"x"},"payload":{`, 1) + "}"
				l = strings.Replace(l, `"key":{`, `"key":{"schema":{},"payload":{`, 1)
				l = strings.Replace(l, `},"value"`, `}},"value"`, 1)
			}
			w.produce("seats", l)
		}
		w.want(`SELECT * FROM rows`, "1|b", "3|c", "4|a")
		w.want(`SELECT * FROM zones`, "a|1", "b|1", "c|1")
		w.want(`SELECT message FROM streamdb_catalog.source_errors`)
		w.produce("seats", `{"value":{"op":"t"}}
{"value":{"id":1}}
{"value":{"op":"u","before":null,"after":null}}
{"value":{"op":"z"}}`)
		w.want(`SELECT record_offset, sqlstate FROM streamdb_catalog.source_errors WHERE job = 'rows'`, "11|0A000", "12|22P02", "13|22P02", "14|22P02")
		w.want(`SELECT * FROM rows`, "1|b", "3|c", "4|a")
	}
}

const seatEvents = `
{"key":{"id":1},"value":{"op":"r","before":null,"after":{"id":1,"zone":"a"},"source":{"lsn":100,"snapshot":"true"}}}
{"key":{"id":2},"value":{"op":"r","before":null,"after":{"id":2,"zone":"a"},"source":{"lsn":100,"snapshot":"last"}}}
{"key":{"id":1},"value":{"op":"u","before":{"id":1,"zone":"a"},"after":{"id":1,"zone":"b"},"source":{"lsn":120}}}
{"key":{"id":1},"value":{"op":"u","before":{"id":1,"zone":"a"},"after":{"id":1,"zone":"b"},"source":{"lsn":120}}}
{"key":{"id":3},"value":{"op":"c","before":null,"after":{"id":3,"zone":"a"},"source":{"lsn":130}}}
{"key":{"id":4},"value":{"op":"c","before":null,"after":{"id":4,"zone":"a"},"source":{"lsn":130}}}
{"key":{"id":2},"value":{"op":"d","before":{"id":2,"zone":"a"},"after":null,"source":{"lsn":140}}}
{"key":{"id":2},"value":{"op":"d","before":{"id":2,"zone":"a"},"after":null,"source":{"lsn":140}}}
{"key":{"id":1},"value":{"op":"r","before":null,"after":{"id":1,"zone":"b"},"source":{"lsn":150,"snapshot":"true"}}}
{"key":{"id":3},"value":{"op":"r","before":null,"after":{"id":3,"zone":"c"},"source":{"lsn":150,"snapshot":"true"}}}
{"key":{"id":4},"value":{"op":"r","before":null,"after":{"id":4,"zone":"a"},"source":{"lsn":150,"snapshot":"last"}}}`
