package catalog

import (
	"regexp"
	"sort"
	"strings"

	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// OIDs of system relations that other rows refer to.
const (
	classRelation   = 1259 // pg_class
	classType       = 1247 // pg_type
	classRewrite    = 2618 // pg_rewrite
	classConstraint = 2606 // pg_constraint
	classNamespace  = 2615 // pg_namespace
	classDatabase   = 1262 // pg_database
	classRole       = 1260 // pg_authid
	classAttrdef    = 2604 // pg_attrdef

	amHeap  = 2
	amBtree = 403
)

// rel is a relation as pg_class has it.
type rel struct {
	*Head
	obj  Object
	kind byte // r table, m materialized view, v view, f source, i index, S sequence
	cols []Column
}

// indexRel is an index: of CREATE INDEX, or of a key.
type indexRel struct {
	oid             uint32
	name            string
	comment         string
	table           rel
	keys            []IndexColumn
	include         []int
	unique, primary bool
	constraint      bool
	nullsEqual      bool // two NULLs are a duplicate
	deferrable      bool
	where           string
	options         []Option
}

// rels returns all relations but indexes, in OID order.
func rels(s *Snapshot) []rel {
	kinds := map[uint32]byte{}
	for _, r := range systemRelations() {
		kinds[r.oid] = r.kind
	}
	var out []rel
	s.Objects(func(o Object) {
		r := rel{Head: o.Header(), obj: o}
		switch x := o.(type) {
		case *Table:
			r.kind = 'r'
		case *MatView:
			r.kind = 'm'
		case *View:
			r.kind = 'v'
		case *Sequence:
			r.kind = 'S'
		case *Source:
			r.kind = 'f'
		case *VirtualTable:
			if r.kind = kinds[x.OID]; r.kind == 0 {
				r.kind = 'r'
			}
		default:
			return
		}
		r.cols = o.(Relation).Cols()
		out = append(out, r)
	})
	return out
}

// indexes returns all indexes in OID order.
func indexes(s *Snapshot) []indexRel {
	var out []indexRel
	for _, r := range rels(s) {
		if t, ok := r.obj.(*Table); ok {
			if k := t.PrimaryKey; k != nil {
				out = append(out, keyIndex(r, k))
			}
		}
		for _, x := range s.Indexes(r.OID) {
			out = append(out, indexRel{oid: x.OID, name: x.Name, comment: x.Comment, table: r, keys: x.Keys, include: x.Include,
				unique: x.Unique, primary: x.Primary, constraint: x.Constraint, nullsEqual: x.NullsNotDistinct, deferrable: x.Deferrable, where: x.Where, options: x.Options})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].oid < out[j].oid })
	return out
}

func keyIndex(r rel, k *Key) indexRel {
	x := indexRel{oid: k.OID, name: k.Name, table: r, unique: true, primary: true, constraint: true}
	for _, c := range k.Columns {
		x.keys = append(x.keys, IndexColumn{Column: c})
	}
	return x
}

// columns returns the columns of an index, as pg_attribute lists them.
func (x *indexRel) columns() []Column {
	var out []Column
	for _, k := range x.keys {
		if k.As != nil {
			out = append(out, *k.As)
		} else {
			out = append(out, x.column(k.Column))
		}
	}
	for _, k := range x.include {
		out = append(out, x.column(k))
	}
	return out
}

// attnum is that of a column of the table; 0 of an expression.
func (x *indexRel) attnum(k int) int16 {
	if k < 0 {
		return 0
	}
	return int16(ColumnNumber(x.table.cols, k))
}

// key is key column i as CREATE INDEX has it.
func (x *indexRel) key(i int) string {
	k := x.keys[i]
	if k.Column >= 0 {
		return sql.QuoteIdent(x.table.cols[k.Column].Name)
	}
	return indexExpr(k.Expr)
}

// indexExpr is an expression as the key of an index: calls stand alone, anything
// else in brackets.
func indexExpr(text string) string {
	if callText.MatchString(text) {
		return text
	}
	return "(" + text + ")"
}

// bracketed puts an expression in brackets, unless it is a single name.
func bracketed(text string) string {
	if nameText.MatchString(text) {
		return text
	}
	return "(" + text + ")"
}

var nameText = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// callText matches a call of a function whose arguments hold no further brackets
// that could close it.
var callText = regexp.MustCompile(`^[a-z_][a-z0-9_.]*\([^()]*\)$`)

func (x *indexRel) column(k int) Column {
	c := x.table.cols[k]
	return Column{Name: c.Name, Type: c.Type}
}

// Definition is the index as CREATE INDEX.
func (x *indexRel) definition(pretty bool) string {
	var b strings.Builder
	b.WriteString("CREATE ")
	if x.unique {
		b.WriteString("UNIQUE ")
	}
	b.WriteString("INDEX " + sql.QuoteIdent(x.name) + " ON " + sql.QuoteIdent(x.table.Schema) + "." +
		sql.QuoteIdent(x.table.Name) + " USING btree (")
	for i, k := range x.keys {
		if i > 0 {
			b.WriteString(", ")
		}
		text := x.key(i)
		if k.Column < 0 && !pretty && strings.HasPrefix(text, "(") && !strings.HasPrefix(k.Expr, "CASE ") {
			text = "(" + text + ")"
		}
		b.WriteString(text)
		if k.OpClass != "" {
			b.WriteString(" " + sql.QuoteIdent(k.OpClass))
		}
		if k.Desc {
			b.WriteString(" DESC")
		}
		if k.NullsFirst != k.Desc {
			b.WriteString(map[bool]string{true: " NULLS FIRST", false: " NULLS LAST"}[k.NullsFirst])
		}
	}
	b.WriteByte(')')
	for i, k := range x.include {
		b.WriteString(map[bool]string{true: " INCLUDE (", false: ", "}[i == 0] + sql.QuoteIdent(x.table.cols[k].Name))
	}
	if len(x.include) > 0 {
		b.WriteByte(')')
	}
	if x.nullsEqual {
		b.WriteString(" NULLS NOT DISTINCT")
	}
	for i, o := range x.options {
		b.WriteString(map[bool]string{true: " WITH (", false: ", "}[i == 0] + o.Name + "=" + sql.QuoteLiteral(o.Value))
	}
	if len(x.options) > 0 {
		b.WriteByte(')')
	}
	switch {
	case x.where != "" && pretty:
		b.WriteString(" WHERE " + x.where)
	case x.where != "":
		b.WriteString(" WHERE " + bracketed(x.where))
	}
	return b.String()
}

// IndexColumnText returns column i, counted from 1, of an index as CREATE INDEX
// has it, empty if it has no such column; ok is false if there is no such index.
func IndexColumnText(s *Snapshot, oid uint32, i int) (text string, ok bool) {
	for _, x := range indexes(s) {
		if x.oid != oid {
			continue
		}
		switch {
		case i < 1 || i > len(x.keys)+len(x.include):
			return "", true
		case i > len(x.keys):
			return sql.QuoteIdent(x.table.cols[x.include[i-1-len(x.keys)]].Name), true
		}
		return x.key(i - 1), true
	}
	return "", false
}

// IndexDefinition returns an index, or the index of a key, as CREATE INDEX; pretty:
// with fewer brackets.
func IndexDefinition(s *Snapshot, oid uint32, pretty bool) (string, bool) {
	for _, x := range indexes(s) {
		if x.oid == oid {
			return x.definition(pretty), true
		}
	}
	return "", false
}

func namespaceOID(s *Snapshot, name string) uint32 {
	if n := s.Schema(name); n != nil {
		return n.OID
	}
	return 0
}

func relationDefs() []def {
	return []def{
		{"pg_catalog.pg_class", "oid relname relnamespace reltype relowner relam relfilenode reltuples relhasindex relpersistence relkind " +
			"relnatts relchecks relhasrules relhastriggers relispopulated relreplident relacl reloptions", fillClass},
		{"pg_catalog.pg_attribute", "attrelid attname atttypid attstattarget attlen attnum attndims attcacheoff atttypmod attbyval " +
			"attalign attstorage attnotnull atthasdef attidentity attgenerated attislocal attcollation attacl attoptions", fillAttribute},
		{"pg_catalog.pg_attrdef", "oid adrelid adnum adbin", fillAttrdef},
		{"pg_catalog.pg_namespace", "oid nspname nspowner nspacl", fillNamespace},
		{"pg_catalog.pg_index", "indexrelid indrelid indnatts indnkeyatts indisunique indnullsnotdistinct indisprimary indimmediate indisvalid " +
			"indisready indislive indisclustered indisreplident indkey indcollation indclass indoption indexprs indpred", fillIndex},
		{"pg_catalog.pg_description", "objoid classoid objsubid description", fillDescription},
		{"pg_catalog.pg_rewrite", "oid rulename ev_class ev_type ev_enabled is_instead ev_qual ev_action", fillRewrite},
		{"pg_catalog.pg_depend", "classid objid objsubid refclassid refobjid refobjsubid deptype", fillDepend},
		{"pg_catalog.pg_foreign_table", "ftrelid ftserver ftoptions", func(c *Context, r *rows) {
			for _, s := range All[*Source](c.Snapshot) {
				r.add(s.OID, connectorOID(s), optionArray(s.Connector))
			}
		}},
		{"pg_catalog.pg_foreign_server", "oid srvname srvowner srvfdw", fillForeignServer},
		{"pg_catalog.pg_foreign_data_wrapper", "oid fdwname fdwowner", func(_ *Context, r *rows) {
			r.add(madeOID("wrapper", 0, 0), "streamdb", BootstrapOID)
		}},
	}
}

func fillClass(c *Context, r *rows) {
	s := c.Snapshot
	stats, _ := c.Server.(StatsSource)
	indexed := map[uint32]bool{}
	ix := indexes(s)
	for _, x := range ix {
		indexed[x.table.OID] = true
	}
	for _, x := range rels(s) {
		am, checks, ident := 0, 0, byte('n')
		if x.kind == 'r' || x.kind == 'm' {
			am, ident = amHeap, 'd'
		}
		var options any
		if t, ok := x.obj.(*Table); ok {
			checks = len(t.Checks)
			options = optionTexts(t.Options)
			if t.ReplicaIdentity != "" {
				ident = t.ReplicaIdentity[0]
			}
		}
		if v, ok := x.obj.(*View); ok {
			options = optionTexts(v.Options)
		}
		r.add(x.OID, x.Name, namespaceOID(s, x.Schema), rowTypeOID(x.obj), x.Owner, am, x.OID, tuples(stats, x.OID),
			indexed[x.OID], persistence(s, x.obj), x.kind, lastColumn(x), checks, x.kind == 'v', hasForeignKeys(s, x.obj), true, ident, aclOf(s, x.ACL), options)
	}
	for _, t := range composites(s) {
		r.add(compositeRel(t.OID), t.Name, namespaceOID(s, t.Schema), t.OID, t.Owner, 0, 0, float32(0), false, "p", "c", len(t.Fields), 0, false, false, true, "n", nil, nil)
	}
	for _, x := range ix {
		r.add(x.oid, x.name, namespaceOID(s, x.table.Schema), 0, x.table.Owner, amBtree, x.oid,
			tuples(stats, x.table.OID), false, persistence(s, x.table.obj), "i", len(x.keys)+len(x.include), 0, false, false, true, "n", nil, optionTexts(x.options))
	}
}

// rowTypeOID is reltype: 0 where rows have no type.
func rowTypeOID(o Object) uint32 {
	if r, ok := o.(Relation); ok && hasRowType(r) {
		return rowTypeNumber(r)
	}
	return 0
}

// persistence is relpersistence.
func persistence(s *Snapshot, o Object) string {
	if IsTemp(o.Header().Schema) {
		return "t"
	}
	if q, ok := o.(*Sequence); ok && q.OwnedTable != 0 {
		if t := s.ByOID(q.OwnedTable); t != nil {
			o = t
		}
	}
	if t, ok := o.(*Table); ok && t.Unlogged {
		return "u"
	}
	return "p"
}

// optionTexts is reloptions or attoptions.
func optionTexts(os []Option) any {
	var out []string
	for _, o := range os {
		if !strings.HasPrefix(o.Name, "toast.") { // which is another relation's in PostgreSQL
			out = append(out, o.Name+"="+o.Value)
		}
	}
	if out == nil {
		return nil
	}
	return textArray(out)
}

// hasForeignKeys reports whether a table has foreign keys or is referenced by some,
// which are triggers in PostgreSQL.
func hasForeignKeys(s *Snapshot, o Object) bool {
	t, ok := o.(*Table)
	return ok && (len(t.ForeignKeys) > 0 || len(s.children[t.OID]) > 0)
}

// lastColumn is the greatest attnum that a column ever had.
func lastColumn(x rel) int {
	if t, ok := x.obj.(*Table); ok {
		return max(t.LastColumn, len(x.cols))
	}
	return len(x.cols)
}

// tuples is reltuples: -1 if nobody counted.
func tuples(s StatsSource, oid uint32) float32 {
	if s != nil {
		if n, ok := s.RowCount(oid); ok {
			return float32(n)
		}
	}
	return -1
}

func fillAttribute(c *Context, r *rows) {
	info := typeRows()
	add := func(rel uint32, cols []Column) {
		for i := range cols {
			col := &cols[i]
			t := info[col.Type.Underlying().OID()]
			ndims := 0
			if col.Type.ID == types.Array && !col.Type.IsDomain() {
				ndims = 1
			}
			gen, ident := "", ""
			if col.Identity != "" {
				ident = map[bool]string{true: "a", false: "d"}[col.Identity == "ALWAYS"]
			}
			if col.Generated != "" {
				gen = "s"
			}
			storage, target, options := t.storage, -1, any(nil)
			if p := col.Physical; p != nil {
				if p.Storage != "" {
					storage = p.Storage
				}
				if p.Statistics != nil {
					target = *p.Statistics
				}
				options = optionTexts(p.Options)
			}
			r.add(rel, col.Name, col.Type.OID(), target, t.len, ColumnNumber(cols, i), ndims, -1, max(col.Type.Mod, -1), t.byval, t.align, storage,
				col.NotNull, col.Default != "" || col.Generated != "", ident, gen, true, t.collation, aclOf(c.Snapshot, col.ACL), options)
		}
	}
	for _, x := range rels(c.Snapshot) {
		add(x.OID, x.cols)
	}
	for _, t := range composites(c.Snapshot) {
		add(compositeRel(t.OID), t.Fields)
	}
	for _, x := range indexes(c.Snapshot) {
		add(x.oid, x.columns())
	}
}

func fillAttrdef(c *Context, r *rows) {
	for _, x := range rels(c.Snapshot) {
		for i, col := range x.cols {
			if text := c.Snapshot.DefaultText(&col, searchPath(c)) + col.Generated; text != "" {
				r.add(madeOID("attrdef", x.OID, i), x.OID, ColumnNumber(x.cols, i), text)
			}
		}
	}
}

func fillNamespace(c *Context, r *rows) {
	for _, n := range All[*Schema](c.Snapshot) {
		r.add(n.OID, n.Name, n.Owner, aclOf(c.Snapshot, n.ACL))
	}
}

func fillIndex(c *Context, r *rows) {
	info := typeRows()
	for _, x := range indexes(c.Snapshot) {
		var keys, options []int16
		var collations, classes []int64
		for _, k := range x.keys {
			var t types.T
			if k.As != nil {
				t = k.As.Type
			} else {
				t = x.table.cols[k.Column].Type
			}
			t = t.Underlying()
			o := int16(0)
			if k.Desc {
				o |= 1
			}
			if k.NullsFirst {
				o |= 2
			}
			keys, options = append(keys, x.attnum(k.Column)), append(options, o)
			collations = append(collations, int64(info[t.OID()].collation))
			classes = append(classes, int64(opclassOID(k.OpClass, t)))
		}
		for _, k := range x.include {
			keys = append(keys, x.attnum(k))
		}
		var exprs []string
		for i, k := range x.keys {
			if k.Column < 0 {
				exprs = append(exprs, x.key(i))
			}
		}
		clustered, identity := false, false
		if t, ok := x.table.obj.(*Table); ok {
			clustered, identity = t.ClusterIndex == x.oid, t.ReplicaIdentity == "i" && t.IdentityIndex == x.oid
		}
		r.add(x.oid, x.table.OID, len(keys), len(x.keys), x.unique, x.nullsEqual, x.primary, !x.deferrable, true, true, true, clustered, identity,
			vector(keys...), vector(collations...), vector(classes...), vector(options...), orNull(strings.Join(exprs, ", ")), orNull(x.where))
	}
}

// fillForeignServer gives a row for each connector that a source uses: to
// PostgreSQL's clients, sources are foreign tables and connectors their servers.
func fillForeignServer(c *Context, r *rows) {
	seen := map[string]bool{}
	for _, s := range All[*Source](c.Snapshot) {
		name, _ := s.Connector.Option("connector")
		if !seen[name] {
			seen[name] = true
			r.add(connectorOID(s), name, BootstrapOID, madeOID("wrapper", 0, 0))
		}
	}
}

func connectorOID(s *Source) uint32 {
	name, _ := s.Connector.Option("connector")
	return madeOID("connector "+name, 0, 0)
}

func fillDescription(c *Context, r *rows) {
	c.Snapshot.Objects(func(o Object) {
		h := o.Header()
		class := classRelation
		if o.Kind() == KindSchema {
			class = classNamespace
		} else if o.Kind() == KindType {
			class = classType
		} else if o.Kind() == KindFunction {
			class = 1255 // pg_proc
		} else if !o.Kind().Relation() {
			return
		}
		if h.Comment != "" {
			r.add(h.OID, class, 0, h.Comment)
		}
		if x, ok := o.(Relation); ok {
			for i, col := range x.Cols() {
				if col.Comment != "" {
					r.add(h.OID, class, ColumnNumber(x.Cols(), i), col.Comment)
				}
			}
		}
		if t, ok := o.(*Table); ok && t.PrimaryKey != nil && t.PrimaryKey.IndexComment != "" {
			r.add(t.PrimaryKey.OID, class, 0, t.PrimaryKey.IndexComment)
		}
	})
	for _, k := range allConstraints(c.Snapshot) {
		if k.comment != "" {
			r.add(k.oid, classConstraint, 0, k.comment)
		}
	}
}

// fillRewrite gives every view its rule, as PostgreSQL has it; its OID is the
// view's.
func fillRewrite(c *Context, r *rows) {
	for _, x := range rels(c.Snapshot) {
		if x.kind == 'v' || x.kind == 'm' {
			r.add(x.OID, "_RETURN", x.OID, "1", "O", true, "<>", "<>")
		}
	}
}

func fillDepend(c *Context, r *rows) {
	for _, x := range rels(c.Snapshot) {
		ns := namespaceOID(c.Snapshot, x.Schema)
		r.add(classRelation, x.OID, 0, classNamespace, ns, 0, "n")
		if x.kind == 'v' || x.kind == 'm' {
			r.add(classRewrite, x.OID, 0, classRelation, x.OID, 0, "i")
			for _, d := range x.obj.Dependencies() {
				r.add(classRewrite, x.OID, 0, classRelation, d, 0, "n")
			}
		}
		for i, col := range x.cols {
			if col.Default+col.Generated != "" {
				r.add(classAttrdef, madeOID("attrdef", x.OID, i), 0, classRelation, x.OID, ColumnNumber(x.cols, i), "a")
			}
			for _, q := range SequencesUsed(col.Default) {
				r.add(classAttrdef, madeOID("attrdef", x.OID, i), 0, classRelation, q, 0, "n")
			}
		}
		if q, ok := x.obj.(*Sequence); ok && q.OwnedTable != 0 {
			if t, ok := c.Snapshot.ByOID(q.OwnedTable).(*Table); ok {
				r.add(classRelation, q.OID, 0, classRelation, t.OID, ColumnNumber(t.Columns, ColumnIndex(t.Columns, q.OwnedColumn)), map[bool]string{true: "i", false: "a"}[q.Identity])
			}
		}
	}
	for _, k := range constraints(c.Snapshot) {
		if k.kind != 'f' {
			continue
		}
		for _, col := range k.columns {
			r.add(classConstraint, k.oid, 0, classRelation, k.table.OID, ColumnNumber(k.table.cols, col), "a")
		}
		for _, col := range k.refs {
			r.add(classConstraint, k.oid, 0, classRelation, k.parent.OID, ColumnNumber(k.parent.Columns, col), "n")
		}
		r.add(classConstraint, k.oid, 0, classRelation, k.fk.Index, 0, "n")
	}
	for _, x := range indexes(c.Snapshot) {
		if x.constraint {
			r.add(classRelation, x.oid, 0, classConstraint, x.oid, 0, "i")
		}
		for _, k := range x.keys {
			if k.Column < 0 {
				continue
			}
			class := classRelation
			if x.constraint {
				class = classConstraint
			}
			r.add(class, x.oid, 0, classRelation, x.table.OID, x.attnum(k.Column), "a")
		}
	}
}
