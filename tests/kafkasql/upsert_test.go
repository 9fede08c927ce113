package kafkasql

import (
	"testing"

	"github.com/streamdb/streamdb/pgerr"
)

// An upsert replaces the whole row; what is missing is the default, null is NULL,
// and a record that does not fit leaves its key's row as it was.
func TestUpsertRows(t *testing.T) {
	w := newWorld(t)
	w.topic("p", 1)
	w.exec(`CREATE SOURCE players (id int PRIMARY KEY, nick text, lvl int DEFAULT 7, score int NOT NULL)` + w.with("p", "") + ` FORMAT UPSERT ENCODE JSON`)
	w.exec(`CREATE MATERIALIZED VIEW v AS SELECT * FROM players`)
	w.exec(`CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(score) AS s FROM players`)
	w.produce("p", `
{"key":{"id":1},"value":{"id":1,"nick":"a","lvl":1,"score":5}}
{"key":{"id":1},"value":{"id":1,"score":6}}
{"key":{"id":2},"value":{"id":2,"nick":null,"lvl":null,"score":0}}
{"key":{"id":3},"value":{"id":3,"nick":"c"}}
{"key":{"id":4},"value":{"id":4,"nick":"","lvl":2,"score":null}}
{"key":{"id":2},"value":{"id":2}}`)
	w.want(`SELECT * FROM v`, "1|NULL|7|6", "2|NULL|NULL|0")
	w.want(`SELECT * FROM total`, "2|6")
	w.want(`SELECT record_offset FROM streamdb_catalog.source_errors WHERE job = 'v'`, "3", "4", "5")
	// A good value repairs, a tombstone deletes, of an unknown key too; the rows
	// to take back are known after a restart.
	w.restart()
	w.produce("p", `
{"key":{"id":3},"value":{"nick":"c","score":3}}
{"key":{"id":1},"value":null}
{"key":{"id":8},"value":null}
{"key":{"id":2},"raw":"{"}
{"value":{"id":5,"score":1}}
{"key":7,"value":{"score":70}}
{"key":"9","value":{"score":90}}
{"key":{"no":1},"value":{"score":1}}`)
	w.want(`SELECT * FROM v`, "2|NULL|NULL|0", "3|c|7|3", "7|NULL|7|70", "9|NULL|7|90")
	w.want(`SELECT * FROM total`, "4|163")
	w.want(`SELECT count(*) FROM streamdb_catalog.source_errors WHERE job = 'v'`, "6")
	w.restart()
	w.produce("p", `{"key":{"id":7},"value":null}`)
	w.want(`SELECT * FROM total`, "3|93")
}

// The same key comes from any partition, and joins and sinks see its changes.
func TestUpsertJoinAndSink(t *testing.T) {
	w := newWorld(t)
	w.topic("c", 3)
	w.topic("o", 2)
	w.topic("out", 1)
	w.exec(`CREATE SOURCE customers (region text, at int) INCLUDE KEY text AS id INCLUDE PARTITION AS p` + w.with("c", "") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE SOURCE users (a int, b text, region text, PRIMARY KEY (b, a))` + w.with("c", "") + ` FORMAT UPSERT ENCODE JSON`)
	w.exec(`CREATE SOURCE orders (user_a int, amount numeric)` + w.with("o", "") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE MATERIALIZED VIEW v AS SELECT u.region, sum(o.amount) AS total FROM orders o JOIN users u ON u.a = o.user_a GROUP BY u.region`)
	w.exec(`CREATE SINK s FROM v` + w.with("out", ", primary_key = 'region'") + ` FORMAT UPSERT ENCODE JSON`)
	w.produce("c", `
{"partition":0,"key":{"a":1,"b":"x"},"value":{"region":"north"}}
{"partition":1,"key":{"b":"x","a":2},"value":{"region":"south"}}
{"partition":2,"key":{"a":3,"b":"x"},"value":{"region":"north"}}`)
	w.produce("o", `
{"partition":0,"value":{"user_a":1,"amount":1}}
{"partition":1,"value":{"user_a":2,"amount":2}}
{"partition":1,"value":{"user_a":3,"amount":4}}`)
	w.want(`SELECT * FROM v`, "north|5", "south|2")
	w.restart()
	w.produce("c", `
{"partition":2,"key":{"a":3,"b":"x"},"value":{"region":"south"}}
{"partition":0,"key":{"a":1,"b":"x"},"value":null}`)
	w.want(`SELECT * FROM v`, "south|6")
	w.folded("out", `{"region":"south"}={"region":"south","total":6}`)
}

func TestKeyEncodings(t *testing.T) {
	w := newWorld(t)
	w.topic("k", 1)
	src := func(name, cols, format string) {
		w.exec(`CREATE SOURCE ` + name + ` ` + cols + w.with("k", "") + ` FORMAT UPSERT ENCODE JSON` + format)
		w.exec(`CREATE MATERIALIZED VIEW ` + name + `_v AS SELECT id, v FROM ` + name)
	}
	src("either", `(id text PRIMARY KEY, v int)`, "")
	src("json", `(id text PRIMARY KEY, v int)`, " KEY ENCODE JSON")
	src("text", `(id text PRIMARY KEY, v int)`, " KEY ENCODE TEXT")
	src("included", `(v int, PRIMARY KEY (id)) INCLUDE KEY text AS id`, "")
	w.produce("k", `
{"key":"a","value":{"v":1}}
{"key":12,"value":{"v":2}}
{"key":{"id":"b"},"value":{"v":3}}`)
	w.write(record("k", "plain words", `{"v":4}`))
	w.want(`SELECT * FROM either_v`, "a|1", "12|2", "b|3", "plain words|4")
	w.want(`SELECT * FROM json_v`, "a|1", "12|2", "b|3")
	w.want(`SELECT * FROM text_v`, `"a"|1`, "12|2", `{"id":"b"}|3`, "plain words|4")
	w.want(`SELECT * FROM included_v`, `"a"|1`, "12|2", `{"id":"b"}|3`, "plain words|4")
	for text, code := range map[string]pgerr.Code{
		`(id int)` + w.with("k", "") + ` FORMAT UPSERT ENCODE JSON`:                                             pgerr.InvalidTableDefinition,
		`(id int, v int, PRIMARY KEY (id, v))` + w.with("k", "") + ` FORMAT UPSERT ENCODE JSON KEY ENCODE TEXT`: pgerr.InvalidTableDefinition,
		`(id int PRIMARY KEY)` + w.with("k", "") + ` FORMAT UPSERT ENCODE JSON KEY ENCODE AVRO`:                 pgerr.FeatureNotSupported,
		`(id int PRIMARY KEY)` + w.with("k", "") + ` FORMAT PLAIN ENCODE JSON`:                                  pgerr.InvalidTableDefinition,
		`(v int, PRIMARY KEY (p)) INCLUDE PARTITION AS p` + w.with("k", "") + ` FORMAT UPSERT ENCODE JSON`:      pgerr.InvalidTableDefinition,
		`(id int PRIMARY KEY, v int)` + w.with("k", ", on_error = 'ignore'") + ` FORMAT UPSERT ENCODE JSON`:     pgerr.InvalidParameterValue,
		`(id int PRIMARY KEY, v int)` + w.with("k", "") + ` FORMAT DEBEZIUM_MONGO ENCODE JSON`:                  pgerr.FeatureNotSupported,
	} {
		w.fails(`CREATE SOURCE bad `+text, code)
	}
	w.fails(`CREATE SINK s AS SELECT id, v FROM text`+w.with("k", "")+` FORMAT PLAIN ENCODE JSON`, pgerr.InvalidParameterValue)
}

// What a source does about records that do not decode is its option on_error.
func TestSourceOnError(t *testing.T) {
	w := newWorld(t)
	w.topic("e", 1)
	for _, p := range []string{"null", "skip", "fail", "dead_letter"} {
		w.exec(`CREATE SOURCE s_` + p + ` (id int NOT NULL, n int, s text)` + w.with("e", `, on_error = '`+p+`'`) + ` FORMAT PLAIN ENCODE JSON`)
		w.exec(`CREATE MATERIALIZED VIEW v_` + p + ` AS SELECT id, n, s FROM s_` + p)
	}
	w.produce("e", `{"value":{"id":1,"n":1,"s":"a"}}`)
	for _, p := range []string{"null", "skip", "fail", "dead_letter"} {
		w.want(`SELECT * FROM v_`+p, "1|1|a")
	}
	w.produce("e", `
{"value":{"id":2,"n":"much","s":"b"}}
{"value":{"id":"three","n":3,"s":"c"}}
{"raw":"{"}
{"value":{"id":4,"n":4,"s":"d"}}`)
	w.want(`SELECT * FROM v_null`, "1|1|a", "2|NULL|b", "4|4|d")
	w.want(`SELECT * FROM v_skip`, "1|1|a", "4|4|d")
	w.want(`SELECT * FROM v_dead_letter`, "1|1|a", "4|4|d")
	w.want(`SELECT job, record_offset FROM streamdb_catalog.source_errors`, "v_null|2", "v_null|3", "v_dead_letter|1", "v_dead_letter|2", "v_dead_letter|3")
	w.jobStatus("v_fail", "failed")
	w.want(`SELECT * FROM v_fail`, "1|1|a")
}
