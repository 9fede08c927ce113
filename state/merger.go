package state

import (
	"encoding/binary"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
)

// First byte of every value that takes part in merges or lies in a table.
const (
	tagRow   = 1 // then the row's bytes
	tagCount = 2 // then a zigzag varint, added up; a sum of 0 is absence
	tagMax   = 3 // then 8 bytes big-endian, the greatest counts
)

func appendCount(dst []byte, n int64) []byte {
	return binary.AppendVarint(append(dst, tagCount), n)
}

func decodeCount(val []byte) (int64, error) {
	if len(val) > 1 && val[0] == tagCount {
		if n, w := binary.Varint(val[1:]); w == len(val)-1 {
			return n, nil
		}
	}
	return 0, pgerr.Wrap(vfs.ErrCorruption, pgerr.DataCorrupted, "invalid row count in storage")
}

func appendMax(dst []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, tagMax), n)
}

// merger adds counts and keeps maxima. Its name is stored on disk.
var merger = &pebble.Merger{
	Name: "streamdb.merge.v1",
	Merge: func(_, val []byte) (pebble.ValueMerger, error) {
		if len(val) == 9 && val[0] == tagMax {
			return &maxMerger{max: binary.BigEndian.Uint64(val[1:])}, nil
		}
		m := &countMerger{}
		return m, m.add(val)
	},
}

type countMerger struct{ n int64 }

func (m *countMerger) add(val []byte) error {
	n, err := decodeCount(val)
	m.n += n
	return err
}

func (m *countMerger) MergeNewer(val []byte) error { return m.add(val) }
func (m *countMerger) MergeOlder(val []byte) error { return m.add(val) }

// Finish keeps sums of zero: Pebble's compactions lose their place when a merge
// result is declared deleted (cockroachdb/pebble#6168). Readers skip zeros and
// the sweep deletes them.
func (m *countMerger) Finish(bool) ([]byte, io.Closer, error) {
	return appendCount(nil, m.n), nil, nil
}

type maxMerger struct{ max uint64 }

func (m *maxMerger) add(val []byte) error {
	if len(val) != 9 || val[0] != tagMax {
		return pgerr.Wrap(vfs.ErrCorruption, pgerr.DataCorrupted, "invalid epoch in storage")
	}
	m.max = max(m.max, binary.BigEndian.Uint64(val[1:]))
	return nil
}

func (m *maxMerger) MergeNewer(val []byte) error { return m.add(val) }
func (m *maxMerger) MergeOlder(val []byte) error { return m.add(val) }

func (m *maxMerger) Finish(bool) ([]byte, io.Closer, error) {
	return appendMax(nil, m.max), nil, nil
}
