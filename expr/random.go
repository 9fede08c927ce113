package expr

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// Seeded is the random sequence that setseed gives a session.
type Seeded struct {
	mu  sync.Mutex
	src *rand.Rand
}

func (s *Seeded) next() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.src == nil {
		return rand.Float64()
	}
	return s.src.Float64()
}

func (s *Seeded) seed(x float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.src = rand.New(rand.NewPCG(math.Float64bits(x), 0))
}

func randomFuncs() []*Func {
	return []*Func{
		volatile(safe(fn("random", nil, tF8, func(r *row) error {
			if s := r.c.session().Random; s != nil {
				return r.putF8(s.next())
			}
			return r.putF8(rand.Float64())
		}))),
		volatile(fn("setseed", ts(tF8), types.TVoid, func(r *row) error {
			x := r.f8(0)
			if !(x >= -1 && x <= 1) {
				return pgerr.New(pgerr.InvalidParameterValue, "setseed parameter %s is out of allowed range [-1,1]",
					types.AppendText(nil, tF8, x, nil))
			}
			if s := r.c.session().Random; s != nil {
				s.seed(x)
			}
			return r.putS("")
		})),
	}
}
