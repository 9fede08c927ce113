package state

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/types"
)

// JobID names a job: a materialized view, sink, index or table, by its catalog
// OID.
type JobID = uint32

// TableID names a stored relation by its catalog OID; 0 is the system's own.
type TableID = uint32

// rowPrefix is the length of table(4) | vnode(2) before the key of a row.
const rowPrefix = 6

// Kinds of system keys, the byte after table 0.
const (
	sysDelta = 'D' // job(4) epoch(8) -> records of a small delta
	sysEpoch = 'E' // -> greatest committed epoch, by merge
	sysJob   = 'J' // job(4) -> descriptor of the job's log
	sysMeta  = 'M' // the user's key -> the user's value
	sysSink  = 'S' // sink(4) epoch(8) -> entry of the sink's log
	sysTrunc = 'T' // sink(4) -> epoch(8) up to which the sink's log was truncated
)

func sysKey(kind byte, tail ...byte) []byte {
	return append([]byte{0, 0, 0, 0, kind}, tail...)
}

func metaKey(key []byte) []byte { return append([]byte{0, 0, 0, 0, sysMeta}, key...) }

func jobKey(job JobID) []byte {
	return binary.BigEndian.AppendUint32(sysKey(sysJob), job)
}

func truncKey(sink JobID) []byte {
	return binary.BigEndian.AppendUint32(sysKey(sysTrunc), sink)
}

// epochKey is the key of kind for an epoch of a job or sink.
func epochKey(kind byte, id uint32, e types.Epoch) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 17), 0)
	b = append(b, kind)
	b = binary.BigEndian.AppendUint32(b, id)
	return binary.BigEndian.AppendUint64(b, uint64(e))
}

// epochOf is the epoch at the end of a key made by epochKey.
func epochOf(key []byte) types.Epoch {
	return types.Epoch(binary.BigEndian.Uint64(key[len(key)-8:]))
}

// idRange bounds all epochs of an id: [lo, hi).
func idRange(kind byte, id uint32) (lo, hi []byte) {
	lo = binary.BigEndian.AppendUint32(sysKey(kind), id)
	return lo, successor(lo)
}

// tableRange bounds all rows of a table: [lo, hi).
func tableRange(t TableID) (lo, hi []byte) {
	lo = binary.BigEndian.AppendUint32(nil, t)
	return lo, successor(lo)
}

// successor is the smallest key above every key with prefix b; nil: there is
// none.
func successor(b []byte) []byte {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != 0xff {
			c := append([]byte(nil), b[:i+1]...)
			c[i]++
			return c
		}
	}
	return nil
}

func appendRowKey(dst []byte, t TableID, key []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, t)
	dst = append(dst, 0, 0)
	return append(dst, key...)
}
