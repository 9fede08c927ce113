package sql

import (
	"strconv"
	"strings"
)

// Format writes a statement as SQL that parses to an equal tree, positions
// aside. An *Unsupported has no text.
func Format(s Stmt) string {
	var f formatter
	f.stmt(s)
	return f.String()
}

// FormatExpr writes an expression as SQL that parses to an equal tree.
func FormatExpr(e Expr) string {
	var f formatter
	f.expr(e)
	return f.String()
}

// FormatType writes a type as SQL that parses to an equal one.
func FormatType(t *TypeName) string {
	var f formatter
	f.typeName(t)
	return f.String()
}

// formatter collects the text; its methods write one kind of node each.
type formatter struct{ strings.Builder }

func (f *formatter) w(parts ...string) {
	for _, p := range parts {
		f.WriteString(p)
	}
}

// wIf writes s if the condition holds.
func (f *formatter) wIf(cond bool, s string) {
	if cond {
		f.WriteString(s)
	}
}

// idents writes names with commas between them.
func (f *formatter) idents(names []string) {
	for i, n := range names {
		f.wIf(i > 0, ", ")
		f.w(QuoteIdent(n))
	}
}

// names writes qualified names with commas between them.
func (f *formatter) names(names []Name) {
	for i, n := range names {
		f.wIf(i > 0, ", ")
		f.w(QuoteName(n))
	}
}

// identList writes (a, b) with a blank before it, or nothing.
func (f *formatter) identList(names []string) {
	if len(names) > 0 {
		f.w(" (")
		f.idents(names)
		f.w(")")
	}
}

// exprs writes expressions with commas between them.
func (f *formatter) exprs(list []Expr) {
	for i, e := range list {
		f.wIf(i > 0, ", ")
		f.expr(e)
	}
}

// clause writes keyword and expression, or nothing without an expression.
func (f *formatter) clause(keyword string, e Expr) {
	if e != nil {
		f.w(keyword)
		f.expr(e)
	}
}

// sqlTypeNames has the names by which PostgreSQL's grammar knows the types that
// it stores under another name.
var sqlTypeNames = map[string]string{
	"int2": "smallint", "int4": "integer", "int8": "bigint", "float4": "real", "float8": "double precision",
	"bool": "boolean", "varchar": "character varying", "bpchar": "character", "numeric": "numeric",
	"bit": "bit", "varbit": "bit varying", "interval": "interval",
	"timestamp": "timestamp", "timestamptz": "timestamp", "time": "time", "timetz": "time",
}

func (f *formatter) typeName(t *TypeName) {
	f.wIf(t.SetOf, "SETOF ")
	name, known := sqlTypeNames[t.Name]
	switch {
	case len(t.Fields) > 0:
		f.structType(t)
	case t.PctType:
		f.w(strings.TrimPrefix(t.Schema+"."+QuoteIdent(t.Name), "."), "%TYPE")
	case t.Schema == "pg_catalog" && known && (len(t.Mods) > 0 || t.Name != "bpchar" && t.Name != "bit"):
		f.sqlType(t, name)
	default:
		f.w(QuoteName(Name{Schema: t.Schema, Name: t.Name}))
		f.mods(t.Mods)
	}
	for range t.Dims {
		f.w("[]")
	}
}

// sqlType writes a type that the grammar has a keyword for.
func (f *formatter) sqlType(t *TypeName, name string) {
	f.w(name)
	switch {
	case t.Name == "interval" && t.Interval != "":
		f.w(" ", t.Interval)
		f.mods(t.Mods)
		return
	case t.Name == "timestamptz" || t.Name == "timetz":
		f.mods(t.Mods)
		f.w(" with time zone")
		return
	}
	f.mods(t.Mods)
}

func (f *formatter) mods(mods []int32) {
	for i, m := range mods {
		if i == 0 {
			f.w("(")
		} else {
			f.w(", ")
		}
		f.w(strconv.Itoa(int(m)))
	}
	f.wIf(len(mods) > 0, ")")
}

func (f *formatter) structType(t *TypeName) {
	f.w("STRUCT<")
	for i, s := range t.Fields {
		f.wIf(i > 0, ", ")
		f.w(QuoteIdent(s.Name), " ")
		f.typeName(s.Type)
	}
	f.w(">")
}

// optionName writes an option's name as it is if that is safe, else as a string.
func optionName(s string) string {
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == '-' }) {
		if strings.Trim(part, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" || digit(part[0]) {
			return QuoteLiteral(s)
		}
	}
	if s == "" || strings.Trim(s, ".-") != s || strings.Contains(s, "--") || strings.Contains(s, "..") {
		return QuoteLiteral(s)
	}
	return s
}

// options writes (name = value, ...), with sep between name and value.
func (f *formatter) options(opts []Option, sep string) {
	f.w("(")
	for i, o := range opts {
		f.wIf(i > 0, ", ")
		f.w(optionName(o.Name))
		if o.Kind != OptNone {
			f.w(sep)
		}
		switch o.Kind {
		case OptString:
			f.w(QuoteLiteral(o.Value))
		case OptSecret:
			schema, name, ok := strings.Cut(o.Value, ".")
			f.w("SECRET ", QuoteIdent(schema))
			if ok {
				f.w(".", QuoteIdent(name))
			}
		case OptWord:
			if o.Value == "*" {
				f.w("*")
			} else {
				f.w(QuoteIdent(o.Value))
			}
		case OptList:
			f.w("(")
			f.idents(strings.Split(o.Value, ","))
			f.w(")")
		default:
			f.w(o.Value)
		}
	}
	f.w(")")
}

// withOptions writes WITH (options), or nothing.
func (f *formatter) withOptions(opts []Option) {
	if len(opts) > 0 {
		f.w(" WITH ")
		f.options(opts, " = ")
	}
}
