package kafkasql

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/pgerr"
)

func TestPaths(t *testing.T) {
	w := newWorld(t)
	w.topic("clicks", 1)
	w.exec(`CREATE SOURCE clicks (id bigint NOT NULL, name text PATH '$.user.name', city text PATH '$.user.addr."home city"',
		first numeric PATH '$.items[0].price', second numeric PATH '$.items[1][''price'']', usr jsonb PATH '$.user', all_of jsonb PATH '$',
		tags text[] PATH '$.user.tags', twice bigint AS id * 2, path text, label text DEFAULT 'none')` + w.with("clicks", "") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE MATERIALIZED VIEW v AS SELECT id, name, city, first, second, tags, twice, path, label FROM clicks`)
	w.exec(`CREATE MATERIALIZED VIEW pruned AS SELECT twice, name FROM clicks`)
	w.exec(`CREATE MATERIALIZED VIEW docs AS SELECT id, usr, all_of ->> 'id' AS i FROM clicks`)
	w.produce("clicks", `
{"value":{"id":1,"user":{"name":"ann","addr":{"home city":"Bonn"},"tags":["a","b"]},"items":[{"price":1.50},{"price":2}],"path":"/x"}}
{"value":{"id":2,"user":"nobody","items":{"price":1},"label":null}}
{"value":{"id":3,"user":{"name":{"deep":[1]},"tags":null},"items":[7,[1,2]],"label":"l"}}
{"value":{"user":{"name":"bob"}}}
{"value":{"id":5,"items":[{"price":"much"}]}}
{"value":{"id":6,"user":{"name":"old","addr":{"home city":"Rome"}},"user":{"name":"new"}}}`)
	w.want(`SELECT * FROM v`, "1|ann|Bonn|1.50|2|{a,b}|2|/x|none", "2|NULL|NULL|NULL|NULL|NULL|4|NULL|NULL",
		`3|{"deep":[1]}|NULL|NULL|NULL|NULL|6|NULL|l`, "6|new|NULL|NULL|NULL|NULL|12|NULL|none")
	w.want(`SELECT * FROM pruned`, "2|ann", "4|NULL", `6|{"deep":[1]}`, "12|new")
	w.want(`SELECT id, usr -> 'name', i FROM docs`, `1|"ann"|1`, "2|NULL|2", `3|{"deep": [1]}|3`, `6|"new"|6`)
	w.want(`SELECT record_offset, sqlstate, message FROM streamdb_catalog.source_errors WHERE job = 'v'`,
		`3|23502|null value in column "id" violates not-null constraint`, `4|22P02|invalid input syntax for type numeric: "much"`)
	if d := w.query(`SHOW CREATE SOURCE clicks`)[0]; !strings.Contains(d, `PATH '$.user.name'`) {
		t.Error(d)
	}
	w.restart()
	w.produce("clicks", `{"value":{"id":9,"user":{"name":"eve"}}}`)
	w.want(`SELECT name FROM v WHERE id > 6`, "eve")
}

func TestPathErrors(t *testing.T) {
	w := newWorld(t)
	w.topic("t", 1)
	for path, code := range map[string]pgerr.Code{
		`user.name`: pgerr.InvalidParameterValue, `$.`: pgerr.InvalidParameterValue, `$.a[x]`: pgerr.InvalidParameterValue, `$a`: pgerr.InvalidParameterValue,
		`$.a[1`: pgerr.InvalidParameterValue, `$["a]`: pgerr.InvalidParameterValue, `$.a[-1]`: pgerr.InvalidParameterValue,
		`$.a[*]`: pgerr.FeatureNotSupported, `$..a`: pgerr.FeatureNotSupported, `$.a ? (@ > 1)`: pgerr.FeatureNotSupported,
		`$` + strings.Repeat(`.a`, 65): pgerr.InvalidParameterValue, `$.a[3000000000]`: pgerr.InvalidParameterValue, `$.a[100000]`: pgerr.InvalidParameterValue,
	} {
		w.fails(`CREATE SOURCE s (a int PATH '`+path+`')`+w.with("t", "")+` FORMAT PLAIN ENCODE JSON`, code)
	}
	w.fails(`CREATE SOURCE s (a int PATH '$.a') WITH (connector = 'datagen')`, pgerr.InvalidTableDefinition)
	w.fails(`CREATE TABLE s (a int PATH '$.a')`, pgerr.SyntaxError)
	w.fails(`CREATE SOURCE s (a timestamptz DEFAULT now())`+w.with("t", "")+` FORMAT PLAIN ENCODE JSON`, pgerr.FeatureNotSupported)
}

func TestHeaders(t *testing.T) {
	w := newWorld(t)
	w.topic("t", 1)
	w.exec(`CREATE SOURCE s (id int) INCLUDE HEADERS AS hs INCLUDE HEADER 'h' text AS h INCLUDE HEADER AS again` + w.with("t", "") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE MATERIALIZED VIEW v AS SELECT hs, h, hs = again AS same FROM s`)
	w.write(&kgo.Record{Topic: "t", Value: []byte(`{"id":1}`), Timestamp: time.Now(), Headers: []kgo.RecordHeader{
		{Key: "h", Value: []byte(`a"b`)}, {Key: "h", Value: []byte("é")}, {Key: "n"}, {Key: "b", Value: []byte{0, 255}}}},
		&kgo.Record{Topic: "t", Value: []byte(`{"id":2}`)})
	w.want(`SELECT * FROM v`, `[{"key": "h", "value": "a\"b"}, {"key": "h", "value": "é"}, {"key": "n", "value": null}, {"key": "b", "bytes": "\\x00ff"}]|é|t`, `[]|NULL|t`)
}

// A record that does not decode is kept with its reason, once, and the rest goes
// on, whatever columns are read and after restarts too.
func TestMalformedRecords(t *testing.T) {
	w := newWorld(t)
	w.topic("temps", 1)
	w.exec(`CREATE SOURCE temps (id int NOT NULL, c numeric)` + w.with("temps", "") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(c) AS c FROM temps`)
	w.exec(`CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM temps`)
	w.produce("temps", `
{"value":{"id":1,"c":1.5}}
{"raw":"{\"id\":2,\"c\":"}
{"raw":""}
{"value":{"id":"three","c":1}}
{"value":[1,2]}
{"value":{"c":9}}
{"value":{"id":7,"c":"2.25"}}
{"value":{"id":8,"c":4}}`)
	for range 2 {
		w.want(`SELECT * FROM v`, "3|7.75")
		w.want(`SELECT * FROM n`, "3")
		w.want(`SELECT string_agg(record_offset, ' ' ORDER BY record_offset) FROM streamdb_catalog.source_errors GROUP BY job`, "1 2 3 4 5", "1 2 3 4 5")
		w.restart()
	}
}

// Numbers keep every digit from a source to a sink.
func TestDigits(t *testing.T) {
	w := newWorld(t)
	w.topic("in", 1)
	w.topic("out", 1)
	w.exec(`CREATE SOURCE s (id bigint, amt numeric, f double precision)` + w.with("in", "") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE MATERIALIZED VIEW v AS SELECT id, amt, f FROM s`)
	w.exec(`CREATE SINK k FROM v` + w.with("out", "") + ` FORMAT PLAIN ENCODE JSON`)
	w.produce("in", `
{"value":{"id":9007199254740993,"amt":12345678901234567890.123456789,"f":0.1}}
{"value":{"id":9223372036854775807,"amt":1e-20,"f":1e400}}
{"value":{"id":9223372036854775808,"amt":1,"f":1}}
{"value":{"id":3.0,"amt":1,"f":1}}
{"value":{"id":3.5,"amt":1,"f":1}}`)
	w.want(`SELECT * FROM v`, "9007199254740993|12345678901234567890.123456789|0.1", "3|1|1")
	w.want(`SELECT record_offset FROM streamdb_catalog.source_errors`, "1", "2", "4")
	w.delivered("out", `{"id":9007199254740993,"amt":12345678901234567890.123456789,"f":0.1}`, `{"id":3,"amt":1,"f":1}`)
}
