package types

import "fmt"

// ID names a SQL type without its modifier.
type ID uint8

// The SQL types. Unknown is the type of an untyped literal or parameter before
// analysis; it never reaches execution except as Text.
const (
	Invalid ID = iota
	Unknown
	Bool
	Int2
	Int4
	Int8
	Float4
	Float8
	Numeric
	Text
	Varchar
	Bpchar // char(n), blank padded
	Char   // "char", one byte
	Name
	Bytea
	Date
	Time
	Timestamp
	Timestamptz
	Interval
	UUID
	JSON
	JSONB
	Oid
	Regclass
	Regtype
	Regproc
	Regnamespace
	Regprocedure
	Regoper
	Regoperator
	Regrole
	Regcollation
	Regconfig
	Regdictionary
	Array  // one-dimensional or more; the element type is T.Elem
	Record // composite: a named type, or a row; the fields are T.Ref's
	Void
	Enum // a user's; its labels are T.Ref's
	// The ranges, then their multiranges in the same order (range.go).
	Int4range
	Int8range
	Numrange
	Daterange
	Tsrange
	Tstzrange
	Int4multirange
	Int8multirange
	Nummultirange
	Datemultirange
	Tsmultirange
	Tstzmultirange
	JSONPath
	Money
	// Types with a row in codecs.
	Inet
	Cidr
	Macaddr
	Macaddr8
	Bit
	Varbit
	Timetz
	LSN  // pg_lsn
	Xid8 // see word.go
	Xid
	UserRange      // of CREATE TYPE AS RANGE; its parts are T.Ref's
	UserMultirange // the same
	numIDs
)

// T is a type as it stands on a column or an expression. T is comparable.
type T struct {
	ID   ID
	Elem ID    // element type of an Array, else Invalid
	Mod  int32 // PostgreSQL's atttypmod; -1: none
	// Ref names the Def of a composite or enum type, or of an array's elements
	// (named.go); 0 for other types, and for rows of unknown shape.
	Ref uint64
}

// Plain types without a modifier.
var (
	TUnknown     = T{ID: Unknown, Mod: -1}
	TBool        = T{ID: Bool, Mod: -1}
	TInt2        = T{ID: Int2, Mod: -1}
	TInt4        = T{ID: Int4, Mod: -1}
	TInt8        = T{ID: Int8, Mod: -1}
	TFloat4      = T{ID: Float4, Mod: -1}
	TFloat8      = T{ID: Float8, Mod: -1}
	TNumeric     = T{ID: Numeric, Mod: -1}
	TText        = T{ID: Text, Mod: -1}
	TVarchar     = T{ID: Varchar, Mod: -1}
	TBpchar      = T{ID: Bpchar, Mod: -1}
	TChar        = T{ID: Char, Mod: -1}
	TName        = T{ID: Name, Mod: -1}
	TBytea       = T{ID: Bytea, Mod: -1}
	TDate        = T{ID: Date, Mod: -1}
	TTime        = T{ID: Time, Mod: -1}
	TTimestamp   = T{ID: Timestamp, Mod: -1}
	TTimestamptz = T{ID: Timestamptz, Mod: -1}
	TTimetz      = T{ID: Timetz, Mod: -1}
	TInterval    = T{ID: Interval, Mod: -1}
	TUUID        = T{ID: UUID, Mod: -1}
	TJSON        = T{ID: JSON, Mod: -1}
	TJSONB       = T{ID: JSONB, Mod: -1}
	TOid         = T{ID: Oid, Mod: -1}
	TRegclass    = T{ID: Regclass, Mod: -1}
	TRegtype     = T{ID: Regtype, Mod: -1}
	TMoney       = T{ID: Money, Mod: -1}
	TInet        = T{ID: Inet, Mod: -1}
	TCidr        = T{ID: Cidr, Mod: -1}
	TMacaddr     = T{ID: Macaddr, Mod: -1}
	TMacaddr8    = T{ID: Macaddr8, Mod: -1}
	TBit         = T{ID: Bit, Mod: -1}
	TVarbit      = T{ID: Varbit, Mod: -1}
	TJSONPath    = T{ID: JSONPath, Mod: -1}
	TLSN         = T{ID: LSN, Mod: -1}
	TXid8        = T{ID: Xid8, Mod: -1}
	TXid         = T{ID: Xid, Mod: -1}
	TRecord      = T{ID: Record, Mod: -1}
	TVoid        = T{ID: Void, Mod: -1}
)

// ArrayOf returns the array type over elem.
func ArrayOf(elem ID) T { return T{ID: Array, Elem: elem, Mod: -1} }

// ArrayType returns the type of arrays of t, which is none itself.
func (t T) ArrayType() T { return T{ID: Array, Elem: t.ID, Mod: t.Mod, Ref: t.Ref} }

// ElemType returns the element type of an array type.
func (t T) ElemType() T {
	t = t.Underlying()
	return T{ID: t.Elem, Mod: max(t.Mod, -1), Ref: t.Ref}
}

// Base returns t without its modifier.
func (t T) Base() T { t.Mod = -1; return t }

// SameType reports whether two types differ in their modifiers at most.
func (t T) SameType(u T) bool { return t.ID == u.ID && t.Elem == u.Elem && t.Ref == u.Ref }

// vectorMod marks int2vector and oidvector, which are arrays of int2 and oid
// that count from 0 and have a text form of their own. Everything else treats
// them as those arrays.
const vectorMod int32 = -2

// The vector types of PostgreSQL's system relations.
var (
	TInt2Vector = T{ID: Array, Elem: Int2, Mod: vectorMod}
	TOidVector  = T{ID: Array, Elem: Oid, Mod: vectorMod}
)

// IsVector reports whether t is int2vector or oidvector.
func (t T) IsVector() bool { return t.ID == Array && t.Mod == vectorMod }

func (t T) vector() info {
	if t.Elem == Int2 {
		return info{name: "int2vector", typname: "int2vector", oid: 22}
	}
	return info{name: "oidvector", typname: "oidvector", oid: 30}
}

// Kind is the Go form of a type's values: the element type of its vectors and
// the dynamic type of its Datums.
type Kind uint8

// The kinds. KBytes covers every variable-width type; as a Datum it is a string
// holding: UTF-8 text (text, varchar, bpchar, name, "char", json), raw bytes
// (bytea), canonical jsonb text (see json.go), an encoded numeric (decimal.go),
// or an encoded array or record (array.go).
const (
	KBool     Kind = iota // bool
	KInt16                // int16: smallint
	KInt32                // int32: integer; date as days since 2000-01-01
	KInt64                // int64: bigint; money in cents; time, timestamp, timestamptz as µs (since 2000-01-01 00:00 UTC); oid and reg* as uint32 range; an enum's code
	KFloat32              // float32
	KFloat64              // float64
	KInterval             // IntervalValue
	KUUID                 // UUIDValue
	KBytes                // string
)

// Datum is one value: nil is NULL, otherwise the Go type of its type's Kind
// (bool, int16, int32, int64, float32, float64, IntervalValue, UUIDValue, string).
type Datum = any

// IntervalValue is an interval's three independent fields, as in PostgreSQL.
type IntervalValue struct {
	Micros int64
	Days   int32
	Months int32
}

// UUIDValue is a UUID in network order.
type UUIDValue [16]byte

// Infinite dates and timestamps.
const (
	DateInfinity         int32 = 1<<31 - 1
	DateNegInfinity      int32 = -1 << 31
	TimestampInfinity    int64 = 1<<63 - 1
	TimestampNegInfinity int64 = -1 << 63
)

type info struct {
	name     string // as format_type prints it
	typname  string // pg_type.typname
	oid      uint32
	arrayOID uint32
	kind     Kind
	size     int16 // pg_type.typlen
	category byte  // pg_type.typcategory
}

var infos = [endOfPseudo]info{
	Unknown:        {"unknown", "unknown", 705, 0, KBytes, -2, 'X'},
	Bool:           {"boolean", "bool", 16, 1000, KBool, 1, 'B'},
	Int2:           {"smallint", "int2", 21, 1005, KInt16, 2, 'N'},
	Int4:           {"integer", "int4", 23, 1007, KInt32, 4, 'N'},
	Int8:           {"bigint", "int8", 20, 1016, KInt64, 8, 'N'},
	Float4:         {"real", "float4", 700, 1021, KFloat32, 4, 'N'},
	Float8:         {"double precision", "float8", 701, 1022, KFloat64, 8, 'N'},
	Numeric:        {"numeric", "numeric", 1700, 1231, KBytes, -1, 'N'},
	Text:           {"text", "text", 25, 1009, KBytes, -1, 'S'},
	Varchar:        {"character varying", "varchar", 1043, 1015, KBytes, -1, 'S'},
	Bpchar:         {"character", "bpchar", 1042, 1014, KBytes, -1, 'S'},
	Char:           {`"char"`, "char", 18, 1002, KBytes, 1, 'Z'},
	Name:           {"name", "name", 19, 1003, KBytes, 64, 'S'},
	Bytea:          {"bytea", "bytea", 17, 1001, KBytes, -1, 'U'},
	Date:           {"date", "date", 1082, 1182, KInt32, 4, 'D'},
	Time:           {"time without time zone", "time", 1083, 1183, KInt64, 8, 'D'},
	Timestamp:      {"timestamp without time zone", "timestamp", 1114, 1115, KInt64, 8, 'D'},
	Timestamptz:    {"timestamp with time zone", "timestamptz", 1184, 1185, KInt64, 8, 'D'},
	Interval:       {"interval", "interval", 1186, 1187, KInterval, 16, 'T'},
	UUID:           {"uuid", "uuid", 2950, 2951, KUUID, 16, 'U'},
	JSON:           {"json", "json", 114, 199, KBytes, -1, 'U'},
	JSONB:          {"jsonb", "jsonb", 3802, 3807, KBytes, -1, 'U'},
	Oid:            {"oid", "oid", 26, 1028, KInt64, 4, 'N'},
	Regclass:       {"regclass", "regclass", 2205, 2210, KInt64, 4, 'N'},
	Regtype:        {"regtype", "regtype", 2206, 2211, KInt64, 4, 'N'},
	Regproc:        {"regproc", "regproc", 24, 1008, KInt64, 4, 'N'},
	Regnamespace:   {"regnamespace", "regnamespace", 4089, 4090, KInt64, 4, 'N'},
	Regprocedure:   {"regprocedure", "regprocedure", 2202, 2207, KInt64, 4, 'N'},
	Regoper:        {"regoper", "regoper", 2203, 2208, KInt64, 4, 'N'},
	Regoperator:    {"regoperator", "regoperator", 2204, 2209, KInt64, 4, 'N'},
	Regrole:        {"regrole", "regrole", 4096, 4097, KInt64, 4, 'N'},
	Regcollation:   {"regcollation", "regcollation", 4191, 4192, KInt64, 4, 'N'},
	Regconfig:      {"regconfig", "regconfig", 3734, 3735, KInt64, 4, 'N'},
	Regdictionary:  {"regdictionary", "regdictionary", 3769, 3770, KInt64, 4, 'N'},
	Array:          {"anyarray", "anyarray", 2277, 0, KBytes, -1, 'P'},
	Record:         {"record", "record", 2249, 2287, KBytes, -1, 'P'},
	Void:           {"void", "void", 2278, 0, KBytes, 4, 'P'},
	Enum:           {"anyenum", "anyenum", 3500, 0, KInt64, 4, 'E'},
	Int4range:      {"int4range", "int4range", 3904, 3905, KBytes, -1, 'R'},
	Int8range:      {"int8range", "int8range", 3926, 3927, KBytes, -1, 'R'},
	Numrange:       {"numrange", "numrange", 3906, 3907, KBytes, -1, 'R'},
	Daterange:      {"daterange", "daterange", 3912, 3913, KBytes, -1, 'R'},
	Tsrange:        {"tsrange", "tsrange", 3908, 3909, KBytes, -1, 'R'},
	Tstzrange:      {"tstzrange", "tstzrange", 3910, 3911, KBytes, -1, 'R'},
	Int4multirange: {"int4multirange", "int4multirange", 4451, 6150, KBytes, -1, 'R'},
	Int8multirange: {"int8multirange", "int8multirange", 4536, 6157, KBytes, -1, 'R'},
	Nummultirange:  {"nummultirange", "nummultirange", 4532, 6151, KBytes, -1, 'R'},
	Datemultirange: {"datemultirange", "datemultirange", 4535, 6155, KBytes, -1, 'R'},
	Tsmultirange:   {"tsmultirange", "tsmultirange", 4533, 6152, KBytes, -1, 'R'},
	Money:          {"money", "money", 790, 791, KInt64, 8, 'N'},
	Inet:           {"inet", "inet", 869, 1041, KBytes, -1, 'I'},
	Cidr:           {"cidr", "cidr", 650, 651, KBytes, -1, 'I'},
	Macaddr:        {"macaddr", "macaddr", 829, 1040, KBytes, 6, 'U'},
	Macaddr8:       {"macaddr8", "macaddr8", 774, 775, KBytes, 8, 'U'},
	Bit:            {"bit", "bit", 1560, 1561, KBytes, -1, 'V'},
	Varbit:         {"bit varying", "varbit", 1562, 1563, KBytes, -1, 'V'},
	Timetz:         {"time with time zone", "timetz", 1266, 1270, KBytes, 12, 'D'},
	LSN:            {"pg_lsn", "pg_lsn", 3220, 3221, KBytes, 8, 'U'},
	Xid8:           {"xid8", "xid8", 5069, 271, KBytes, 8, 'U'},
	Xid:            {"xid", "xid", 28, 1011, KBytes, 4, 'U'},
	UserRange:      {"anyrange", "anyrange", 3831, 0, KBytes, -1, 'R'},
	UserMultirange: {"anymultirange", "anymultirange", 4537, 0, KBytes, -1, 'R'},
	JSONPath:       {"jsonpath", "jsonpath", 4072, 4073, KBytes, -1, 'U'},
	Tstzmultirange: {"tstzmultirange", "tstzmultirange", 4534, 6153, KBytes, -1, 'R'},

	anyElementID:              {"anyelement", "anyelement", 2283, 0, KBytes, 4, 'P'},
	anyArrayID:                {"anyarray", "anyarray", 2277, 0, KBytes, -1, 'P'},
	anyNonArrayID:             {"anynonarray", "anynonarray", 2776, 0, KBytes, 4, 'P'},
	anyEnumID:                 {"anyenum", "anyenum", 3500, 0, KBytes, 4, 'P'},
	anyRangeID:                {"anyrange", "anyrange", 3831, 0, KBytes, -1, 'P'},
	anyMultirangeID:           {"anymultirange", "anymultirange", 4537, 0, KBytes, -1, 'P'},
	anyCompatibleID:           {"anycompatible", "anycompatible", 5077, 0, KBytes, 4, 'P'},
	anyCompatibleArrayID:      {"anycompatiblearray", "anycompatiblearray", 5078, 0, KBytes, -1, 'P'},
	anyCompatibleNonArrayID:   {"anycompatiblenonarray", "anycompatiblenonarray", 5079, 0, KBytes, 4, 'P'},
	anyCompatibleRangeID:      {"anycompatiblerange", "anycompatiblerange", 5080, 0, KBytes, -1, 'P'},
	anyCompatibleMultirangeID: {"anycompatiblemultirange", "anycompatiblemultirange", 4538, 0, KBytes, -1, 'P'},
	anyID:                     {`"any"`, "any", 2276, 0, KBytes, 4, 'P'},
}

// IsReg reports whether t is an oid that is shown as a name.
func (id ID) IsReg() bool { return id >= Regclass && id <= Regdictionary }

// Kind returns the Go form of t's values.
func (t T) Kind() Kind { return infos[t.ID].kind }

// OID returns t's PostgreSQL type OID.
func (t T) OID() uint32 {
	if t.IsVector() {
		return t.vector().oid
	}
	if d := t.Def(); d != nil && d.Name != "" {
		if t.elementsOf(d) {
			return d.ArrayOID
		}
		return d.OID
	}
	if t.ID == Array && t.Elem != Invalid {
		return infos[t.Elem].arrayOID
	}
	return infos[t.ID].oid
}

// HasOrder reports whether t has an order, and so indexes. Xid has an equality only,
// json and jsonpath have neither.
func (t T) HasOrder() bool {
	switch t.Underlying().ID {
	case JSON, JSONPath, Xid:
		return false
	}
	return true
}

// Size returns pg_type.typlen.
func (t T) Size() int16 { return infos[t.ID].size }

// Category returns pg_type.typcategory.
func (t T) Category() byte {
	if t.IsComposite() {
		return 'C'
	}
	if t.ID == Array && t.Elem != Invalid {
		return 'A'
	}
	return infos[t.ID].category
}

// TypName returns pg_type.typname: int4, _int4, timestamptz.
func (t T) TypName() string {
	if t.IsVector() {
		return t.vector().typname
	}
	if d := t.Def(); d != nil && d.Name != "" {
		if t.elementsOf(d) {
			return "_" + d.Name
		}
		return d.Name
	}
	if t.ID == Array && t.Elem != Invalid {
		return "_" + infos[t.Elem].typname
	}
	return infos[t.ID].typname
}

// String returns the name as PostgreSQL's format_type prints it, modifier
// included: numeric(10,2), character varying(40)[], timestamp(3) without time zone.
func (t T) String() string {
	if t.IsVector() {
		return t.vector().name
	}
	if d := t.Def(); d != nil && d.Name != "" && !t.elementsOf(d) {
		return d.defName()
	}
	if t.ID == Array && t.Elem != Invalid {
		return t.ElemType().String() + "[]"
	}
	n := infos[t.ID].name
	if t.Mod < 0 {
		return n
	}
	switch t.ID {
	case Numeric:
		p, s := t.NumericMod()
		return fmt.Sprintf("numeric(%d,%d)", p, s)
	case Varchar, Bpchar:
		return fmt.Sprintf("%s(%d)", n, t.Mod-4)
	case Bit, Varbit:
		return fmt.Sprintf("%s(%d)", n, t.Mod)
	case Time:
		return fmt.Sprintf("time(%d) without time zone", t.Mod)
	case Timetz:
		return fmt.Sprintf("time(%d) with time zone", t.Mod)
	case Timestamp:
		return fmt.Sprintf("timestamp(%d) without time zone", t.Mod)
	case Timestamptz:
		return fmt.Sprintf("timestamp(%d) with time zone", t.Mod)
	case Interval:
		return intervalName(t)
	}
	return n
}

// NumericOf returns numeric(precision, scale).
func NumericOf(precision, scale int) T {
	return T{ID: Numeric, Mod: int32(precision)<<16 | int32(scale)&0x7ff + 4}
}

// NumericMod returns the precision and scale of a numeric type with a modifier.
func (t T) NumericMod() (precision, scale int) {
	m := t.Mod - 4
	precision, scale = int(m>>16)&0xffff, int(m&0x7ff)
	if scale > 1000 { // 11-bit two's complement
		scale -= 2048
	}
	return precision, scale
}

// ByOID returns the type with the given PostgreSQL OID.
func ByOID(oid uint32) (T, bool) {
	switch oid {
	case 22:
		return TInt2Vector, true
	case 30:
		return TOidVector, true
	}
	for id := Unknown; id < numIDs; id++ {
		if infos[id].oid == oid && !id.ofUser() {
			return T{ID: id, Mod: -1}, true
		}
		if infos[id].arrayOID == oid && oid != 0 {
			return ArrayOf(id), true
		}
	}
	return T{}, false
}

// ofUser reports whether types of an ID are made by users, or of others, and have no
// name of their own.
func (id ID) ofUser() bool {
	return id == Array || id == Enum || id == UserRange || id == UserMultirange
}

// ByName returns the type with the given pg_type.typname (int4, _text) or SQL
// name (integer, double precision), in lower case and without modifier.
func ByName(name string) (T, bool) {
	switch name {
	case "int2vector":
		return TInt2Vector, true
	case "oidvector":
		return TOidVector, true
	}
	if a, ok := sqlNames[name]; ok {
		return T{ID: a, Mod: -1}, true
	}
	for id := Unknown; id < numIDs; id++ {
		if id.ofUser() {
			continue
		}
		if infos[id].typname == name || infos[id].name == name {
			return T{ID: id, Mod: -1}, true
		}
		if "_"+infos[id].typname == name && infos[id].arrayOID != 0 {
			return ArrayOf(id), true
		}
	}
	return T{}, false
}

var sqlNames = map[string]ID{
	"int": Int4, "decimal": Numeric, "float": Float8, "string": Text, "char": Bpchar,
	"timestamp": Timestamp, "time": Time, "character varying": Varchar,
}

// All calls f for every concrete scalar type, in ID order.
func All(f func(T)) {
	for id := Bool; id < numIDs; id++ {
		if id != Array && id != Record && id != Void && id != Enum {
			f(T{ID: id, Mod: -1})
		}
	}
}
