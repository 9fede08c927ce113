package sql

import (
	"math/big"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/streamdb/streamdb/pgerr"
)

// converter turns the grammar's tree into ours. The first thing it cannot
// express is kept in err; the tree is then of no use.
type converter struct {
	text     string // the whole query text
	base     int    // offset in text of the text the grammar saw
	maxParam int
	err      *pgerr.Error
	what     string
	asOf     map[int32]Expr      // FOR SYSTEM_TIME AS OF by the table's offset
	structs  map[int32]*TypeName // STRUCT<...> by the type's offset
	far      []FarName
	unnamed  *unnamedQuery // the first in FROM without an alias
}

// name is nameOf for an object that a statement is about.
func (c *converter) name(parts []string, a At) Name {
	c.farName(parts, a, FarObject, 2)
	return nameOf(parts, a)
}

// farName notes a name that has more parts than one within a database has at most.
func (c *converter) farName(parts []string, a At, of FarKind, most int) {
	if len(parts) > most {
		c.far = append(c.far, FarName{a, parts, of})
	}
}

// at turns a location of the tree into a place in the whole text.
func (c *converter) at(loc int32) At {
	if loc < 0 {
		return At{NoPos}
	}
	return At{loc + int32(c.base)}
}

// unsupported notes the first construct that StreamDB has not.
func (c *converter) unsupported(a At, what, hint string) {
	if c.err == nil {
		c.what = what
		c.err = pgerr.Unsupported(what, hint)
		if a.Pos >= 0 {
			c.err = c.err.At(PosToChar(c.text, int(a.Pos)))
		}
	}
}

// syntax notes an error of the statement itself.
func (c *converter) syntax(a At, code pgerr.Code, format string, args ...any) {
	if c.err == nil {
		c.err = pgerr.New(code, format, args...)
		if a.Pos >= 0 {
			c.err = c.err.At(PosToChar(c.text, int(a.Pos)))
		}
	}
}

// nodeString returns the text of a String node.
func nodeString(n *pg.Node) string { return n.GetString_().GetSval() }

// nodeStrings returns the texts of String nodes; nil for none.
func nodeStrings(ns []*pg.Node) []string {
	if len(ns) == 0 {
		return nil
	}
	out := make([]string, len(ns))
	for i, n := range ns {
		out[i] = nodeString(n)
	}
	return out
}

// qualified splits a list of String nodes into schema and name.
func qualified(ns []*pg.Node) (schema, name string) {
	if len(ns) == 0 {
		return "", ""
	}
	if len(ns) > 1 {
		schema = nodeString(ns[len(ns)-2])
	}
	return schema, nodeString(ns[len(ns)-1])
}

// nameOf makes a Name of the parts of a dotted name.
func nameOf(parts []string, a At) Name {
	n := Name{At: a}
	switch len(parts) {
	case 0:
		return n
	case 1:
	case 2:
		n.Schema = parts[0]
	default:
		n.Catalog, n.Schema = parts[len(parts)-3], parts[len(parts)-2]
	}
	n.Name = parts[len(parts)-1]
	return n
}

func (c *converter) rangeName(r *pg.RangeVar) Name {
	n := Name{At: c.at(r.GetLocation()), Catalog: r.GetCatalogname(), Schema: r.GetSchemaname(), Name: r.GetRelname()}
	if n.Catalog != "" {
		c.farName([]string{n.Catalog, n.Schema, n.Name}, n.At, FarObject, 2)
	}
	return n
}

func (c *converter) rangeNames(ns []*pg.Node) []Name {
	out := make([]Name, len(ns))
	for i, n := range ns {
		out[i] = c.rangeName(n.GetRangeVar())
	}
	return out
}

func aliasOf(a *pg.Alias) *Alias {
	if a == nil {
		return nil
	}
	return &Alias{Name: a.Aliasname, Columns: nodeStrings(a.Colnames)}
}

// fullInterval is PostgreSQL's mask of an interval with all fields.
const fullInterval = 0x7fff

// intervalFields names the masks of restricted intervals.
var intervalFields = map[int32]string{
	4: "YEAR", 2: "MONTH", 8: "DAY", 1024: "HOUR", 2048: "MINUTE", 4096: "SECOND",
	6: "YEAR TO MONTH", 1032: "DAY TO HOUR", 3080: "DAY TO MINUTE", 7176: "DAY TO SECOND",
	3072: "HOUR TO MINUTE", 7168: "HOUR TO SECOND", 6144: "MINUTE TO SECOND",
}

func (c *converter) typeName(t *pg.TypeName) *TypeName {
	if t == nil {
		return nil
	}
	a := c.at(t.Location)
	if s := c.structs[a.Pos]; s != nil {
		out := *s
		out.Dims, out.SetOf = len(t.ArrayBounds), t.Setof
		return &out
	}
	out := &TypeName{At: a, Dims: len(t.ArrayBounds), SetOf: t.Setof, PctType: t.PctType}
	out.Schema, out.Name = qualified(t.Names)
	if !t.PctType {
		c.farName(nodeStrings(t.Names), a, FarType, 2)
	}
	if t.PctType && len(t.Names) > 1 {
		out.Schema = strings.Join(nodeStrings(t.Names[:len(t.Names)-1]), ".")
	}
	mods := t.Typmods
	if out.Schema == "pg_catalog" && out.Name == "interval" && len(mods) > 0 {
		mask := mods[0].GetAConst().GetIval().GetIval()
		if mask != fullInterval {
			out.Interval = intervalFields[mask]
		}
		mods = mods[1:]
	}
	for _, m := range mods {
		k := m.GetAConst()
		if k == nil || k.GetIval() == nil && k.GetSval() != nil || k.Isnull {
			c.unsupported(a, "a type modifier other than an integer", "Write integers between the parentheses behind the type.")
			return out
		}
		out.Mods = append(out.Mods, k.GetIval().GetIval())
	}
	return out
}

// literal converts a constant.
func (c *converter) literal(k *pg.A_Const) *Literal {
	l := &Literal{At: c.at(k.Location)}
	if k.Isnull {
		return l
	}
	switch v := k.Val.(type) {
	case *pg.A_Const_Ival:
		l.Kind, l.Text = LitInt, big.NewInt(int64(v.Ival.GetIval())).String()
	case *pg.A_Const_Fval:
		l.Kind, l.Text = number(v.Fval.GetFval())
	case *pg.A_Const_Boolval:
		l.Kind, l.Text = LitBool, "false"
		if v.Boolval.GetBoolval() {
			l.Text = "true"
		}
	case *pg.A_Const_Sval:
		l.Kind, l.Text = LitString, v.Sval.GetSval()
	case *pg.A_Const_Bsval:
		s := v.Bsval.GetBsval() // b0101 or x1F
		l.Kind = LitBit
		if strings.HasPrefix(s, "x") {
			l.Kind = LitHex
		}
		l.Text = strings.TrimLeft(s, "bx")
		if s != "" {
			l.Text = s[1:]
		}
	}
	return l
}

// number tells the integers among the constants too large for 32 bits.
func number(s string) (LitKind, string) {
	digits := strings.TrimPrefix(s, "-")
	if strings.Trim(digits, "0123456789") == "" && digits != "" {
		return LitInt, s
	}
	if len(digits) > 2 && digits[0] == '0' && strings.IndexByte("xXoObB", digits[1]) >= 0 {
		if n, ok := new(big.Int).SetString(s, 0); ok {
			return LitInt, n.String()
		}
	}
	s = strings.ReplaceAll(s, "_", "")
	if strings.Trim(s, "-0123456789") == "" {
		return LitInt, s
	}
	return LitFloat, s
}

// numberText reads an Integer or numeric constant node as text; ok is false for
// other nodes.
func numberText(n *pg.Node) (string, bool) {
	switch v := n.GetNode().(type) {
	case *pg.Node_Integer:
		return big.NewInt(int64(v.Integer.GetIval())).String(), true
	case *pg.Node_Float:
		return v.Float.GetFval(), true
	}
	return "", false
}

// option converts name = value of WITH, COPY, EXPLAIN and so on.
func (c *converter) option(d *pg.DefElem) Option {
	o := Option{At: c.at(d.Location), Name: d.Defname}
	if d.Defnamespace != "" {
		o.Name = d.Defnamespace + "." + o.Name
	}
	if d.Arg == nil {
		return o
	}
	if s, ok := numberText(d.Arg); ok {
		o.Kind, o.Value = OptNumber, s
		return o
	}
	switch v := d.Arg.Node.(type) {
	case *pg.Node_String_:
		o.Kind, o.Value = OptString, v.String_.GetSval()
	case *pg.Node_Boolean: // HEADER of the old COPY syntax stands for header 'true'
		o.Kind, o.Value = OptString, "false"
		if v.Boolean.GetBoolval() {
			o.Value = "true"
		}
	case *pg.Node_TypeName:
		_, o.Value = qualified(v.TypeName.Names)
		o.Kind = OptWord
	case *pg.Node_AStar:
		o.Kind, o.Value = OptWord, "*"
	case *pg.Node_List:
		o.Kind, o.Value = OptList, strings.Join(nodeStrings(v.List.GetItems()), ",")
	default:
		c.unsupported(o.At, "the value of option \""+o.Name+"\"", "Write a string, a number or a word.")
	}
	return o
}

func (c *converter) options(ns []*pg.Node) []Option {
	var out []Option
	for _, n := range ns {
		if d := n.GetDefElem(); d != nil {
			out = append(out, c.option(d))
		}
	}
	return out
}
