package json

import (
	stdjson "encoding/json"
	"testing"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// encodeText encodes the value that a text form stands for.
func encodeText(t *testing.T, typ types.T, text string) string {
	t.Helper()
	d, err := types.ParseText(typ, text, &types.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := vec.NewChunk([]types.T{typ}, 1)
	c.AppendRow(1, d)
	return string(NewEncoder([]connector.Column{{Name: "v", Typ: typ}}).AppendObject(nil, c, nil, 0))
}

func TestEncodeTypes(t *testing.T) {
	for _, c := range []struct {
		t          types.T
		text, want string
	}{
		{types.TInt2, "-7", `-7`}, {types.TInt4, "7", `7`}, {types.TInt8, "9223372036854775807", `9223372036854775807`},
		{types.TBool, "t", `true`}, {types.TBool, "f", `false`},
		{types.TNumeric, "12.50", `12.50`}, {types.TNumeric, "NaN", `"NaN"`}, {types.TNumeric, "-Infinity", `"-Infinity"`},
		{types.TFloat8, "0.1", `0.1`}, {types.TFloat8, "1e300", `1e+300`}, {types.TFloat8, "-Infinity", `"-Infinity"`},
		{types.TFloat4, "1.5", `1.5`}, {types.TFloat4, "NaN", `"NaN"`},
		{types.TText, "a\"b\\\n\x01é", `"a\"b\\\n\u0001é"`}, {types.T{ID: types.Bpchar, Mod: 7}, "a", `"a  "`},
		{types.TBytea, `\x6869`, `"\\x6869"`}, {types.TUUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`},
		{types.TDate, "2024-01-02", `"2024-01-02"`}, {types.TDate, "infinity", `"infinity"`},
		{types.TTime, "04:05:06.7", `"04:05:06.7"`},
		{types.TTimestamp, "2024-01-02 03:04:05.678", `"2024-01-02T03:04:05.678"`},
		{types.TTimestamp, "-infinity", `"-infinity"`}, {types.TTimestamp, "0044-03-15 00:00:00 BC", `"0044-03-15T00:00:00 BC"`},
		{types.TTimestamptz, "2024-01-02 05:04:05.678+02", `"2024-01-02T03:04:05.678+00:00"`},
		{types.TTimestamptz, "0044-03-15 00:00:00+00 BC", `"0044-03-15T00:00:00+00:00 BC"`}, {types.TTimestamptz, "infinity", `"infinity"`},
		{types.TInterval, "1 day 2 hours", `"1 day 02:00:00"`},
		{types.TJSONB, `{"b":1,"a":[null]}`, `{"a": [null], "b": 1}`}, {types.TJSON, `{"b" :1}`, `{"b" :1}`},
		{arrayOf(types.Int4), "{{1,2},{3,NULL}}", `[[1,2],[3,null]]`}, {arrayOf(types.Text), "{}", `[]`},
		{arrayOf(types.Text), `{"a\"b",NULL}`, `["a\"b",null]`}, {arrayOf(types.Numeric), "{1.50,NaN}", `[1.50,"NaN"]`},
		{arrayOf(types.Timestamptz), "{2024-01-02 03:04:05+00}", `["2024-01-02T03:04:05+00:00"]`},
		{arrayOf(types.Bool), "{t,f}", `[true,false]`}, {arrayOf(types.Float8), "{0.5,NaN}", `[0.5,"NaN"]`},
	} {
		got := encodeText(t, c.t, c.text)
		if want := `{"v":` + c.want + `}`; got != want {
			t.Errorf("%s %s: %s, want %s", c.t, c.text, got, want)
		}
		if !stdjson.Valid([]byte(got)) {
			t.Errorf("%s is not JSON", got)
		}
		back, err := decodeOne(c.t, got)
		if want, _ := types.ParseText(c.t, c.text, &types.Options{}); err != nil || back != string(types.AppendText(nil, c.t, want, &types.Options{})) {
			t.Errorf("%s decodes to %q (%v)", got, back, err)
		}
	}
}

func TestEncodeColumns(t *testing.T) {
	cols := []connector.Column{{Name: "a", Typ: types.TInt8}, {Name: `q"`, Typ: types.TText}}
	c := vec.NewChunk([]types.T{types.TInt8, types.TText}, 1)
	c.AppendRow(1, int64(1), nil)
	e := NewEncoder(cols)
	if got := string(e.AppendObject(nil, c, nil, 0)); got != `{"a":1,"q\"":null}` {
		t.Error(got)
	}
	if got := string(e.AppendObject(nil, c, []int{0}, 0)); got != `{"a":1}` {
		t.Error(got)
	}
}

func BenchmarkEncodeBid(b *testing.B) {
	d, c, rec := bidDecoder()
	if err := d.Append(c, []int{0, 1, 2, 3}, rec); err != nil {
		b.Fatal(err)
	}
	e := NewEncoder(d.cols)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = e.AppendObject(buf[:0], c, nil, 0)
	}
}
