package planner

import "github.com/streamdb/streamdb/sql"

// QueryInSchema returns the text of a stored query after the schema was is called
// name.
func QueryInSchema(text, was, name string) (string, error) {
	q, err := ParseQuery(text)
	if err != nil {
		return "", err
	}
	if !InSchema(q, was, name) {
		return text, nil
	}
	return sql.Format(q), nil
}

// ExprInSchema returns a stored expression after the schema was is called name.
func ExprInSchema(text, was, name string) (string, error) {
	if text == "" {
		return "", nil
	}
	q, err := ParseQuery("SELECT (" + text + ")")
	if err != nil {
		return "", err
	}
	if !InSchema(q, was, name) {
		return text, nil
	}
	return sql.FormatExpr(q.Targets[0].Expr), nil
}

// InSchema makes the names of relations, functions and types in the schema was ones
// in the schema name, and reports whether there are any. n is changed in place.
func InSchema(n sql.Node, was, name string) bool {
	found := false
	move := func(schema *string) {
		if *schema == was {
			*schema, found = name, true
		}
	}
	switch n := n.(type) {
	case *sql.TableRef:
		move(&n.Name.Schema)
	case *sql.FuncCall:
		move(&n.Schema)
	case *sql.Cast:
		move(&n.Type.Schema)
	case *sql.FuncTable:
		for _, f := range n.Funcs {
			for i := range f.Columns {
				move(&f.Columns[i].Type.Schema)
			}
		}
	case *sql.ColumnRef:
		if len(n.Parts) > 2 || len(n.Parts) == 2 && n.Star {
			move(&n.Parts[0])
		}
	}
	for _, c := range sql.Children(n) {
		if InSchema(c, was, name) {
			found = true
		}
	}
	return found
}
