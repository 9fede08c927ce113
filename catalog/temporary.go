package catalog

import (
	"slices"
	"strings"
)

// TempSchema is the name by which a session calls the schema of its temporary
// objects, which has a number behind it.
const TempSchema = "pg_temp"

// IsTemp reports whether a schema holds the temporary objects of a session.
func IsTemp(schema string) bool { return strings.HasPrefix(schema, TempSchema+"_") }

// LastingPath is a search path without the schema of temporary objects, as what
// outlives the session keeps it.
func LastingPath(path []string) []string {
	return slices.DeleteFunc(slices.Clone(path), func(p string) bool { return IsTemp(p) || p == TempSchema })
}

// tempIn returns the schema of temporary objects that a search path has, or "".
func tempIn(path []string) string {
	for _, p := range path {
		if IsTemp(p) {
			return p
		}
	}
	return ""
}
