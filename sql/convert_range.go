package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"
)

// createRange converts CREATE TYPE ... AS RANGE.
func (c *converter) createRange(k *pg.CreateRangeStmt, a At) Stmt {
	out := &CreateType{At: a, Name: c.name(nodeStrings(k.TypeName), a), Range: true}
	for _, n := range k.Params {
		d := n.GetDefElem()
		at := c.at(d.Location)
		out.Attributes = append(out.Attributes, TypeAttribute{At: at, Name: d.Defname, Value: c.typeName(d.Arg.GetTypeName())})
	}
	return out
}
