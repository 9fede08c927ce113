package catalog

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/streamdb/streamdb/types"
)

// The system relations of PostgreSQL 15 exist with all their columns, since
// clients select every column of whole catalog tables. Those about features
// that StreamDB doesn't have are empty. Their names, OIDs and columns, and the
// rows of the tables about types and operators, are data files; what depends on
// the snapshot is computed by the fill functions of pgcatalog_*.go.

//go:embed pgdata/*.txt
var pgdata embed.FS

// dataLines returns the lines of a data file, split into fields.
func dataLines(name, sep string) [][]string {
	b, err := pgdata.ReadFile("pgdata/" + name + ".txt")
	if err != nil {
		panic("catalog: " + err.Error()) // the file is part of the binary
	}
	var out [][]string
	for line := range strings.Lines(string(b)) {
		out = append(out, strings.Split(strings.TrimRight(line, "\n"), sep))
	}
	return out
}

// fill computes the rows of a system relation.
type fill func(c *Context, r *rows)

// def ties a system relation to its rows. columns are those that fill gives, in
// its order; the others are NULL, or zero where they cannot be.
type def struct {
	name    string // schema.name
	columns string
	fill    fill
}

func defs() []def {
	var out []def
	for _, ds := range [][]def{relationDefs(), constraintDefs(), typeDefs(), procDefs(), viewDefs(), statDefs(), serverDefs(), roleDefs(), sequenceDefs(), infoTableDefs(), infoConstraintDefs(), infoDomainDefs()} {
		out = append(out, ds...)
	}
	return out
}

// systemRelation is a line of relations.txt.
type systemRelation struct {
	oid          uint32
	schema, name string
	kind         byte // r or v
	columns      []Column
}

var systemRelations = sync.OnceValue(func() []systemRelation {
	var out []systemRelation
	for _, f := range dataLines("relations", " ") {
		schema, name, _ := strings.Cut(f[0], ".")
		r := systemRelation{oid: uint32(atoi(f[1])), schema: schema, name: name, kind: f[2][0]}
		for _, c := range f[3:] {
			col, typ, _ := strings.Cut(c, ":")
			typ, notNull := strings.CutSuffix(typ, "!")
			r.columns = append(r.columns, Column{Name: col, Type: systemType(typ), NotNull: notNull})
		}
		out = append(out, r)
	}
	return out
})

// systemType maps the types of system columns that have no type of their own
// to ones whose text is the same or as close as it gets.
func systemType(name string) types.T {
	if name == "char" { // to SQL that is character
		return types.TChar
	}
	if t, ok := types.ByName(name); ok && name != "anyarray" {
		return t
	}
	switch name {
	case "_aclitem":
		return types.ArrayOf(types.Text)
	}
	return types.TText
}

// Builtins makes the system relations, to be given to New.
func Builtins() []Object {
	fills := map[string]def{}
	for _, d := range defs() {
		fills[d.name] = d
	}
	var out []Object
	for _, r := range systemRelations() {
		t := &VirtualTable{Head: Head{OID: r.oid, Schema: r.schema, Name: r.name, Owner: BootstrapOID, ACL: systemACL(r.schema, r.name)}, Columns: r.columns, View: r.kind == 'v'}
		t.Scan = func(*Context, func(...types.Datum) error) error { return nil }
		if d, ok := fills[r.schema+"."+r.name]; ok {
			t.Scan = d.scan(r.columns)
		}
		out = append(out, t)
	}
	return out
}

// rows takes a system relation's rows in terms of the columns that its
// definition names.
type rows struct {
	at    []int // position of each value in a row
	kinds []types.Kind
	base  []types.Datum // the columns not given
	buf   []types.Datum
	emit  func(...types.Datum) error
	err   error
}

func (d def) scan(cols []Column) func(*Context, func(...types.Datum) error) error {
	var at []int
	for _, name := range strings.Fields(d.columns) {
		k := ColumnIndex(cols, name)
		if k < 0 {
			panic(fmt.Sprintf("catalog: %s has no column %s", d.name, name))
		}
		at = append(at, k)
	}
	base := make([]types.Datum, len(cols))
	kinds := make([]types.Kind, len(cols))
	for i, c := range cols {
		kinds[i] = c.Type.Kind()
		if c.NotNull {
			base[i] = zeroOf(c.Type)
		}
	}
	return func(c *Context, emit func(...types.Datum) error) error {
		r := &rows{at: at, kinds: kinds, base: base, buf: make([]types.Datum, len(cols)), emit: emit}
		d.fill(c, r)
		return r.err
	}
}

// add emits a row. Integers may be of any Go type.
func (r *rows) add(vals ...any) {
	if r.err != nil {
		return
	}
	if len(vals) != len(r.at) {
		panic(fmt.Sprintf("catalog: %d values for %d columns", len(vals), len(r.at)))
	}
	copy(r.buf, r.base)
	for i, k := range r.at {
		r.buf[k] = asKind(r.kinds[k], vals[i])
	}
	r.err = r.emit(r.buf...)
}

func zeroOf(t types.T) types.Datum {
	switch t.ID {
	case types.Array:
		return types.ArrayDatum(nil)
	case types.LSN, types.Xid8, types.Xid:
		return string(types.AppendWord(nil, t, 0))
	}
	return asKind(t.Kind(), zeroOfKind(t.Kind()))
}

func zeroOfKind(k types.Kind) any {
	switch k {
	case types.KBool:
		return false
	case types.KBytes:
		return ""
	case types.KInterval:
		return types.IntervalValue{}
	case types.KUUID:
		return types.UUIDValue{}
	}
	return 0
}

// asKind gives v the Go type of a kind's datums.
func asKind(k types.Kind, v any) types.Datum {
	var n int64
	switch x := v.(type) {
	case nil:
		return nil
	case int:
		n = int64(x)
	case int16:
		n = int64(x)
	case int32:
		n = int64(x)
	case int64:
		n = x
	case uint32:
		n = int64(x)
	case byte:
		if k == types.KBytes {
			if x == 0 {
				return ""
			}
			return string(rune(x))
		}
		n = int64(x)
	default:
		return v
	}
	switch k {
	case types.KInt16:
		return int16(n)
	case types.KInt32:
		return int32(n)
	case types.KInt64:
		return n
	case types.KFloat32:
		return float32(n)
	case types.KFloat64:
		return float64(n)
	}
	panic(fmt.Sprintf("catalog: integer in a column of kind %d", k))
}

// orNull is v, or NULL for the zero value.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic("catalog: bad number in a data file: " + s)
	}
	return n
}

// vector makes the array of an int2vector or oidvector column, which counts
// from 0.
func vector[T int16 | int64](xs ...T) types.Datum {
	elems := make([]types.Datum, len(xs))
	for i, x := range xs {
		elems[i] = x
	}
	d := types.ArrayDatum(elems).(string)
	if len(xs) == 0 {
		return d
	}
	b := []byte(d)
	clear(b[5:9]) // the lower bound follows the number of dimensions and the length
	return string(b)
}

func textArray(xs []string) types.Datum {
	elems := make([]types.Datum, len(xs))
	for i, x := range xs {
		elems[i] = x
	}
	return types.ArrayDatum(elems)
}

// madeOID is the OID of a row whose object has none of its own, such as a
// column's default.
func madeOID(class string, oid uint32, sub int) uint32 {
	return 3<<30 | hash(class+" "+strconv.Itoa(int(oid))+" "+strconv.Itoa(sub))&(1<<30-1)
}

// hash is FNV-1a.
func hash(s string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
