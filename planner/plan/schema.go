package plan

import "github.com/streamdb/streamdb/types"

// Types returns the column types of a schema.
func Types(cs []Column) []types.T {
	ts := make([]types.T, len(cs))
	for i, c := range cs {
		ts[i] = c.Typ
	}
	return ts
}

func (n *Scan) Schema() []Column       { return n.Out }
func (n *Upsert) Schema() []Column     { return n.Input.Schema() }
func (n *Values) Schema() []Column     { return n.Out }
func (n *Clock) Schema() []Column      { return n.Out }
func (n *TableFunc) Schema() []Column  { return n.Out }
func (n *Filter) Schema() []Column     { return n.Input.Schema() }
func (n *Project) Schema() []Column    { return n.Out }
func (n *ProjectSet) Schema() []Column { return n.Out }
func (n *Join) Schema() []Column       { return appendSchema(nil, n) }
func (n *Aggregate) Schema() []Column  { return n.Out }
func (n *Union) Schema() []Column      { return n.Out }
func (n *SetOp) Schema() []Column      { return n.Left.Schema() }
func (n *Recursive) Schema() []Column  { return n.Out }
func (n *WorkTable) Schema() []Column  { return n.Out }
func (n *TopN) Schema() []Column {
	if n.RankCol {
		return concat(n.Input.Schema(), []Column{{Name: "row_number", Typ: types.TInt8}})
	}
	return n.Input.Schema()
}
func (n *Sort) Schema() []Column   { return n.Input.Schema() }
func (n *Limit) Schema() []Column  { return n.Input.Schema() }
func (n *Window) Schema() []Column { return n.Out }
func (n *Apply) Schema() []Column {
	switch n.Kind {
	case Semi, Anti, NullAnti:
		return n.Left.Schema()
	}
	return concat(n.Left.Schema(), n.Right.Schema())
}
func (n *Threshold) Schema() []Column   { return n.Input.Schema() }
func (n *SingleRow) Schema() []Column   { return n.Input.Schema() }
func (n *Exchange) Schema() []Column    { return n.Input.Schema() }
func (n *Materialize) Schema() []Column { return n.Input.Schema() }
func (n *Sink) Schema() []Column        { return n.Input.Schema() }

// appendSchema appends the columns of n; many joins cost one pass.
func appendSchema(dst []Column, n Node) []Column {
	switch x := n.(type) {
	case *Join:
		dst = appendSchema(dst, x.Left)
		if x.Kind == Semi || x.Kind == Anti || x.Kind == NullAnti {
			return dst
		}
		return appendSchema(dst, x.Right)
	case *Filter:
		return appendSchema(dst, x.Input)
	case *Exchange:
		return appendSchema(dst, x.Input)
	}
	return append(dst, n.Schema()...)
}

// Width is the number of n's columns.
func Width(n Node) int {
	switch x := n.(type) {
	case *Join:
		if x.Kind == Semi || x.Kind == Anti || x.Kind == NullAnti {
			return Width(x.Left)
		}
		return Width(x.Left) + Width(x.Right)
	case *Filter:
		return Width(x.Input)
	case *Exchange:
		return Width(x.Input)
	}
	return len(n.Schema())
}

func concat(a, b []Column) []Column {
	return append(append(make([]Column, 0, len(a)+len(b)), a...), b...)
}

func (n *Scan) Children() []Node        { return nil }
func (n *Upsert) Children() []Node      { return []Node{n.Input} }
func (n *Values) Children() []Node      { return nil }
func (n *Clock) Children() []Node       { return nil }
func (n *TableFunc) Children() []Node   { return nil }
func (n *Filter) Children() []Node      { return []Node{n.Input} }
func (n *Project) Children() []Node     { return []Node{n.Input} }
func (n *ProjectSet) Children() []Node  { return []Node{n.Input} }
func (n *Join) Children() []Node        { return []Node{n.Left, n.Right} }
func (n *Aggregate) Children() []Node   { return []Node{n.Input} }
func (n *Union) Children() []Node       { return n.Inputs }
func (n *SetOp) Children() []Node       { return []Node{n.Left, n.Right} }
func (n *Recursive) Children() []Node   { return []Node{n.Base, n.Step} }
func (n *WorkTable) Children() []Node   { return nil }
func (n *TopN) Children() []Node        { return []Node{n.Input} }
func (n *Sort) Children() []Node        { return []Node{n.Input} }
func (n *Limit) Children() []Node       { return []Node{n.Input} }
func (n *Window) Children() []Node      { return []Node{n.Input} }
func (n *Apply) Children() []Node       { return []Node{n.Left, n.Right} }
func (n *Threshold) Children() []Node   { return []Node{n.Input, n.Bound} }
func (n *SingleRow) Children() []Node   { return []Node{n.Input} }
func (n *Exchange) Children() []Node    { return []Node{n.Input} }
func (n *Materialize) Children() []Node { return []Node{n.Input} }
func (n *Sink) Children() []Node        { return []Node{n.Input} }
