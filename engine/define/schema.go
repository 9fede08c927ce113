package define

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
)

// IntoSchema returns the changes that a schema's new name makes to all other objects.
func IntoSchema(snap *catalog.Snapshot, was, name string) (changes []catalog.Change, err error) {
	snap.Objects(func(o catalog.Object) {
		if err != nil || snap.Builtin(o.Header().OID) || o.Kind() == catalog.KindRole || o.Kind() == catalog.KindDatabase || o.Kind() == catalog.KindSchema {
			return
		}
		c, moved := catalog.Clone(o), false
		if h := c.Header(); h.Schema == was {
			h.Schema, moved = name, true
			Redefine(c, func(st sql.Stmt) {
				SetName(st, sql.Name{Schema: name, Name: h.Name})
				if ct, ok := st.(*sql.CreateTable); ok {
					tableInSchema(ct, was, name)
				}
			})
		}
		m := mover{was: was, name: name}
		m.move(c)
		if err = m.err; m.moved || moved {
			changes = append(changes, catalog.Change{Replace: c})
		}
	})
	if err != nil {
		return nil, pgerr.Unsupported("renaming this schema", "An object names it in a way that cannot be rewritten: "+err.Error())
	}
	return changes, nil
}

// tableInSchema rewrites what the definition of a table says of a schema.
func tableInSchema(st *sql.CreateTable, was, name string) {
	expr := func(e sql.Expr) {
		if e != nil {
			planner.InSchema(e, was, name)
		}
	}
	constraints := func(cs []sql.Constraint) {
		for i := range cs {
			expr(cs[i].Check)
			if cs[i].RefTable.Schema == was {
				cs[i].RefTable.Schema = name
			}
		}
	}
	for i := range st.Columns {
		c := &st.Columns[i]
		if c.Type != nil && c.Type.Schema == was {
			c.Type.Schema = name
		}
		expr(c.Default)
		expr(c.Generated)
		constraints(c.Checks)
		constraints(c.References)
	}
	constraints(st.Constraints)
}

// mover rewrites what one object says of a schema.
type mover struct {
	was, name string
	moved     bool
	err       error
}

// move rewrites o, a clone, in place.
func (m *mover) move(o catalog.Object) {
	if query, text, _ := StoredQuery(o); query != nil {
		if m.text(query, planner.QueryInSchema) {
			*text = ""
			Redefine(o, func(st sql.Stmt) {
				if sink, ok := st.(*sql.CreateSink); ok && sink.From != nil && sink.From.Schema == m.was {
					sink.From.Schema = m.name
				} else if !ok || sink.From == nil {
					SetQuery(st, *query, sql.Name{})
				}
			})
		}
	}
	switch o := o.(type) {
	case *catalog.Table:
		m.columns(o.Columns)
		o.Checks = slices.Clone(o.Checks)
		for i := range o.Checks {
			m.expr(&o.Checks[i].Expr)
		}
	case *catalog.Source:
		m.columns(o.Columns)
	case *catalog.View:
		m.path(&o.SearchPath)
	case *catalog.MatView:
		m.path(&o.SearchPath)
	case *catalog.Sink:
		m.path(&o.SearchPath)
	case *catalog.Function:
		m.path(&o.SearchPath)
		o.Params = slices.Clone(o.Params)
		for i := range o.Params {
			m.expr(&o.Params[i].Column.Default)
		}
	case *catalog.Index:
		m.expr(&o.Where)
		o.Keys = slices.Clone(o.Keys)
		for i := range o.Keys {
			m.expr(&o.Keys[i].Expr)
		}
	case *catalog.Type:
		for i := range o.Checks {
			m.expr(&o.Checks[i].Expr)
		}
		if o.Domain != nil {
			m.expr(&o.Domain.Default)
		}
	}
}

func (m *mover) columns(cs []catalog.Column) {
	for i := range cs {
		m.expr(&cs[i].Default)
		m.expr(&cs[i].Generated)
	}
}

func (m *mover) expr(text *string) { m.text(text, planner.ExprInSchema) }

// text rewrites a stored text and reports whether that has changed it.
func (m *mover) text(text *string, rewrite func(text, was, name string) (string, error)) bool {
	if *text == "" || !strings.Contains(*text, m.was) {
		return false
	}
	t, err := rewrite(*text, m.was, m.name)
	if err != nil {
		m.err = err
		return false
	}
	if t == *text {
		return false
	}
	*text, m.moved = t, true
	return true
}

// path puts the new name into a path that names were looked up by.
func (m *mover) path(p *[]string) {
	if i := slices.Index(*p, m.was); i >= 0 {
		*p = slices.Clone(*p)
		(*p)[i], m.moved = m.name, true
	}
}
