package engine

import (
	"context"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
)

// copyCommand sets up COPY. What is wrong with it is found in PostgreSQL's order.
func (s *Session) copyCommand(ctx context.Context, p *prepared, st *sql.Copy) error {
	if st.File != "" || st.Program {
		return pgerr.Unsupported("COPY with a server-side file or program", "Use COPY ... FROM STDIN or TO STDOUT; psql's \\copy does.")
	}
	if st.From {
		return s.copyFrom(p, st)
	}
	q, names := st.Query, []string(nil)
	var table catalog.Object
	if st.Table != nil {
		o, cols, err := s.copiedColumns(st)
		if err != nil {
			return err
		}
		switch table = o; o.(type) {
		case *catalog.View:
			return pgerr.New(pgerr.WrongObjectType, "cannot copy from view \"%s\"", o.Header().Name).WithHint("Try the COPY (SELECT ...) TO variant.")
		case *catalog.Sequence:
			return pgerr.New(pgerr.WrongObjectType, "cannot copy from sequence \"%s\"", o.Header().Name)
		}
		q, names = selectAll(st.Table, cols), cols
	}
	f, err := copyFormat(st, p.st.whole)
	if err != nil {
		return err
	}
	if _, into := q.(*sql.CreateTable); into {
		return pgerr.New(pgerr.FeatureNotSupported, "COPY (SELECT INTO) is not supported")
	}
	if _, merge := q.(*sql.Merge); merge {
		return pgerr.New(pgerr.FeatureNotSupported, "MERGE not supported in COPY")
	}
	inner := &statement{Parsed: p.st.Parsed, whole: p.st.whole}
	inner.Stmt = q
	target := &prepared{s: s, st: inner}
	if err := target.analyse(ctx); err != nil {
		return err
	}
	switch {
	case target.dml != nil && !target.dml.Returns():
		return pgerr.New(pgerr.FeatureNotSupported, "COPY query must have a RETURNING clause")
	case target.dml == nil && target.query == nil:
		return pgerr.New(pgerr.FeatureNotSupported, "COPY query must not be a utility command")
	}
	if names == nil {
		for _, c := range target.cols {
			names = append(names, c.Name)
		}
	}
	if err := forceColumns(st, &f, table, names); err != nil {
		return err
	}
	p.query, p.dml, p.cols, p.needs = target.query, target.dml, target.cols, target.needs
	p.copy = &wire.Copy{Columns: target.cols, Format: f}
	p.copyTag = true
	return nil
}

// copiedColumns finds the relation that COPY names, and the names of the columns that
// it is about: all but generated ones if it names none.
func (s *Session) copiedColumns(st *sql.Copy) (catalog.Object, []string, error) {
	o, err := s.resolve(s.snapshot(), *st.Table)
	if err != nil {
		return nil, nil, err
	}
	rel, ok := o.(catalog.Relation)
	if !ok {
		return o, nil, nil
	}
	cols := rel.Cols()
	if len(st.Columns) == 0 {
		names := []string{}
		for _, c := range cols {
			if c.Generated == "" {
				names = append(names, c.Name)
			}
		}
		return o, names, nil
	}
	for i, n := range st.Columns {
		switch at := catalog.ColumnIndex(cols, n); {
		case at < 0:
			return nil, nil, unknownCopyColumn(n, o)
		case cols[at].Generated != "":
			return nil, nil, pgerr.New(pgerr.InvalidColumnReference, "column \"%s\" is a generated column", n).
				WithDetail("Generated columns cannot be used in COPY.")
		case slices.Contains(st.Columns[:i], n):
			return nil, nil, pgerr.New(pgerr.DuplicateColumn, "column \"%s\" specified more than once", n)
		}
	}
	return o, st.Columns, nil
}

// selectAll is SELECT columns FROM table.
func selectAll(n *sql.Name, cols []string) *sql.Select {
	q := &sql.Select{At: n.At, From: []sql.TableExpr{&sql.TableRef{At: n.At, Name: *n}}}
	for _, c := range cols {
		q.Targets = append(q.Targets, sql.Target{At: n.At, Expr: &sql.ColumnRef{At: n.At, Parts: []string{c}}})
	}
	return q
}

// mayCopyTo refuses COPY FROM without the right to insert into the columns.
func (s *Session) mayCopyTo(o catalog.Object, names []string) error {
	n := &planner.Need{OID: o.Header().OID, Privs: catalog.Insert}
	if r, ok := o.(catalog.Relation); ok {
		cols := map[int]bool{}
		for i, c := range r.Cols() {
			if slices.Contains(names, c.Name) {
				cols[i] = true
			}
		}
		n.Columns[planner.NeedInsert] = cols
	}
	return s.permit(s.snapshot(), []*planner.Need{n})
}

// copyFrom sets up COPY table FROM STDIN: the rows are staged as they come and
// committed with the statement.
func (s *Session) copyFrom(p *prepared, st *sql.Copy) error {
	o, names, err := s.copiedColumns(st)
	if err != nil {
		return err
	}
	pl := s.planner(p.st, nil)
	t, ok := o.(*catalog.Table)
	ok = ok && !s.snapshot().Builtin(t.OID)
	var where expr.Expr
	if st.Where != nil && ok {
		if where, err = pl.CopyCondition(t, st.Where); err != nil {
			return err
		}
	}
	if err := s.mayCopyTo(o, names); err != nil {
		return err
	}
	f, err := copyFormat(st, p.st.whole)
	if err != nil {
		return err
	}
	if err := forceColumns(st, &f, o, names); err != nil {
		return err
	}
	if !ok {
		return pgerr.New(pgerr.WrongObjectType, "cannot copy to %s \"%s\"", o.Kind(), st.Table.Name)
	}
	c := &wire.Copy{Format: f, Table: t.Name}
	var at []int
	for _, n := range names {
		i := catalog.ColumnIndex(t.Columns, n)
		at = append(at, i)
		c.Columns = append(c.Columns, wire.Column{Name: n, Type: t.Columns[i].Type.Underlying(), TableOID: t.OID, Attnum: int16(catalog.ColumnNumber(t.Columns, i))})
	}
	ins, err := pl.PlanCopy(t, at, where)
	if err != nil {
		return err
	}
	var n int64
	var keys copyKeys
	c.Write = func(ctx context.Context, in *vec.Chunk) error {
		r := s.newRun(ctx)
		defer r.close()
		rows, err := r.copyRows(ins, in)
		if err != nil {
			return err
		}
		n += int64(rows)
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
