package json

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

func arrayOf(id types.ID) types.T { return types.T{ID: types.Array, Elem: id, Mod: -1} }

func newTestDecoder(cols []connector.Column) *Decoder {
	d, err := NewDecoder(cols)
	if err != nil {
		panic(err)
	}
	return d
}

// decodeOne decodes one field "v" of the type and gives its text form.
func decodeOne(t types.T, rec string) (string, error) {
	d := newTestDecoder([]connector.Column{{Name: "v", Typ: t}})
	c := vec.NewChunk([]types.T{t}, 1)
	if err := d.Append(c, []int{0}, []byte(rec)); err != nil {
		if c.Cols[0].Len() != 0 {
			return "", fmt.Errorf("a value was left behind by %w", err)
		}
		return "", err
	}
	if c.Cols[0].IsNull(0) {
		return "NULL", nil
	}
	return string(types.AppendText(nil, t, c.Cols[0].Datum(0), &types.Options{})), nil
}

func TestDecodeTypes(t *testing.T) {
	varchar3 := types.T{ID: types.Varchar, Mod: 7}
	numeric := func(p, s int32) types.T { return types.T{ID: types.Numeric, Mod: p<<16 | s + 4} }
	for _, c := range []struct {
		t        types.T
		in, want string
	}{
		{types.TInt8, `9007199254740993`, "9007199254740993"},
		{types.TInt8, `9223372036854775807`, "9223372036854775807"},
		{types.TInt8, `-9223372036854775808`, "-9223372036854775808"},
		{types.TInt8, `3.0`, "3"}, {types.TInt8, `1e3`, "1000"}, {types.TInt8, `-0`, "0"},
		{types.TInt8, `"12"`, "12"}, {types.TInt8, `null`, "NULL"},
		{types.TInt4, `-2147483648`, "-2147483648"}, {types.TInt2, `32767`, "32767"},
		{types.TOid, `4294967295`, "4294967295"},
		{types.TFloat8, `0.1`, "0.1"}, {types.TFloat8, `"NaN"`, "NaN"}, {types.TFloat8, `1e300`, "1e+300"},
		{types.TFloat4, `1.5`, "1.5"}, {types.TBool, `true`, "t"}, {types.TBool, `"no"`, "f"},
		{types.TNumeric, `12345678901234567890.123456789`, "12345678901234567890.123456789"},
		{types.TNumeric, `1e-20`, "0.00000000000000000001"}, {types.TNumeric, `12.50`, "12.50"},
		{types.TNumeric, `"2.25"`, "2.25"}, {numeric(5, 2), `1.005`, "1.01"},
		{types.TText, `"a\n\u00e9\ud83d\ude00\"\/"`, "a\né😀\"/"}, {types.TText, `12.50`, "12.50"},
		{types.TText, `true`, "true"}, {types.TText, `{"a": [1]}`, `{"a": [1]}`},
		{varchar3, `"abc"`, "abc"}, {varchar3, `"abc  "`, "abc"},
		{types.TBytea, `"\\x6869"`, `\x6869`}, {types.TBytea, `"hi"`, `\x6869`},
		{types.TDate, `"2024-02-29"`, "2024-02-29"}, {types.TDate, `"Jan 5, 2024"`, "2024-01-05"},
		{types.TTime, `"04:05:06.5"`, "04:05:06.5"},
		{types.TTimestamp, `"2024-01-02T03:04:05.678Z"`, "2024-01-02 03:04:05.678"},
		{types.TTimestamp, `"2024-01-02 03:04:05+05:30"`, "2024-01-02 03:04:05"},
		{types.TTimestamptz, `"2024-01-02T03:04:05+05:30"`, "2024-01-01 21:34:05+00"},
		{types.TTimestamptz, `"2024-01-02T03:04:05.123456"`, "2024-01-02 03:04:05.123456+00"},
		{types.TTimestamptz, `"2024-01-02T03:04:05.1234567-01"`, "2024-01-02 04:04:05.123457+00"},
		{types.TTimestamptz, `"infinity"`, "infinity"},
		{types.TInterval, `"1 day 2 hours"`, "1 day 02:00:00"},
		{types.TUUID, `"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"`, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
		{types.TJSONB, `{"b":1,"a":0.10}`, `{"a": 0.10, "b": 1}`}, {types.TJSONB, `"x"`, `"x"`},
		{types.TJSON, `{"b" :1}`, `{"b" :1}`},
		{arrayOf(types.Int4), `[1, null,3]`, "{1,NULL,3}"}, {arrayOf(types.Int4), `[[1,2],[3,4]]`, "{{1,2},{3,4}}"},
		{arrayOf(types.Int4), `"{1,2}"`, "{1,2}"}, {arrayOf(types.Text), `[]`, "{}"},
		{arrayOf(types.Text), `["a,b","NULL","q\"\\"]`, `{"a,b","NULL","q\"\\"}`},
		{arrayOf(types.JSONB), `[{"a":1},[1,2],"s"]`, `{"{\"a\": 1}","[1, 2]","\"s\""}`},
	} {
		got, err := decodeOne(c.t, `{"v":`+c.in+`}`)
		if err != nil || got != c.want {
			t.Errorf("%s from %s: %q, want %q (%v)", c.t, c.in, got, c.want, err)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct {
		t    types.T
		rec  string
		code pgerr.Code
		msg  string
	}{
		{types.TInt8, `{"v":9223372036854775808}`, pgerr.NumericValueOutOfRange, `value "9223372036854775808" is out of range for type bigint`},
		{types.TInt2, `{"v":32768}`, pgerr.NumericValueOutOfRange, `value "32768" is out of range for type smallint`},
		{types.TInt4, `{"v":2147483648}`, pgerr.NumericValueOutOfRange, `value "2147483648" is out of range for type integer`},
		{types.TInt8, `{"v":3.5}`, pgerr.InvalidTextRepresentation, `invalid input syntax for type bigint: "3.5"`},
		{types.TInt8, `{"v":"three"}`, pgerr.InvalidTextRepresentation, `invalid input syntax for type bigint: "three"`},
		{types.TInt8, `{"v":true}`, pgerr.InvalidTextRepresentation, `invalid input syntax for type bigint: "true"`},
		{types.TInt8, `{"v":{"a":1}}`, pgerr.DatatypeMismatch, "a JSON object is not a value of type bigint"},
		{types.TDate, `{"v":[1]}`, pgerr.DatatypeMismatch, "a JSON array is not a value of type date"},
		{types.TDate, `{"v":"2023-02-29"}`, pgerr.DatetimeFieldOverflow, `date/time field value out of range: "2023-02-29"`},
		{types.TFloat8, `{"v":1e400}`, pgerr.NumericValueOutOfRange, `"1e400" is out of range for type double precision`},
		{types.TText, `{"v":"\u0000"}`, pgerr.UntranslatableCharacter, "unsupported Unicode escape sequence"},
		{types.TText, `{"v":"\ud800x"}`, pgerr.InvalidTextRepresentation, "invalid input syntax for type json"},
		{types.TText, "{\"v\":\"\xff\"}", pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8"`},
		{types.T{ID: types.Varchar, Mod: 7}, `{"v":"abcd"}`, pgerr.StringDataRightTruncation, "value too long for type character varying(3)"},
		{types.TInt8, `{"v":1`, pgerr.InvalidTextRepresentation, "invalid input syntax for type json"},
		{types.TInt8, ``, pgerr.InvalidTextRepresentation, "invalid input syntax for type json"},
		{types.TInt8, `[1,2]`, pgerr.InvalidTextRepresentation, "invalid input syntax for type json"},
		{types.TInt8, `{"v":1}x`, pgerr.InvalidTextRepresentation, "invalid input syntax for type json"},
		{types.TInt8, `{"v":1,}`, pgerr.InvalidTextRepresentation, "invalid input syntax for type json"},
		{types.TInt8, `{"v":01}`, pgerr.InvalidTextRepresentation, "invalid input syntax for type json"},
		{types.TInt8, `{"x":` + strings.Repeat("[", 2000), pgerr.StatementTooComplex, "the JSON record is nested deeper than 1024 levels"},
	} {
		_, err := decodeOne(c.t, c.rec)
		e := pgerr.From(err)
		if e == nil || e.Code != c.code || e.Msg != c.msg {
			t.Errorf("%s from %.60s: %v, want %s %s", c.t, c.rec, err, c.code, c.msg)
		}
	}
	_, err := decodeOne(types.TInt8, `{"a":"x","v":"three"}`)
	if d := pgerr.From(err).Detail; d != `Field "v" of the record: "three"` {
		t.Error(d)
	}
	_, err = decodeOne(types.TInt8, `{"v":1 2}`)
	if d := pgerr.From(err).Detail; d != `Unexpected character "2" at byte 8.` {
		t.Error(d)
	}
}

func TestFieldNames(t *testing.T) {
	cols := []connector.Column{{Name: "a", Typ: types.TInt8}, {Name: "itemId", Typ: types.TInt8}, {Name: "é", Typ: types.TInt8}}
	d := newTestDecoder(cols)
	at := []int{0, 1, 2}
	for _, c := range []struct{ rec, want string }{
		{`{"a":1,"itemId":2,"é":3}`, "[1 2 3]"},
		{`{"itemid":2,"É":3,"A":1}`, "[1 2 3]"},
		{`{"a":1,"A":9,"itemId":2}`, "[1 2 <nil>]"},
		{`{"A":9,"a":1,"a":7}`, "[7 <nil> <nil>]"},
		{`{"\u0061":4,"\u00e9":5}`, "[4 <nil> 5]"},
		{`{}`, "[<nil> <nil> <nil>]"},
		{`{"x":{"a":1},"a":null}`, "[<nil> <nil> <nil>]"},
		{` { "a" : 1 , "itemId" : 2 } `, "[1 2 <nil>]"},
	} {
		ch := vec.NewChunk([]types.T{types.TInt8, types.TInt8, types.TInt8}, 1)
		if err := d.Append(ch, at, []byte(c.rec)); err != nil {
			t.Errorf("%s: %v", c.rec, err)
			continue
		}
		ch.AddWeight(1)
		if got := fmt.Sprint(ch.Row(0)); got != c.want {
			t.Errorf("%s: %s, want %s", c.rec, got, c.want)
		}
	}
}

// A failing record leaves the values and nulls of the rows before it alone.
func TestFailedRecordLeavesChunk(t *testing.T) {
	ts := []types.T{types.TText, types.TInt8, types.TInt8}
	d := newTestDecoder([]connector.Column{{Name: "s", Typ: ts[0]}, {Name: "a", Typ: ts[1]}, {Name: "b", Typ: ts[2]}})
	c := vec.NewChunk(ts, 4)
	for i, rec := range []string{`{"s":"x","a":1}`, `{"s":null,"a":null,"b":"bad"}`, `{"s":"longer","b":"bad"}`, `{"s":"y","a":2,"b":3}`} {
		err := d.Append(c, []int{0, 1, 2}, []byte(rec))
		if (err != nil) != (i == 1 || i == 2) {
			t.Fatal(rec, err)
		}
		if err == nil {
			c.AddWeight(1)
		}
	}
	if got := fmt.Sprint(c.Rows, c.Row(0), c.Row(1)); got != "2 [x 1 <nil>] [y 2 3]" {
		t.Fatal(got)
	}
}

func bidDecoder() (*Decoder, *vec.Chunk, []byte) {
	rec := `{"auction":1007,"bidder":1023,"price":48293,"channel":"Google","url":"https://www.nexmark.com/pasz/fpyz/gwy/item.htm?query=1&channel_id=65536","date_time":"2025-01-01T00:00:00.123Z","extra":"` +
		strings.Repeat("x", 84) + `"}`
	cols := []connector.Column{{Name: "auction", Typ: types.TInt8}, {Name: "bidder", Typ: types.TInt8}, {Name: "price", Typ: types.TInt8}, {Name: "date_time", Typ: types.TTimestamp}}
	return newTestDecoder(cols), vec.NewChunk([]types.T{types.TInt8, types.TInt8, types.TInt8, types.TTimestamp}, vec.MaxRows), []byte(rec)
}

func TestDecodeAllocates(t *testing.T) {
	ts := []types.T{types.TInt8, types.TText, types.TNumeric, types.TTimestamptz, types.TFloat8, types.TBool, types.TDate, types.TUUID}
	var cols []connector.Column
	var at []int
	for i, typ := range ts {
		cols, at = append(cols, connector.Column{Name: fmt.Sprint("c", i), Typ: typ}), append(at, i)
	}
	d := newTestDecoder(cols)
	c := vec.NewChunk(ts, vec.MaxRows)
	rec := []byte(`{"C0":9007199254740993,"c1":"a\nb","c2":12.50,"c3":"2024-01-02T03:04:05Z","c4":1.25,"c5":true,"c6":"2024-01-02","c7":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","z":{"y":[1,2]}}`)
	one := func() {
		c.Reset()
		if err := d.Append(c, at, rec); err != nil {
			t.Fatal(err)
		}
		c.AddWeight(1)
	}
	one()
	if n := testing.AllocsPerRun(100, one); n != 0 {
		t.Fatalf("%v allocations a record", n)
	}
}

func BenchmarkDecodeBid(b *testing.B) {
	d, c, rec := bidDecoder()
	b.SetBytes(int64(len(rec)))
	b.ReportAllocs()
	for b.Loop() {
		if c.Rows == vec.MaxRows {
			c.Reset()
		}
		if err := d.Append(c, []int{0, 1, 2, 3}, rec); err != nil {
			b.Fatal(err)
		}
		c.AddWeight(1)
	}
}

// BenchmarkDecodeBids decodes bids of 272 bytes that differ in the lengths of their
// values, all their columns, of which five were asked for.
func BenchmarkDecodeBids(b *testing.B) {
	names := []string{"auction", "bidder", "price", "channel", "url", "date_time", "extra"}
	ts := []types.T{types.TInt8, types.TInt8, types.TInt8, types.TText, types.TText, types.TTimestamp, types.TText}
	var cols []connector.Column
	for i, n := range names {
		cols = append(cols, connector.Column{Name: n, Typ: ts[i]})
	}
	d, c := newTestDecoder(cols), vec.NewChunk([]types.T{types.TInt8, types.TInt8, types.TInt8, types.TTimestamp, types.TText}, vec.MaxRows)
	at := []int{0, 1, 2, -1, -1, 3, 4}
	var recs [][]byte
	for i := range 512 {
		v := fmt.Appendf(nil, `{"auction":%d,"bidder":%d,"price":%d,"channel":"channel-%d","url":"https://www.nexmark.com/item.htm?query=1&channel_id=%d","date_time":"2024-01-02 03:04:%02d.%03d","extra":"`,
			1000+i*7%5000, 1000+i*13%77777, 100+i*37%1000000, i*31%10000, i*31%10000, i/1000%60, i%1000)
		v = append(v, strings.Repeat("x", 270-len(v))...)
		recs = append(recs, append(v, `"}`...))
	}
	b.SetBytes(272)
	for i := 0; b.Loop(); i++ {
		if c.Rows == vec.MaxRows {
			c.Reset()
		}
		if err := d.Append(c, at, recs[i%len(recs)]); err != nil {
			b.Fatal(err)
		}
		c.AddWeight(1)
	}
}
