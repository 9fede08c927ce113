// Package registry is the table of connectors. It holds no code of its own, so
// that a connector is added by one line in All. Names are unique; the conformance
// tests run over the table.
package registry
