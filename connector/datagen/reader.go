package datagen

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// splits is fixed, so that offsets outlive a change of the number of readers.
const splits = 16

// blockRows is the number of rows dealt to a split at a time.
const blockRows = vec.MaxRows

// tick is about how often a paced reader returns rows.
const tick = 50 * time.Millisecond

// split is one of the parts rows are dealt to.
type split struct {
	name string
	next int64
}

// reader makes the rows of some splits.
type reader struct {
	g      *generator
	cols   []int
	types  []types.T
	splits []split
	first  int64 // the row made at start
	start  time.Time
	ended  bool
}

// Open implements connector.Source.
func (g *generator) Open(_ context.Context, cols []int, instance, instances int, offsets map[string]string) (connector.Reader, error) {
	r := &reader{g: g, cols: cols, start: time.Now()}
	for _, k := range cols {
		r.types = append(r.types, g.cols[k].Typ)
	}
	for i := instance; i < splits; i += instances {
		s := split{name: strconv.Itoa(i), next: int64(i) * blockRows}
		if o, ok := offsets[s.name]; ok {
			n, err := strconv.ParseInt(o, 10, 64)
			if err != nil || n < 0 || n/blockRows%splits != int64(i) {
				return nil, pgerr.New(pgerr.DataCorrupted, "invalid offset \"%s\" of split %s", o, s.name)
			}
			s.next = n
		}
		r.splits = append(r.splits, s)
	}
	if s := r.lowest(); s != nil {
		r.first = s.next
	}
	return r, nil
}

// lowest is the split whose next row comes first; nil when all are at the end.
func (r *reader) lowest() *split {
	var low *split
	for i := range r.splits {
		if s := &r.splits[i]; s.next < r.g.rows && (low == nil || s.next < low.next) {
			low = s
		}
	}
	return low
}

// Read implements connector.Reader.
func (r *reader) Read(ctx context.Context) (*connector.Batch, error) {
	b := &connector.Batch{Offsets: map[string]string{}}
	s := r.lowest()
	if s == nil {
		if r.ended {
			defer connector.Wait(ctx)()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		r.ended = true
		b.Chunk, b.End = vec.NewChunk(r.types, 0), true
		return b, nil
	}
	lo := s.next
	hi := min(lo-lo%blockRows+blockRows, r.g.rows)
	hi, err := r.pace(ctx, lo, hi)
	if err != nil {
		return nil, err
	}
	b.Chunk = vec.NewChunk(r.types, int(hi-lo))
	for i, k := range r.cols {
		r.g.fill[k](b.Chunk.Cols[i], lo, hi)
	}
	b.Chunk.Rows = int(hi - lo)
	if s.next = hi; hi%blockRows == 0 {
		s.next += (splits - 1) * blockRows
	}
	b.Offsets[s.name] = strconv.FormatInt(s.next, 10)
	b.End = r.lowest() == nil
	r.ended = b.End
	return b, nil
}

// pace waits until rows of [lo, hi) are due and returns the end of those.
func (r *reader) pace(ctx context.Context, lo, hi int64) (int64, error) {
	rate := float64(r.g.rate)
	if rate <= 0 {
		return hi, ctx.Err()
	}
	group := min(lo+int64(math.Max(1, rate*tick.Seconds())), hi) // worth a chunk
	due := r.start.Add(time.Duration(float64(group-r.first) / rate * float64(time.Second)))
	over := connector.Wait(ctx)
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(due)):
	}
	over()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	late := r.first + int64(time.Since(r.start).Seconds()*rate)
	return min(max(group, late), hi), nil
}

// Close implements connector.Reader.
func (r *reader) Close() error { return nil }
