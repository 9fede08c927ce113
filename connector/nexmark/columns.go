package nexmark

import (
	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// column makes the values of one column for a run of events.
type column struct {
	connector.Column
	kind kind
	ints func(g *generator, id int64) int64
	text func(dst []byte, g *generator, id int64) []byte
}

func ints(k kind, name string, f func(g *generator, id int64) int64) column {
	return column{connector.Column{Name: name, Typ: types.TInt8}, k, f, nil}
}

func times(k kind, name string, f func(g *generator, id int64) int64) column {
	return column{connector.Column{Name: name, Typ: types.TTimestamp}, k, f, nil}
}

func texts(k kind, name string, f func(dst []byte, g *generator, id int64) []byte) column {
	return column{connector.Column{Name: name, Typ: types.TText}, k, nil, f}
}

// drawn is a text column with a random sequence of its own.
func drawn(k kind, name string, seq int, f func(dst []byte, r *rng) []byte) column {
	return texts(k, name, func(dst []byte, g *generator, id int64) []byte {
		r := draw(g.seed, id, seq)
		return f(dst, &r)
	})
}

// filler is the text that extra columns are slices of.
var filler = func() string {
	r := rng(0x5eed)
	return string(r.letters(nil, 1<<20, 0))
}()

// extra is a slice of the filler of n characters, a fifth more or less.
func extra(n int64) func(dst []byte, r *rng) []byte {
	return func(dst []byte, r *rng) []byte {
		l := n - n/5 + r.intn(2*n/5+1)
		from := r.intn(int64(len(filler)) - l)
		return append(dst, filler[from:from+l]...)
	}
}

func at(g *generator, id int64) int64 { return g.clock.at(id) }

var columns = map[kind][]column{
	person: {
		ints(person, "id", func(_ *generator, id int64) int64 { return firstID + lastPerson(id) }),
		drawn(person, "name", seqName, name),
		drawn(person, "email_address", seqEmail, email),
		drawn(person, "credit_card", seqCard, card),
		drawn(person, "city", seqCity, func(d []byte, r *rng) []byte { return pick(d, r, cities) }),
		drawn(person, "state", seqState, func(d []byte, r *rng) []byte { return pick(d, r, states) }),
		times(person, "date_time", at),
		drawn(person, "extra", seqExtra, extra(110)),
	},
	auction: {
		ints(auction, "id", func(_ *generator, id int64) int64 { return firstID + lastAuction(id) }),
		drawn(auction, "item_name", seqItem, func(d []byte, r *rng) []byte { return r.word(d, 20, ' ') }),
		drawn(auction, "description", seqDescription, func(d []byte, r *rng) []byte { return r.word(d, 100, ' ') }),
		ints(auction, "initial_bid", initialBid),
		ints(auction, "reserve", func(g *generator, id int64) int64 {
			r := draw(g.seed, id, seqReserve)
			return initialBid(g, id) + r.price()
		}),
		times(auction, "date_time", at),
		times(auction, "expires", func(g *generator, id int64) int64 { return g.clock.expires(g.seed, id) }),
		ints(auction, "seller", func(g *generator, id int64) int64 { return seller(g.seed, id) }),
		ints(auction, "category", func(g *generator, id int64) int64 {
			r := draw(g.seed, id, seqCategory)
			return firstCategory + r.intn(categories)
		}),
		drawn(auction, "extra", seqExtra, extra(380)),
	},
	bid: {
		ints(bid, "auction", func(g *generator, id int64) int64 { return bidAuction(g.seed, id) }),
		ints(bid, "bidder", func(g *generator, id int64) int64 { return bidder(g.seed, id) }),
		ints(bid, "price", func(g *generator, id int64) int64 {
			r := draw(g.seed, id, seqPrice)
			return r.price()
		}),
		texts(bid, "channel", func(d []byte, g *generator, id int64) []byte { return channel(d, g.seed, id) }),
		texts(bid, "url", func(d []byte, g *generator, id int64) []byte { return url(d, g.seed, id) }),
		times(bid, "date_time", at),
		drawn(bid, "extra", seqExtra, extra(int64(extraLength))),
	},
}

func initialBid(g *generator, id int64) int64 {
	r := draw(g.seed, id, seqInitial)
	return r.price()
}

// fill appends the column's values for the events ids to v.
func (c *column) fill(g *generator, ids []int64, v vec.Vector) {
	switch v := v.(type) {
	case *vec.Col[int64]:
		n := len(v.Vals)
		v.Vals = append(v.Vals, ids...)
		out := v.Vals[n:]
		for i, id := range ids {
			out[i] = c.ints(g, id)
		}
	case *vec.Bytes:
		for _, id := range ids {
			v.Data = c.text(v.Data, g, id)
			v.Finish()
		}
	}
}
