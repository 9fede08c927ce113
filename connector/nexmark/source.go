package nexmark

import (
	"context"
	"strconv"
	"time"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/vec"
)

// Definition is the connector's row in the registry.
func Definition() connector.Definition {
	return connector.Definition{
		Name: "nexmark",
		Options: []connector.Option{
			{Name: "type", Doc: "The kind of events: person, auction or bid.", Required: true},
			{Name: "events", Doc: "The number of events of all kinds together; 0 for no end.", Default: "0"},
			{Name: "rate", Doc: "Events of all kinds a second; 0 for as fast as they are taken.", Default: "0"},
			{Name: "seed", Doc: "Number the events depend on.", Default: "1"},
			{Name: "event_rate", Doc: "Events a second of event time, which sets the distance of time stamps.", Default: "100000"},
			{Name: "base_time", Doc: "Time of the first event, in ms since 1970.", Default: "1735689600000"},
		},
		Source: newSource,
	}
}

// generator makes the events of one kind.
type generator struct {
	kind   kind
	seed   uint64
	events int64
	rate   int64
	clock  clock
	cols   []column // of the declared columns
}

func newSource(spec connector.SourceSpec) (connector.Source, error) {
	g := &generator{}
	switch t := spec.Options["type"]; t {
	case "person":
		g.kind = person
	case "auction":
		g.kind = auction
	case "bid":
		g.kind = bid
	default:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid value for option \"type\": \"%s\"", t).
			WithHint("Available values: person, auction, bid.")
	}
	num := func(name string, def, lo int64) (int64, error) {
		v, ok := spec.Options[name]
		if !ok {
			return def, nil
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < lo {
			return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid value for option \"%s\": \"%s\"", name, v)
		}
		return n, nil
	}
	var seed, eventRate, base int64
	for _, o := range []struct {
		to      *int64
		name    string
		def, lo int64
	}{{&g.events, "events", 0, 0}, {&g.rate, "rate", 0, 0}, {&seed, "seed", 1, 0}, {&eventRate, "event_rate", 100000, 1}, {&base, "base_time", 1735689600000, 0}} {
		var err error
		if *o.to, err = num(o.name, o.def, o.lo); err != nil {
			return nil, err
		}
	}
	const unixTo2000 = 946684800000
	g.seed = uint64(seed)
	g.clock = clock{base: (base - unixTo2000) * 1000, step: 1e6 / float64(eventRate)}
	return g, g.declare(spec.Columns)
}

// declare takes the declared columns, which must be the generator's by name and
// type; none means all.
func (g *generator) declare(declared []connector.Column) error {
	all := columns[g.kind]
	if len(declared) == 0 {
		g.cols = all
		return nil
	}
	for _, d := range declared {
		found := false
		for _, c := range all {
			if c.Name != d.Name {
				continue
			}
			if c.Typ.ID != d.Typ.ID {
				return pgerr.New(pgerr.DatatypeMismatch, "column \"%s\" is of type %s, not %s", c.Name, c.Typ, d.Typ)
			}
			g.cols, found = append(g.cols, c), true
		}
		if !found {
			return pgerr.New(pgerr.UndefinedColumn, "the events have no column \"%s\"", d.Name).
				WithHint("Leave the column list out to get all columns.")
		}
	}
	return nil
}

// Columns implements connector.Source.
func (g *generator) Columns() []connector.Column {
	out := make([]connector.Column, len(g.cols))
	for i, c := range g.cols {
		out[i] = c.Column
	}
	return out
}

// AppendOnly implements connector.Source.
func (g *generator) AppendOnly() bool { return true }

// Check implements connector.Source.
func (g *generator) Check(context.Context) error { return nil }

// Open implements connector.Source. Instance i of n makes every n-th block of
// events; its split is named after both, and its offset is an event number.
func (g *generator) Open(_ context.Context, cols []int, instance, instances int, offsets map[string]string) (connector.Reader, error) {
	r := &reader{g: g, split: strconv.Itoa(instance) + "/" + strconv.Itoa(instances), start: time.Now(), pool: &vec.Pool{}}
	r.block, r.stride = int64(instance), int64(instances)
	for _, k := range cols {
		r.cols = append(r.cols, g.cols[k])
		r.pool.Types = append(r.pool.Types, g.cols[k].Typ)
	}
	if o, ok := offsets[r.split]; ok {
		n, err := strconv.ParseInt(o, 10, 64)
		if err != nil {
			return nil, pgerr.New(pgerr.DataCorrupted, "invalid offset \"%s\" of split %s", o, r.split)
		}
		r.block = n
	}
	r.first = r.block
	return r, nil
}

// blockEvents is the number of events of all kinds in a block.
const blockEvents = 1000

// perKind is the number of events of each kind among perEpoch.
var perKind = [...]int{person: personsPer, auction: auctionsPer, bid: perEpoch - personsPer - auctionsPer}

// reader makes blocks of events.
type reader struct {
	g             *generator
	split         string
	cols          []column
	pool          *vec.Pool // of chunks, which keep the memory that text needs
	block, stride int64
	first         int64
	start         time.Time
	ids           []int64
}

// Read implements connector.Reader.
func (r *reader) Read(ctx context.Context) (*connector.Batch, error) {
	if err := r.pace(ctx); err != nil {
		return nil, err
	}
	b := &connector.Batch{Chunk: r.pool.Get(), Pool: r.pool}
	per := blockEvents / perEpoch * perKind[r.g.kind]
	for !b.End && b.Chunk.Rows+per <= vec.MaxRows {
		lo := r.block * blockEvents
		hi := lo + blockEvents
		if r.g.events > 0 && lo >= r.g.events {
			b.End = true
			break
		}
		if r.g.events > 0 && hi >= r.g.events {
			hi = min(hi, r.g.events)
			b.End = r.block+r.stride >= (r.g.events+blockEvents-1)/blockEvents
		}
		r.make(b.Chunk, lo, hi)
		r.block += r.stride
		if r.g.rate > 0 {
			break
		}
	}
	b.Offsets = map[string]string{r.split: strconv.FormatInt(r.block, 10)}
	return b, nil
}

func (r *reader) make(c *vec.Chunk, lo, hi int64) {
	r.ids = r.ids[:0]
	for id := lo; id < hi; id++ {
		if eventKind(id) == r.g.kind {
			r.ids = append(r.ids, id)
		}
	}
	for i := range r.cols {
		r.cols[i].fill(r.g, r.ids, c.Cols[i])
	}
	c.Rows += len(r.ids)
}

// pace waits until the block is due.
func (r *reader) pace(ctx context.Context) error {
	if r.g.rate <= 0 {
		return ctx.Err()
	}
	due := r.start.Add(time.Duration(float64(r.block-r.first) * blockEvents / float64(r.g.rate) * float64(time.Second)))
	defer connector.Wait(ctx)()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(due)):
		return nil
	}
}

// Close implements connector.Reader.
func (r *reader) Close() error { return nil }
