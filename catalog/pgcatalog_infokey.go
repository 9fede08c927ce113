package catalog

import "strconv"

// infoConstraintDefs are information_schema's views of constraints.
func infoConstraintDefs() []def {
	return []def{
		{"information_schema.table_constraints", "constraint_catalog constraint_schema constraint_name table_catalog table_schema " +
			"table_name constraint_type is_deferrable initially_deferred enforced nulls_distinct", fillTableConstraints},
		{"information_schema.key_column_usage", "constraint_catalog constraint_schema constraint_name table_catalog table_schema " +
			"table_name column_name ordinal_position", func(c *Context, r *rows) {
			db := database(c)
			for _, k := range constraints(c.Snapshot) {
				for i, col := range k.columns {
					r.add(db, k.table.Schema, k.name, db, k.table.Schema, k.table.Name, k.table.cols[col].Name, i+1)
				}
			}
		}},
		{"information_schema.constraint_column_usage", "table_catalog table_schema table_name column_name constraint_catalog " +
			"constraint_schema constraint_name", func(c *Context, r *rows) {
			db := database(c)
			for _, k := range constraints(c.Snapshot) {
				for _, col := range k.columns {
					r.add(db, k.table.Schema, k.table.Name, k.table.cols[col].Name, db, k.table.Schema, k.name)
				}
			}
		}},
		{"information_schema.check_constraints", "constraint_catalog constraint_schema constraint_name check_clause", func(c *Context, r *rows) {
			db := database(c)
			for _, k := range constraints(c.Snapshot) {
				if k.kind == 'c' {
					r.add(db, k.table.Schema, k.name, "("+k.expr+")")
				}
			}
			for _, n := range notNulls(c.Snapshot) {
				r.add(db, n.table.Schema, n.name, n.column+" IS NOT NULL")
			}
		}},
	}
}

func fillTableConstraints(c *Context, r *rows) {
	db := database(c)
	kinds := map[byte]string{'p': "PRIMARY KEY", 'u': "UNIQUE", 'c': "CHECK"}
	for _, k := range constraints(c.Snapshot) {
		var distinct any
		if k.kind == 'u' {
			distinct = yesNo(!k.nullsEqual)
		}
		r.add(db, k.table.Schema, k.name, db, k.table.Schema, k.table.Name, kinds[k.kind], "NO", "NO", "YES", distinct)
	}
	for _, n := range notNulls(c.Snapshot) {
		r.add(db, n.table.Schema, n.name, db, n.table.Schema, n.table.Name, "CHECK", "NO", "NO", "YES", nil)
	}
}

// notNull is a NOT NULL, which information_schema shows as a check.
type notNull struct {
	table        rel
	name, column string
}

func notNulls(s *Snapshot) []notNull {
	var out []notNull
	for _, x := range rels(s) {
		if _, ok := x.obj.(*Table); !ok {
			continue
		}
		for i, col := range x.cols {
			if col.NotNull {
				name := oidText(namespaceOID(s, x.Schema)) + "_" + oidText(x.OID) + "_" + strconv.Itoa(i+1) + "_not_null"
				out = append(out, notNull{x, name, col.Name})
			}
		}
	}
	return out
}
