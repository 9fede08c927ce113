package planner

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// head names a new object: its schema is found, its OID is still 0.
func (b *binder) head(name sql.Name) (catalog.Head, error) {
	schema, err := b.p.Cat.CreationSchema(name.Schema, b.searchPath())
	if err != nil {
		return catalog.Head{}, b.placed(err, name)
	}
	h := catalog.Head{Database: b.p.Cat.DatabaseOID(), Schema: schema, Name: name.Name}
	if b.p.Session != nil {
		h.Owner = b.p.Session.UserOID
	}
	return h, nil
}

// NewTable is what CREATE TABLE makes. The sequences are those of serial and
// identity columns, without OIDs and, unless one was given, names; the columns do
// not refer to them yet. The indexes are those of UNIQUE constraints, which do not
// refer to the table yet.
type NewTable struct {
	Table     *catalog.Table
	Sequences []*catalog.Sequence
	Indexes   []*catalog.Index
}

// BindCreateTable makes the catalog object of CREATE TABLE. CREATE TABLE AS gives
// the columns of its query; running it is the caller's. Options are checked by
// the connector.
func (p *Planner) BindCreateTable(s *sql.CreateTable) (*NewTable, error) {
	b := p.newBinder(false)
	h, err := b.head(s.Name)
	if err != nil {
		return nil, err
	}
	t := &catalog.Table{Head: h, AppendOnly: s.AppendOnly, OnConflict: s.OnConflict, FromTable: s.FromTable, Definition: sql.Format(s)}
	if s.Query != nil {
		q, err := p.PlanQuery(s.Query)
		if err != nil {
			return nil, err
		}
		cols, err := outputNames(q.Columns, s.ColumnNames)
		if err != nil {
			return nil, err
		}
		for _, c := range cols {
			t.Columns = append(t.Columns, catalog.Column{Name: c.Name, Type: c.Typ})
		}
		return &NewTable{Table: t}, tableStorage(t, s)
	}
	r := &relationBinder{b: b, name: h.Name, schema: h.Schema, def: &s.RelationDef}
	if err := r.bind(s.Like...); err != nil {
		return nil, err
	}
	t.Columns, t.PrimaryKey, t.Checks, t.Watermarks, t.ForeignKeys = r.columns, r.primary, r.checks, r.watermarks, r.foreign
	if fed(s) {
		t.Connector = connectorOf(s.Options, s.Format)
	} else if err := tableStorage(t, s); err != nil {
		return nil, err
	}
	if t.AppendOnly && t.PrimaryKey != nil {
		return nil, pgerr.New(pgerr.InvalidTableDefinition, "an append-only table cannot have a primary key").At(b.at(s))
	}
	if s.FromSource != nil {
		o, err := b.relation(*s.FromSource, *s.FromSource)
		if err != nil {
			return nil, err
		}
		src, ok := o.(*catalog.Source)
		if !ok {
			return nil, b.errAt(*s.FromSource, pgerr.WrongObjectType, "\"%s\" is not a source", o.Header().Name)
		}
		t.FromSource = src.OID
	}
	return &NewTable{Table: t, Sequences: r.sequences, Indexes: r.indexes}, nil
}

// fed reports whether the options of a table are those of a connector.
func fed(s *sql.CreateTable) bool {
	return s.Format != nil || slices.ContainsFunc(s.Options, func(o sql.Option) bool { return o.Name == "connector" })
}

// tableStorage takes the options of a table for storage parameters.
func tableStorage(t *catalog.Table, s *sql.CreateTable) (err error) {
	t.Unlogged = s.Unlogged
	t.Options, err = SetStorage(TableStorage, nil, s.Options)
	return err
}

// BindCreateSource makes the catalog object of CREATE SOURCE.
func (p *Planner) BindCreateSource(s *sql.CreateSource) (*catalog.Source, error) {
	b := p.newBinder(false)
	h, err := b.head(s.Name)
	if err != nil {
		return nil, err
	}
	r := &relationBinder{b: b, name: h.Name, def: &s.RelationDef, source: true}
	if err := r.bind(); err != nil {
		return nil, err
	}
	if len(r.checks) > 0 || len(r.indexes) > 0 || len(r.foreign) > 0 {
		return nil, b.unsupported(s, "a CHECK, UNIQUE or FOREIGN KEY constraint of a source", "Filter the rows in a materialized view.")
	}
	src := &catalog.Source{Head: h, Columns: r.columns, PrimaryKey: r.primary, Watermarks: r.watermarks, Wildcard: s.Wildcard,
		Connector: connectorOf(s.Options, s.Format), Definition: sql.Format(s)}
	// Records of a change stream take rows away; plain ones only add.
	src.AppendOnly = src.PrimaryKey == nil && !changeFormat(src.Connector.Format)
	return src, nil
}

// changeFormat tells formats whose records update and delete.
func changeFormat(format string) bool {
	switch format {
	case "", "plain", "native", "none":
		return false
	}
	return true
}

func options(os []sql.Option) []catalog.Option {
	var out []catalog.Option
	for _, o := range os {
		out = append(out, catalog.Option{Name: o.Name, Kind: uint8(o.Kind), Value: o.Value})
	}
	return out
}

func connectorOf(os []sql.Option, f *sql.FormatSpec) *catalog.Connector {
	if len(os) == 0 && f == nil {
		return nil
	}
	c := &catalog.Connector{Options: options(os)}
	if f != nil {
		c.Format, c.FormatOptions = f.Format, options(f.FormatOptions)
		c.Encode, c.EncodeOptions = f.Encode, options(f.EncodeOptions)
		c.KeyEncode, c.KeyOptions = f.KeyEncode, options(f.KeyOptions)
	}
	return c
}

// relationBinder binds what CREATE TABLE and CREATE SOURCE share.
type relationBinder struct {
	b          *binder
	name       string
	schema     string
	altered    *catalog.Table // the table of ALTER TABLE; nil: a new one
	def        *sql.RelationDef
	source     bool
	columns    []catalog.Column
	primary    *catalog.Key
	indexes    []*catalog.Index
	checks     []catalog.Check
	watermarks []catalog.Watermark
	sequences  []*catalog.Sequence
	foreign    []catalog.ForeignKey
}

// bind binds the elements; likes are the LIKE clauses, whose columns come where they
// stand.
func (r *relationBinder) bind(likes ...sql.LikeTable) error {
	b := r.b
	for i := range r.def.Columns {
		for len(likes) > 0 && likes[0].Pos < r.def.Columns[i].Pos {
			if err := r.like(&likes[0]); err != nil {
				return err
			}
			likes = likes[1:]
		}
		if err := r.column(&r.def.Columns[i]); err != nil {
			return err
		}
	}
	for i := range likes {
		if err := r.like(&likes[i]); err != nil {
			return err
		}
	}
	for _, in := range r.def.Includes {
		if err := r.include(in); err != nil {
			return err
		}
	}
	if len(r.columns) > 1600 {
		return pgerr.New(pgerr.TooManyColumns, "tables can have at most 1600 columns")
	}
	for i := range r.def.Columns {
		if err := r.columnConstraints(&r.def.Columns[i]); err != nil {
			return err
		}
	}
	for i := range r.def.Constraints {
		if r.def.Constraints[i].Kind == sql.ConForeignKey {
			continue // when all keys are known
		}
		if err := r.constraint(&r.def.Constraints[i]); err != nil {
			return err
		}
	}
	r.nameIndexes()
	if err := r.foreignKeys(); err != nil {
		return err
	}
	for _, w := range r.def.Watermarks {
		i := catalog.ColumnIndex(r.columns, w.Column)
		if i < 0 {
			return b.errAt(w, pgerr.UndefinedColumn, "column \"%s\" named in WATERMARK does not exist", w.Column)
		}
		if t := r.columns[i].Type; t.ID != types.Timestamp && t.ID != types.Timestamptz {
			return b.errAt(w, pgerr.DatatypeMismatch, "a watermark needs a column of type timestamp or timestamptz, not %s", t)
		}
		text := sql.QuoteIdent(w.Column)
		if w.Expr != nil {
			if _, err := r.expr(w.Expr, "WATERMARK", r.columns[i].Type); err != nil {
				return err
			}
			text = sql.FormatExpr(w.Expr)
		}
		r.watermarks = append(r.watermarks, catalog.Watermark{Column: i, Expr: text})
	}
	return nil
}

// foreignKeys binds the foreign keys, in PostgreSQL's order.
func (r *relationBinder) foreignKeys() error {
	for i := range r.def.Columns {
		if err := r.columnForeignKeys(&r.def.Columns[i]); err != nil {
			return err
		}
	}
	for i := range r.def.Constraints {
		if c := &r.def.Constraints[i]; c.Kind == sql.ConForeignKey {
			if err := r.foreignKey(c, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// columnForeignKeys binds the REFERENCES of a column.
func (r *relationBinder) columnForeignKeys(c *sql.ColumnDef) error {
	for i := range c.References {
		if err := r.foreignKey(&c.References[i], c.Name); err != nil {
			return err
		}
	}
	return nil
}

// checkStoredName refuses the names that the system columns of a stored relation
// have in PostgreSQL.
func checkStoredName(name string) error {
	switch name {
	case "tableoid", "ctid", "xmin", "xmax", "cmin", "cmax":
		return pgerr.New(pgerr.DuplicateColumn, "column name \"%s\" conflicts with a system column name", name)
	}
	return nil
}

// newName refuses a name that a column has.
func (r *relationBinder) newName(name string) error {
	if catalog.ColumnIndex(r.columns, name) < 0 {
		return nil
	}
	if r.altered != nil {
		return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", name, r.name)
	}
	return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" specified more than once", name)
}

func (r *relationBinder) column(c *sql.ColumnDef) error {
	b := r.b
	if err := r.newName(c.Name); err != nil {
		return err
	}
	if c.Type == nil {
		return b.errAt(c, pgerr.SyntaxError, "column \"%s\" has no type", c.Name)
	}
	t, err := r.serial(c)
	serial := t.ID != types.Invalid
	if err == nil && t.ID == types.Invalid {
		t, err = b.typeName(c.Type)
	} else if err == nil {
		c.NotNull = true
	}
	if err != nil {
		return err
	}
	if k := c.Clash; k != nil {
		return b.errAt(k, pgerr.SyntaxError, "%s for column \"%s\" of table \"%s\"", k.What, c.Name, r.name)
	}
	if c.Identity != "" {
		if serial {
			return pgerr.New(pgerr.SyntaxError, "both default and identity specified for column \"%s\" of table \"%s\"", c.Name, r.name)
		}
		if err := r.identity(c, t); err != nil {
			return err
		}
	}
	if err := CheckColumn(c.Name, t); err != nil {
		return b.placed(err, c)
	}
	if r.source && t.HoldsDomain() {
		return b.unsupported(c, "a domain as the type of a source's column", "Give the column the type that the domain is over, and cast in a view.")
	}
	if c.Collation != nil {
		if err := b.checkCollation(*c.Collation, t, c.Collation); err != nil {
			return err
		}
	}
	if err := checkStoredName(c.Name); err != nil {
		return err
	}
	col := catalog.Column{Name: c.Name, Type: t, NotNull: c.NotNull || c.IsPrimaryKey() || c.Identity != "", Identity: c.Identity}
	if c.Path != nil {
		if r.def.Format == nil {
			return b.errAt(c.Path, pgerr.InvalidTableDefinition, "column \"%s\" has a path, but there is no record to follow it in", c.Name)
		}
		col.Path = c.Path.Text
	}
	r.columns = append(r.columns, col)
	return nil
}

// include adds a column for metadata of a record.
func (r *relationBinder) include(in sql.Include) error {
	b := r.b
	kinds := map[string]types.T{"key": types.TBytea, "payload": types.TBytea, "partition": types.TInt4, "offset": types.TInt8,
		"timestamp": types.TTimestamptz, "header": types.TBytea, "headers": types.TJSONB}
	what := in.What
	if what == "header" && in.Inner == "" {
		what = "headers"
	}
	t, ok := kinds[what]
	if !ok {
		return b.errAt(in, pgerr.SyntaxError, "unknown INCLUDE column \"%s\"", in.What)
	}
	if in.Type != nil {
		var err error
		if t, err = b.typeName(in.Type); err != nil {
			return err
		}
	}
	name := in.As
	if name == "" {
		name = "_" + what
		if in.Inner != "" {
			name += "_" + in.Inner
		}
	}
	if catalog.ColumnIndex(r.columns, name) >= 0 {
		return b.errAt(in, pgerr.DuplicateColumn, "column \"%s\" specified more than once", name)
	}
	r.columns = append(r.columns, catalog.Column{Name: name, Type: t, Include: what, Inner: in.Inner})
	return nil
}

// expr binds an expression over the columns to check it.
func (r *relationBinder) expr(e sql.Expr, clause string, want types.T) (expr.Expr, error) {
	t := &catalog.Table{Head: catalog.Head{Name: r.name, Schema: r.schema}, Columns: r.columns}
	sc := &scope{items: []*rangeItem{tableItem(t, r.name, 0)}}
	x, err := r.b.expr(&exprContext{sc: sc, clause: clause, noSub: strings.ToLower(strings.TrimSuffix(clause, "s"))}, e)
	if err != nil {
		return nil, err
	}
	return r.b.coerce(x, want, expr.Assignment, e)
}

// BindDefault checks a default for a column and returns its text.
func (p *Planner) BindDefault(col catalog.Column, e sql.Expr) (string, error) {
	return p.newBinder(false).defaultText(col, e)
}

// defaultText checks a default for a column and returns its text.
func (b *binder) defaultText(col catalog.Column, e sql.Expr) (string, error) {
	x, err := b.expr(&exprContext{sc: &scope{}, clause: "DEFAULT expressions", noSub: "DEFAULT expression"}, e)
	if err != nil {
		if pe := pgerr.From(err); pe.Code == pgerr.UndefinedColumn || pe.Code == pgerr.UndefinedTable {
			return "", b.errAt(e, pgerr.FeatureNotSupported, "cannot use column reference in DEFAULT expression")
		}
		return "", err
	}
	if t := x.Type(); t.ID != types.Unknown && !expr.CanCast(t, col.Type, expr.Assignment) {
		return "", pgerr.New(pgerr.DatatypeMismatch, "column \"%s\" is of type %s but default expression is of type %s", col.Name, col.Type.Base(), t.Base()).
			WithHint("You will need to rewrite or cast the expression.")
	}
	if _, err := b.coerce(x, col.Type, expr.Assignment, e); err != nil {
		return "", err
	}
	return b.withSequenceOIDs(sql.FormatExpr(e))
}

func (r *relationBinder) columnConstraints(c *sql.ColumnDef) error {
	b := r.b
	i := catalog.ColumnIndex(r.columns, c.Name)
	col := &r.columns[i]
	if c.Default != nil {
		var err error
		if col.Default, err = b.defaultText(*col, c.Default); err != nil {
			return err
		}
	}
	if c.Generated != nil {
		x, err := r.expr(c.Generated, "column generation expressions", col.Type)
		if err != nil {
			return err
		}
		used := map[int]bool{}
		usedCols(x, used)
		for k := range used {
			if r.columns[k].Generated != "" || k == i {
				return b.errAt(named(c.Generated, r.columns[k].Name), pgerr.InvalidObjectDefinition, "cannot use generated column \"%s\" in column generation expression", r.columns[k].Name).(*pgerr.Error).
					WithDetail("A generated column cannot reference another generated column.")
			}
		}
		if !immutable(x) {
			return pgerr.New(pgerr.InvalidObjectDefinition, "generation expression is not immutable")
		}
		col.Generated = sql.FormatExpr(c.Generated)
	}
	for k := range c.Keys {
		con := c.Keys[k]
		con.Columns = []string{c.Name}
		if err := r.constraint(&con); err != nil {
			return err
		}
	}
	for k := range c.Checks {
		con := c.Checks[k]
		if err := r.constraint(&con); err != nil {
			return err
		}
	}
	return nil
}

// named finds where an expression names a column; the expression itself if nowhere.
func named(e sql.Expr, column string) sql.Node {
	var find func(n sql.Node) sql.Node
	find = func(n sql.Node) sql.Node {
		if ref, ok := n.(*sql.ColumnRef); ok && len(ref.Parts) > 0 && ref.Parts[len(ref.Parts)-1] == column {
			return ref
		}
		for _, c := range sql.Children(n) {
			if at := find(c); at != nil {
				return at
			}
		}
		return nil
	}
	if at := find(e); at != nil {
		return at
	}
	return e
}

// immutable: the same arguments give the same value for ever.
func immutable(e expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x expr.Expr) bool {
		if c, isCall := x.(*expr.Call); isCall && c.Fn.Volatility != expr.Immutable {
			ok = false
		}
		return ok
	})
	return ok
}

func (r *relationBinder) constraint(c *sql.Constraint) error {
	b := r.b
	switch c.Kind {
	case sql.ConForeignKey:
		return r.foreignKey(c, "")
	case sql.ConExclude:
		return b.unsupported(c, "an EXCLUDE constraint", "Use UNIQUE.")
	case sql.ConCheck:
		x, err := r.expr(c.Check, "check constraints", types.TBool)
		if err != nil {
			return err
		}
		name := c.Name
		if name != "" && slices.ContainsFunc(r.checks, func(k catalog.Check) bool { return k.Name == name }) {
			return pgerr.New(pgerr.DuplicateObject, "check constraint \"%s\" already exists", name)
		}
		if name == "" {
			name = r.checkName(onlyColumn(x, r.columns))
		}
		r.checks = append(r.checks, catalog.Check{Name: name, Expr: sql.FormatExpr(c.Check), NotValid: c.NotValid})
		return nil
	}
	if c.Index != "" {
		return b.errAt(c, pgerr.FeatureNotSupported, "cannot use an existing index in CREATE TABLE")
	}
	cols, err := r.keyColumns(c)
	if err != nil {
		return err
	}
	if c.Kind == sql.ConPrimaryKey {
		if r.primary != nil || slices.ContainsFunc(r.indexes, func(x *catalog.Index) bool { return x.Primary }) {
			return b.errAt(c, pgerr.InvalidTableDefinition, "multiple primary keys for table \"%s\" are not allowed", r.name)
		}
		for _, i := range cols {
			r.columns[i].NotNull = true
		}
	}
	if c.Kind == sql.ConUnique || len(c.Include) > 0 || c.Deferrable || r.altered != nil {
		return r.uniqueIndex(c, cols)
	}
	r.primary = &catalog.Key{Name: c.Name, Columns: cols}
	if c.Name == "" {
		r.primary.Name = freeName(b.p.Cat, r.schema, r.name, nil, "pkey", nil)
	}
	return nil
}

// keyColumns finds the columns of a key.
func (r *relationBinder) keyColumns(c *sql.Constraint) (cols []int, err error) {
	b := r.b
	for _, n := range c.Columns {
		i := catalog.ColumnIndex(r.columns, n)
		if i < 0 && r.altered != nil && c.Kind == sql.ConPrimaryKey {
			return nil, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", n, r.name)
		}
		if i < 0 {
			return nil, b.errAt(c, pgerr.UndefinedColumn, "column \"%s\" named in key does not exist", n)
		}
		if slices.Contains(cols, i) {
			return nil, b.errAt(c, pgerr.DuplicateColumn, "column \"%s\" appears twice in %s constraint", n, map[sql.ConstraintKind]string{sql.ConPrimaryKey: "primary key", sql.ConUnique: "unique"}[c.Kind])
		}
		if err := orderable(r.columns[i].Type); err != nil {
			return nil, err.At(b.at(c))
		}
		cols = append(cols, i)
	}
	return cols, nil
}

// uniqueIndex adds the index of a UNIQUE constraint, or of a primary key that rows
// are not stored by. One that says the same as an earlier one of the same CREATE
// TABLE adds nothing.
func (r *relationBinder) uniqueIndex(c *sql.Constraint, cols []int) error {
	ix := &catalog.Index{Head: catalog.Head{Schema: r.schema, Name: c.Name}, Unique: true, Constraint: true,
		Primary: c.Kind == sql.ConPrimaryKey, NullsNotDistinct: c.NullsNotDistinct, Deferrable: c.Deferrable, Deferred: c.Deferred}
	for _, i := range cols {
		ix.Keys = append(ix.Keys, catalog.IndexColumn{Column: i})
	}
	for _, n := range c.Include {
		i := catalog.ColumnIndex(r.columns, n)
		if i < 0 {
			return r.b.errAt(c, pgerr.UndefinedColumn, "column \"%s\" named in key does not exist", n)
		}
		ix.Include = append(ix.Include, i)
	}
	if r.altered == nil && r.repeats(ix) {
		return nil
	}
	r.indexes = append(r.indexes, ix)
	return nil
}

// repeats reports whether an earlier key says the same as ix; it takes the name of
// ix if it has none.
func (r *relationBinder) repeats(ix *catalog.Index) bool {
	if len(ix.Include) > 0 {
		return false
	}
	if r.repeatsPrimary(ix) {
		return true
	}
	for _, x := range r.indexes {
		if slices.Equal(x.Columns(), ix.Columns()) && len(x.Include) == 0 && x.NullsNotDistinct == ix.NullsNotDistinct &&
			x.Deferrable == ix.Deferrable && x.Deferred == ix.Deferred {
			if x.Name == "" {
				x.Name = ix.Name
			}
			return true
		}
	}
	return false
}

// onlyColumn returns the name of the column that an expression is of, if it is of one.
func onlyColumn(x expr.Expr, cols []catalog.Column) string {
	used := map[int]bool{}
	usedCols(x, used)
	if len(used) == 1 {
		for i := range used {
			return cols[i].Name
		}
	}
	return ""
}

// repeatsPrimary reports whether the primary key says the same as ix.
func (r *relationBinder) repeatsPrimary(ix *catalog.Index) bool {
	return r.primary != nil && len(ix.Include) == 0 && !ix.NullsNotDistinct && !ix.Deferrable && slices.Equal(r.primary.Columns, ix.Columns())
}

// nameIndexes names the keys that were given none.
func (r *relationBinder) nameIndexes() {
	if r.altered == nil {
		r.indexes = slices.DeleteFunc(r.indexes, r.repeatsPrimary)
	}
	taken := map[string]bool{}
	if r.primary != nil {
		taken[r.primary.Name] = true
	}
	for _, x := range r.indexes {
		taken[x.Name] = true
	}
	for _, x := range r.indexes {
		if x.Name != "" {
			continue
		}
		names, label := r.indexNameParts(x)
		x.Name = freeName(r.b.p.Cat, r.schema, r.name, names, label, taken)
		taken[x.Name] = true
	}
}

// checkName names a check of a column, or of the whole row.
func (r *relationBinder) checkName(column string) string {
	return freeCheck(r.checks, func(n string) string { return catalog.ObjectName(r.name, column, "_check"+n) })
}

// freeCheck numbers a check's name until none of the checks has it.
func freeCheck(checks []catalog.Check, named func(number string) string) string {
	name := named("")
	for i := 1; slices.ContainsFunc(checks, func(c catalog.Check) bool { return c.Name == name }); i++ {
		name = named(strconv.Itoa(i))
	}
	return name
}
