package kafka

import (
	"encoding/binary"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recycled is the memory of fetched records that were decoded: the client asks
// for it again instead of the garbage collector. It implements
// kgo.PoolDecompressBytes and kgo.PoolRecords.
type recycled struct {
	mu    sync.Mutex
	bytes [][]byte
	recs  [][]kgo.Record
	held  int // bytes of both
}

// recycleBytes bounds what a reader holds for later, in bytes: about what its
// fetches that are on their way take.
const recycleBytes = 32 << 20

// recordBytes is about the size of a kgo.Record, in bytes.
const recordBytes = 200

// GetDecompressBytes implements kgo.PoolDecompressBytes.
func (p *recycled) GetDecompressBytes(compressed []byte, codec kgo.CompressionCodecType) []byte {
	need := len(compressed) // too little is grown, and comes back larger
	if n, k := binary.Uvarint(compressed); codec == kgo.CodecSnappy && k > 0 && n < recycleBytes {
		need = int(n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := take(&p.bytes, need)
	p.held -= cap(b)
	return b
}

// PutDecompressBytes implements kgo.PoolDecompressBytes.
func (p *recycled) PutDecompressBytes(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held+cap(b) <= recycleBytes {
		p.bytes, p.held = append(p.bytes, b), p.held+cap(b)
	}
}

// GetRecords implements kgo.PoolRecords.
func (p *recycled) GetRecords(n int) []kgo.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := take(&p.recs, n)
	p.held -= cap(r) * recordBytes
	return r
}

// PutRecords implements kgo.PoolRecords.
func (p *recycled) PutRecords(r []kgo.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := cap(r) * recordBytes; p.held+n <= recycleBytes {
		p.recs, p.held = append(p.recs, r), p.held+n
	}
}

// take takes a slice of at least a capacity, or of any if there is none such, out
// of a list; nil: the list is empty.
func take[T any](list *[][]T, capacity int) []T {
	l := *list
	if len(l) == 0 {
		return nil
	}
	last := len(l) - 1
	for i := last; i >= 0; i-- {
		if cap(l[i]) >= capacity {
			l[i], l[last] = l[last], l[i]
			break
		}
	}
	s := l[last]
	l[last] = nil
	*list = l[:last]
	return s[:0]
}
