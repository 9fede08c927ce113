package planner

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/planner/plan"
)

// Explained is a plan as EXPLAIN shows it. Title begins with the kind of the node;
// Details are of the form "Name: text". What was measured can be added to both.
type Explained struct {
	Of      plan.Node
	Title   string
	Details []string
	// Actual are measurements, for formats that are not text. In text they are the
	// Note behind the title and the Line after the details.
	Actual     []Property
	Note, Line string
	Inputs     []*Explained
}

// Property is a named value: a string, a number or a truth value.
type Property struct {
	Name  string
	Value any
}

// Each calls f for the node and all below it.
func (x *Explained) Each(f func(*Explained)) {
	f(x)
	for _, in := range x.Inputs {
		in.Each(f)
	}
}

// Lines is the text format.
func (x *Explained) Lines() []string { return x.lines(nil, "", "") }

func (x *Explained) lines(out []string, first, rest string) []string {
	out = append(out, first+x.Title+x.Note)
	for _, d := range x.Details {
		out = append(out, rest+"  "+d)
	}
	if x.Line != "" {
		out = append(out, rest+"  "+x.Line)
	}
	for _, in := range x.Inputs {
		out = in.lines(out, rest+"  ->  ", rest+"      ")
	}
	return out
}

// properties are what the structured formats show of a node, in order.
func (x *Explained) properties() []Property {
	title, stream, _ := strings.Cut(x.Title, "  [")
	kind, on, ok := strings.Cut(title, " on ")
	kind, more, _ := strings.Cut(kind, " (")
	ps := []Property{{"Node Type", kind}}
	if more != "" {
		ps = append(ps, Property{"Detail", strings.TrimSuffix(more, ")")})
	}
	switch n := x.Of.(type) {
	case *plan.Scan:
		ps = append(ps, Property{"Relation Name", n.Name}, Property{"Output", columnNames(n.Out)})
	default:
		if ok {
			ps = append(ps, Property{"On", on})
		}
	}
	if stream != "" {
		ps = append(ps, Property{"Stream", strings.TrimSuffix(stream, "]")})
	}
	ps = append(ps, x.Actual...)
	for _, d := range x.Details {
		name, text, ok := strings.Cut(d, ": ")
		if !ok {
			name, text = "Detail", d
		}
		ps = append(ps, Property{name, text})
	}
	return ps
}

func columnNames(cols []plan.Column) []string {
	out := make([]string, len(cols))
	for i := range cols {
		out[i] = columnLabels(cols).at(i)
	}
	return out
}

// JSON is the format of EXPLAIN (FORMAT JSON): a list of one statement, whose plan
// is followed by its other properties.
func (x *Explained) JSON(more []Property) string {
	w := &structured{}
	w.b.WriteString("[\n  {\n    \"Plan\": ")
	w.jsonNode(x, "    ")
	for _, p := range more {
		w.b.WriteString(",\n    " + quoteJSON(p.Name) + ": " + scalarJSON(p.Value))
	}
	w.b.WriteString("\n  }\n]")
	return w.b.String()
}

// YAML is the format of EXPLAIN (FORMAT YAML).
func (x *Explained) YAML(more []Property) string {
	w := &structured{}
	w.b.WriteString("- Plan: ")
	w.yamlNode(x, "    ")
	for _, p := range more {
		w.b.WriteString("\n  " + p.Name + ": " + scalarJSON(p.Value))
	}
	return w.b.String()
}

type structured struct{ b strings.Builder }

func (w *structured) jsonNode(x *Explained, indent string) {
	w.b.WriteString("{")
	for i, p := range x.properties() {
		if i > 0 {
			w.b.WriteString(",")
		}
		w.b.WriteString("\n" + indent + "  " + quoteJSON(p.Name) + ": " + scalarJSON(p.Value))
	}
	if len(x.Inputs) > 0 {
		w.b.WriteString(",\n" + indent + "  \"Plans\": [")
		for i, in := range x.Inputs {
			if i > 0 {
				w.b.WriteString(",")
			}
			w.b.WriteString("\n" + indent + "    ")
			w.jsonNode(in, indent+"    ")
		}
		w.b.WriteString("\n" + indent + "  ]")
	}
	w.b.WriteString("\n" + indent + "}")
}

func (w *structured) yamlNode(x *Explained, indent string) {
	for i, p := range x.properties() {
		if i > 0 || indent == "    " {
			w.b.WriteString("\n" + indent)
		}
		w.b.WriteString(p.Name + ": " + scalarJSON(p.Value))
	}
	if len(x.Inputs) == 0 {
		return
	}
	w.b.WriteString("\n" + indent + "Plans: ")
	for _, in := range x.Inputs {
		w.b.WriteString("\n" + indent + "  - ")
		w.yamlNode(in, indent+"    ")
	}
}

func quoteJSON(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// scalarJSON writes a value, which is JSON and YAML alike.
func scalarJSON(v any) string {
	switch v := v.(type) {
	case string:
		return quoteJSON(v)
	case []string:
		q := make([]string, len(v))
		for i, s := range v {
			q[i] = quoteJSON(s)
		}
		return "[" + strings.Join(q, ", ") + "]"
	case float64:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return fmt.Sprint(v)
}
