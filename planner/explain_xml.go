package planner

import "strings"

// XML is the format of EXPLAIN (FORMAT XML).
func (x *Explained) XML(more []Property) string {
	w := &structured{}
	w.b.WriteString("<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <Query>\n")
	w.xmlNode(x, "    ")
	for _, p := range more {
		w.xmlProperty(p, "    ")
	}
	w.b.WriteString("  </Query>\n</explain>")
	return w.b.String()
}

func (w *structured) xmlNode(x *Explained, indent string) {
	w.b.WriteString(indent + "<Plan>\n")
	for _, p := range x.properties() {
		w.xmlProperty(p, indent+"  ")
	}
	if len(x.Inputs) > 0 {
		w.b.WriteString(indent + "  <Plans>\n")
		for _, in := range x.Inputs {
			w.xmlNode(in, indent+"    ")
		}
		w.b.WriteString(indent + "  </Plans>\n")
	}
	w.b.WriteString(indent + "</Plan>\n")
}

func (w *structured) xmlProperty(p Property, indent string) {
	tag := xmlTag(p.Name)
	list, ok := p.Value.([]string)
	if !ok {
		text, quoted := p.Value.(string)
		if !quoted {
			text = scalarJSON(p.Value)
		}
		w.b.WriteString(indent + "<" + tag + ">" + xmlText.Replace(text) + "</" + tag + ">\n")
		return
	}
	w.b.WriteString(indent + "<" + tag + ">\n")
	for _, s := range list {
		w.b.WriteString(indent + "  <Item>" + xmlText.Replace(s) + "</Item>\n")
	}
	w.b.WriteString(indent + "</" + tag + ">\n")
}

// xmlTag is a name as a tag, with a hyphen for what a tag cannot have.
func xmlTag(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c == '.' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			return c
		}
		return '-'
	}, name)
}

var xmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#x0d;")
