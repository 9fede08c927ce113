package jobs

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/state"
)

// Keys of the store's meta space.
func offsetKey(job uint32, rest string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte("offset/"), job), rest...)
}

// ClockKey goes with the offsets: both say how far the inputs of a job are.
func ClockKey(job uint32) []byte { return offsetKey(job, "clock") }

// StartedKey is where the fingerprint of the plan is that a job's state belongs to, from
// its first epoch on, and FailedKey where a failure is recorded. Jobs go by store ids.
func StartedKey(job uint32) []byte { return binary.BigEndian.AppendUint32([]byte("started/"), job) }
func FailedKey(job uint32) []byte  { return binary.BigEndian.AppendUint32([]byte("failed/"), job) }

// CatalogPrefix begins the keys of the catalog's entries.
var CatalogPrefix = []byte("catalog/")

// CatalogKV are catalog entries as a commit takes them.
func CatalogKV(es []catalog.Entry) []state.KV {
	kvs := make([]state.KV, len(es))
	for i, e := range es {
		kvs[i] = state.KV{Key: append(append([]byte(nil), CatalogPrefix...), e.Key...), Val: e.Val}
	}
	return kvs
}

func objectID(oid uint32) []byte { return binary.BigEndian.AppendUint32(nil, oid) }

func parseObjectID(b []byte) uint32 {
	if len(b) != 4 {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}
