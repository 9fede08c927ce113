package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
)

// cascadeNotice tells which objects went that the statement did not name.
func (s *Session) cascadeNotice(snap *catalog.Snapshot, order []catalog.Object, named map[uint32]bool, also []string) {
	for _, o := range order {
		if !named[o.Header().OID] && !partOf(o, order) {
			also = append(also, s.described(snap, o))
		}
	}
	switch len(also) {
	case 0:
	case 1:
		s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "drop cascades to %s", also[0]))
	default:
		s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "drop cascades to %d other objects", len(also)).
			WithDetail("drop cascades to %s", strings.Join(also, "\ndrop cascades to ")))
	}
}

// described is an object as messages name it: with its schema, if it would not be found
// without.
func (s *Session) described(snap *catalog.Snapshot, o catalog.Object) string {
	h := o.Header()
	if o.Kind().Relation() && snap.Lookup("", h.Name, s.expr.SearchPath) != o {
		return o.Kind().String() + " " + sql.QuoteIdent(h.Schema) + "." + sql.QuoteIdent(h.Name)
	}
	return catalog.Described(o)
}

// dropTypedColumns drops the columns of tables whose types go with the objects, and
// tells which.
func (s *Session) dropTypedColumns(ctx context.Context, snap *catalog.Snapshot, oids []uint32) ([]string, error) {
	order := snap.DropOrder(oids...)
	types := listed(oids)
	for range order { // types over types that go
		for _, o := range order {
			if o.Kind() == catalog.KindType && slices.ContainsFunc(o.Dependencies(), func(d uint32) bool { return types[d] }) {
				types[o.Header().OID] = true
			}
		}
	}
	var columns []string
	for _, o := range order {
		t, ok := o.(*catalog.Table)
		if !ok || types[t.OID] {
			continue
		}
		var actions []sql.AlterAction
		for _, c := range t.Columns {
			if slices.ContainsFunc(catalog.TypeOIDs(c.Type), func(oid uint32) bool { return types[oid] }) {
				actions = append(actions, sql.AlterAction{At: sql.At{Pos: sql.NoPos}, Kind: sql.AlterDropColumn, Column: c.Name, Cascade: true})
				columns = append(columns, "column "+c.Name+" of table "+t.Name)
			}
		}
		if len(actions) == 0 {
			continue
		}
		pl := &planner.Planner{Cat: s.snapshot(), Session: &s.expr}
		now, ok := pl.Cat.ByOID(t.OID).(*catalog.Table)
		if !ok {
			continue
		}
		if err := s.alterTable(ctx, pl, now, actions); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

// cascadesToTable refuses what would drop a column of a source because its type goes.
func cascadesToTable(order []catalog.Object, named map[uint32]bool) error {
	for _, o := range order {
		k := o.Kind()
		if !named[o.Header().OID] && (k == catalog.KindTable || k == catalog.KindSource) {
			return pgerr.Unsupported("dropping the columns of "+k.String()+" "+o.Header().Name+" together with their type", "Drop the "+k.String()+" first.")
		}
	}
	return nil
}
