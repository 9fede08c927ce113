package datagen

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
)

const prefix = "fields."

// Definition is the connector's row in the registry.
func Definition() connector.Definition {
	return connector.Definition{
		Name: "datagen",
		Options: []connector.Option{
			{Name: "rows", Doc: "The number of rows; 0 for no end.", Default: "0"},
			{Name: "rows_per_second", Doc: "Rows a second; 0 for as fast as they are taken.", Default: "0"},
			{Name: "seed", Doc: "Number the random values depend on.", Default: "1"},
		},
		Prefixes: []connector.Option{
			{Name: prefix, Doc: "fields.NAME.kind is sequence or random (the default); a sequence has .start, .end and .step, " +
				"random numbers and times have .min and .max, random text has .length; .seed makes a column's values its own."},
		},
		Source: newSource,
	}
}

// generator is a checked source.
type generator struct {
	cols []connector.Column
	fill []fill
	rows int64 // math.MaxInt64: no end
	rate int64
}

func newSource(spec connector.SourceSpec) (connector.Source, error) {
	if len(spec.Columns) == 0 {
		return nil, pgerr.New(pgerr.InvalidTableDefinition, "source \"%s\" needs a column list", spec.Name)
	}
	g := &generator{cols: spec.Columns, rows: math.MaxInt64}
	rows, err := number(spec.Options, "rows", 0)
	if err != nil {
		return nil, err
	}
	if rows > 0 {
		g.rows = rows
	}
	if g.rate, err = number(spec.Options, "rows_per_second", 0); err != nil {
		return nil, err
	}
	seed, err := number(spec.Options, "seed", 1)
	if err != nil {
		return nil, err
	}
	byColumn, err := fieldOptions(spec)
	if err != nil {
		return nil, err
	}
	for _, c := range spec.Columns {
		f := &field{col: c, opts: byColumn[c.Name], seed: uint64(seed), rows: math.MaxInt64}
		fill, err := f.build()
		if err != nil {
			return nil, err
		}
		g.fill = append(g.fill, fill)
		g.rows = min(g.rows, f.rows)
	}
	return g, nil
}

func number(opts map[string]string, name string, def int64) (int64, error) {
	v, ok := opts[name]
	if !ok {
		return def, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0, errValue(name, v).WithHint("It must be a whole number of at least 0.")
	}
	return n, nil
}

func errValue(name, v string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid value for option \"%s\": \"%s\"", name, v)
}

// fieldOptions sorts the options fields.NAME.x by column; a name may hold dots.
func fieldOptions(spec connector.SourceSpec) (map[string]map[string]string, error) {
	m := map[string]map[string]string{}
	for _, c := range spec.Columns {
		if c.Include != "" {
			return nil, pgerr.Unsupported("INCLUDE in a datagen source", "Declare plain columns.")
		}
		m[c.Name] = map[string]string{}
	}
	for _, k := range slices.Sorted(maps.Keys(spec.Options)) {
		rest, ok := strings.CutPrefix(k, prefix)
		if !ok {
			continue
		}
		dot := strings.LastIndexByte(rest, '.')
		if dot < 0 || m[rest[:dot]] == nil {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "option \"%s\" names no column of the source", k).
				WithHint("Write fields.NAME.kind, where NAME is a column.")
		}
		m[rest[:dot]][rest[dot+1:]] = spec.Options[k]
	}
	return m, nil
}

// Columns implements connector.Source.
func (g *generator) Columns() []connector.Column { return nil }

// AppendOnly implements connector.Source.
func (g *generator) AppendOnly() bool { return true }

// Check implements connector.Source.
func (g *generator) Check(context.Context) error { return nil }
