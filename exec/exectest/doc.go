// Package exectest drives operators in tests. A case is a plan, a history of
// changes of its inputs and, optionally, the expected result. Every case runs
// with several chunk sizes, with its changes in several orders within an epoch,
// and with its state saved and loaded into fresh operators between epochs; after
// every epoch the sum of all output must be what a one-off run of the same plan
// over the accumulated input gives.
//
// It holds no assertions of its own on particular operators, and nothing outside
// tests imports it.
package exectest
