package jobs

import (
	"sync"
)

// answers gathers what a graph's tasks answer to a barrier. It wakes the coordinator
// once, when all have answered, instead of for each: most epochs are small, and
// waking a goroutine costs as much as the work of a task in them.
type answers struct {
	mu      sync.Mutex
	list    []*contribution
	missing int // answers until the coordinator is to look; 0 or less: it looks at each
	arrived chan struct{}
}

func newAnswers() *answers { return &answers{arrived: make(chan struct{}, 1)} }

// expect sets how many answers the coordinator waits for.
func (a *answers) expect(n int) {
	a.mu.Lock()
	a.missing = n
	a.mu.Unlock()
}

// add takes the answer of a task.
func (a *answers) add(c *contribution) {
	a.mu.Lock()
	a.list = append(a.list, c)
	a.missing--
	last := a.missing <= 0
	a.mu.Unlock()
	if last {
		signal(a.arrived)
	}
}

// take returns what has come since it was last called.
func (a *answers) take() []*contribution {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.list
	a.list = nil
	return list
}
