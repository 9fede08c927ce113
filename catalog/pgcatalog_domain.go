package catalog

import (
	"sync"

	"github.com/streamdb/streamdb/types"
)

// domains returns the domains of CREATE DOMAIN.
func domains(s *Snapshot) []*Type {
	var out []*Type
	for _, t := range All[*Type](s) {
		if t.Domain != nil {
			out = append(out, t)
		}
	}
	return out
}

// domainOf returns the domain that a type is; nil: it is none.
func domainOf(s *Snapshot, t types.T) *Type {
	if !t.IsDomain() {
		return nil
	}
	o, _ := s.ByOID(t.OID()).(*Type)
	return o
}

// typeFuncs are the OIDs of the functions that write a type as text and binary.
type typeFuncs struct{ out, send int }

var outputFuncs = sync.OnceValue(func() map[uint32]typeFuncs {
	out := map[uint32]typeFuncs{}
	for _, f := range dataLines("types", " ") {
		out[uint32(atoi(f[0]))] = typeFuncs{atoi(f[11]), atoi(f[13])}
	}
	return out
})

// collationNames are the collations that a domain may be given.
var collationNames = map[uint32]string{950: "C", 951: "POSIX", 12340: "ucs_basic"}

// CollationOID is the OID of a collation by its name; 0: the default.
func CollationOID(name string) uint32 {
	for oid, n := range collationNames {
		if n == name {
			return oid
		}
	}
	return 0
}

// CollationName is the name of a collation in pg_collation.
func CollationName(oid uint32) (string, bool) {
	if oid == 100 {
		return "default", true
	}
	n, ok := collationNames[oid]
	return n, ok
}

// fillDomainType adds a domain's row of pg_type, which is what it is over in most.
func fillDomainType(r *rows, s *Snapshot, t types.T, owner uint32, acl any) {
	d, over, u := t.Def(), t.Over(), t.Underlying()
	o := domainOf(s, t)
	if o == nil {
		return
	}
	like, ok := typeRows()[u.OID()]
	fs := outputFuncs()[u.OID()]
	if !ok { // of an array, an enum or a composite type
		like = typeRow{len: -1, align: "d", storage: "x"}
		switch {
		case u.ID == types.Array:
			fs = typeFuncs{751, 2401}
			like.align = "i"
		case u.ID == types.Enum:
			like = typeRow{len: 4, byval: true, align: "i", storage: "p"}
			fs = typeFuncs{3507, 3533}
		default:
			fs = typeFuncs{2291, 2403}
		}
	}
	if o.Collation != 0 {
		like.collation = o.Collation
	}
	dims := 0
	if over.ID == types.Array && !over.IsDomain() {
		dims = 1
	}
	r.add(t.OID(), t.TypName(), like.len, like.byval, "d", string(u.Category()), false, ",", 0, d.ArrayOID, 2597, fs.out, 2598, fs.send, 0, 0,
		like.align, like.storage, like.collation, namespaceOID(s, d.Schema), owner, true, over.Mod, 0, acl,
		over.OID(), o.Domain.NotNull, dims, orNull(domainDefaultText(s, o, nil)))
}

// domainDefaultText is the default of a domain as PostgreSQL shows it.
func domainDefaultText(s *Snapshot, o *Type, path []string) string {
	c := *o.Domain
	c.Type = c.Type.Underlying()
	return s.DefaultText(&c, path)
}

func infoDomainDefs() []def {
	return []def{
		{"information_schema.domains", "domain_catalog domain_schema domain_name data_type character_maximum_length character_octet_length " +
			"collation_catalog collation_schema collation_name numeric_precision numeric_precision_radix numeric_scale datetime_precision " +
			"domain_default udt_catalog udt_schema udt_name dtd_identifier", func(c *Context, r *rows) {
			db := database(c)
			for _, o := range domains(c.Snapshot) {
				t := o.Domain.Type
				f := facetsOf(t)
				if t.IsDomain() {
					f = facets{}
				}
				name := dataType(t)
				if t.ID == types.Array && !t.IsDomain() {
					name = t.Base().String()
				}
				var cc, cs, cn any
				if o.Collation != 0 {
					cc, cs, cn = db, "pg_catalog", collationNames[o.Collation]
				}
				r.add(db, o.Schema, o.Name, name, f.length, f.octets, cc, cs, cn, f.precision, f.radix, f.scale, f.datetime,
					orNull(domainDefaultText(c.Snapshot, o, searchPath(c))), db, typeSchema(t), t.TypName(), "1")
			}
		}},
		{"information_schema.domain_constraints", "constraint_catalog constraint_schema constraint_name domain_catalog domain_schema " +
			"domain_name is_deferrable initially_deferred", func(c *Context, r *rows) {
			db := database(c)
			for _, o := range domains(c.Snapshot) {
				for _, k := range o.Checks {
					r.add(db, o.Schema, k.Name, db, o.Schema, o.Name, "NO", "NO")
				}
			}
		}},
		{"information_schema.domain_udt_usage", "udt_catalog udt_schema udt_name domain_catalog domain_schema domain_name", func(c *Context, r *rows) {
			db := database(c)
			for _, o := range domains(c.Snapshot) {
				r.add(db, typeSchema(o.Domain.Type), o.Domain.Type.TypName(), db, o.Schema, o.Name)
			}
		}},
		{"information_schema.column_domain_usage", "domain_catalog domain_schema domain_name table_catalog table_schema table_name column_name",
			func(c *Context, r *rows) {
				db := database(c)
				for _, x := range infoRels(c.Snapshot) {
					for _, col := range x.cols {
						if o := domainOf(c.Snapshot, col.Type); o != nil {
							r.add(db, o.Schema, o.Name, db, x.Schema, x.Name, col.Name)
						}
					}
				}
			}},
	}
}
