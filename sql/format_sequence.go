package sql

// sequenceOption writes one option after a space.
func (f *formatter) sequenceOption(o *SequenceOption) {
	switch o.Name {
	case "as":
		f.w(" AS ")
		f.typeName(o.Type)
	case "increment":
		f.w(" INCREMENT BY ", o.Value)
	case "minvalue", "maxvalue":
		word := map[string]string{"minvalue": "MINVALUE", "maxvalue": "MAXVALUE"}[o.Name]
		f.w(not(o.Value == "", " "+word+" "+o.Value, " NO "+word))
	case "start":
		f.w(" START WITH ", o.Value)
	case "restart":
		f.w(" RESTART", not(o.Value == "", " WITH "+o.Value, ""))
	case "cache":
		f.w(" CACHE ", o.Value)
	case "cycle":
		f.w(not(o.Off, " CYCLE", " NO CYCLE"))
	case "owned_by":
		f.w(" OWNED BY ", dotted(o.Names))
	case "sequence_name":
		f.w(" SEQUENCE NAME ", dotted(o.Names))
	case "generated":
		f.w(" SET GENERATED ", o.Value)
	}
}

// dotted is a name in parts; the word none of OWNED BY stays bare.
func dotted(parts []string) string {
	if len(parts) == 1 && parts[0] == "none" {
		return "NONE"
	}
	out := ""
	for i, p := range parts {
		if i > 0 {
			out += "."
		}
		out += QuoteIdent(p)
	}
	return out
}

func (f *formatter) sequenceOptions(os []SequenceOption) {
	for i := range os {
		f.sequenceOption(&os[i])
	}
}

// identity writes GENERATED … AS IDENTITY after a space.
func (f *formatter) identity(when string, os []SequenceOption) {
	f.w(" GENERATED ", when, " AS IDENTITY")
	if len(os) > 0 {
		f.w(" (")
		f.sequenceOptions(os)
		f.w(" )")
	}
}
