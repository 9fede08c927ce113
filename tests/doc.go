// Package tests groups the tests that drive StreamDB from outside, as its
// users do: over the PostgreSQL wire protocol, through Kafka, and by killing
// the process.
//
//   - serverproc builds and runs the server, and a real PostgreSQL to compare with;
//   - sqllogic runs the .slt files;
//   - clients runs psql, pgx, psycopg and SQLAlchemy;
//   - kafka runs a real Apache Kafka broker and the exactly-once test.
//
// Nothing here is imported by the product.
package tests
