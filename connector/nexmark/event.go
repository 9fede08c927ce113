package nexmark

import "math"

// Proportions and id bases of the published generator.
const (
	perEpoch      = 50
	personsPer    = 1
	auctionsPer   = 3
	firstID       = 1000
	hotAuctions   = 100 // hot ids are multiples of it
	hotPersons    = 100
	activePeople  = 1000
	inFlight      = 100
	personIDLead  = 10
	auctionIDLead = 10
	firstCategory = 10
	categories    = 5
	hotChannels   = 2
	channels      = 10000
)

// kind is what an event is.
type kind uint8

const (
	person kind = iota
	auction
	bid
)

// eventKind returns the kind of the event with the given id.
func eventKind(id int64) kind {
	switch r := id % perEpoch; {
	case r < personsPer:
		return person
	case r < personsPer+auctionsPer:
		return auction
	}
	return bid
}

// lastPerson returns the number of the newest person at event id, from 0.
func lastPerson(id int64) int64 { return id / perEpoch }

// lastAuction returns the number of the newest auction at event id, from 0; -1
// before the first.
func lastAuction(id int64) int64 {
	e, o := id/perEpoch, id%perEpoch
	switch {
	case o < personsPer:
		return (e-1)*auctionsPer + auctionsPer - 1
	case o >= personsPer+auctionsPer:
		return e*auctionsPer + auctionsPer - 1
	}
	return e*auctionsPer + o - personsPer
}

// rng is a splitmix64 sequence.
type rng uint64

// column numbers of the random sequences.
const (
	seqAuction = iota + 1
	seqBidder
	seqPrice
	seqChannel
	seqExtra
	seqName
	seqEmail
	seqCard
	seqCity
	seqState
	seqItem
	seqDescription
	seqInitial
	seqReserve
	seqExpires
	seqSeller
	seqCategory
)

// draw starts the sequence of one column of one event.
func draw(seed uint64, id int64, column int) rng {
	r := rng(seed ^ uint64(id)*0x9e3779b97f4a7c15 ^ uint64(column)*0xd1342543de82ef95)
	r.next()
	return r
}

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// intn returns a number in [0, n).
func (r *rng) intn(n int64) int64 {
	if n <= 0 {
		return 0
	}
	return int64(r.next() % uint64(n))
}

// price is 10^(6u) in cents, rounded.
func (r *rng) price() int64 {
	u := float64(r.next()>>11) / (1 << 53)
	return int64(math.Round(math.Pow(10, u*6) * 100))
}

// personID picks a person known at event id.
func (r *rng) personID(id int64) int64 {
	n := lastPerson(id) + 1
	active := min(n, activePeople)
	return n - active + r.intn(active+personIDLead)
}

// bidder returns the bidder of bid id.
func bidder(seed uint64, id int64) int64 {
	r := draw(seed, id, seqBidder)
	if r.intn(4) > 0 {
		return lastPerson(id)/hotPersons*hotPersons + 1 + firstID
	}
	return r.personID(id) + firstID
}

// seller returns the seller of auction id.
func seller(seed uint64, id int64) int64 {
	r := draw(seed, id, seqSeller)
	if r.intn(4) > 0 {
		return lastPerson(id)/hotPersons*hotPersons + firstID
	}
	return r.personID(id) + firstID
}

// bidAuction returns the auction of bid id.
func bidAuction(seed uint64, id int64) int64 {
	r := draw(seed, id, seqAuction)
	last := lastAuction(id)
	if r.intn(2) > 0 {
		return last/hotAuctions*hotAuctions + firstID
	}
	first := max(last-inFlight, 0)
	return first + r.intn(last-first+1+auctionIDLead) + firstID
}

// clock maps event ids to times.
type clock struct {
	base int64 // µs since 2000-01-01
	step float64
}

// at returns the time of event id in µs, to the millisecond as the generator has
// it.
func (c clock) at(id int64) int64 {
	return c.base + int64(math.Floor(float64(id)*c.step))/1000*1000
}

// expires returns when auction id closes: after about as many events as it takes
// to open another hundred auctions.
func (c clock) expires(seed uint64, id int64) int64 {
	r := draw(seed, id, seqExpires)
	horizon := c.at(id+inFlight*perEpoch/auctionsPer) - c.at(id)
	return c.at(id) + 1000 + r.intn(max(2*horizon/1000, 1))*1000
}
