// Package kafka runs a real one-node Apache Kafka for tests.
//
// The broker's jars come from Maven (pom.xml) and are kept in .cache/kafka
// under the repository root; mvn runs only when they are missing. A broker is
// a KRaft node on free loopback ports with its log in a temporary directory,
// and is ended by its process id.
//
// The exactly-once test (build tag kafka, `make test-kafka`) kills StreamDB
// with SIGKILL again and again while it reads topics, keeps views and writes
// sinks, and then compares what a read_committed consumer and the views say
// with the truth computed from the orders.
package kafka
