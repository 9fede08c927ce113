// Package tpch makes the data, the queries and the changes of a benchmark after
// the TPC-H specification: eight tables of a parts trader, 22 analytical queries
// with the specification's validation parameters, and batches of inserts, deletes
// and updates spread over the tables.
//
// Every row is a function of the seed, the table and its number, so that any row
// can be made again without the ones before it; the changes rely on that. Sizes,
// value distributions and the dependencies between columns are the
// specification's; the texts of comments are made of word lists of our own, with
// the phrases that the queries look for about as often as it says.
//
// Rows come as the text format of COPY, changes as SQL that any PostgreSQL-like
// server takes.
package tpch
