package planner

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// storageOption is a storage parameter of PostgreSQL. Here they have no effect: they
// are checked, kept and shown.
type storageOption struct {
	kind   string // bool, int, real or enum
	lo, hi float64
	words  []string // of an enum
	toast  bool     // there is one of this name for the table of long values too
}

var onOffAuto = []string{"auto", "on", "off", "true", "false", "yes", "no", "1", "0"}

var tableOptions = map[string]storageOption{
	"fillfactor":                            {kind: "int", lo: 10, hi: 100},
	"toast_tuple_target":                    {kind: "int", lo: 128, hi: 8160},
	"parallel_workers":                      {kind: "int", lo: 0, hi: 1024},
	"user_catalog_table":                    {kind: "bool"},
	"autovacuum_enabled":                    {kind: "bool", toast: true},
	"vacuum_truncate":                       {kind: "bool", toast: true},
	"vacuum_index_cleanup":                  {kind: "enum", words: onOffAuto, toast: true},
	"autovacuum_vacuum_threshold":           {kind: "int", lo: 0, hi: 2147483647, toast: true},
	"autovacuum_vacuum_insert_threshold":    {kind: "int", lo: -1, hi: 2147483647, toast: true},
	"autovacuum_analyze_threshold":          {kind: "int", lo: 0, hi: 2147483647},
	"autovacuum_vacuum_cost_limit":          {kind: "int", lo: 1, hi: 10000, toast: true},
	"autovacuum_freeze_min_age":             {kind: "int", lo: 0, hi: 1000000000, toast: true},
	"autovacuum_freeze_max_age":             {kind: "int", lo: 100000, hi: 2000000000, toast: true},
	"autovacuum_freeze_table_age":           {kind: "int", lo: 0, hi: 2000000000, toast: true},
	"autovacuum_multixact_freeze_min_age":   {kind: "int", lo: 0, hi: 1000000000, toast: true},
	"autovacuum_multixact_freeze_max_age":   {kind: "int", lo: 10000, hi: 2000000000, toast: true},
	"autovacuum_multixact_freeze_table_age": {kind: "int", lo: 0, hi: 2000000000, toast: true},
	"log_autovacuum_min_duration":           {kind: "int", lo: -1, hi: 2147483647, toast: true},
	"autovacuum_vacuum_cost_delay":          {kind: "real", lo: 0, hi: 100, toast: true},
	"autovacuum_vacuum_scale_factor":        {kind: "real", lo: 0, hi: 100, toast: true},
	"autovacuum_vacuum_insert_scale_factor": {kind: "real", lo: 0, hi: 100, toast: true},
	"autovacuum_analyze_scale_factor":       {kind: "real", lo: 0, hi: 100},
}

var indexStorage = map[string]storageOption{
	"fillfactor":        {kind: "int", lo: 10, hi: 100},
	"deduplicate_items": {kind: "bool"},
}

// viewOptions are not about storage: catalog.View knows what they mean.
var viewOptions = map[string]storageOption{
	"check_option":     {kind: "enum", words: []string{"local", "cascaded"}},
	"security_barrier": {kind: "bool"},
	"security_invoker": {kind: "bool"},
}

var columnStorage = map[string]storageOption{
	"n_distinct":           {kind: "real", lo: -1, hi: 1.7976931348623157e308},
	"n_distinct_inherited": {kind: "real", lo: -1, hi: 1.7976931348623157e308},
}

// StorageKind says of what storage parameters are.
type StorageKind uint8

// What has storage parameters.
const (
	TableStorage StorageKind = iota
	IndexStorage
	ColumnStorage
	ViewStorage
)

// SetStorage returns the storage parameters old with those of SET, or of WITH.
func SetStorage(kind StorageKind, old []catalog.Option, os []sql.Option) ([]catalog.Option, error) {
	known := map[StorageKind]map[string]storageOption{TableStorage: tableOptions, IndexStorage: indexStorage, ColumnStorage: columnStorage, ViewStorage: viewOptions}[kind]
	out := slices.Clone(old)
	for i, o := range os {
		if kind == TableStorage && o.Name == "oids" {
			if on, ok := storageBool(o); on || !ok {
				return nil, pgerr.New(pgerr.FeatureNotSupported, "tables declared WITH OIDS are not supported")
			}
			continue
		}
		name, toast := o.Name, false
		if space, rest, dotted := strings.Cut(name, "."); dotted {
			if kind != TableStorage || space != "toast" {
				return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized parameter namespace \"%s\"", space)
			}
			name, toast = rest, true
		}
		p, ok := known[name]
		if !ok || toast && !p.toast {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized parameter \"%s\"", name)
		}
		if slices.ContainsFunc(os[:i], func(x sql.Option) bool { return x.Name == o.Name }) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "parameter \"%s\" specified more than once", name)
		}
		if o.Kind == sql.OptNone {
			o.Value = "true"
		}
		if err := p.check(name, o); err != nil {
			return nil, err
		}
		out = slices.DeleteFunc(out, func(x catalog.Option) bool { return x.Name == o.Name })
		out = append(out, catalog.Option{Name: o.Name, Kind: uint8(sql.OptString), Value: o.Value})
	}
	return out, nil
}

// ResetStorage returns the storage parameters old without those of RESET.
func ResetStorage(old []catalog.Option, os []sql.Option) ([]catalog.Option, error) {
	out := slices.Clone(old)
	for _, o := range os {
		if o.Kind != sql.OptNone {
			return nil, pgerr.New(pgerr.SyntaxError, "RESET must not include values for parameters")
		}
		out = slices.DeleteFunc(out, func(x catalog.Option) bool { return x.Name == o.Name })
	}
	return out, nil
}

func (p storageOption) check(name string, o sql.Option) error {
	bad := func(what string) error {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid value for %s option \"%s\": %s", what, name, o.Value)
	}
	switch p.kind {
	case "bool":
		if _, ok := storageBool(o); !ok {
			return bad("boolean")
		}
		return nil
	case "enum":
		if !slices.Contains(p.words, strings.ToLower(o.Value)) {
			valid := "Valid values are \"on\", \"off\", and \"auto\"."
			if name == "check_option" {
				valid = "Valid values are \"local\" and \"cascaded\"."
			}
			return bad("enum").(*pgerr.Error).WithDetail("%s", valid)
		}
		return nil
	}
	v, err := strconv.ParseFloat(o.Value, 64)
	what, format := "floating point", "f"
	if p.kind == "int" {
		what, format = "integer", "d"
		if n, bad := strconv.ParseInt(o.Value, 10, 32); bad == nil {
			v = float64(n)
		} else if err == nil && strings.ContainsAny(o.Value, ".eE") {
			v = math.RoundToEven(v)
		} else {
			err = strconv.ErrSyntax
		}
	}
	if err != nil {
		return bad(what)
	}
	if v < p.lo || v > p.hi {
		text := func(x float64) string {
			if format == "d" {
				return strconv.FormatInt(int64(x), 10)
			}
			return strconv.FormatFloat(x, 'f', 6, 64)
		}
		return pgerr.New(pgerr.InvalidParameterValue, "value %s out of bounds for option \"%s\"", o.Value, name).
			WithDetail("Valid values are between \"%s\" and \"%s\".", text(p.lo), text(p.hi))
	}
	return nil
}

// storageBool reads a boolean parameter.
func storageBool(o sql.Option) (on, ok bool) {
	if o.Kind == sql.OptNone {
		return true, true
	}
	v := strings.ToLower(o.Value)
	for word, on := range map[string]bool{"true": true, "yes": true, "on": true, "1": true, "false": false, "no": false, "off": false, "0": false} {
		if v != "" && strings.HasPrefix(word, v) && v != "o" {
			return on, true
		}
	}
	return false, false
}
