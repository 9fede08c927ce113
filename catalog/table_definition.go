package catalog

import (
	"strings"

	"github.com/streamdb/streamdb/sql"
)

// TableDefinition is a table as CREATE TABLE, for one that has been altered since
// it was created. Names are found by path.
func TableDefinition(s *Snapshot, t *Table, path []string) string {
	var parts []string
	for i := range t.Columns {
		c := &t.Columns[i]
		text := sql.QuoteIdent(c.Name) + " " + c.Type.String()
		switch {
		case c.Generated != "":
			text += " GENERATED ALWAYS AS (" + c.Generated + ") STORED"
		case c.Identity != "":
			text += " GENERATED " + c.Identity + " AS IDENTITY"
		}
		if c.NotNull {
			text += " NOT NULL"
		}
		if c.Default != "" {
			text += " DEFAULT " + s.DefaultText(c, path)
		}
		parts = append(parts, text)
	}
	for _, k := range constraints(s) {
		if k.table.OID == t.OID {
			parts = append(parts, "CONSTRAINT "+sql.QuoteIdent(k.name)+" "+k.definition(s, path, true))
		}
	}
	return "CREATE TABLE " + sql.QuoteName(sql.Name{Schema: t.Schema, Name: t.Name}) + " (" + strings.Join(parts, ", ") + ")"
}
