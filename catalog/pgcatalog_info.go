package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/types"
)

// dataType is a type as information_schema names it.
func dataType(t types.T) string {
	if t.ID == types.Array && !t.IsDomain() {
		return "ARRAY"
	}
	if t.Def() != nil {
		return "USER-DEFINED"
	}
	return typeName(t.Base())
}

// typeSchema is the schema a type is in.
func typeSchema(t types.T) string {
	if d := t.Def(); d != nil && d.Name != "" {
		return d.Schema
	}
	return "pg_catalog"
}

// infoRels are the relations that information_schema shows: as in PostgreSQL,
// materialized views are not among them.
func infoRels(s *Snapshot) []rel {
	var out []rel
	for _, x := range rels(s) {
		if x.kind != 'm' && x.kind != 'S' {
			out = append(out, x)
		}
	}
	return out
}

// seenRels are those of infoRels that the session's role has a privilege on.
func seenRels(c *Context) []rel {
	all := infoRels(c.Snapshot)
	if c.Snapshot.Superuser(c.role()) {
		return all
	}
	return slices.DeleteFunc(all, func(x rel) bool { return !c.sees(x.obj) })
}

// updatable tells how the rows of a relation can be changed.
func updatable(c *Context, x rel) expr.Updatable {
	if c.Session == nil || c.Session.Catalog == nil || x.obj == nil {
		_, ok := x.obj.(*Table)
		return expr.Updatable{Update: ok, Insert: ok, Delete: ok}
	}
	return c.Session.Catalog.Updatable(x.obj.Header().OID)
}

func infoTableDefs() []def {
	return []def{
		{"information_schema.tables", "table_catalog table_schema table_name table_type is_insertable_into is_typed", func(c *Context, r *rows) {
			kinds := map[byte]string{'r': "BASE TABLE", 'v': "VIEW", 'f': "FOREIGN"}
			for _, x := range seenRels(c) {
				kind := kinds[x.kind]
				if x.kind == 'r' && IsTemp(x.Schema) {
					kind = "LOCAL TEMPORARY"
				}
				r.add(database(c), x.Schema, x.Name, kind, yesNo(updatable(c, x).Insert), "NO")
			}
		}},
		{"information_schema.columns", "table_catalog table_schema table_name column_name ordinal_position column_default is_nullable " +
			"data_type character_maximum_length character_octet_length numeric_precision numeric_precision_radix numeric_scale " +
			"datetime_precision domain_catalog domain_schema domain_name udt_catalog udt_schema udt_name dtd_identifier is_self_referencing is_identity identity_generation identity_start identity_increment " +
			"identity_maximum identity_minimum identity_cycle is_generated generation_expression is_updatable", fillInfoColumns},
		{"information_schema.schemata", "catalog_name schema_name schema_owner", func(c *Context, r *rows) {
			for _, n := range All[*Schema](c.Snapshot) {
				if !c.Snapshot.Owns(c.role(), n) {
					continue
				}
				r.add(database(c), n.Name, c.Snapshot.RoleName(n.Owner))
			}
		}},
		{"information_schema.views", "table_catalog table_schema table_name view_definition check_option is_updatable " +
			"is_insertable_into is_trigger_updatable is_trigger_deletable is_trigger_insertable_into", func(c *Context, r *rows) {
			for _, x := range seenRels(c) {
				if x.kind != 'v' {
					continue
				}
				var text any
				check := "NONE"
				if v, ok := x.obj.(*View); ok {
					if v.CheckOption() != "" {
						check = strings.ToUpper(v.CheckOption())
					}
					if c.Snapshot.Owns(c.role(), v) {
						text = viewText(Shown(v.Text, v.Query))
					}
				}
				u := updatable(c, x)
				r.add(database(c), x.Schema, x.Name, text, check, yesNo(u.Update && u.Delete), yesNo(u.Insert), "NO", "NO", "NO")
			}
		}},
		{"information_schema.view_table_usage", "view_catalog view_schema view_name table_catalog table_schema table_name", func(c *Context, r *rows) {
			for _, v := range All[*View](c.Snapshot) {
				for _, d := range v.DependsOn {
					if o := c.Snapshot.ByOID(d); o != nil && o.Kind().Relation() {
						h := o.Header()
						r.add(database(c), v.Schema, v.Name, database(c), h.Schema, h.Name)
					}
				}
			}
		}},
		{"information_schema.information_schema_catalog_name", "catalog_name", func(c *Context, r *rows) { r.add(database(c)) }},
		{"information_schema.character_sets", "character_set_name character_repertoire form_of_use default_collate_catalog " +
			"default_collate_schema default_collate_name", func(c *Context, r *rows) {
			r.add("UTF8", "UCS", "UTF8", database(c), "pg_catalog", "C")
		}},
	}
}

func fillInfoColumns(c *Context, r *rows) {
	db := database(c)
	for _, x := range seenRels(c) {
		can := updatable(c, x)
		for i := range x.cols {
			col := &x.cols[i]
			t, notNull := col.Type, col.NotNull
			var domainDB, domainSchema, domainName any
			if o := domainOf(c.Snapshot, t); o != nil {
				domainDB, domainSchema, domainName = db, o.Schema, o.Name
				t, notNull = t.Over(), notNull || o.Domain.NotNull
			}
			f, ident := facetsOf(t), identityFacets(c.Snapshot, col)
			if t.IsDomain() {
				f = facets{}
			}
			generated := "NEVER"
			if col.Generated != "" {
				generated = "ALWAYS"
			}
			num := ColumnNumber(x.cols, i)
			r.add(db, x.Schema, x.Name, col.Name, num, orNull(c.Snapshot.DefaultText(col, searchPath(c))), yesNo(!notNull), dataType(t),
				f.length, f.octets, f.precision, f.radix, f.scale, f.datetime, domainDB, domainSchema, domainName, db, typeSchema(t), t.TypName(), oidText(uint32(num)),
				"NO", yesNo(col.Identity != ""), orNull(col.Identity), ident.start, ident.increment, ident.max, ident.min, ident.cycle, generated, orNull(col.Generated), yesNo(can.Column(i+1)))
		}
	}
}

// identity are the columns of information_schema.columns about an identity column.
type identity struct{ start, increment, max, min, cycle any }

func identityFacets(s *Snapshot, col *Column) identity {
	q, ok := s.ByOID(col.Sequence).(*Sequence)
	if !ok {
		return identity{cycle: "NO"}
	}
	text := func(n int64) string { return strconv.FormatInt(n, 10) }
	return identity{text(q.Start), text(q.Increment), text(q.Max), text(q.Min), yesNo(q.Cycle)}
}

// facets are the columns of information_schema.columns that depend on the type.
type facets struct{ length, octets, precision, radix, scale, datetime any }

func facetsOf(t types.T) (f facets) {
	switch t.ID {
	case types.Varchar, types.Bpchar:
		f.octets = 1 << 30
		if t.Mod >= 4 {
			f.length, f.octets = t.Mod-4, (t.Mod-4)*4
		}
	case types.Text:
		f.octets = 1 << 30
	case types.Int2:
		f.precision, f.radix, f.scale = 16, 2, 0
	case types.Int4:
		f.precision, f.radix, f.scale = 32, 2, 0
	case types.Int8:
		f.precision, f.radix, f.scale = 64, 2, 0
	case types.Float4:
		f.precision, f.radix = 24, 2
	case types.Float8:
		f.precision, f.radix = 53, 2
	case types.Numeric:
		f.radix = 10
		if t.Mod >= 4 {
			f.precision, f.scale = t.NumericMod()
		}
	case types.Date:
		f.datetime = 0
	case types.Time, types.Timetz, types.Timestamp, types.Timestamptz, types.Interval:
		f.datetime = 6
		if t.ID != types.Interval && t.Mod >= 0 {
			f.datetime = t.Mod
		} else if _, p := t.IntervalMod(); t.ID == types.Interval && p >= 0 {
			f.datetime = p
		}
	}
	return f
}
