package jobs

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
)

// swapPlan is what the catalog is to be once a view is replaced.
type swapPlan struct {
	next    *catalog.Snapshot
	changes []catalog.Change
	// readers: other objects than indexes depend on the view.
	readers bool
	// refill are the indexes, as they will be, whose rows have another form then.
	refill []*catalog.Index
}

// planSwap checks that a view can take the place of old with everything that
// depends on it now, and tells what changes.
func (e *Runner) planSwap(snap *catalog.Snapshot, old, v *catalog.MatView) (*swapPlan, error) {
	order := snap.DropOrder(old.OID) // dependents before what they depend on
	p := &swapPlan{changes: []catalog.Change{{Replace: v}}}
	for _, o := range order {
		if slices.Contains(v.DependsOn, o.Header().OID) {
			return nil, pgerr.New(pgerr.InvalidObjectDefinition, "infinite recursion detected in rules for relation \"%s\"", old.Name)
		}
		ix, ok := o.(*catalog.Index)
		p.readers = p.readers || o.Header().OID != old.OID && !(ok && ix.Table == old.OID)
	}
	if p.readers {
		if err := KeepsColumns(old.Columns, v.Columns, "MATERIALIZED VIEW"); err != nil {
			return nil, err
		}
	}
	for _, ix := range snap.Indexes(old.OID) {
		n, err := followIndex(ix, old, v)
		if err != nil {
			return nil, err
		}
		p.changes = append(p.changes, catalog.Change{Replace: n})
	}
	var err error
	if p.next, _, err = snap.Apply(p.changes...); err != nil {
		return nil, err
	}
	for _, c := range p.changes[1:] {
		n := c.Replace.(*catalog.Index)
		same, err := sameIndex(snap, p.next, n)
		if err != nil {
			return nil, err
		}
		if !same {
			p.refill = append(p.refill, n)
		}
	}
	for _, d := range slices.Backward(order) {
		c, err := e.follows(snap, p.next, d, old)
		if err != nil {
			return nil, err
		}
		if c != nil {
			p.changes = append(p.changes, catalog.Change{Replace: c})
			if p.next, _, err = snap.Apply(p.changes...); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// KeepsColumns refuses columns that those who read the old ones could not go on
// with, as CREATE OR REPLACE VIEW of PostgreSQL does.
func KeepsColumns(old, cols []catalog.Column, kind string) error {
	if len(cols) < len(old) {
		return pgerr.New(pgerr.InvalidTableDefinition, "cannot drop columns from view")
	}
	for i, c := range old {
		if cols[i].Name != c.Name {
			return pgerr.New(pgerr.InvalidTableDefinition, "cannot change name of view column \"%s\" to \"%s\"", c.Name, cols[i].Name).
				WithHint("Use ALTER %s ... RENAME COLUMN ... to change name of view column instead.", kind)
		}
		if cols[i].Type != c.Type {
			return pgerr.New(pgerr.InvalidTableDefinition, "cannot change data type of view column \"%s\" from %s to %s", c.Name, c.Type, cols[i].Type)
		}
	}
	return nil
}

// followIndex returns an index of the old view as one of the new: on the columns
// of the same names.
func followIndex(ix *catalog.Index, old, v *catalog.MatView) (*catalog.Index, error) {
	n := catalog.Clone(ix).(*catalog.Index)
	n.Keys, n.Include = slices.Clone(ix.Keys), slices.Clone(ix.Include)
	to := func(col int) (int, error) {
		c := old.Columns[col]
		i := catalog.ColumnIndex(v.Columns, c.Name)
		if i < 0 || v.Columns[i].Type != c.Type {
			return 0, pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop column %s of materialized view %s because other objects depend on it", c.Name, old.Name).
				WithDetail("index %s depends on column %s of materialized view %s", ix.Name, c.Name, old.Name).
				WithHint("Drop the index first.")
		}
		return i, nil
	}
	var err error
	if ix.Where != "" || ix.Columns() == nil { // expressions may read any column
		for i := range old.Columns {
			if _, err = to(i); err != nil {
				return nil, err
			}
		}
	}
	for i := range n.Keys {
		if n.Keys[i].Column < 0 {
			continue
		}
		if n.Keys[i].Column, err = to(n.Keys[i].Column); err != nil {
			return nil, err
		}
	}
	for i := range n.Include {
		if n.Include[i], err = to(n.Include[i]); err != nil {
			return nil, err
		}
	}
	if n.Unique && !v.Distinct(n.Columns()) {
		return nil, pgerr.New(pgerr.DependentObjectsStillExist, "cannot replace materialized view %s because other objects depend on its key", old.Name).
			WithDetail("the new query may give several rows with the same key of unique index %s", ix.Name).
			WithHint("Drop the index first.")
	}
	return n, nil
}

// sameIndex reports whether what an index stores has the same form in both
// catalogs.
func sameIndex(snap, next *catalog.Snapshot, ix *catalog.Index) (bool, error) {
	a, err := stage.PlanIndex(snap, snap.ByOID(ix.OID).(*catalog.Index))
	if err != nil {
		return false, err
	}
	b, err := stage.PlanIndex(next, ix)
	if err != nil {
		return false, err
	}
	x, y := a.(*plan.Materialize), b.(*plan.Materialize)
	return slices.Equal(x.Key, y.Key) && x.Ordered == y.Ordered && slices.Equal(planner.Canonical(x.Input), planner.Canonical(y.Input)), nil
}

// follows checks that the job of d, which reads the replaced view, can go on with
// its operators and their state. If its object has to change, the new one is
// returned.
func (e *Runner) follows(snap, next *catalog.Snapshot, d catalog.Object, old *catalog.MatView) (catalog.Object, error) {
	if d.Header().OID == old.OID {
		return nil, nil
	}
	was, err := e.StreamOf(snap, d)
	if err != nil || was == nil {
		return nil, nil // no job, or one that cannot be planned today: it is none the worse
	}
	is, err := e.StreamOf(next, d)
	v, _ := d.(*catalog.MatView)
	if err != nil || !sameDataflow(was.Root, is.Root) || v != nil && v.Key != nil && !proves(is.Keys, v.Key) {
		return nil, pgerr.Unsupported("replacing materialized view \""+old.Name+"\" as "+d.Kind().String()+" \""+d.Header().Name+"\" reads it",
			"The dataflow of "+d.Header().Name+" relies on a key of the view, on its rows never going away, or on how they are stored, which the new query does not promise. Drop "+d.Header().Name+" first.")
	}
	if v != nil && v.AppendOnly && !is.AppendOnly {
		c := catalog.Clone(v).(*catalog.MatView)
		c.AppendOnly = false
		return c, nil
	}
	return nil, nil
}

// StreamOf plans a job's dataflow; nil for what is no view or sink.
func (e *Runner) StreamOf(snap *catalog.Snapshot, o catalog.Object) (*planner.Stream, error) {
	snap = snap.In(o.Header().Database)
	switch o := o.(type) {
	case *catalog.MatView:
		return (&planner.Planner{Cat: snap, Session: e.FrozenSession(o.SearchPath, o.Settings)}).PlanMatView(o)
	case *catalog.Sink:
		return (&planner.Planner{Cat: snap, Session: e.FrozenSession(o.SearchPath, o.Settings)}).PlanSink(o)
	}
	return nil, nil
}

// sameDataflow reports whether the operators of one plan can go on as those of
// the other: they are the same, and none relies on rows that stay where they no
// longer do.
func sameDataflow(a, b plan.Node) bool {
	return slices.Equal(planner.Canonical(a), planner.Canonical(b)) && sameInputs(a, b)
}

func sameInputs(a, b plan.Node) bool {
	x, y := a.Children(), b.Children()
	if len(x) != len(y) || !sameLookup(a, b) {
		return false
	}
	for i := range x {
		if usesGrowth(a) && plan.AppendOnly(x[i]) != plan.AppendOnly(y[i]) || !sameInputs(x[i], y[i]) {
			return false
		}
	}
	return true
}

// sameLookup reports whether two joins read the same form of rows from storage, if
// they are joins.
func sameLookup(a, b plan.Node) bool {
	j, ok := a.(*plan.Join)
	k, both := b.(*plan.Join)
	if !ok || !both || j.Lookup == nil && k.Lookup == nil {
		return ok == both
	}
	if j.Lookup == nil || k.Lookup == nil {
		return false
	}
	x, y := j.Lookup, k.Lookup
	return x.Side == y.Side && x.Rel == y.Rel && x.Form == y.Form && x.Whole == y.Whole && slices.Equal(x.Keys, y.Keys) &&
		slices.Equal(x.Stored, y.Stored) && slices.Equal(x.Cols, y.Cols) && slices.Equal(x.Out, y.Out)
}

// usesGrowth reports whether an operator works differently over input whose rows
// never go away.
func usesGrowth(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Aggregate:
		for _, a := range n.Aggs {
			if a.Fn.Name == "min" || a.Fn.Name == "max" {
				return true
			}
		}
	case *plan.TopN, *plan.Join:
		return true
	case *plan.Sink:
		return n.Key == nil
	}
	return false
}

// proves reports whether one of the keys makes cols a key.
func proves(keys [][]int, cols []int) bool {
	return slices.ContainsFunc(keys, func(k []int) bool {
		return !slices.ContainsFunc(k, func(c int) bool { return !slices.Contains(cols, c) })
	})
}

// settle chooses what the new view promises those that read the old one: no other
// key, and rows that stay only where somebody relies on them.
func (e *Runner) settle(snap *catalog.Snapshot, old, v *catalog.MatView) error {
	first, err := e.planSwap(snap, old, v)
	if first != nil && !first.readers {
		return err
	}
	if pgerr.CodeOf(err) != pgerr.FeatureNotSupported && err != nil {
		return err
	}
	st, err := e.StreamOf(snap, v)
	if err != nil {
		return err
	}
	v.Key = nil
	if old.Key != nil && proves(st.Keys, old.Key) {
		v.Key = old.Key
	}
	appends := v.AppendOnly
	v.AppendOnly = false
	if _, err = e.planSwap(snap, old, v); err == nil || !appends || !old.AppendOnly {
		return err
	}
	v.AppendOnly = true
	_, err = e.planSwap(snap, old, v)
	return err
}
