// Package tpch compares the 22 queries of internal/tpch on StreamDB and on
// PostgreSQL: as one-off queries, and as materialized views after changes. Its
// test does so at a small scale; the benchmark (streamdb bench sql) uses the same
// steps and measures them.
package tpch
