// Package tests groups the tests that drive StreamDB from outside, as its
// users do: over the PostgreSQL wire protocol, through Kafka, and by killing
// the process.
//
//   - serverproc builds and runs the server, and a real PostgreSQL to compare with;
//   - sqllogic runs the .slt files;
//   - clients runs psql, pgx, psycopg and SQLAlchemy;
//   - kafka runs a real Apache Kafka broker and the exactly-once test;
//   - kafkasql runs SQL over imitated brokers, in one process;
//   - restart kills and starts the server on directories good and bad.
//
// README.md says which test holds which known failure.
//
// Nothing here is imported by the product.
package tests
