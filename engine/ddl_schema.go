package engine

import (
	"context"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// schemaElements makes the objects that CREATE SCHEMA lists, as its owner, whatever the
// order in which they are listed: sequences, tables, views, indexes, then grants.
func (s *Session) schemaElements(ctx context.Context, src *statement, o *catalog.Schema, elements []sql.Stmt) error {
	was, path := s.who, s.values["search_path"]
	defer func() {
		s.values["search_path"] = path
		s.become(was.login, was.current)
	}()
	s.values["search_path"] = sql.QuoteIdent(o.Name) + ", " + path
	s.become(s.who.login, o.Owner)
	for _, e := range elements {
		if err := putInto(e, o.Name); err != nil {
			return err
		}
	}
	for step := range 5 {
		for _, e := range elements {
			if elementStep(e) != step {
				continue
			}
			st := &statement{Parsed: sql.Parsed{Stmt: e, Text: sql.Format(e)}, whole: src.whole, part: true}
			_, run, err := s.ddlAction(&prepared{s: s, st: st})
			if err != nil {
				return err
			}
			if err := s.makeTemporary(e); err != nil {
				return err
			}
			if err := run(ctx, s.planner(st, nil)); err != nil {
				return err
			}
		}
	}
	return nil
}

// elementStep is when an element is made.
func elementStep(e sql.Stmt) int {
	switch e.(type) {
	case *sql.CreateSequence:
		return 0
	case *sql.CreateTable:
		return 1
	case *sql.CreateView:
		return 2
	case *sql.CreateIndex:
		return 3
	}
	return 4
}

// putInto makes an element one of the schema, unless it names another one.
func putInto(e sql.Stmt, schema string) error {
	var name *sql.Name
	switch e := e.(type) {
	case *sql.CreateSequence:
		name = &e.Name
	case *sql.CreateTable:
		name = &e.Name
	case *sql.CreateView:
		name = &e.Name
	case *sql.CreateIndex:
		name = &e.Table
	default:
		return nil
	}
	if name.Schema != "" && name.Schema != schema {
		return pgerr.New(pgerr.InvalidSchemaDefinition, "CREATE specifies a schema (%s) different from the one being created (%s)", name.Schema, schema)
	}
	name.Schema = schema
	return nil
}
