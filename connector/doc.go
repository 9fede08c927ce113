// Package connector declares what a source and a sink are. Each connector lives
// in a folder of its own below and has one line in connector/registry.
//
// A source turns the records of an external system into chunks of exactly the
// columns asked for, with an offset a split, so that reading again from a stored
// offset yields the same rows. It never drops a record silently: what cannot be
// decoded comes back as a BadRecord. A sink turns changes into encoded records
// (kept in the sink log with the epoch's commit) and later delivers whole epochs
// of them, each exactly once if it can.
//
// Connectors know nothing of plans, state or the catalog.
//
// To add a connector: a folder with a Definition, and its line in the registry;
// the conformance tests run over the registry.
package connector
