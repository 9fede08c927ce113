package json

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// shapeColumns are columns of every form, found by name, by a name that differs
// by case, by paths into objects and arrays, twice, and inside what is a column
// itself.
func shapeColumns() []connector.Column {
	return []connector.Column{
		{Name: "id", Typ: types.TInt8, NotNull: true}, {Name: "small", Typ: types.TInt2}, {Name: "n", Typ: types.TInt4, Default: int32(7)},
		{Name: "name", Typ: types.TText}, {Name: "code", Typ: types.T{ID: types.Varchar, Mod: 7}},
		{Name: "at", Typ: types.TTimestamp}, {Name: "seen", Typ: types.T{ID: types.Timestamptz, Mod: 3}},
		{Name: "price", Typ: types.TNumeric}, {Name: "f", Typ: types.TFloat8}, {Name: "ok", Typ: types.TBool},
		{Name: "doc", Typ: types.TJSONB}, {Name: "tags", Typ: arrayOf(types.Text)},
		{Name: "city", Typ: types.TText, Path: "$.user.city"}, {Name: "zip", Typ: types.TInt4, Path: "$.user.address.zip"},
		{Name: "user", Typ: types.TJSONB}, {Name: "first", Typ: types.TInt8, Path: "$.list[0]"}, {Name: "deep", Typ: types.TText, Path: "$.list[1].x"},
		{Name: "again", Typ: types.TText, Path: "$.name"},
	}
}

// recordMaker makes records that mostly look like the ones before.
type recordMaker struct{ *rand.Rand }

func (m recordMaker) pick(from ...string) string { return from[m.IntN(len(from))] }

func (m recordMaker) str() string {
	return m.pick(`"abc"`, `""`, `"2024-01-02 03:04:05.678"`, `"2024-02-29T23:59:59Z"`, `"2024-01-02T03:04:05+05:30"`, `"Jan 5, 2024"`, `"12"`, `"true"`,
		`"a longer text that takes several words to scan"`, `"näïve text ☃ of several bytes"`, `"q\"uo\\te\u00e9\ud83d\ude00"`, `"\ud800"`, `"\u0000"`, `"x\x"`,
		"\"tab\there\"", "\"bad \xff bytes in the text\"", `"unterminated`, `"[{,:}]"`)
}

func (m recordMaker) scalar() string {
	switch m.IntN(3) {
	case 0:
		return m.str()
	case 1:
		return m.pick("0", "-0", "1", "42", "-7", "007", "-", "32768", "2147483648", "999999999999999999", "9223372036854775807", "9223372036854775808",
			"1234567890123456789012", "1.5", "3.0", "1e3", "1E400", "1.", ".5", "0x10", "12a")
	}
	return m.pick("true", "false", "null", "null", "nul", "truee")
}

func (m recordMaker) any(depth int) string {
	if depth > 2 || m.IntN(3) > 0 {
		return m.scalar()
	}
	var parts []string
	for range m.IntN(3) {
		parts = append(parts, m.any(depth+1))
	}
	if m.IntN(2) == 0 {
		return "[" + strings.Join(parts, m.pick(",", ", ")) + "]"
	}
	for i := range parts {
		parts[i] = m.pick(`"x"`, `"y"`, `"city"`, `"address"`, `"zip"`) + ":" + parts[i]
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// usual is a value that suits the field.
func (m recordMaker) usual(field string) string {
	n := fmt.Sprint(m.IntN(30000) - 100)
	switch strings.ToLower(field) {
	case "id", "small", "n", "f", "price":
		return n
	case "name", "code":
		return `"` + n[:min(len(n), 3)] + `"`
	case "at", "seen":
		return fmt.Sprintf(`"2024-01-%02d %02d:04:05.%03d"`, m.IntN(31)+1, m.IntN(24), m.IntN(1000))
	case "ok":
		return m.pick("true", "false")
	case "tags":
		return `["a", "b"]`
	case "user":
		return `{"city": "c` + n + `", "address": {"zip":` + n + `}, "rest": [1, {}]}`
	case "list":
		return `[` + n + `,{"x":"` + n + `"}]`
	}
	return m.any(0)
}

// record makes a record with some of the fields; wild ones have odd values,
// repeated and oddly written fields, blanks, and damage.
func (m recordMaker) record(fields []string, wild bool) []byte {
	var b strings.Builder
	colon, comma := ":", ","
	if wild && m.IntN(4) == 0 {
		colon, comma = m.pick(": ", " :", ":\n"), m.pick(", ", " ,", ",,")
	}
	for _, f := range fields {
		v := m.usual(f)
		if wild && m.IntN(6) == 0 {
			if m.IntN(8) == 0 {
				continue
			}
			v = m.any(0)
		}
		if wild && m.IntN(30) == 0 {
			f = m.pick(strings.ToUpper(f), `\u00`+fmt.Sprintf("%02x", f[0])+f[1:], "name", "id", f+"_")
		}
		if b.Len() > 0 {
			b.WriteString(comma)
		}
		b.WriteString(`"` + f + `"` + colon + v)
	}
	rec := []byte("{" + b.String() + "}")
	if wild && m.IntN(20) == 0 {
		switch at := m.IntN(len(rec)); m.IntN(3) {
		case 0:
			rec = rec[:at]
		case 1:
			rec[at] = byte(m.IntN(256))
		default:
			rec = append(rec, m.pick(" ", "}", "\n", "x")...)
		}
	}
	return rec
}

// rowOf decodes a record behind another row and tells the outcome, whole.
func rowOf(d *Decoder, at []int, ts []types.T, rec []byte) string {
	c := vec.NewChunk(ts, 2)
	for _, v := range c.Cols {
		v.AppendNull()
	}
	c.AddWeight(1)
	if err := d.Append(c, at, rec); err != nil {
		for i, v := range c.Cols {
			if v.Len() != 1 {
				return fmt.Sprintf("column %d: %d values are left", i, v.Len())
			}
		}
		e := pgerr.From(err)
		return fmt.Sprint("error ", e.Code, e.Error(), e.Detail)
	}
	for i, v := range c.Cols {
		if v.Len() != 2 {
			return fmt.Sprintf("column %d has %d values", i, v.Len())
		}
	}
	c.AddWeight(1)
	return fmt.Sprintf("%q", fmt.Sprint(c.Row(1)))
}

// A decoder that has seen many records decodes each like one that has seen none:
// the same rows, and the same errors.
func TestShapesDecodeAlike(t *testing.T) {
	all := shapeColumns()
	follows, records := 0, 0
	for seed := range uint64(30) {
		m := recordMaker{rand.New(rand.NewPCG(seed, 1))}
		var cols []connector.Column
		var at []int
		var ts []types.T
		for _, c := range all {
			if m.IntN(3) == 0 && c.Name != "id" {
				continue
			}
			if seed%4 != 0 && (c.Name == "user" || c.Name == "again") {
				continue // forms with these have no shape
			}
			cols = append(cols, c)
			if m.IntN(3) > 0 {
				at, ts = append(at, len(ts)), append(ts, c.Typ)
			} else {
				at = append(at, -1)
			}
		}
		fields := []string{"id", "small", "n", "name", "code", "at", "seen", "price", "f", "ok", "doc", "tags", "user", "list", "other"}
		m.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		fields = fields[:5+m.IntN(11)]
		old := newTestDecoder(cols)
		old.NullBad = seed%5 == 0
		old.Debezium = seed%7 == 0
		for n := range 300 {
			rec := m.record(fields, n%3 == 2)
			fresh := newTestDecoder(cols)
			fresh.NullBad, fresh.Debezium = old.NullBad, old.Debezium
			missed := old.missed
			got, want := rowOf(old, at, ts, rec), rowOf(fresh, at, ts, rec)
			if got != want {
				t.Fatalf("seed %d, record %d %q:\n got %s\nwant %s", seed, n, rec, got, want)
			}
			if records++; old.missed == missed {
				follows++
			}
		}
	}
	if 4*follows < records {
		t.Errorf("only %d of %d records followed a shape", follows, records)
	}
}

// Whatever records come, in whatever order, a decoder's memory of forms is
// bounded, and records it knows cost no allocation.
func TestShapesBounded(t *testing.T) {
	cols := []connector.Column{{Name: "a", Typ: types.TInt8}, {Name: "b", Typ: types.TText}}
	d := newTestDecoder(cols)
	c := vec.NewChunk([]types.T{types.TInt8, types.TText}, 1)
	at := []int{0, 1}
	add := func(rec string) {
		c.Reset()
		if err := d.Append(c, at, []byte(rec)); err != nil {
			t.Fatal(err)
		}
		c.AddWeight(1)
	}
	for i := range 50_000 {
		add(fmt.Sprintf(`{"a":%d,"x%d":%d,"b":"t"}`, i, i, i))
		if got := c.Row(0); got[0] != int64(i) || got[1] != "t" {
			t.Fatalf("record %d gave %v", i, got)
		}
	}
	if d.branches > maxBranches {
		t.Fatalf("%d branches", d.branches)
	}
	known := []byte(`{"a":1,"b":"some text"}`)
	for range respite + 2*probe {
		c.Reset()
		if err := d.Append(c, at, known); err != nil {
			t.Fatal(err)
		}
	}
	missed := d.missed
	if n := testing.AllocsPerRun(100, func() {
		c.Reset()
		_ = d.Append(c, at, known)
	}); n != 0 || d.missed != missed {
		t.Fatalf("%v allocations, %d misses", n, d.missed-missed)
	}
}

func FuzzShapes(f *testing.F) {
	f.Add([]byte(`{"id":1,"name":"a","list":[1,{"x":"y"}]}`), []byte(`{"id":2,"name":null,"list":[[1],{"x":"y"}]}`))
	f.Add([]byte(`{"id":1,"id":2}`), []byte(`{"id":1}`))
	f.Add([]byte(`{"id":1,"user":{"city":"a"}}`), []byte(`{"id":1,"user":[]}`))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		cols := shapeColumns()
		at, ts := make([]int, len(cols)), make([]types.T, len(cols))
		for i, c := range cols {
			at[i], ts[i] = i, c.Typ
		}
		old := newTestDecoder(cols)
		for _, rec := range [][]byte{one, two, one, two} {
			if got, want := rowOf(old, at, ts, rec), rowOf(newTestDecoder(cols), at, ts, rec); got != want {
				t.Fatalf("%q after %q:\n got %s\nwant %s", rec, one, got, want)
			}
		}
	})
}

// Integers are read eight bytes at a time, and so must end at the right byte.
func TestIntegerEnds(t *testing.T) {
	for _, digits := range []string{"0", "7", "10", "99", "305", "1234", "99999", "123456", "9999999", "12345678", "123456789", "999999999999999999"} {
		for _, sign := range []string{"", "-"} {
			for _, behind := range []string{"", ",", "}", " ", "/", ":", "\x00", "\x7f", "\x80", "\xff\xff\xff", ",\"a\":1}", "]]]]]]]]]"} {
				text := sign + digits
				want, err := strconv.ParseInt(text, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				if n, end := integer([]byte("x"+text+behind), 1); n != want || end != 1+len(text) {
					t.Errorf("%q: %d up to %d", text+behind, n, end)
				}
			}
			for _, behind := range []string{".", ".5", "e1", "E1", ".500000,", "e10,\"a\":"} {
				if _, end := integer([]byte(sign+digits+behind), 0); end != 0 {
					t.Errorf("%q is taken for an integer up to %d", sign+digits+behind, end)
				}
			}
		}
	}
	for _, bad := range []string{"01,\"a\":22", "-01,\"a\":2", "00", "-", "-,\"a\":\"b\"", "a1234567", "1234567890123456789,"} {
		if _, end := integer([]byte(bad), 0); end != 0 {
			t.Errorf("%q is taken for an integer up to %d", bad, end)
		}
	}
}
