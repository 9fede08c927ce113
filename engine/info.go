package engine

import (
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// info answers what scalar functions ask about the catalog, as the session sees
// it now.
type info struct {
	snap *catalog.Snapshot
	s    *Session
}

func (s *Session) catalogInfo() expr.CatalogInfo { return info{s.snapshot(), s} }

func (i info) path() []string { return i.s.expr.SearchPath }

// RelationOID implements expr.CatalogInfo.
func (i info) RelationOID(name string) (uint32, bool) {
	parts, ok := splitName(name)
	if !ok {
		return 0, false
	}
	schema := ""
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	if len(parts) > 2 && parts[0] != i.s.database {
		return 0, false
	}
	if o := i.snap.Lookup(schema, parts[len(parts)-1], i.path()); o != nil {
		return o.Header().OID, true
	}
	path := []string{schema}
	if schema == "" {
		path = i.snap.EffectivePath(i.path())
	}
	for _, p := range path {
		if oid, _, _, ok := catalog.KeyIndex(i.snap, 0, p, parts[len(parts)-1]); ok {
			return oid, true
		}
	}
	return 0, false
}

// TypeByOID implements expr.CatalogInfo.
func (i info) TypeByOID(oid uint32) (types.T, bool) { return i.snap.TypeByOID(oid) }

// TypeByName implements expr.CatalogInfo.
func (i info) TypeByName(name string) (types.T, bool) {
	parts, ok := splitName(name)
	if !ok {
		return types.T{}, false
	}
	schema := ""
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	return i.snap.Type(schema, parts[len(parts)-1], i.path())
}

// RelationName implements expr.CatalogInfo.
func (i info) RelationName(oid uint32) (string, bool) {
	o := i.snap.ByOID(oid)
	if o == nil {
		_, schema, name, ok := catalog.KeyIndex(i.snap, oid, "", "")
		if ok && !i.keyVisible(oid, schema, name) {
			return sql.QuoteIdent(schema) + "." + sql.QuoteIdent(name), true
		}
		return sql.QuoteIdent(name), ok
	}
	if !o.Kind().Relation() {
		return "", false
	}
	h := o.Header()
	if i.snap.Visible(oid, i.path()) {
		return sql.QuoteIdent(h.Name), true
	}
	return sql.QuoteIdent(h.Schema) + "." + sql.QuoteIdent(h.Name), true
}

// NamespaceName implements expr.CatalogInfo.
func (i info) NamespaceName(oid uint32) (string, bool) {
	o, ok := i.snap.ByOID(oid).(*catalog.Schema)
	if !ok {
		return "", false
	}
	return o.Name, true
}

// NamespaceOID implements expr.CatalogInfo.
func (i info) NamespaceOID(name string) (uint32, bool) {
	if o := i.snap.Schema(name); o != nil {
		return o.OID, true
	}
	return 0, false
}

// TableVisible implements expr.CatalogInfo.
func (i info) TableVisible(oid uint32) bool {
	if i.snap.Visible(oid, i.path()) {
		return true
	}
	_, schema, name, ok := catalog.KeyIndex(i.snap, oid, "", "")
	return ok && i.keyVisible(oid, schema, name)
}

// keyVisible reports whether the index of a key is what its name alone means.
func (i info) keyVisible(oid uint32, schema, name string) bool {
	for _, p := range i.snap.EffectivePath(i.path()) {
		if i.snap.Get(p, name) != nil {
			return false
		}
		if found, _, _, ok := catalog.KeyIndex(i.snap, 0, p, name); ok {
			return found == oid && p == schema
		}
	}
	return false
}

// ViewDef implements expr.CatalogInfo.
func (i info) ViewDef(oid uint32, _ bool) (string, bool) {
	switch o := i.snap.ByOID(oid).(type) {
	case *catalog.View:
		return catalog.Shown(o.Text, o.Query), true
	case *catalog.MatView:
		return catalog.Shown(o.Text, o.Query), true
	}
	return "", false
}

// IndexDef implements expr.CatalogInfo: of an index, or of the index behind a
// primary key; column 0 is the whole definition.
func (i info) IndexDef(oid uint32, column int, pretty bool) (string, bool) {
	if column != 0 {
		return catalog.IndexColumnText(i.snap, oid, column)
	}
	return catalog.IndexDefinition(i.snap, oid, pretty)
}

// ConstraintDef implements expr.CatalogInfo.
func (i info) ConstraintDef(oid uint32, pretty bool) (string, bool) {
	return catalog.ConstraintDefinition(i.snap, oid, i.s.expr.SearchPath, pretty)
}

// ColumnDefault implements expr.CatalogInfo.
func (i info) ColumnDefault(rel uint32, column int) (string, bool) {
	r, ok := i.snap.ByOID(rel).(catalog.Relation)
	if !ok {
		return "", false
	}
	at := catalog.ColumnNumbered(r.Cols(), column)
	if at < 0 {
		return "", false
	}
	c := r.Cols()[at]
	if c.Generated != "" {
		return c.Generated, true
	}
	return i.snap.DefaultText(&c, i.path()), c.Default != ""
}

// SerialSequence implements expr.CatalogInfo.
func (i info) SerialSequence(table, column string) (string, bool, error) {
	oid, ok := i.RelationOID(table)
	if !ok {
		return "", false, undefined("relation", table)
	}
	r, ok := i.snap.ByOID(oid).(catalog.Relation)
	if !ok || catalog.ColumnIndex(r.Cols(), column) < 0 {
		return "", false, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", column, i.snap.ByOID(oid).Header().Name)
	}
	q := i.snap.OwnedSequence(oid, column)
	if q == nil {
		return "", false, nil
	}
	return sql.QuoteIdent(q.Schema) + "." + sql.QuoteIdent(q.Name), true, nil
}

// RelationSize implements expr.CatalogInfo.
func (i info) RelationSize(oid uint32) int64 {
	e := i.s.eng
	if n := e.ApproxBytes(oid); n > 0 {
		return n
	}
	return e.UnsettledBytes(oid)
}

// IndexesSize implements expr.CatalogInfo.
func (i info) IndexesSize(oid uint32) (n int64) {
	for _, x := range i.snap.Indexes(oid) {
		n += i.RelationSize(x.OID)
	}
	return n
}

// Description implements expr.CatalogInfo.
func (i info) Description(oid uint32, class string, column int) (string, bool) {
	if class == "pg_constraint" {
		text := catalog.ConstraintComment(i.snap, oid)
		return text, text != ""
	}
	o := i.snap.ByOID(oid)
	if o == nil {
		text := catalog.KeyComment(i.snap, oid)
		return text, text != "" && (class == "pg_class" || class == "")
	}
	text := o.Header().Comment
	if column > 0 {
		r, ok := o.(catalog.Relation)
		if !ok {
			return "", false
		}
		k := catalog.ColumnNumbered(r.Cols(), column)
		if k < 0 {
			return "", false
		}
		text = r.Cols()[k].Comment
	}
	of := "pg_class"
	switch o.Kind() {
	case catalog.KindSchema:
		of = "pg_namespace"
	case catalog.KindDatabase:
		of = "pg_database"
	case catalog.KindRole:
		of = "pg_authid"
	case catalog.KindType:
		of = "pg_type"
	case catalog.KindFunction:
		of = "pg_proc"
	}
	return text, text != "" && (class == of || class == "" && o.Kind() != catalog.KindDatabase && o.Kind() != catalog.KindRole)
}

func undefined(kind, name string) error {
	code := pgerr.UndefinedObject
	switch kind {
	case "relation":
		code = pgerr.UndefinedTable
	case "schema":
		code = pgerr.InvalidSchemaName
	case "function":
		code = pgerr.UndefinedFunction
	}
	return pgerr.New(code, "%s \"%s\" does not exist", kind, name)
}

// splitName splits a possibly qualified name as SQL reads it: parts are folded to
// lower case unless quoted.
func splitName(s string) (parts []string, ok bool) {
	s = strings.TrimSpace(s)
	for {
		var part string
		if strings.HasPrefix(s, `"`) {
			end := 1
			for {
				i := strings.IndexByte(s[end:], '"')
				if i < 0 {
					return nil, false
				}
				end += i + 1
				if !strings.HasPrefix(s[end:], `"`) {
					break
				}
				end++
			}
			part, s = strings.ReplaceAll(s[1:end-1], `""`, `"`), s[end:]
		} else {
			i := strings.IndexByte(s, '.')
			if i < 0 {
				i = len(s)
			}
			part, s = strings.ToLower(strings.TrimSpace(s[:i])), s[i:]
		}
		if part == "" {
			return nil, false
		}
		parts = append(parts, part)
		if s == "" {
			return parts, true
		}
		if s[0] != '.' {
			return nil, false
		}
		s = s[1:]
	}
}

// FunctionText implements expr.CatalogInfo.
func (i info) FunctionText(oid uint32, part string) (string, bool) {
	f, ok := i.snap.ByOID(oid).(*catalog.Function)
	if !ok {
		return "", false
	}
	switch part {
	case "result":
		return f.ResultText(), true
	case "arguments":
		return f.ArgumentsText(false), true
	case "identity":
		return f.ArgumentsText(true), true
	case "body":
		if f.Body != "" {
			return "", false
		}
		return "BEGIN ATOMIC\n " + f.Query + ";\nEND", true
	}
	var b strings.Builder
	b.WriteString("CREATE OR REPLACE FUNCTION " + sql.QuoteIdent(f.Schema) + "." + sql.QuoteIdent(f.Name) + "(" + f.ArgumentsText(false) + ")\n")
	b.WriteString(" RETURNS " + f.ResultText() + "\n LANGUAGE sql\n")
	words := map[string]string{"i": " IMMUTABLE", "s": " STABLE"}[f.Volatility]
	if f.Strict {
		words += " STRICT"
	}
	if words != "" {
		b.WriteString(words + "\n")
	}
	if f.Body == "" {
		b.WriteString("BEGIN ATOMIC\n " + f.Query + ";\nEND\n")
	} else {
		tag := "function"
		for strings.Contains(f.Body, "$"+tag+"$") {
			tag += "x"
		}
		b.WriteString("AS $" + tag + "$" + f.Body + "$" + tag + "$\n")
	}
	return b.String(), true
}

// Updatable implements expr.CatalogInfo.
func (i info) Updatable(oid uint32) expr.Updatable {
	switch o := i.snap.ByOID(oid).(type) {
	case *catalog.Table:
		can := o.FromSource == 0 && !i.snap.Builtin(oid)
		return expr.Updatable{Update: can, Insert: can, Delete: can}
	case *catalog.View:
		pl := &planner.Planner{Cat: i.snap, Session: &i.s.expr}
		return pl.Updatable(o)
	}
	return expr.Updatable{Columns: []bool{}}
}
