// Package nexmark is a source of the Nexmark benchmark's events: persons,
// auctions and bids of an online auction house.
//
// Event number n is a function of the seed and n alone, so that an offset is an
// event number and any range can be made again. Of every 50 events 1 is a
// person, 3 are auctions and 46 are bids; ids and times follow the published
// generator in its default, in-order configuration. Only the columns a reader
// asks for are made; each column draws from a random sequence of its own, so
// that leaving one out does not change the others.
package nexmark
