package kafka

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// firstError keeps the first failure of the promises of many records.
type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) promise(_ *kgo.Record, err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	if f.err == nil {
		f.err = err
	}
	f.mu.Unlock()
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
