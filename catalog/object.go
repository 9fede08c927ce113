package catalog

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/types"
)

// FirstOID is the lowest OID of an object that a user made.
const FirstOID uint32 = 16384

// OIDs of the schemas that always exist, as in PostgreSQL.
const (
	PgCatalogOID         uint32 = 11
	PublicOID            uint32 = 2200
	InformationSchemaOID uint32 = 13000
)

// Kind is the kind of an object.
type Kind uint8

// The kinds of objects.
const (
	KindSchema Kind = iota
	KindTable
	KindSource
	KindMatView
	KindView
	KindSink
	KindIndex
	KindSecret
	KindConnection
	KindVirtual // a catalog table
	KindSequence
	KindType
	KindFunction
	KindRole
	KindDatabase
)

var kindNames = [...]string{"schema", "table", "source", "materialized view", "view", "sink", "index", "secret", "connection", "table", "sequence", "type", "function", "role", "database"}

// String returns the kind as messages and DROP have it.
func (k Kind) String() string { return kindNames[k] }

// Relation reports whether objects of this kind share the namespace of
// relations, in which a name is unique in its schema.
func (k Kind) Relation() bool {
	return k != KindSchema && k != KindSecret && k != KindConnection && k != KindType && k != KindFunction && k != KindRole && k != KindDatabase
}

// Readable reports whether objects of this kind may stand in FROM.
func (k Kind) Readable() bool {
	switch k {
	case KindTable, KindSource, KindMatView, KindView, KindVirtual:
		return true
	}
	return false
}

// Head is what all objects have. Owner is the OID of a role; roles have none.
type Head struct {
	OID uint32 `json:"oid"`
	// Database is the OID of the database that the object belongs to; 0 for what all
	// databases share: roles, databases and what came with the server.
	Database uint32 `json:"database,omitempty"`

	Schema  string `json:"schema,omitempty"` // empty for schemas themselves
	Name    string `json:"name"`
	Owner   uint32 `json:"owner_oid,omitempty"`
	Comment string `json:"comment,omitempty"`
	// ACL is who may do what; nil: what the kind's default says.
	ACL *ACL `json:"acl,omitempty"`
}

// Header returns the head, which belongs to the object.
func (h *Head) Header() *Head { return h }

// Object is one object of the catalog.
type Object interface {
	Header() *Head
	Kind() Kind
	// Dependencies returns the OIDs of the objects it cannot exist without.
	Dependencies() []uint32
}

// Relation is an object with columns that can stand in FROM.
type Relation interface {
	Object
	Cols() []Column
}

// StorageKey returns the columns of the key that a relation's rows are stored by;
// nil: it has none, and rows are counted.
func StorageKey(r Relation) []int {
	switch r := r.(type) {
	case *Table:
		if r.PrimaryKey != nil {
			return r.PrimaryKey.Columns
		}
	case *MatView:
		return r.Key
	}
	return nil
}

// Column is a column of a relation. Default, Generated and checks are SQL text.
type Column struct {
	Name      string
	Type      types.T
	NotNull   bool
	Default   string
	Generated string
	// Identity is "", ALWAYS or BY DEFAULT; Sequence is the OID of its sequence.
	Identity string
	Sequence uint32
	Comment  string
	// Include names what of a record a source's column holds: key, partition,
	// offset, timestamp, headers, header or payload; Inner is the header's key.
	Include, Inner string
	// Path is where in a record's value a source's column is; empty: in the field
	// of its name.
	Path string
	// Number is the column's attnum, which it keeps while others come and go; 0: its
	// position plus one. See ColumnNumber.
	Number int
	// ACL is who may do what with the column, besides what the relation's says.
	ACL *ACL
	// Physical is nil where nothing is said.
	Physical *Physical
}

// Physical is what PostgreSQL is told about how to store and sample a column; only
// the catalog's tables show it.
type Physical struct {
	// Storage is attstorage; empty: the type's.
	Storage string `json:"storage,omitempty"`
	// Statistics is attstattarget; nil: -1.
	Statistics *int `json:"statistics,omitempty"`
	// Options is attoptions.
	Options []Option `json:"options,omitempty"`
}

// ColumnNumber is the attnum of column i.
func ColumnNumber(cs []Column, i int) int {
	if n := cs[i].Number; n > 0 {
		return n
	}
	return i + 1
}

// ColumnNumbered returns the position of the column with an attnum, or -1.
func ColumnNumbered(cs []Column, n int) int {
	for i := range cs {
		if ColumnNumber(cs, i) == n {
			return i
		}
	}
	return -1
}

// defaultText is the default as PostgreSQL shows it, which gives a string the
// type that it was read as.
func (c *Column) defaultText() string {
	d := c.Default
	if len(d) > 2 && (d[0] == 'B' || d[0] == 'X') && d[1] == '\'' { // a bit string, whatever the column's length
		if v, err := types.ParseBits(strings.ToLower(d[:1]) + strings.Trim(d[1:], "'")); err == nil {
			return "'" + string(types.AppendText(nil, types.TBit, string(types.AppendBits(nil, v)), nil)) + `'::"bit"`
		}
	}
	inner, quoted := strings.CutPrefix(strings.TrimSuffix(d, "'"), "'")
	if !quoted || !strings.HasSuffix(d, "'") || strings.Contains(strings.ReplaceAll(inner, "''", ""), "'") {
		return d
	}
	t := c.Type.Underlying().Base()
	if t.ID == types.Bit { // without a length, in quotes it is not one of length 1
		return d + `::"bit"`
	}
	return d + "::" + t.String()
}

// Key is a key by which rows are stored, over column positions: that of CREATE
// TABLE … PRIMARY KEY. OID is that of its index.
type Key struct {
	OID     uint32 `json:"oid"`
	Name    string `json:"name"`
	Columns []int  `json:"columns"`
	// Comment is that of the constraint, and IndexComment that of its index.
	Comment      string `json:"comment,omitempty"`
	IndexComment string `json:"index_comment,omitempty"`
}

// Check is a CHECK constraint; Expr is SQL text.
type Check struct {
	OID  uint32 `json:"oid"`
	Name string `json:"name"`
	Expr string `json:"expr"`
	// NotValid: rows that were there before it are not known to satisfy it.
	NotValid bool   `json:"not_valid,omitempty"`
	Comment  string `json:"comment,omitempty"`
}

// Watermark is WATERMARK FOR a column; Expr is SQL text.
type Watermark struct {
	Column int    `json:"column"`
	Expr   string `json:"expr"`
}

// Option is one option of WITH (...); Kind is the sql.OptionKind, or OptionSealed
// for a value that the engine has encrypted. Secret is the OID of the secret that
// the option names.
type Option struct {
	Name   string `json:"name"`
	Kind   uint8  `json:"kind"`
	Value  string `json:"value"`
	Secret uint32 `json:"secret,omitempty"`
}

// OptionSealed is the kind of an option whose value is encrypted.
const OptionSealed = 100

// Connector is how a source, a table or a sink is tied to the outside.
type Connector struct {
	Options       []Option `json:"options,omitempty"`
	Format        string   `json:"format,omitempty"`
	FormatOptions []Option `json:"format_options,omitempty"`
	Encode        string   `json:"encode,omitempty"`
	EncodeOptions []Option `json:"encode_options,omitempty"`
	KeyEncode     string   `json:"key_encode,omitempty"`
	KeyOptions    []Option `json:"key_options,omitempty"`
}

// Option returns the value of an option.
func (c *Connector) Option(name string) (string, bool) {
	if c != nil {
		for _, o := range c.Options {
			if o.Name == name {
				return o.Value, true
			}
		}
	}
	return "", false
}

// secrets returns the OIDs of the secrets that the options name.
func (c *Connector) secrets() (out []uint32) {
	if c != nil {
		for _, o := range c.Options {
			if o.Secret != 0 {
				out = append(out, o.Secret)
			}
		}
	}
	return out
}

// Schema is a namespace.
type Schema struct {
	Head
}

// Table holds rows. With Connector set it is fed by a connector.
type Table struct {
	Head
	Columns    []Column `json:"columns"`
	PrimaryKey *Key     `json:"primary_key,omitempty"`
	Checks     []Check  `json:"checks,omitempty"`
	// ForeignKeys are in the order in which they were made.
	ForeignKeys []ForeignKey `json:"foreign_keys,omitempty"`

	AppendOnly bool        `json:"append_only,omitempty"`
	OnConflict string      `json:"on_conflict,omitempty"` // of a fed table: "", overwrite, ignore, ...
	Watermarks []Watermark `json:"watermarks,omitempty"`
	Connector  *Connector  `json:"connector,omitempty"`
	// FromSource is the shared source that feeds it, FromTable the upstream table.
	FromSource uint32 `json:"from_source,omitempty"`
	FromTable  string `json:"from_table,omitempty"`
	Definition string `json:"definition,omitempty"`
	// LastColumn is the greatest number that a column ever had; 0: there are as many
	// columns.
	LastColumn int `json:"last_column,omitempty"`
	// Revision grows with every change of what rows the table may hold. Rows that
	// were checked under one revision are not committed under another.
	Revision uint32 `json:"revision,omitempty"`
	// What of PostgreSQL's storage is kept for the catalog's tables alone: reloptions,
	// relpersistence u, relreplident (empty: d) with the OID of its index, and that of
	// the index of CLUSTER.
	Options         []Option `json:"options,omitempty"`
	Unlogged        bool     `json:"unlogged,omitempty"`
	ReplicaIdentity string   `json:"replica_identity,omitempty"`
	IdentityIndex   uint32   `json:"identity_index,omitempty"`
	ClusterIndex    uint32   `json:"cluster_index,omitempty"`
}

// Source is a stream of records from a connector. It stores no rows. PrimaryKey
// is set where the records are changes of keyed rows.
type Source struct {
	Head
	Columns    []Column    `json:"columns"`
	PrimaryKey *Key        `json:"primary_key,omitempty"`
	Watermarks []Watermark `json:"watermarks,omitempty"`
	Connector  *Connector  `json:"connector,omitempty"`
	AppendOnly bool        `json:"append_only,omitempty"`
	Wildcard   bool        `json:"wildcard,omitempty"`
	Definition string      `json:"definition,omitempty"`
}

// Upserts reports whether a record replaces the row of its key.
func (s *Source) Upserts() bool { return !s.AppendOnly && s.PrimaryKey != nil }

// MatView is a materialized view. Query is the text of its query, pinned: with
// relations qualified and every * spelled out. Text is the query and Definition the
// statement as written; Text is empty once a renaming has changed the query. Key
// are the columns of the storage key; nil: the whole row
// with a count. Settings are the session settings frozen at its creation that
// the query's meaning depends on.
type MatView struct {
	Head
	Query             string            `json:"query"`
	Text              string            `json:"text,omitempty"`
	Definition        string            `json:"definition"`
	Columns           []Column          `json:"columns"`
	Key               []int             `json:"key"`
	AppendOnly        bool              `json:"append_only,omitempty"`
	DependsOn         []uint32          `json:"depends_on,omitempty"`
	Options           []Option          `json:"options,omitempty"`
	EmitOnWindowClose bool              `json:"emit_on_window_close,omitempty"`
	SearchPath        []string          `json:"search_path,omitempty"`
	Settings          map[string]string `json:"settings,omitempty"`
	// Store is the id that rows, operator state and offsets are kept under; 0: the
	// OID. Each replacement of the view has another one.
	Store uint32 `json:"store,omitempty"`
}

// Distinct reports whether the view's query is known never to give two rows with the
// same values in the columns.
func (v *MatView) Distinct(columns []int) bool {
	if v.Key == nil {
		return false
	}
	for _, k := range v.Key {
		if !slices.Contains(columns, k) {
			return false
		}
	}
	return true
}

// View is a stored query. Its columns are those at its creation. Query, Text and
// Definition are as in MatView.
type View struct {
	Head
	Query      string   `json:"query"`
	Text       string   `json:"text,omitempty"`
	Definition string   `json:"definition"`
	Columns    []Column `json:"columns"`
	DependsOn  []uint32 `json:"depends_on,omitempty"`
	SearchPath []string `json:"search_path,omitempty"`
	// Options is reloptions: check_option, security_barrier and security_invoker.
	Options []Option `json:"options,omitempty"`
}

// CheckOption is "", "local" or "cascaded".
func (v *View) CheckOption() string { return strings.ToLower(v.option("check_option")) }

// Invoker reports whether what the view reads and changes needs privileges of the
// role that uses it, instead of its owner's.
func (v *View) Invoker() bool {
	on := strings.ToLower(v.option("security_invoker"))
	return on != "" && (on == "1" || on == "on" || strings.HasPrefix("true", on) || strings.HasPrefix("yes", on))
}

func (v *View) option(name string) string {
	for _, o := range v.Options {
		if o.Name == name {
			return o.Value
		}
	}
	return ""
}

// Shown is a stored query as users see it: as written, unless a renaming has
// changed it since.
func Shown(text, query string) string {
	if text != "" {
		return text
	}
	return query
}

// Sink writes a relation or a query to a connector, or into a table. Query and
// Text are as in MatView.
type Sink struct {
	Head
	Query      string     `json:"query"`
	Text       string     `json:"text,omitempty"`
	Definition string     `json:"definition"`
	Input      uint32     `json:"input,omitempty"` // the relation of FROM; 0: AS was given
	Into       uint32     `json:"into,omitempty"`  // the target table of INTO
	Columns    []Column   `json:"columns"`
	Key        []int      `json:"key"` // upsert key; nil: append-only
	Connector  *Connector `json:"connector,omitempty"`
	DependsOn  []uint32   `json:"depends_on,omitempty"`
	SearchPath []string   `json:"search_path,omitempty"`

	Settings map[string]string `json:"settings,omitempty"`
}

// IndexColumn is one key column of an index: a column of the relation, or an
// expression over its row.
type IndexColumn struct {
	Column     int  `json:"column"` // -1: Expr
	Desc       bool `json:"desc,omitempty"`
	NullsFirst bool `json:"nulls_first,omitempty"`
	// OpClass is the operator class, unless it is the one of the type.
	OpClass string `json:"op_class,omitempty"`
	// Expr is SQL text and As the name and type of its value; nil for a column.
	Expr string  `json:"expr,omitempty"`
	As   *Column `json:"as,omitempty"`
}

// Index is a secondary index of a table or a materialized view. One with
// Constraint is a unique constraint, or with Primary a primary key that is not
// the key by which rows are stored.
type Index struct {
	Head
	Table      uint32        `json:"table"`
	Keys       []IndexColumn `json:"keys"`
	Include    []int         `json:"include,omitempty"`
	Unique     bool          `json:"unique,omitempty"`
	Constraint bool          `json:"constraint,omitempty"`
	Primary    bool          `json:"primary,omitempty"`
	// NullsNotDistinct: two NULLs are a duplicate.
	NullsNotDistinct bool `json:"nulls_not_distinct,omitempty"`
	// Deferrable: rows are unique at the end of a statement, or of a transaction with
	// Deferred or SET CONSTRAINTS. In between they may not be.
	Deferrable bool `json:"deferrable,omitempty"`
	Deferred   bool `json:"deferred,omitempty"`
	// Where is the condition of a partial index, as SQL text; empty: none.
	Where string `json:"where,omitempty"`
	// Options is reloptions.
	Options    []Option `json:"options,omitempty"`
	Definition string   `json:"definition,omitempty"`
	// ConstraintComment is the comment of the constraint, beside that of the index.
	ConstraintComment string `json:"constraint_comment,omitempty"`
}

// Columns returns the positions of the key columns, or nil if a key is an
// expression.
func (i *Index) Columns() []int {
	out := make([]int, len(i.Keys))
	for k := range i.Keys {
		if i.Keys[k].Column < 0 {
			return nil
		}
		out[k] = i.Keys[k].Column
	}
	return out
}

// Secret is a named secret. Value is as the engine sealed it.
type Secret struct {
	Head
	Options []Option `json:"options,omitempty"`
	Value   []byte   `json:"value"`
}

// Connection is a named set of connector options.
type Connection struct {
	Head
	Options []Option `json:"options,omitempty"`
}

func (*Schema) Kind() Kind     { return KindSchema }
func (*Table) Kind() Kind      { return KindTable }
func (*Source) Kind() Kind     { return KindSource }
func (*MatView) Kind() Kind    { return KindMatView }
func (*View) Kind() Kind       { return KindView }
func (*Sink) Kind() Kind       { return KindSink }
func (*Index) Kind() Kind      { return KindIndex }
func (*Secret) Kind() Kind     { return KindSecret }
func (*Connection) Kind() Kind { return KindConnection }

// Dependencies: none.
func (*Schema) Dependencies() []uint32 { return nil }

// Dependencies returns the shared source of the table, if any, and the types of
// its columns that users made.
func (t *Table) Dependencies() []uint32 {
	out := typeOIDs(t.Columns)
	if t.FromSource != 0 {
		out = append(out, t.FromSource)
	}
	return out
}

// Dependencies returns the types of its columns that users made, and the secrets
// that its options name.
func (s *Source) Dependencies() []uint32 {
	return append(typeOIDs(s.Columns), s.Connector.secrets()...)
}

// Dependencies returns what the query reads.
func (v *MatView) Dependencies() []uint32 { return v.DependsOn }

// Dependencies returns what the query reads.
func (v *View) Dependencies() []uint32 { return v.DependsOn }

// Dependencies returns what the sink reads, writes and takes its options from.
func (s *Sink) Dependencies() []uint32 {
	d := append(s.Connector.secrets(), s.DependsOn...)
	for _, x := range []uint32{s.Input, s.Into} {
		if x != 0 {
			d = append(d, x)
		}
	}
	return d
}

// Dependencies returns the indexed relation.
func (i *Index) Dependencies() []uint32 { return []uint32{i.Table} }

// Dependencies: none.
func (*Secret) Dependencies() []uint32 { return nil }

// Dependencies: none.
func (*Connection) Dependencies() []uint32 { return nil }

// Cols returns the table's columns.
func (t *Table) Cols() []Column { return t.Columns }

// Cols returns the source's columns.
func (s *Source) Cols() []Column { return s.Columns }

// StoreID returns the id under which the rows of a stored relation and the state
// of its job are kept.
func StoreID(o Object) uint32 {
	if v, ok := o.(*MatView); ok && v.Store != 0 {
		return v.Store
	}
	return o.Header().OID
}

// Cols returns the view's columns.
func (v *MatView) Cols() []Column { return v.Columns }

// Cols returns the view's columns.
func (v *View) Cols() []Column { return v.Columns }

// ColumnIndex returns the position of the column called name, or -1.
func ColumnIndex(cs []Column, name string) int {
	for i := range cs {
		if cs[i].Name == name {
			return i
		}
	}
	return -1
}
