package planner

import (
	"strings"

	"github.com/streamdb/streamdb/catalog"
)

// freeName is a name for an index of a table over columns: its label is numbered
// until nothing in the schema and in taken has the name.
func freeName(cat *catalog.Snapshot, schema, table string, cols []string, label string, taken map[string]bool) string {
	return cat.FreeName(schema, table, strings.Join(cols, "_"), label, func(n string) bool {
		return taken[n] || cat.ConstraintNamed(schema, n)
	})
}
