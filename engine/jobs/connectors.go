package jobs

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
)

// MakeSource turns a catalog object into the connector's terms.
func (e *Runner) MakeSource(o *catalog.Source) (connector.Source, error) {
	d, opts, err := e.definition(o.Connector)
	if err != nil {
		return nil, err
	}
	if d.Source == nil {
		return nil, pgerr.Unsupported("connector \""+d.Name+"\" as a source", "It can be used with CREATE SINK.")
	}
	spec := connector.SourceSpec{Name: o.Name, Options: opts, Format: strings.ToUpper(o.Connector.Format),
		Encode: strings.ToUpper(o.Connector.Encode), FormatOptions: optionMap(o.Connector.EncodeOptions),
		KeyEncode: strings.ToUpper(o.Connector.KeyEncode), NullBad: SourcePolicy(o) == "null"}
	pl := &planner.Planner{Cat: e.Catalog.Current().In(o.Database), Session: e.FrozenSession(nil, nil)}
	for i, c := range o.Columns {
		if c.Generated != "" {
			continue
		}
		def, err := pl.SourceDefault(c)
		if err != nil {
			return nil, err
		}
		if o.PrimaryKey != nil && slices.Contains(o.PrimaryKey.Columns, i) {
			spec.PrimaryKey = append(spec.PrimaryKey, len(spec.Columns))
		}
		spec.Columns = append(spec.Columns, connector.Column{Name: c.Name, Typ: c.Type, Include: strings.ToUpper(c.Include), Header: c.Inner,
			Path: c.Path, NotNull: c.NotNull, Default: def})
	}
	return d.Source(spec)
}

// ReadColumns are a source's columns, by their places in the catalog, as those
// that the connector knows: all but generated ones.
func ReadColumns(o *catalog.Source, cols []int) []int {
	at, n := make([]int, len(o.Columns)), 0
	for i, c := range o.Columns {
		if at[i] = n; c.Generated == "" {
			n++
		}
	}
	out := make([]int, len(cols))
	for i, k := range cols {
		out[i] = at[k]
	}
	return out
}

// MakeSink turns a catalog object into the connector's terms.
func (e *Runner) MakeSink(o *catalog.Sink) (connector.Sink, error) {
	d, opts, err := e.definition(o.Connector)
	if err != nil {
		return nil, err
	}
	if d.Sink == nil {
		return nil, pgerr.Unsupported("connector \""+d.Name+"\" as a sink", "It can be used with CREATE SOURCE.")
	}
	spec := connector.SinkSpec{Instance: e.instance, ID: o.OID, Name: o.Name, Options: opts, Format: strings.ToUpper(o.Connector.Format),
		Encode: strings.ToUpper(o.Connector.Encode), FormatOptions: optionMap(o.Connector.EncodeOptions), Key: o.Key}
	for _, c := range o.Columns {
		spec.Columns = append(spec.Columns, connector.Column{Name: c.Name, Typ: c.Type})
	}
	return d.Sink(spec)
}

func optionMap(os []catalog.Option) map[string]string {
	m := make(map[string]string, len(os))
	for _, o := range os {
		m[o.Name] = o.Value
	}
	return m
}

// engineOptions are options of WITH that the engine itself reads.
var engineOptions = map[string]bool{"on_error": true, "primary_key": true}

// definition finds the connector and checks the option names.
func (e *Runner) definition(c *catalog.Connector) (connector.Definition, map[string]string, error) {
	name, ok := c.Option("connector")
	if !ok {
		return connector.Definition{}, nil, pgerr.New(pgerr.InvalidParameterValue, "option \"connector\" is missing").
			WithHint("Write WITH (connector = '...'); the connectors are %s.", e.connectorNames())
	}
	d, ok := e.Config.Connectors[name]
	if !ok {
		return d, nil, pgerr.New(pgerr.InvalidParameterValue, "unknown connector \"%s\"", name).
			WithHint("The connectors are %s.", e.connectorNames())
	}
	opts := map[string]string{}
	for _, o := range c.Options {
		if o.Name == "connector" || engineOptions[o.Name] {
			continue
		}
		if err := knownOption(d, o.Name); err != nil {
			return d, nil, err
		}
		v, err := e.optionValue(o)
		if err != nil {
			return d, nil, err
		}
		opts[o.Name] = v
	}
	for _, o := range d.Options {
		if _, ok := opts[o.Name]; !ok && o.Required {
			return d, nil, pgerr.New(pgerr.InvalidParameterValue, "option \"%s\" of connector \"%s\" is missing", o.Name, d.Name).WithHint("%s", o.Doc)
		}
	}
	return d, opts, nil
}

func (e *Runner) connectorNames() string {
	var ns []string
	for n := range e.Config.Connectors {
		ns = append(ns, n)
	}
	slices.Sort(ns)
	return strings.Join(ns, ", ")
}

func knownOption(d connector.Definition, name string) error {
	names := make([]string, len(d.Options))
	for i, o := range d.Options {
		if names[i] = o.Name; o.Name == name {
			return nil
		}
	}
	for _, p := range d.Prefixes {
		if strings.HasPrefix(name, p.Name) {
			return nil
		}
	}
	err := pgerr.New(pgerr.InvalidParameterValue, "unknown option \"%s\" of connector \"%s\"", name, d.Name)
	if c := catalog.Closest(name, names); c != "" {
		return err.WithHint("Perhaps you meant \"%s\".", c)
	}
	return err.WithHint("Its options are %s.", strings.Join(names, ", "))
}

// SourcePolicy is a source's option on_error: dead_letter (the default), null,
// skip or fail.
func SourcePolicy(o *catalog.Source) string {
	if v, ok := o.Connector.Option("on_error"); ok {
		return v
	}
	return "dead_letter"
}
