package catalog

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// shop is a database with one object of every kind.
func shop(t testing.TB) *Context {
	t.Helper()
	s := New(Builtins()...)
	orders := &Table{Head: Head{OID: 16388, Database: DatabaseOID, Schema: "public", Name: "orders", Owner: 16380, Comment: "what was bought"},
		Columns: []Column{
			{Name: "id", Type: types.TInt4, NotNull: true}, {Name: "n", Type: types.NumericOf(10, 2), Default: "1.5"},
			{Name: "v", Type: types.T{ID: types.Varchar, Mod: 44}, NotNull: true, Comment: "a note"}, {Name: "ts", Type: types.TTimestamptz},
			{Name: "d", Type: types.TDate}, {Name: "iv", Type: types.TInterval}, {Name: "tx", Type: types.ArrayOf(types.Text)},
			{Name: "f", Type: types.TFloat8}, {Name: "g", Type: types.TInt8, Generated: "id * 2"},
		},
		PrimaryKey: &Key{OID: 16390, Name: "orders_pkey", Columns: []int{0}},
		Checks:     []Check{{OID: 16392, Name: "orders_n_check", Expr: "n > 0"}}}
	for _, o := range []Object{
		&Role{Head: Head{OID: 16380, Name: "ann"}, Login: true}, &Role{Head: Head{OID: 16381, Name: "bob"}, Super: true, Login: true},
		orders,
		&Index{Head: Head{OID: 16391, Database: DatabaseOID, Schema: "public", Name: "orders_v_key", Owner: 16380}, Table: 16388, Unique: true, Constraint: true,
			Keys: []IndexColumn{{Column: 2}, {Column: 0}}},
		&Source{Head: Head{OID: 16400, Database: DatabaseOID, Schema: "public", Name: "clicks"}, Columns: []Column{{Name: "at", Type: types.TTimestamptz}}},
		&MatView{Head: Head{OID: 16401, Database: DatabaseOID, Schema: "public", Name: "daily"}, Query: "SELECT id FROM orders", Columns: []Column{{Name: "id", Type: types.TInt4}}, DependsOn: []uint32{16388}},
		&View{Head: Head{OID: 16402, Database: DatabaseOID, Schema: "public", Name: "recent"}, Query: "SELECT id FROM orders;", Columns: []Column{{Name: "id", Type: types.TInt4}}, DependsOn: []uint32{16388}},
		&Sink{Head: Head{OID: 16403, Database: DatabaseOID, Schema: "public", Name: "out"}, Input: 16388},
		&Index{Head: Head{OID: 16404, Database: DatabaseOID, Schema: "public", Name: "Daily by id"}, Table: 16401, Keys: []IndexColumn{{Column: 0, Desc: true, NullsFirst: true}}},
	} {
		if h := o.Header(); h.Owner == 0 && o.Kind() != KindRole {
			h.Owner = BootstrapOID
		}
		s.add(o)
	}
	return &Context{Snapshot: s.In(DatabaseOID), Session: &expr.Session{Database: "shop", User: "bob"}}
}

// read returns the rows of a system relation whose column key has the value
// want (empty key: all), as the columns joined by bars.
func read(t testing.TB, c *Context, relation, columns, key, want string) []string {
	t.Helper()
	schema, name, ok := strings.Cut(relation, ".")
	if !ok {
		schema, name = "pg_catalog", relation
	}
	v, _ := c.Snapshot.Get(schema, name).(*VirtualTable)
	if v == nil {
		t.Fatalf("no relation %s", relation)
	}
	var cols []int
	for _, n := range strings.Fields(columns + " " + key) {
		k := ColumnIndex(v.Columns, n)
		if k < 0 {
			t.Fatalf("%s has no column %s", relation, n)
		}
		cols = append(cols, k)
	}
	var out []string
	err := v.Chunks(c, cols, func(ch *vec.Chunk) error {
		for i := range ch.Rows {
			var f []string
			for _, x := range ch.Cols {
				if x.IsNull(i) {
					f = append(f, "")
				} else {
					f = append(f, string(types.AppendText(nil, x.Type(), x.Datum(i), nil)))
				}
			}
			if key != "" {
				if f[len(f)-1] != want {
					continue
				}
				f = f[:len(f)-1]
			}
			out = append(out, strings.Join(f, "|"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSystemRelations(t *testing.T) {
	c := shop(t)
	for _, tc := range []struct{ relation, columns, key, want, rows string }{
		{"pg_class", "oid relnamespace relowner relam relhasindex relpersistence relkind relnatts relchecks relhasrules relispopulated relreplident reltuples", "relname", "orders",
			"[16388|2200|" + "16380" + "|2|t|p|r|9|1|f|t|d|-1]"},
		{"pg_class", "oid relam relkind relnatts relreplident", "relname", "orders_pkey", "[16390|403|i|1|n]"},
		{"pg_class", "relkind relhasindex relam", "relname", "daily", "[m|t|2]"},
		{"pg_class", "relkind relhasrules relam", "relname", "recent", "[v|t|0]"},
		{"pg_class", "relkind", "relname", "clicks", "[f]"},
		{"pg_class", "oid relkind relnamespace", "relname", "pg_class", "[1259|r|11]"},
		{"pg_class", "relkind", "relname", "pg_roles", "[v]"},
		{"pg_attribute", "attname attlen attnum attndims atttypmod attbyval attalign attstorage attnotnull atthasdef attgenerated attisdropped attislocal attcollation", "attrelid", "16388",
			"[id|4|1|0|-1|t|i|p|t|f||f|t|0 n|-1|2|0|655366|f|i|m|f|t||f|t|0 v|-1|3|0|44|f|i|x|t|f||f|t|100 ts|8|4|0|-1|t|d|p|f|f||f|t|0 d|4|5|0|-1|t|i|p|f|f||f|t|0 iv|16|6|0|-1|f|d|p|f|f||f|t|0 tx|-1|7|1|-1|f|i|x|f|f||f|t|100 f|8|8|0|-1|t|d|p|f|f||f|t|0 g|8|9|0|-1|t|d|p|f|t|s|f|t|0]"},
		{"pg_attrdef", "adnum adbin", "adrelid", "16388", "[2|1.5 9|id * 2]"},
		{"pg_index", "indrelid indnatts indnkeyatts indisunique indisprimary indisvalid indkey indclass indoption indcollation", "indexrelid", "16391",
			"[16388|2|2|t|f|t|3 1|3126 1978|0 0|100 0]"},
		{"pg_index", "indkey indoption", "indexrelid", "16404", "[1|3]"},
		{"pg_constraint", "oid contype conindid conkey connoinherit conbin", "conrelid", "16388",
			"[16390|p|16390|{1}|t| 16391|u|16391|{3,1}|t| 16392|c|0|{2}|f|n > 0]"},
		{"pg_description", "classoid objsubid description", "objoid", "16388", "[1259|0|what was bought 1259|3|a note]"},
		{"pg_depend", "classid refclassid refobjid deptype", "objid", "16402", "[1259|2615|2200|n 2618|1259|16402|i 2618|1259|16388|n]"},
		{"pg_rewrite", "rulename ev_class", "oid", "16401", "[_RETURN|16401]"},
		{"pg_indexes", "tablename indexname indexdef", "schemaname", "public",
			`[orders|orders_pkey|CREATE UNIQUE INDEX orders_pkey ON public.orders USING btree (id) orders|orders_v_key|CREATE UNIQUE INDEX orders_v_key ON public.orders USING btree (v, id) daily|Daily by id|CREATE INDEX "Daily by id" ON public.daily USING btree (id DESC)]`},
		{"pg_matviews", "schemaname matviewowner hasindexes ispopulated definition", "matviewname", "daily", "[public|streamdb|t|t|SELECT id FROM orders;]"},
		{"pg_views", "viewname definition", "schemaname", "public", "[recent|SELECT id FROM orders;]"},
		{"pg_tables", "tablename tableowner hasindexes", "schemaname", "public", "[orders|ann|t]"},
		{"pg_stat_user_tables", "relname n_live_tup", "schemaname", "public", "[orders|0 daily|0]"},
		{"pg_type", "oid typname typlen typtype typcategory typarray typelem typinput typcollation", "oid", "23", "[23|int4|4|b|N|1007|0|42|0]"},
		{"pg_type", "typname typelem typinput typreceive", "oid", "1009", "[_text|25|750|2400]"},
		{"pg_proc", "proname pronargs proargtypes", "oid", "2400", "[array_recv|3|2281 26 23]"},
		{"pg_database", "oid", "datname", "streamdb", "[5]"},
		{"pg_roles", "rolname rolsuper", "rolcanlogin", "t", "[streamdb|t ann|f bob|t]"},
		{"pg_settings", "setting", "name", "max_index_keys", "[32]"},
		{"pg_am", "amname", "", "", "[heap btree hash]"},
		{"pg_namespace", "nspname", "", "", "[pg_catalog public information_schema]"},
		{"pg_enum", "oid", "", "", "[]"},
		{"pg_timezone_names", "abbrev utc_offset is_dst", "name", "Asia/Tokyo", "[JST|09:00:00|f]"},
		{"information_schema.tables", "table_catalog table_name table_type is_insertable_into", "table_schema", "public",
			"[shop|orders|BASE TABLE|YES shop|clicks|FOREIGN|NO shop|recent|VIEW|NO]"},
		{"information_schema.columns", "column_name ordinal_position column_default is_nullable data_type character_maximum_length character_octet_length numeric_precision numeric_precision_radix numeric_scale datetime_precision udt_name", "table_name", "orders",
			"[id|1||NO|integer|||32|2|0||int4 n|2|1.5|YES|numeric|||10|10|2||numeric v|3||NO|character varying|40|160|||||varchar ts|4||YES|timestamp with time zone||||||6|timestamptz d|5||YES|date||||||0|date iv|6||YES|interval||||||6|interval tx|7||YES|ARRAY|||||||_text f|8||YES|double precision|||53|2|||float8 g|9||YES|bigint|||64|2|0||int8]"},
		{"information_schema.table_constraints", "constraint_name constraint_type", "table_name", "orders",
			"[orders_pkey|PRIMARY KEY orders_v_key|UNIQUE orders_n_check|CHECK 2200_16388_1_not_null|CHECK 2200_16388_3_not_null|CHECK]"},
		{"information_schema.key_column_usage", "constraint_name column_name ordinal_position", "table_name", "orders",
			"[orders_pkey|id|1 orders_v_key|v|1 orders_v_key|id|2]"},
	} {
		if got := fmt.Sprint(read(t, c, tc.relation, tc.columns, tc.key, tc.want)); got != tc.rows {
			t.Errorf("%s of %s:\ngot  %s\nwant %s", tc.columns, tc.relation, got, tc.rows)
		}
	}
}

// TestEverySystemRelationScans reads all of every relation: a value of the wrong
// kind would panic.
func TestEverySystemRelationScans(t *testing.T) {
	c := shop(t)
	full := 0
	for _, v := range All[*VirtualTable](c.Snapshot) {
		var cols []int
		for i := range v.Columns {
			cols = append(cols, i)
		}
		rows := 0
		err := v.Chunks(c, cols, func(ch *vec.Chunk) error {
			rows += ch.Rows
			for k, x := range ch.Cols {
				if v.Columns[k].NotNull && x.Nulls() != nil {
					for i := range ch.Rows {
						if x.IsNull(i) {
							return fmt.Errorf("%s.%s is NULL", v.Name, v.Columns[k].Name)
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if rows > 0 {
			full++
		}
	}
	if full < 45 {
		t.Errorf("only %d relations have rows", full)
	}
}

// TestWhatClientsAskFor holds the relations and columns that the catalog
// queries of drivers and tools name.
func TestWhatClientsAskFor(t *testing.T) {
	s := New(Builtins()...)
	b, err := os.ReadFile("testdata/client_columns.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		schema, name, _ := strings.Cut(f[0], ".")
		r, _ := s.Get(schema, name).(Relation)
		if r == nil {
			t.Errorf("no relation %s", f[0])
			continue
		}
		n++
		for _, col := range f[1:] {
			// Every relation has tableoid; it is not among the columns.
			if col != "tableoid" && ColumnIndex(r.Cols(), col) < 0 {
				t.Errorf("%s has no column %s", f[0], col)
			}
		}
	}
	if n < 74 {
		t.Errorf("%d relations", n)
	}
}

func TestOIDsAreUnique(t *testing.T) {
	c := shop(t)
	for _, x := range []struct{ relation, column string }{
		{"pg_class", "oid"}, {"pg_type", "oid"}, {"pg_proc", "oid"}, {"pg_attrdef", "oid"}, {"pg_operator", "oid"},
		{"pg_opclass", "oid"}, {"pg_cast", "oid"}, {"pg_roles", "oid"}, {"pg_constraint", "oid"},
	} {
		seen := map[string]bool{}
		for _, oid := range read(t, c, x.relation, x.column, "", "") {
			if seen[oid] || oid == "0" {
				t.Errorf("%s: OID %s twice or zero", x.relation, oid)
			}
			seen[oid] = true
		}
	}
}

func TestSystemColumnTypes(t *testing.T) {
	s := New(Builtins()...)
	for _, tc := range []struct {
		relation, column string
		want             types.T
	}{
		{"pg_class", "relkind", types.TChar}, {"pg_class", "relname", types.TName}, {"pg_class", "oid", types.TOid},
		{"pg_type", "typinput", types.T{ID: types.Regproc, Mod: -1}}, {"pg_proc", "proargnames", types.ArrayOf(types.Text)},
		{"pg_proc", "proargmodes", types.ArrayOf(types.Char)}, {"pg_settings", "name", types.TText},
		{"pg_stat_activity", "backend_start", types.TTimestamptz}, {"pg_timezone_names", "utc_offset", types.TInterval},
	} {
		cols := s.Get("pg_catalog", tc.relation).(Relation).Cols()
		if got := cols[ColumnIndex(cols, tc.column)].Type; got != tc.want {
			t.Errorf("%s.%s is %s, want %s", tc.relation, tc.column, got, tc.want)
		}
	}
}

func TestKeyIndex(t *testing.T) {
	s := shop(t).Snapshot
	if _, schema, name, ok := KeyIndex(s, 16390, "", ""); !ok || schema != "public" || name != "orders_pkey" {
		t.Errorf("by OID: %s.%s, %v", schema, name, ok)
	}
	if oid, _, _, ok := KeyIndex(s, 0, "public", "orders_pkey"); !ok || oid != 16390 {
		t.Errorf("by name: %d, %v", oid, ok)
	}
	if _, _, _, ok := KeyIndex(s, 16388, "", ""); ok {
		t.Error("a table taken for an index")
	}
}

func BenchmarkAttributes(b *testing.B) {
	c := shop(b)
	v := c.Snapshot.Get("pg_catalog", "pg_attribute").(*VirtualTable)
	for b.Loop() {
		v.Chunks(c, []int{0, 1, 2, 5}, func(*vec.Chunk) error { return nil })
	}
}
