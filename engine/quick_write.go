package engine

import (
	"context"

	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
)

// quickMutation reports whether a plan is worth keeping for other constants: it
// depends neither on sizes of relations nor on anything that a statement makes.
func quickMutation(d *planner.Mutation) bool {
	if d.Returns() || len(d.With) > 0 {
		return false
	}
	for _, t := range d.ParamTypes {
		if t == types.TUnknown {
			return false
		}
	}
	return readsOneRelation(d.Source)
}

// readsOneRelation reports whether a plan is a chain over one relation or over
// rows of constants.
func readsOneRelation(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Values:
		return true
	case *plan.Scan:
		return n.Kind == plan.RelTable
	case *plan.Project, *plan.Filter:
		return readsOneRelation(n.Children()[0])
	}
	return false
}

// quickWrite changes a table by its template's plan.
type quickWrite struct {
	s    *Session
	plan *cachedPlan
	own  *prepared // the text's own plan, once the catalog has changed
	text string
	args []types.Datum
	n    int64 // rows changed
	done bool
}

// Columns implements wire.Portal.
func (o *quickWrite) Columns() []wire.Column { return nil }

// Copy implements wire.Portal.
func (o *quickWrite) Copy() *wire.Copy { return nil }

// Tag implements wire.Portal.
func (o *quickWrite) Tag(int64) string { return dmlTag(o.plan.dml, o.n) }

// Close implements wire.Portal.
func (o *quickWrite) Close() {}

// Next implements wire.Portal.
func (o *quickWrite) Next(ctx context.Context) (_ *vec.Chunk, err error) {
	if o.done {
		return nil, nil
	}
	o.done = true
	o.s.running(&o.text)
	o.s.expr.Catalog = o.s.catalogInfo()
	ctx, cancel := o.s.withTimeout(ctx)
	defer cancel()
	_, o.n, err = o.s.runWriting(ctx, func() (writing, []types.T, error) { return o.writing(ctx) }, o.args)
	return nil, err
}

// writing returns the template's plan, or one of the text's own if the catalog has
// changed meanwhile.
func (o *quickWrite) writing(ctx context.Context) (writing, []types.T, error) {
	if o.own == nil && o.plan.cat == o.s.eng.cat.Current() {
		return writing{cat: o.plan.cat, main: o.plan.dml}, o.plan.params, nil
	}
	if o.own == nil {
		ps, err := sql.Parse(o.text)
		if err != nil {
			return writing{}, nil, err
		}
		if o.own, err = o.s.prepare(ctx, &statement{Parsed: ps[0], whole: o.text}, nil); err != nil {
			return writing{}, nil, err
		}
	}
	return o.own.writing(ctx)()
}
