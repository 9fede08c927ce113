package catalog

import (
	"sync"
	"time"

	"github.com/streamdb/streamdb/types"
)

// typeRow is what pg_attribute copies from pg_type.
type typeRow struct {
	len            int
	byval          bool
	align, storage string
	collation      uint32
}

var typeRows = sync.OnceValue(func() map[uint32]typeRow {
	out := map[uint32]typeRow{}
	for _, f := range dataLines("types", " ") {
		out[uint32(atoi(f[0]))] = typeRow{atoi(f[2]), f[3] == "t", f[16], f[17], uint32(atoi(f[18]))}
	}
	return out
})

// fromFile makes the rows of a table from a data file whose fields are its
// columns; number columns by their kind.
func fromFile(file string, constant ...any) fill {
	return func(_ *Context, r *rows) {
		for _, f := range dataLines(file, " ") {
			vals := make([]any, 0, len(f)+len(constant))
			for i, s := range f {
				vals = append(vals, fieldOf(r.kinds[r.at[i]], s))
			}
			r.add(append(vals, constant...)...)
		}
	}
}

func fieldOf(k types.Kind, s string) any {
	switch k {
	case types.KBool:
		return s == "t"
	case types.KBytes:
		return s
	}
	return atoi(s)
}

// accessMethods by name, for the data of operator classes.
var accessMethods = map[string]int{"btree": amBtree, "hash": 405}

func typeDefs() []def {
	one := func(name, columns string, data ...[]any) def {
		return def{"pg_catalog." + name, columns, func(_ *Context, r *rows) {
			for _, x := range data {
				r.add(x...)
			}
		}}
	}
	return []def{
		{"pg_catalog.pg_type", "oid typname typlen typbyval typtype typcategory typispreferred typdelim typelem typarray typinput " +
			"typoutput typreceive typsend typmodin typmodout typalign typstorage typcollation " +
			"typnamespace typowner typisdefined typtypmod typrelid typacl typbasetype typnotnull typndims typdefault", fillTypes},
		{"pg_catalog.pg_range", "rngtypid rngsubtype rngmultitypid rngcollation rngsubopc rngcanonical rngsubdiff", fillRanges},
		{"pg_catalog.pg_enum", "oid enumtypid enumsortorder enumlabel", fillEnum},
		{"pg_catalog.pg_opfamily", "oid opfmethod opfname opfnamespace opfowner", fromFile("opfamilies", 11, 10)},
		{"pg_catalog.pg_operator", "oid oprname oprkind oprcanmerge oprcanhash oprleft oprright oprresult oprcom oprnegate oprcode " +
			"oprnamespace oprowner", fromFile("operators", 11, 10)},
		{"pg_catalog.pg_cast", "oid castsource casttarget castfunc castcontext castmethod", fromFile("casts")},
		{"pg_catalog.pg_opclass", "oid opcmethod opcname opcnamespace opcowner opcfamily opcintype opcdefault opckeytype",
			func(_ *Context, r *rows) {
				for _, f := range dataLines("opclasses", " ") {
					r.add(atoi(f[0]), accessMethods[f[1]], f[2], 11, 10, atoi(f[3]), atoi(f[4]), f[5] == "t", atoi(f[6]))
				}
			}},
		one("pg_am", "oid amname amhandler amtype", []any{2, "heap", 3, "t"}, []any{403, "btree", 330, "i"}, []any{405, "hash", 331, "i"}),
		one("pg_language", "oid lanname lanowner lanispl lanpltrusted lanvalidator", []any{12, "internal", 10, false, false, 2246},
			[]any{14, "sql", 10, false, true, 2248}),
		one("pg_collation", "oid collname collnamespace collowner collprovider collisdeterministic collencoding collcollate collctype",
			[]any{100, "default", 11, 10, "d", true, -1, nil, nil}, []any{950, "C", 11, 10, "c", true, -1, "C", "C"},
			[]any{951, "POSIX", 11, 10, "c", true, -1, "POSIX", "POSIX"}, []any{12340, "ucs_basic", 11, 10, "c", true, 6, "C", "C"}),
		one("pg_tablespace", "oid spcname spcowner", []any{1663, "pg_default", 10}, []any{1664, "pg_global", 10}),
		{"pg_catalog.pg_timezone_names", "name abbrev utc_offset is_dst", fillZones},
	}
}

func fillZones(c *Context, r *rows) {
	var now int64
	if c.Session != nil {
		now = c.Session.NowMicros
	}
	for _, f := range dataLines("zones", "|") {
		z, err := types.LoadZone(f[0])
		if err != nil {
			continue // not in this system's zone data
		}
		at := time.UnixMicro(now + microsTo2000)
		r.add(f[0], z.Abbrev(now), types.IntervalValue{Micros: int64(z.Offset(now)) * 1e6}, at.In(z.Location()).IsDST())
	}
}

// microsTo2000 is the start of PostgreSQL's time scale in Unix time.
const microsTo2000 = 946684800 * 1_000_000

// Varying reports whether values of a type have no fixed length in PostgreSQL.
func Varying(t types.T) bool { return typeRows()[t.Underlying().OID()].len < 0 }
