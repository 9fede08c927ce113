// Package clients tests StreamDB with the programs that people connect with:
// psql, pgx, psycopg 3, psycopg2, SQLAlchemy and dbt (a project in dbt/).
//
// corpus/ holds statements that clients and tools send by themselves, one file
// per client; a statement follows a line "-- @ simple" or "-- @ extended". The
// corpus test counts how many are answered and holds a floor, which is raised
// as more of the catalog is there; corpus/unanswered.txt has those that are not,
// each with the reason, and the test compares.
//
// With STREAMDB_CLIENTS_PG=postgres://... the tests run against PostgreSQL, to
// check the tests themselves.
package clients
