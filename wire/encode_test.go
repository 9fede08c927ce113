package wire

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// sink is a connection that takes everything.
type sink struct {
	net.Conn
	n int
}

func (s *sink) Write(b []byte) (int, error) { s.n += len(b); return len(b), nil }
func (s *sink) Close() error                { return nil }

// wide is a chunk with a column of each common type.
func wide(t testing.TB, rows int) *vec.Chunk {
	t.Helper()
	ts := []types.T{types.TBool, types.TInt2, types.TInt4, types.TInt8, types.TFloat8, types.TNumeric, types.TText, types.TBytea,
		types.TDate, types.TTimestamp, types.TTimestamptz, types.TUUID, types.TJSONB, types.TInterval, types.ArrayOf(types.Int4)}
	text := []string{"t", "-7", "123456", "-9876543210", "1.5e-9", "12345.678", "hello, world", `\xdeadbeef`, "2026-11-29",
		"2026-11-29 10:20:30.25", "2026-11-29 10:20:30+00", "12345678-1234-1234-1234-123456789abc", `{"a": 1}`, "1 day 02:03:04", "{1,2,NULL}"}
	c := vec.NewChunk(ts, rows)
	for range rows {
		for k, s := range text {
			d, err := types.ParseText(ts[k], s, nil)
			if err != nil {
				t.Fatal(err)
			}
			c.Cols[k].AppendDatum(d)
		}
		c.AddWeight(1)
	}
	return c
}

func rowsPortal(c *vec.Chunk, format int16) *portal {
	p := &portal{chunk: c}
	for _, v := range c.Cols {
		p.enc = append(p.enc, encoderOf(v.Type(), format))
	}
	return p
}

func testConn() *conn {
	s := NewServer(nil, Config{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	return newConn(s, &sink{})
}

// TestDataRowDoesNotAllocate holds that rows of the common types cost no
// garbage, in both formats.
func TestDataRowDoesNotAllocate(t *testing.T) {
	c := wide(t, 8)
	opts := &types.Options{}
	for _, format := range []int16{0, 1} {
		for k, v := range c.Cols {
			if format == 0 && (v.Type().ID == types.Interval || v.Type().ID == types.UUID) {
				continue // through the general codec
			}
			one := &vec.Chunk{Rows: c.Rows, Cols: []vec.Vector{c.Cols[k]}}
			cn, p := testConn(), rowsPortal(one, format)
			cn.out = make([]byte, 0, 2*flushAt)
			if n := testing.AllocsPerRun(100, func() { cn.dataRow(p, opts) }); n > 0 {
				t.Errorf("%s in format %d: %v allocations a row", v.Type(), format, n)
			}
		}
	}
}

func TestTextForms(t *testing.T) {
	c := wide(t, 1)
	p := rowsPortal(c, 0)
	cn := testConn()
	if err := cn.dataRow(p, &types.Options{}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for b := cn.out[7:]; len(b) > 0; {
		n := int(b[3])
		got = append(got, string(b[4:4+n]))
		b = b[4+n:]
	}
	want := []string{"t", "-7", "123456", "-9876543210", "1.5e-09", "12345.678", "hello, world", `\xdeadbeef`, "2026-11-29",
		"2026-11-29 10:20:30.25", "2026-11-29 10:20:30+00", "12345678-1234-1234-1234-123456789abc", `{"a": 1}`, "1 day 02:03:04", "{1,2,NULL}"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("column %d: %q, want %q", i, got[i], want[i])
		}
	}
}

// copySession is the little of a session that COPY needs.
type copySession struct{ Session }

func (copySession) Options() *types.Options { return nil }

// FuzzCopyIn feeds the readers of COPY in two pieces. They must not panic, and
// where the input is cut must not matter.
func FuzzCopyIn(f *testing.F) {
	for kind := range byte(3) {
		f.Add(kind, []byte("1\ta\n2\t\\N\n"), uint16(3))
		f.Add(kind, []byte("1,\"a\"\"\nb\"\r\n2,\n\\.\n"), uint16(7))
		f.Add(kind, []byte(copySignature+"\x00\x02\x00\x00\x00\x04\x00\x00\x00\x07\x00\x00\x00\x01z\xff\xff"), uint16(20))
	}
	f.Fuzz(func(t *testing.T, kind byte, in []byte, cut uint16) {
		at := min(int(cut), len(in))
		whole, err1 := copyAll(CopyKind(kind%3), in)
		pieces, err2 := copyAll(CopyKind(kind%3), in[:at], in[at:])
		if (err1 == nil) != (err2 == nil) || err1 == nil && whole != pieces {
			t.Fatalf("whole: %q, %v\nin pieces: %q, %v", whole, err1, pieces, err2)
		}
	})
}

func copyAll(kind CopyKind, pieces ...[]byte) (string, error) {
	var got []byte
	cols := []Column{{Name: "id", Type: types.TInt4}, {Name: "v", Type: types.TText}}
	cn := testConn()
	cn.sess, cn.query = copySession{}, context.Background()
	rows := newCopyRows(cn, &Copy{Columns: cols, Format: DefaultCopy(kind), Write: func(_ context.Context, c *vec.Chunk) error {
		for i := range c.Rows {
			got = vec.AppendRow(got, c, nil, i)
		}
		return nil
	}})
	r := copyReaderOf(rows)
	for _, b := range pieces {
		if err := r.feed(b); err != nil {
			return "", err
		}
	}
	if err := r.finish(); err != nil {
		return "", err
	}
	return string(got), rows.flush()
}

func BenchmarkDataRow(b *testing.B) {
	c := wide(b, 1)
	cn, p, opts := testConn(), rowsPortal(c, 0), &types.Options{}
	b.ReportAllocs()
	for b.Loop() {
		if err := cn.dataRow(p, opts); err != nil {
			b.Fatal(err)
		}
	}
}
