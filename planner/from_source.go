package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// sourceNode is what a source's name in FROM stands for: a scan of what records
// hold, their keys' last rows if they are upserts, and the generated columns.
func (b *binder) sourceNode(src *catalog.Source, scan *plan.Scan) (plan.Node, error) {
	at := make([]int, len(src.Columns)) // where a column is in the scan
	all := scan.Out
	scan.Cols, scan.Out = nil, nil
	for i, c := range src.Columns {
		if c.Generated == "" {
			at[i] = len(scan.Cols)
			scan.Cols = append(scan.Cols, i)
			scan.Out = append(scan.Out, all[i])
		}
	}
	n := plan.Node(scan)
	if src.Upserts() {
		u := &plan.Upsert{Input: scan, Keep: src.Connector.Format == "debezium"}
		for _, k := range src.PrimaryKey.Columns {
			u.Key = append(u.Key, at[k])
		}
		n = u
	}
	if len(scan.Cols) == len(src.Columns) {
		return n, nil
	}
	p := &plan.Project{Input: n, Out: all}
	t := &catalog.Table{Head: src.Head, Columns: src.Columns}
	for i, c := range src.Columns {
		if c.Generated == "" {
			p.Exprs = append(p.Exprs, &expr.Col{Index: at[i], Typ: c.Type})
			continue
		}
		e, err := b.storedExpr(c.Generated, t, c.Type)
		if err != nil {
			return nil, err
		}
		p.Exprs = append(p.Exprs, remap(e, func(k int) int { return at[k] }))
	}
	return p, nil
}

// SourceDefault evaluates the default of a source's column; nil: it has none. A
// record is the same whenever it is read, so a default must be too.
func (p *Planner) SourceDefault(c catalog.Column) (types.Datum, error) {
	if c.Default == "" {
		return nil, nil
	}
	e, err := p.newBinder(true).storedExpr(c.Default, nil, c.Type)
	if err != nil {
		return nil, err
	}
	if !immutable(e) {
		return nil, pgerr.Unsupported("a default that is not always the same in a source, as of column \""+c.Name+"\"",
			"Use a constant, or INCLUDE TIMESTAMP for the time of a record.")
	}
	return expr.EvalConst(&expr.Ctx{Session: p.Session}, e)
}

// pruneUpsert keeps the key's columns: the others' values belong to it.
func (p pruner) pruneUpsert(n *plan.Upsert, need []int) (plan.Node, map[int]int) {
	s := newColSet(need...)
	s.add(n.Key...)
	in, at := p.prune(n.Input, slices.Clone(s.sorted()))
	return &plan.Upsert{Input: in, Key: mapInts(n.Key, at), Keep: n.Keep}, at
}
