package planner

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// TABLESAMPLE is a filter over the scan. A row is in the sample or not by a hash of its
// key, or of all of it where there is none, and of the seed.

// sampled puts TABLESAMPLE over the scan n of rel; outer has the items that its
// arguments may name.
func (b *binder) sampled(n *plan.Scan, rel catalog.Relation, te *sql.TableRef, outer *scope) (plan.Node, error) {
	s := te.Sample
	if m := s.Method.Name; m != "bernoulli" && m != "system" || s.Method.Schema != "" && s.Method.Schema != "pg_catalog" {
		return nil, b.errAt(s, pgerr.UndefinedObject, "tablesample method %s does not exist", s.Method.Name)
	}
	if len(s.Args) != 1 {
		return nil, b.errAt(s, pgerr.InvalidTablesampleArgument, "tablesample method %s requires 1 argument, not %d", s.Method.Name, len(s.Args))
	}
	if s.Repeatable == nil && b.maintained {
		return nil, b.unsupported(s, "TABLESAMPLE without REPEATABLE in a plain view that a materialized view or sink reads",
			"Add REPEATABLE (seed) to the plain view.")
	}
	percent, err := b.sampleArg(s.Args[0], types.TFloat4, "TABLESAMPLE", outer)
	if err != nil {
		return nil, err
	}
	if c, ok := percent.(*expr.Const); ok {
		v, _ := c.Val.(float32)
		if err := expr.CheckSample(v, c.Val == nil); err != nil {
			return nil, err
		}
	}
	var seed expr.Expr
	if s.Repeatable != nil {
		if seed, err = b.sampleArg(s.Repeatable, types.TFloat8, "REPEATABLE", outer); err != nil {
			return nil, err
		}
		if c, ok := seed.(*expr.Const); ok && c.Val == nil {
			return nil, pgerr.New(pgerr.InvalidTablesampleRepeat, "TABLESAMPLE REPEATABLE parameter cannot be null")
		}
	}
	key := catalog.StorageKey(rel)
	if key == nil {
		key = all(len(n.Out))
	}
	var cols []expr.Expr
	for _, i := range key {
		cols = append(cols, &expr.Col{Index: i, Typ: n.Out[i].Typ})
	}
	width := len(n.Out)
	out, err := b.filter(n, expr.Sample(s.Method.Name, percent, seed, cols))
	if err != nil {
		return nil, err
	}
	return narrowTo(out, width), nil
}

func (b *binder) sampleArg(e sql.Expr, t types.T, what string, outer *scope) (expr.Expr, error) {
	ec := &exprContext{sc: &scope{parent: outer, ctes: outer.ctes}, clause: "functions in FROM", allowSet: true}
	x, err := b.expr(ec, e)
	if err != nil {
		return nil, err
	}
	from := x.Type()
	if hasSet(x) {
		return nil, b.errAt(leftmost(e), pgerr.DatatypeMismatch, "argument of %s must not return a set", what)
	}
	if from.ID != types.Unknown && !expr.CanCast(from, t, expr.Assignment) {
		return nil, b.errAt(leftmost(e), pgerr.DatatypeMismatch, "argument of %s must be type %s, not type %s", what, t, from.Base())
	}
	if x, err = b.coerce(x, t, expr.Assignment, e); err != nil {
		return nil, err
	}
	return b.fold(x), nil
}

// freezeSamples gives every TABLESAMPLE without REPEATABLE a seed, so that the query can
// be maintained: the same rows are in the sample for ever.
func freezeSamples(n sql.Node) {
	if te, ok := n.(*sql.TableRef); ok && te.Sample != nil && te.Sample.Repeatable == nil {
		te.Sample.Repeatable = &sql.Literal{At: te.Sample.At, Kind: sql.LitInt, Text: expr.NewSeed()}
	}
	for _, c := range sql.Children(n) {
		freezeSamples(c)
	}
}
