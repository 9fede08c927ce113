// Package kafkasql tests Kafka sources and sinks from SQL, in one process: an
// engine on a data directory and brokers that are an imitation. What only a real
// broker can tell is in tests/kafka.
package kafkasql
