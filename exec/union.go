package exec

import (
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/vec"
)

// union adds the bags of its inputs.
type union struct {
	*opBase
	marks minMark
}

func newUnion(p *plan.Union, b *opBase) Operator {
	return &union{opBase: b, marks: minMark{inputs: len(p.Inputs)}}
}

func (u *union) Push(_ int, c *vec.Chunk, emit Emit) error { return emit(c) }

// Advance promises what all inputs have promised.
func (u *union) Advance(in int, w Watermark, pass func(Watermark) error, _ Emit) error {
	if at, ok := u.marks.advance(in, w.Col, w.At); ok {
		return pass(Watermark{Col: w.Col, At: at})
	}
	return nil
}

// minMark keeps, for every column, the least watermark over the inputs.
type minMark struct {
	inputs int
	cols   map[int]*markState
}

type markState struct {
	at   []int64
	have []bool
	last int64
	sent bool
}

// advance takes a watermark and returns the new minimum if it rose.
func (m *minMark) advance(in, col int, at int64) (int64, bool) {
	if m.cols == nil {
		m.cols = map[int]*markState{}
	}
	s := m.cols[col]
	if s == nil {
		s = &markState{at: make([]int64, m.inputs), have: make([]bool, m.inputs)}
		m.cols[col] = s
	}
	if !s.have[in] || at > s.at[in] {
		s.at[in], s.have[in] = at, true
	}
	low := s.at[in]
	for i, ok := range s.have {
		if !ok {
			return 0, false
		}
		low = min(low, s.at[i])
	}
	if s.sent && low <= s.last {
		return 0, false
	}
	s.sent, s.last = true, low
	return low, true
}
