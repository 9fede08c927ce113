package kafka

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/pgerr"
)

// A record of the sink log: flags(1: 1 key present, 2 value present), then for
// each present part its length as a uvarint and its bytes.
const (
	hasKey   = 1
	hasValue = 2
)

func appendRecord(dst, key, value []byte, keyed, tombstone bool) []byte {
	var flags byte
	if keyed {
		flags |= hasKey
	}
	if !tombstone {
		flags |= hasValue
	}
	dst = append(dst, flags)
	if keyed {
		dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
	}
	if !tombstone {
		dst = append(binary.AppendUvarint(dst, uint64(len(value))), value...)
	}
	return dst
}

var errRecord = pgerr.New(pgerr.DataCorrupted, "a record of the sink log is damaged")

// nextRecord splits the first record off b; key and value are nil where absent.
func nextRecord(b []byte) (key, value, rest []byte, err error) {
	if len(b) == 0 || b[0] > hasKey|hasValue {
		return nil, nil, nil, errRecord
	}
	flags := b[0]
	b = b[1:]
	part := func() ([]byte, bool) {
		n, m := binary.Uvarint(b)
		if m <= 0 || uint64(len(b)-m) < n {
			return nil, false
		}
		p := b[m : m+int(n) : m+int(n)]
		b = b[m+int(n):]
		return p, true
	}
	ok := true
	if flags&hasKey != 0 {
		if key, ok = part(); !ok {
			return nil, nil, nil, errRecord
		}
	}
	if flags&hasValue != 0 {
		if value, ok = part(); !ok {
			return nil, nil, nil, errRecord
		}
	}
	return key, value, b, nil
}
