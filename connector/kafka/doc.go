// Package kafka connects to Apache Kafka: a source that keeps its offsets in the
// job's state, and a sink that delivers each epoch exactly once.
//
// Source. Partitions are assigned directly, without a consumer group; instance i
// of n reads the partitions p with p mod n = i. Offsets, leader epochs and the
// topic's id are stored with the epoch, so a re-created topic is noticed. Only
// committed records are read. An offset that the log does not hold any more is an
// error, never a silent jump. A stream asks the partitions' leaders for batches by
// itself (fetch.go) and takes them apart (records.go, batch.go); a one-off query
// uses the client's consumer (bounded.go).
//
// Sink. The sink log holds each epoch's records. The deliverer writes an epoch
// and a marker, "sink s has delivered epoch e", in one transaction. After a
// crash it first fences its predecessor by taking over the transactional id and
// then reads the marker back: a transaction that may or may not have been
// committed has by then been decided. Nothing else is trusted.
package kafka
