package catalog

import (
	"slices"
	"strconv"
)

// infoConstraintDefs are information_schema's views of constraints.
func infoConstraintDefs() []def {
	return []def{
		{"information_schema.table_constraints", "constraint_catalog constraint_schema constraint_name table_catalog table_schema " +
			"table_name constraint_type is_deferrable initially_deferred enforced nulls_distinct", fillTableConstraints},
		{"information_schema.key_column_usage", "constraint_catalog constraint_schema constraint_name table_catalog table_schema " +
			"table_name column_name ordinal_position position_in_unique_constraint", func(c *Context, r *rows) {
			db := database(c)
			for _, k := range constraints(c.Snapshot) {
				for i, col := range k.columns {
					var at any
					if k.kind == 'f' {
						at = slices.Index(k.referenced(c.Snapshot), k.refs[i]) + 1
					}
					r.add(db, k.table.Schema, k.name, db, k.table.Schema, k.table.Name, k.table.cols[col].Name, i+1, at)
				}
			}
		}},
		{"information_schema.constraint_column_usage", "table_catalog table_schema table_name column_name constraint_catalog " +
			"constraint_schema constraint_name", func(c *Context, r *rows) {
			db := database(c)
			for _, k := range constraints(c.Snapshot) {
				cs, cols, of := k.table.cols, k.columns, k.table.Head
				if k.kind == 'f' {
					cs, cols, of = k.parent.Columns, k.refs, &k.parent.Head
				}
				for _, col := range cols {
					r.add(db, of.Schema, of.Name, cs[col].Name, db, k.table.Schema, k.name)
				}
			}
		}},
		{"information_schema.constraint_table_usage", "table_catalog table_schema table_name constraint_catalog constraint_schema constraint_name", func(c *Context, r *rows) {
			db := database(c)
			for _, k := range constraints(c.Snapshot) {
				switch k.kind {
				case 'f':
					r.add(db, k.parent.Schema, k.parent.Name, db, k.table.Schema, k.name)
				case 'p', 'u':
					r.add(db, k.table.Schema, k.table.Name, db, k.table.Schema, k.name)
				}
			}
		}},
		{"information_schema.referential_constraints", "constraint_catalog constraint_schema constraint_name unique_constraint_catalog " +
			"unique_constraint_schema unique_constraint_name match_option update_rule delete_rule", fillReferential},
		{"information_schema.check_constraints", "constraint_catalog constraint_schema constraint_name check_clause", func(c *Context, r *rows) {
			db := database(c)
			for _, k := range allConstraints(c.Snapshot) {
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
	kinds := map[byte]string{'p': "PRIMARY KEY", 'u': "UNIQUE", 'c': "CHECK", 'f': "FOREIGN KEY"}
	for _, k := range constraints(c.Snapshot) {
		var distinct any
		if k.kind == 'u' {
			distinct = yesNo(!k.nullsEqual)
		}
		deferrable, deferred := yesNo(k.deferrable), yesNo(k.deferred)
		if k.fk != nil {
			deferrable, deferred = yesNo(k.fk.Deferrable), yesNo(k.fk.Deferred)
		}
		r.add(db, k.table.Schema, k.name, db, k.table.Schema, k.table.Name, kinds[k.kind], deferrable, deferred, "YES", distinct)
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

func fillReferential(c *Context, r *rows) {
	db := database(c)
	for _, k := range constraints(c.Snapshot) {
		if k.kind != 'f' {
			continue
		}
		match := "NONE"
		if k.fk.MatchFull {
			match = "FULL"
		}
		var keyDB, schema, key any
		for _, u := range constraints(c.Snapshot) {
			if u.oid == k.fk.Index {
				keyDB, schema, key = db, u.table.Schema, u.name
			}
		}
		r.add(db, k.table.Schema, k.name, keyDB, schema, key, match, k.fk.OnUpdate.String(), k.fk.OnDelete.String())
	}
}

// referenced are the columns of the unique key that a foreign key is to, in its
// order.
func (k *constraint) referenced(s *Snapshot) []int {
	if p := k.parent.PrimaryKey; p != nil && p.OID == k.fk.Index {
		return p.Columns
	}
	if ix, ok := s.ByOID(k.fk.Index).(*Index); ok {
		return ix.Columns()
	}
	return nil
}
