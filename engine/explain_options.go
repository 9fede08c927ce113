package engine

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// explainOptions are those of EXPLAIN. BUFFERS, COSTS, SETTINGS, VERBOSE and WAL
// are accepted, as far as PostgreSQL does, and change nothing.
type explainOptions struct {
	analyze, timing, summary bool
	format                   string // text, json, yaml or xml
}

func (s *Session) explainOptions(p *prepared, st *sql.Explain) (o explainOptions, err error) {
	o.format = "text"
	o.analyze = st.Analyze
	given := map[string]bool{}
	for _, x := range st.Options {
		at := func(e *pgerr.Error) error { return e.At(sql.PosToChar(p.st.whole, int(x.Offset()))) }
		if x.Name == "format" {
			switch f := strings.ToLower(x.Value); f {
			case "text", "json", "yaml", "xml":
				o.format = f
			default:
				return o, at(pgerr.New(pgerr.InvalidParameterValue, "unrecognized value for EXPLAIN option \"format\": \"%s\"", x.Value))
			}
			continue
		}
		switch x.Name {
		case "analyze", "verbose", "costs", "settings", "buffers", "wal", "timing", "summary":
		default:
			return o, at(pgerr.New(pgerr.SyntaxError, "unrecognized EXPLAIN option \"%s\"", x.Name))
		}
		on, ok := explainFlag(&x)
		if !ok {
			return o, pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", x.Name)
		}
		given[x.Name] = true
		switch x.Name {
		case "analyze":
			o.analyze = on
		case "timing":
			o.timing = on
		case "summary":
			o.summary = on
		case "wal":
			given["wal on"] = on
		}
	}
	switch {
	case given["wal on"] && !o.analyze:
		return o, pgerr.New(pgerr.InvalidParameterValue, "EXPLAIN option WAL requires ANALYZE")
	case o.timing && !o.analyze:
		return o, pgerr.New(pgerr.InvalidParameterValue, "EXPLAIN option TIMING requires ANALYZE")
	}
	o.timing = o.timing || o.analyze && !given["timing"]
	o.summary = o.summary || o.analyze && !given["summary"]
	return o, nil
}

// explainFlag is the truth value of an option, which may have none.
func explainFlag(o *sql.Option) (on, ok bool) {
	if o.Kind == sql.OptNone {
		return true, true
	}
	switch strings.ToLower(o.Value) {
	case "true", "on", "1":
		return true, true
	case "false", "off", "0":
		return false, true
	}
	return false, false
}
