package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/charset"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
)

// copyCommand sets up COPY.
func (s *Session) copyCommand(ctx context.Context, p *prepared, st *sql.Copy) error {
	if st.File != "" || st.Program {
		return pgerr.Unsupported("COPY with a server-side file or program", "Use COPY ... FROM STDIN or TO STDOUT; psql's \\copy does.")
	}
	f, err := copyFormat(st.Options)
	if err != nil {
		return err
	}
	if st.From {
		return s.copyFrom(p, st, f)
	}
	q := st.Query
	if st.Table != nil {
		q = selectAll(st.Table, st.Columns)
	}
	inner := &statement{Parsed: p.st.Parsed, whole: p.st.whole}
	inner.Stmt = q
	target := &prepared{s: s, st: inner}
	if err := target.analyse(ctx); err != nil {
		return err
	}
	if target.dml != nil && !target.dml.Returns() {
		return pgerr.New(pgerr.FeatureNotSupported, "COPY query must have a RETURNING clause")
	}
	p.query, p.dml, p.cols, p.needs = target.query, target.dml, target.cols, target.needs
	p.copy = &wire.Copy{Columns: target.cols, Format: f}
	p.copyTag = true
	return nil
}

// selectAll is SELECT columns FROM table.
func selectAll(n *sql.Name, cols []string) *sql.Select {
	q := &sql.Select{At: n.At, From: []sql.TableExpr{&sql.TableRef{At: n.At, Name: *n}}}
	if len(cols) == 0 {
		q.Targets = []sql.Target{{At: n.At, Expr: &sql.ColumnRef{At: n.At, Star: true}}}
	}
	for _, c := range cols {
		q.Targets = append(q.Targets, sql.Target{At: n.At, Expr: &sql.ColumnRef{At: n.At, Parts: []string{c}}})
	}
	return q
}

func copyFormat(os []sql.Option) (wire.CopyFormat, error) {
	kind := wire.CopyText
	for _, o := range os {
		if o.Name == "format" {
			switch strings.ToLower(o.Value) {
			case "text":
			case "csv":
				kind = wire.CopyCSV
			case "binary":
				kind = wire.CopyBinary
			default:
				return wire.CopyFormat{}, pgerr.New(pgerr.InvalidParameterValue, "COPY format \"%s\" not recognized", o.Value)
			}
		}
	}
	f := wire.DefaultCopy(kind)
	for _, o := range os {
		one := func(to *byte) error {
			if len(o.Value) != 1 {
				return pgerr.New(pgerr.FeatureNotSupported, "COPY %s must be a single one-byte character", o.Name)
			}
			*to = o.Value[0]
			return nil
		}
		var err error
		switch o.Name {
		case "format":
		case "delimiter":
			err = one(&f.Delimiter)
		case "quote":
			err = one(&f.Quote)
		case "escape":
			err = one(&f.Escape)
		case "null":
			f.Null = o.Value
		case "header":
			v, bad := boolValue(o.Name, o.Value)
			f.Header = o.Value == "" || (bad == nil && v == "on") || strings.EqualFold(o.Value, "match")
			f.HeaderMatch = strings.EqualFold(o.Value, "match")
		case "encoding":
			f.Encoding, err = copyEncoding(o)
		case "freeze":
		default:
			err = pgerr.Unsupported("COPY option "+o.Name, "The options are format, delimiter, quote, escape, null, header, encoding and freeze.")
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// copyEncoding returns the name of the character set that an option gives.
func copyEncoding(o sql.Option) (string, error) {
	if charset.Find(o.Value) == nil {
		return "", pgerr.New(pgerr.InvalidParameterValue, "argument to option \"encoding\" must be a valid encoding name")
	}
	return encodingValue(o.Name, o.Value)
}

// mayCopyTo refuses COPY FROM without the right to insert into the columns; none
// named: all.
func (s *Session) mayCopyTo(o catalog.Object, names []string) error {
	n := &planner.Need{OID: o.Header().OID, Privs: catalog.Insert}
	if r, ok := o.(catalog.Relation); ok {
		cols := map[int]bool{}
		for i, c := range r.Cols() {
			if len(names) == 0 && c.Generated == "" || slices.Contains(names, c.Name) {
				cols[i] = true
			}
		}
		n.Columns[planner.NeedInsert] = cols
	}
	return s.permit(s.snapshot(), []*planner.Need{n})
}

// copyFrom sets up COPY table FROM STDIN: the rows are staged as they come and
// committed with the statement.
func (s *Session) copyFrom(p *prepared, st *sql.Copy, f wire.CopyFormat) error {
	o, err := s.resolve(s.snapshot(), *st.Table)
	if err != nil {
		return err
	}
	if err := s.mayCopyTo(o, st.Columns); err != nil {
		return err
	}
	t, ok := o.(*catalog.Table)
	if !ok || s.snapshot().Builtin(t.OID) {
		return pgerr.New(pgerr.WrongObjectType, "cannot copy to %s \"%s\"", o.Kind(), st.Table.Name)
	}
	names := st.Columns
	if len(names) == 0 {
		for _, c := range t.Columns {
			if c.Generated == "" {
				names = append(names, c.Name)
			}
		}
	}
	c := &wire.Copy{Format: f, Table: t.Name}
	var at []int
	for _, n := range names {
		i := catalog.ColumnIndex(t.Columns, n)
		if i < 0 {
			return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", n, t.Name)
		}
		at = append(at, i)
		c.Columns = append(c.Columns, wire.Column{Name: n, Type: t.Columns[i].Type, TableOID: t.OID, Attnum: int16(catalog.ColumnNumber(t.Columns, i))})
	}
	ins, err := s.planner(p.st, nil).PlanCopy(t, at)
	if err != nil {
		return err
	}
	var n int64
	var keys copyKeys
	c.Write = func(ctx context.Context, in *vec.Chunk) error {
		n += int64(in.Rows)
		r := s.newRun(ctx)
		defer r.close()
		if err := r.copyRows(ins, in); err != nil {
			return err
		}
		return keys.batch(r)
	}
	p.copy = c
	p.command = func(ctx context.Context, _ []types.Datum) (*vec.Chunk, string, error) {
		tag := "COPY " + itoa(n)
		n = 0
		if err := keys.end(ctx, s); err != nil {
			return nil, "", err
		}
		if s.tx.alone {
			return nil, tag, stage.ConflictError(s.flushWrites(ctx, true))
		}
		return nil, tag, nil
	}
	return nil
}
