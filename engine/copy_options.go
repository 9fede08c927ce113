package engine

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/charset"
	"github.com/streamdb/streamdb/engine/settings"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/wire"
)

// copyFormat reads the options of COPY, but for those that name columns, and checks
// them in PostgreSQL's order; text is that of the statement.
func copyFormat(st *sql.Copy, text string) (wire.CopyFormat, error) {
	given, kind, err := copyOptions(st, text)
	if err != nil {
		return wire.CopyFormat{}, err
	}
	f := wire.DefaultCopy(kind)
	csv := kind == wire.CopyCSV
	if kind == wire.CopyBinary {
		for _, name := range []string{"delimiter", "null"} {
			if given[name] != nil {
				return f, pgerr.New(pgerr.SyntaxError, "cannot specify %s in BINARY mode", strings.ToUpper(name))
			}
		}
	}
	one := func(name string, to *byte) error {
		o := given[name]
		if o == nil {
			return nil
		}
		if name != "delimiter" && !csv {
			return pgerr.New(pgerr.FeatureNotSupported, "COPY %s available only in CSV mode", name)
		}
		if len(o.Value) != 1 {
			return pgerr.New(pgerr.FeatureNotSupported, "COPY %s must be a single one-byte character", name)
		}
		*to = o.Value[0]
		return nil
	}
	if err := one("delimiter", &f.Delimiter); err != nil {
		return f, err
	}
	if o := given["null"]; o != nil {
		f.Null = o.Value
	}
	invalid := func(format string, args ...any) error { return pgerr.New(pgerr.InvalidParameterValue, format, args...) }
	switch {
	case f.Delimiter == '\n' || f.Delimiter == '\r':
		return f, invalid("COPY delimiter cannot be newline or carriage return")
	case strings.ContainsAny(f.Null, "\r\n"):
		return f, invalid("COPY null representation cannot use newline or carriage return")
	case !csv && strings.IndexByte("\\.abcdefghijklmnopqrstuvwxyz0123456789", f.Delimiter) >= 0:
		return f, invalid("COPY delimiter cannot be \"%c\"", f.Delimiter)
	}
	if o := given["header"]; o != nil {
		v, _ := settings.Bool(o.Name, o.Value)
		f.HeaderMatch = strings.EqualFold(o.Value, "match")
		f.Header = o.Kind == sql.OptNone || v == "on" || f.HeaderMatch
		if f.Header && kind == wire.CopyBinary {
			return f, pgerr.New(pgerr.FeatureNotSupported, "cannot specify HEADER in BINARY mode")
		}
	}
	if err := one("quote", &f.Quote); err != nil {
		return f, err
	}
	if csv && f.Delimiter == f.Quote {
		return f, invalid("COPY delimiter and quote must be different")
	}
	f.Escape = f.Quote
	if err := one("escape", &f.Escape); err != nil {
		return f, err
	}
	for _, name := range []string{"force_quote", "force_not_null", "force_null"} {
		o := given[name]
		if o == nil {
			continue
		}
		if what := strings.ReplaceAll(name, "_", " "); !csv {
			return f, pgerr.New(pgerr.FeatureNotSupported, "COPY %s available only in CSV mode", what)
		} else if (name == "force_quote") == st.From {
			return f, pgerr.New(pgerr.FeatureNotSupported, "COPY %s only available using COPY %s", what, map[bool]string{true: "TO", false: "FROM"}[st.From])
		}
	}
	switch {
	case kind != wire.CopyBinary && strings.IndexByte(f.Null, f.Delimiter) >= 0:
		return f, pgerr.New(pgerr.FeatureNotSupported, "COPY delimiter must not appear in the NULL specification")
	case csv && strings.IndexByte(f.Null, f.Quote) >= 0:
		return f, pgerr.New(pgerr.FeatureNotSupported, "CSV quote character must not appear in the NULL specification")
	}
	if o := given["encoding"]; o != nil {
		f.Encoding, err = settings.EncodingValue(o.Name, o.Value)
	}
	return f, err
}

// copyOptions finds what options there are, by their names, and the format.
func copyOptions(st *sql.Copy, text string) (map[string]*sql.Option, wire.CopyKind, error) {
	given, kind := map[string]*sql.Option{}, wire.CopyText
	for i := range st.Options {
		o := &st.Options[i]
		at := sql.PosToChar(text, int(o.Pos))
		if given[o.Name] != nil {
			return nil, kind, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(at)
		}
		given[o.Name] = o
		var err *pgerr.Error
		switch o.Name {
		case "format":
			switch o.Value {
			case "text":
			case "csv":
				kind = wire.CopyCSV
			case "binary":
				kind = wire.CopyBinary
			default:
				err = pgerr.New(pgerr.InvalidParameterValue, "COPY format \"%s\" not recognized", o.Value).At(at)
			}
		case "freeze":
			if _, bad := settings.Bool(o.Name, o.Value); bad != nil && o.Kind != sql.OptNone {
				err = pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", o.Name)
			}
		case "header":
			_, bad := settings.Bool(o.Name, o.Value)
			match := strings.EqualFold(o.Value, "match")
			if match && !st.From {
				err = pgerr.New(pgerr.FeatureNotSupported, "cannot use \"%s\" with HEADER in COPY TO", o.Value)
			} else if bad != nil && o.Kind != sql.OptNone && !match {
				err = pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value or \"match\"", o.Name)
			}
		case "delimiter", "null", "quote", "escape":
			if o.Kind == sql.OptNone {
				err = pgerr.New(pgerr.SyntaxError, "%s requires a parameter", o.Name)
			}
		case "force_quote", "force_not_null", "force_null":
			if o.Kind != sql.OptList && !(o.Kind == sql.OptWord && o.Value == "*" && o.Name == "force_quote") {
				err = pgerr.New(pgerr.InvalidParameterValue, "argument to option \"%s\" must be a list of column names", o.Name).At(at)
			}
		case "encoding":
			if charset.Find(o.Value) == nil {
				err = pgerr.New(pgerr.InvalidParameterValue, "argument to option \"encoding\" must be a valid encoding name").At(at)
			}
		default:
			err = pgerr.New(pgerr.SyntaxError, "option \"%s\" not recognized", o.Name).At(at)
		}
		if err != nil {
			return nil, kind, err
		}
	}
	return given, kind, nil
}

// forceColumns reads the options that name columns, of those in names, which are those
// of the relation of or, if it is nil, of a query.
func forceColumns(st *sql.Copy, f *wire.CopyFormat, of catalog.Object, names []string) error {
	for _, o := range st.Options {
		to := map[string]*[]bool{"force_quote": &f.ForceQuote, "force_not_null": &f.ForceNotNull, "force_null": &f.ForceNull}[o.Name]
		if to == nil {
			continue
		}
		*to = make([]bool, len(names))
		if o.Kind == sql.OptWord {
			for i := range *to {
				(*to)[i] = true
			}
			continue
		}
		for _, n := range strings.Split(o.Value, ",") {
			i := slices.Index(names, n)
			if r, ok := of.(catalog.Relation); i < 0 && of == nil || ok && catalog.ColumnIndex(r.Cols(), n) < 0 {
				return unknownCopyColumn(n, of)
			}
			if i < 0 {
				return pgerr.New(pgerr.InvalidColumnReference, "%s column \"%s\" not referenced by COPY", strings.ToUpper(o.Name), n)
			}
			(*to)[i] = true
		}
	}
	return nil
}

// unknownCopyColumn is the error of a column that COPY names and a relation, or if it is
// nil the query, does not have.
func unknownCopyColumn(name string, o catalog.Object) error {
	if o == nil {
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", name)
	}
	return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", name, o.Header().Name)
}
