// Package plan holds the relational plan: a tree of nodes that says what to
// compute, for one-off queries and for streams alike. Nodes are data; nothing
// here executes or consults the catalog.
//
// Columns are positions in the input; expressions are expr trees over them.
// Keys of joins, groups and partitions are always plain columns: the planner
// puts a Project below when they are computed.
//
// Every node derives stream properties (Props): whether it only ever appends,
// and which column sets are unique. Operators choose cheaper state by them, so a
// property claimed wrongly is a wrong result.
//
// To add a node: a struct here with its Schema, Props and Children, one case in
// Rewrite, one in exec's build switch, one in explain.go.
package plan
