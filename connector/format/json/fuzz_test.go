package json

import (
	stdjson "encoding/json"
	"testing"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

func seeds(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{"a":{"b":[1,2,{"c":null}]},"d":"x\u00e9\n"}`, `{"a":1,}`, `{"a":01}`, `{"a":-1.5e+10,"b":true}`,
		`{"a":[[],{}]}`, `{"a":"` + "\x01" + `"}`, ` {"a" : false } `, `[1]`, `{"\ud800":1}`, `{"a":tru}`, `{"v":"2024-01-02T03:04:05Z"}`, `{"v":[1,[2]]}`} {
		f.Add([]byte(s))
	}
}

// Without columns exactly the objects that encoding/json takes are accepted.
func FuzzDecodeSyntax(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, rec []byte) {
		c := vec.NewChunk(nil, 1)
		err := newTestDecoder(nil).Append(c, nil, rec)
		if pgerr.CodeOf(err) == pgerr.StatementTooComplex {
			return
		}
		i := space(rec, 0)
		want := stdjson.Valid(rec) && rec[i] == '{'
		if (err == nil) != want {
			t.Fatalf("%q: %v, encoding/json says %v", rec, err, want)
		}
	})
}

// Any column of any type either gets one value or is left as it was, and what is
// decoded is encoded as JSON that decodes to the same.
func FuzzDecodeValues(f *testing.F) {
	seeds(f)
	var ts []types.T
	types.All(func(t types.T) {
		if t.ID != types.Record && t.ID != types.Void {
			ts = append(ts, t)
		}
	})
	ts = append(ts, arrayOf(types.Int4), arrayOf(types.Text), arrayOf(types.JSONB))
	f.Fuzz(func(t *testing.T, rec []byte) {
		for _, typ := range ts {
			cols := []connector.Column{{Name: "a", Typ: typ}, {Name: "v", Typ: typ}}
			c := vec.NewChunk([]types.T{typ, typ}, 2)
			d := newTestDecoder(cols)
			if err := d.Append(c, []int{0, 1}, rec); err != nil {
				if c.Cols[0].Len() != 0 || c.Cols[1].Len() != 0 {
					t.Fatalf("%s: values left behind", typ)
				}
				continue
			}
			c.AddWeight(1)
			out := NewEncoder(cols).AppendObject(nil, c, nil, 0)
			if !stdjson.Valid(out) {
				t.Fatalf("%s: %q is not JSON", typ, out)
			}
			if err := d.Append(c, []int{0, 1}, out); err != nil {
				t.Fatalf("%s: %q: %v", typ, out, err)
			}
			c.AddWeight(1)
			if again := NewEncoder(cols).AppendObject(nil, c, nil, 1); string(again) != string(out) {
				t.Fatalf("%s: %q became %q", typ, out, again)
			}
		}
	})
}

// A path that is accepted leads to a value or to none, in any record.
func FuzzPath(f *testing.F) {
	f.Add("$.a.b[0].\"x y\"['q']", []byte(`{"a":{"b":[{"x y":{"q":1}}]}}`))
	f.Add("$", []byte(`{"a":1}`))
	f.Add("$.a", []byte(`{"a":{"b":1},"a":2}`))
	f.Fuzz(func(t *testing.T, path string, rec []byte) {
		if _, err := ParsePath(path); err != nil {
			return
		}
		cols := []connector.Column{{Name: "v", Typ: types.TJSONB, Path: path}, {Name: "a", Typ: types.TText}}
		c := vec.NewChunk([]types.T{types.TJSONB, types.TText}, 2)
		if err := newTestDecoder(cols).Append(c, []int{0, 1}, rec); err != nil {
			if c.Cols[0].Len() != 0 || c.Cols[1].Len() != 0 {
				t.Fatal("values left behind")
			}
		} else if c.Cols[0].Len() != 1 || c.Cols[1].Len() != 1 {
			t.Fatal("a value is missing")
		}
	})
}

// A clean record is one without bytes that need a look, wherever they stand.
func FuzzClean(f *testing.F) {
	for n := range 70 {
		for _, c := range []byte{0, 0x1f, ' ', '!', '"', '[', '\\', ']', '~', 0x7f, 0x80, 0xff} {
			b := make([]byte, n+1)
			for i := range b {
				b[i] = 'a'
			}
			b[n/2] = c
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want := true
		for _, c := range b {
			want = want && c >= ' ' && c < 0x80 && c != '\\'
		}
		if clean(b) != want {
			t.Fatalf("%q: %v", b, !want)
		}
	})
}
