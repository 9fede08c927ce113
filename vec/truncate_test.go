package vec

import (
	"testing"

	"github.com/streamdb/streamdb/types"
)

func TestTruncate(t *testing.T) {
	types.All(func(typ types.T) {
		if typ.ID == types.Void {
			return
		}
		v := New(typ, 4)
		Truncate(v, 0) // also when nothing was appended yet
		for range 3 {
			v.AppendNull()
		}
		Truncate(v, 5)
		if v.Len() != 3 {
			t.Fatalf("%s: %d rows", typ, v.Len())
		}
		Truncate(v, 1)
		if v.Len() != 1 || !v.IsNull(0) || v.IsNull(1) || v.IsNull(2) {
			t.Errorf("%s: %d rows, nulls %v", typ, v.Len(), v.Nulls())
		}
	})
	b := New(types.TText, 2).(*Bytes)
	b.AppendString("abc")
	b.AppendString("de")
	Truncate(b, 1)
	b.AppendString("f")
	if string(b.At(0)) != "abc" || string(b.At(1)) != "f" {
		t.Errorf("%q %q", b.At(0), b.At(1))
	}
}
