package define

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
)

// StoredQuery returns the places of an object's query and of its text as written,
// and the path its other names are looked up by.
func StoredQuery(o catalog.Object) (query, text *string, path []string) {
	switch o := o.(type) {
	case *catalog.View:
		return &o.Query, &o.Text, o.SearchPath
	case *catalog.MatView:
		return &o.Query, &o.Text, o.SearchPath
	case *catalog.Sink:
		return &o.Query, &o.Text, o.SearchPath
	case *catalog.Function:
		return &o.Query, &o.Body, o.SearchPath
	}
	return nil, nil, nil
}

// FunctionOf is the function whose query o has; nil for other objects.
func FunctionOf(o catalog.Object) *catalog.Function {
	f, _ := o.(*catalog.Function)
	return f
}

// Redefine changes the statement that SHOW CREATE shows. One that cannot be read
// again stays as it was written.
func Redefine(o catalog.Object, f func(sql.Stmt)) {
	def := definitionOf(o)
	if def == nil || *def == "" {
		return
	}
	sts, err := sql.ParseStored(*def)
	if err != nil || len(sts) != 1 {
		return
	}
	f(sts[0].Stmt)
	*def = sql.Format(sts[0].Stmt)
}

// SetName changes the name that a statement gives its object.
func SetName(st sql.Stmt, n sql.Name) {
	switch st := st.(type) {
	case *sql.CreateTable:
		st.Name = n
	case *sql.CreateSource:
		st.Name = n
	case *sql.CreateView:
		st.Name = n
	case *sql.CreateMaterializedView:
		st.Name = n
	case *sql.CreateSink:
		st.Name = n
	case *sql.CreateIndex:
		st.Name = n.Name
	}
}

// SetQuery puts the rewritten query into a definition; input is the new name of
// the relation that CREATE SINK … FROM names.
func SetQuery(st sql.Stmt, text string, input sql.Name) {
	q, err := planner.ParseQuery(text)
	if err != nil {
		return
	}
	switch st := st.(type) {
	case *sql.CreateView:
		st.Query = q
	case *sql.CreateMaterializedView:
		st.Query = q
	case *sql.CreateSink:
		if st.From != nil {
			st.From = &input
		} else {
			st.Query = q
		}
	}
}

// Definition returns the statement that created an object.
func Definition(o catalog.Object) string {
	if d := definitionOf(o); d != nil {
		return *d
	}
	return ""
}

// definitionOf returns the place of an object's definition.
func definitionOf(o catalog.Object) *string {
	switch o := o.(type) {
	case *catalog.Table:
		return &o.Definition
	case *catalog.Source:
		return &o.Definition
	case *catalog.MatView:
		return &o.Definition
	case *catalog.View:
		return &o.Definition
	case *catalog.Sink:
		return &o.Definition
	case *catalog.Index:
		return &o.Definition
	}
	return nil
}
