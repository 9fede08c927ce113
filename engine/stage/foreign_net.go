package stage

import (
	"github.com/streamdb/streamdb/vec"
)

// KeyDelta is how much oftener a key is there, and a row that has it: one that came,
// if any did.
type KeyDelta struct {
	N   int64
	Row int
}

func (d *KeyDelta) add(n int64, row int) {
	if d.N += n; n > 0 || d.Row < 0 {
		d.Row = row
	}
}

// NetChild sums up what changes of the child make of the keys that it references.
// Before each key stands a byte with its refState.
func (k *ForeignKey) NetChild(c *vec.Chunk) (map[string]*KeyDelta, error) {
	out := map[string]*KeyDelta{}
	var buf []byte
	for i := range c.Rows {
		key, st, err := k.ChildKey(append(buf[:0], 0), c, i)
		if buf = key; err != nil {
			return nil, err
		}
		if st == RefNone {
			continue
		}
		if key[0] = byte(st); st != RefKey {
			key = vec.AppendRow(key[:1], c, nil, i)
		}
		d := out[string(key)]
		if d == nil {
			d = &KeyDelta{Row: -1}
			out[string(key)] = d
		}
		d.add(c.Weight(i), i)
	}
	return out, nil
}

// NetParent sums up what changes of the parent make of its keys.
func (k *ForeignKey) NetParent(c *vec.Chunk) map[string]*KeyDelta {
	out := map[string]*KeyDelta{}
	for i := range c.Rows {
		key, ok := k.ParentKey(nil, c, i)
		if !ok {
			continue
		}
		d := out[string(key)]
		if d == nil {
			d = &KeyDelta{Row: -1}
			out[string(key)] = d
		}
		d.add(c.Weight(i), i)
	}
	return out
}
