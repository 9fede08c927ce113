package catalog

import (
	"strconv"
	"strings"
)

func oidText(oid uint32) string { return strconv.FormatUint(uint64(oid), 10) }

func yesNo(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}

// database is the session's database.
func database(c *Context) string {
	if c.Session != nil && c.Session.Database != "" {
		return c.Session.Database
	}
	return Owner
}

// searchPath is the session's search path.
func searchPath(c *Context) []string {
	if c.Session == nil {
		return nil
	}
	return c.Session.SearchPath
}

// viewText is a view's query as pg_get_viewdef shows it.
func viewText(q string) string { return strings.TrimRight(strings.TrimSpace(q), "; \n\t") + ";" }

// viewDefs are PostgreSQL's views over the tables of relations.
func viewDefs() []def {
	return []def{
		{"pg_catalog.pg_tables", "schemaname tablename tableowner hasindexes hasrules hastriggers rowsecurity", func(c *Context, r *rows) {
			indexed := indexedTables(c.Snapshot)
			for _, x := range rels(c.Snapshot) {
				if x.kind == 'r' {
					r.add(x.Schema, x.Name, c.Snapshot.RoleName(x.Owner), indexed[x.OID], false, hasForeignKeys(c.Snapshot, x.obj), false)
				}
			}
		}},
		{"pg_catalog.pg_views", "schemaname viewname viewowner definition", func(c *Context, r *rows) {
			for _, x := range rels(c.Snapshot) {
				if v, ok := x.obj.(*View); ok {
					r.add(x.Schema, x.Name, c.Snapshot.RoleName(x.Owner), viewText(Shown(v.Text, v.Query)))
				} else if x.kind == 'v' {
					r.add(x.Schema, x.Name, c.Snapshot.RoleName(x.Owner), nil)
				}
			}
		}},
		{"pg_catalog.pg_matviews", "schemaname matviewname matviewowner hasindexes ispopulated definition", func(c *Context, r *rows) {
			indexed := indexedTables(c.Snapshot)
			for _, v := range All[*MatView](c.Snapshot) {
				r.add(v.Schema, v.Name, c.Snapshot.RoleName(v.Owner), indexed[v.OID], true, viewText(Shown(v.Text, v.Query)))
			}
		}},
		{"pg_catalog.pg_indexes", "schemaname tablename indexname indexdef", func(c *Context, r *rows) {
			for _, x := range indexes(c.Snapshot) {
				r.add(x.table.Schema, x.table.Name, x.name, x.definition(false))
			}
		}},
	}
}

func indexedTables(s *Snapshot) map[uint32]bool {
	out := map[uint32]bool{}
	for _, x := range indexes(s) {
		out[x.table.OID] = true
	}
	return out
}

// StatsSource is implemented by Context.Server where it counts rows.
type StatsSource interface {
	// RowCount is about how many rows a relation has.
	RowCount(oid uint32) (n int64, ok bool)
}

// statDefs are the statistics views. Counters that nobody keeps are zero.
func statDefs() []def {
	var out []def
	for _, scope := range []string{"all", "user", "sys"} {
		out = append(out,
			def{"pg_catalog.pg_stat_" + scope + "_tables", "relid schemaname relname seq_scan seq_tup_read n_tup_ins n_tup_upd n_tup_del " +
				"n_tup_hot_upd n_live_tup n_dead_tup n_mod_since_analyze n_ins_since_vacuum vacuum_count autovacuum_count " +
				"analyze_count autoanalyze_count", func(c *Context, r *rows) {
				stats, _ := c.Server.(StatsSource)
				for _, x := range scoped(c.Snapshot, scope) {
					n := int64(0)
					if stats != nil {
						n, _ = stats.RowCount(x.OID)
					}
					r.add(x.OID, x.Schema, x.Name, 0, 0, 0, 0, 0, 0, n, 0, 0, 0, 0, 0, 0, 0)
				}
			}},
			def{"pg_catalog.pg_statio_" + scope + "_tables", "relid schemaname relname heap_blks_read heap_blks_hit", func(c *Context, r *rows) {
				for _, x := range scoped(c.Snapshot, scope) {
					r.add(x.OID, x.Schema, x.Name, 0, 0)
				}
			}},
			def{"pg_catalog.pg_stat_" + scope + "_indexes", "relid indexrelid schemaname relname indexrelname idx_scan idx_tup_read " +
				"idx_tup_fetch", func(c *Context, r *rows) {
				if scope == "sys" {
					return
				}
				for _, x := range indexes(c.Snapshot) {
					r.add(x.table.OID, x.oid, x.table.Schema, x.table.Name, x.name, 0, 0, 0)
				}
			}})
	}
	return out
}

// scoped returns the stored relations of a statistics view.
func scoped(s *Snapshot, scope string) []rel {
	var out []rel
	for _, x := range rels(s) {
		if x.kind != 'r' && x.kind != 'm' {
			continue
		}
		system := s.Builtin(x.OID)
		if scope == "all" || system == (scope == "sys") {
			out = append(out, x)
		}
	}
	return out
}
