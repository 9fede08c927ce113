// Package planner turns statements into plans: it resolves names and types as
// PostgreSQL does, decorrelates subqueries, and rewrites the tree by rules.
//
// The steps: binding (scope.go, from.go, select*.go, expr_*.go) makes a plan in
// which correlated subqueries are plan.Apply nodes; decorrelate.go turns those
// into joins; the rule_*.go files push filters, order joins (by the guesses of
// estimate.go), find join keys, prune columns and choose key lookups; stream.go
// puts exchanges where a streaming plan needs them. Steps after binding take plans and return new ones; no node is changed.
//
// The package reads the catalog snapshot it is given and nothing else: it never
// executes (constants are folded by package expr), stores, or asks a connector.
//
// Invariants:
//   - every error a user can cause has PostgreSQL's SQLSTATE, words and position;
//   - a plan never evaluates an expression that may fail on a row that the
//     written query would have dropped before, if that can be avoided;
//   - a streaming plan holds no Sort, Limit or Apply.
//
// To add syntax: a case in expr_bind.go or from.go. To add a rule: a function in
// a rule_*.go file and a line in optimize; a plan test in testdata.
package planner
