package equiv

import (
	"strings"
)

// kind is the type of an expression, or the sort of a larger piece of SQL
// which may be replaced by a smaller piece of the same sort.
type kind int

const (
	kNone kind = iota
	kInt
	kBig
	kNum
	kFloat
	kText
	kBool
	kDate
	kTime
	kJSON
	kInet
	kBits
	kZoned
	kMoney
	kSpan
	kRange
	kArray
	kBytes
	kUUID
	kOther // arrays of other things: shown, never computed with
	kQuery
	kFrom
)

// sqlTypes are the column types of the kinds.
var sqlTypes = map[kind]string{
	kInt: "int", kBig: "bigint", kNum: "numeric(8,2)", kFloat: "float8", kText: "text",
	kBool: "bool", kDate: "date", kTime: "timestamp", kJSON: "jsonb",
	kInet: "inet", kBits: "varbit", kZoned: "timetz", kMoney: "money",
	kSpan: "interval", kRange: "int4range", kArray: "int[]", kBytes: "bytea", kUUID: "uuid",
}

// hole marks the places of a format where the parts go; at stands for an @ of the
// text.
const (
	hole = "@"
	at   = "¤"
)

// node is a piece of SQL text that can be made smaller in place. Shared nodes
// stay consistent: a GROUP BY key and its uses are one node.
type node struct {
	kind     kind
	format   string // with one hole for each part
	parts    []*node
	sep      string // not empty: a list, parts joined by sep after format
	min      int    // a list keeps at least this many parts
	optional bool
	gone     bool  // left out
	instead  *node // takes the place of this node
}

func text(s string) *node                     { return &node{format: s} }
func seq(format string, parts ...*node) *node { return &node{format: format, parts: parts} }
func typed(k kind, format string, parts ...*node) *node {
	return &node{kind: k, format: format, parts: parts}
}
func opt(format string, parts ...*node) *node {
	return &node{format: format, parts: parts, optional: true}
}
func list(lead, sep string, min int, parts []*node) *node {
	return &node{format: lead, sep: sep, min: min, parts: parts}
}

func (n *node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *node) write(b *strings.Builder) {
	switch {
	case n.gone:
		return
	case n.instead != nil:
		n.instead.write(b)
		return
	case n.sep != "":
		lead := n.format
		for _, p := range n.parts {
			if !p.gone {
				b.WriteString(lead)
				p.write(b)
				lead = n.sep
			}
		}
		return
	case len(n.parts) == 0:
		b.WriteString(n.format)
		return
	}
	for i, piece := range strings.Split(n.format, hole) {
		if i > 0 {
			n.parts[i-1].write(b)
		}
		b.WriteString(strings.ReplaceAll(piece, at, "@"))
	}
}

// live lists the nodes that still show, parents before their parts.
func (n *node) live() []*node {
	if n.gone {
		return nil
	}
	if n.instead != nil {
		return n.instead.live()
	}
	out := []*node{n}
	for _, p := range n.parts {
		out = append(out, p.live()...)
	}
	return out
}

// livePart tells how many parts of a list still show.
func (n *node) liveParts() int {
	count := 0
	for _, p := range n.parts {
		if !p.gone {
			count++
		}
	}
	return count
}

// mentions reports whether the text of n names the relation.
func (n *node) mentions(relation string) bool {
	return strings.Contains(n.String(), relation)
}
