package exec

import (
	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// keeper completes rows in which some values stand for what the row had: a
// change stream leaves large values out that an update has not touched.
type keeper struct {
	marks  [][]byte // by column: the value that stands for the former one; nil: none
	former *vec.Chunk
	whole  *vec.Chunk
	batch  rowBatch
}

func newKeeper(ts []types.T) *keeper {
	k := &keeper{former: vec.NewChunk(ts, 1), whole: vec.NewChunk(ts, 1)}
	for _, t := range ts {
		k.marks = append(k.marks, unavailable(t))
	}
	return k
}

// unavailable is how a column of type t holds connector.Unavailable.
func unavailable(t types.T) []byte {
	text := connector.Unavailable
	switch {
	case t.ID == types.Text, t.ID == types.Varchar, t.ID == types.Bytea:
		return []byte(text)
	case t.ID == types.JSON:
		return []byte(`"` + text + `"`)
	case t.ID == types.JSONB:
		b, _ := types.AppendJSONB(nil, `"`+text+`"`)
		return b
	case t.ID == types.Array && (t.Elem == types.Text || t.Elem == types.Varchar):
		s, _ := types.ParseArray(t, "{"+text+"}", &types.Options{})
		return []byte(s)
	}
	return nil
}

// lacks reports whether values of row i are left out.
func (k *keeper) lacks(c *vec.Chunk, i int) bool {
	for col, m := range k.marks {
		if m != nil && k.left(c, i, col) {
			return true
		}
	}
	return false
}

func (k *keeper) left(c *vec.Chunk, i, col int) bool {
	v := c.Cols[col]
	return k.marks[col] != nil && !v.IsNull(i) && string(v.(*vec.Bytes).At(i)) == string(k.marks[col])
}

var errUnavailable = pgerr.New(pgerr.DataException, "an update leaves out a value of a row that was not seen before").
	WithHint("Start the change stream with a snapshot, or let the table have REPLICA IDENTITY FULL.")

// complete returns row i with what it leaves out taken from the former row,
// borrowed until the next call.
func (k *keeper) complete(f *rowFormat, c *vec.Chunk, i int, former []byte) []byte {
	k.former.Reset()
	k.whole.Reset()
	f.decode(k.former, 0, [][]byte{former})
	for col, v := range k.whole.Cols {
		if k.left(c, i, col) {
			v.AppendFrom(k.former.Cols[col], 0)
		} else {
			v.AppendFrom(c.Cols[col], i)
		}
	}
	k.whole.Rows = 1
	f.encode(&k.batch, k.whole)
	return k.batch.row(0)
}
