package jobs

import (
	"context"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
)

// TableAtRest runs f with the graph of a table at rest.
func (e *Runner) TableAtRest(ctx context.Context, oid uint32, f func(g *Graph) error) error {
	for {
		g := e.LookupGraph(oid)
		if g == nil {
			return stage.RelationGone(oid)
		}
		err := g.AtRest(ctx, func() error { return f(g) })
		if err != ErrMerged {
			return err
		}
	}
}

// Recorded reports whether changes of a relation are recorded for a job that catches up.
// The graph is at rest.
func (g *Graph) Recorded(rel uint32) bool {
	for c, of := range g.captures {
		if of == rel && !c.closed() {
			return true
		}
	}
	return false
}

// Has reports whether a table is part of the graph, which is at rest.
func (g *Graph) Has(table uint32) bool { return g.tables[table] != nil }

// Join makes a new table part of the graph, which is at rest.
func (g *Graph) Join(table uint32) {
	g.tables[table] = newTableNode(table)
	g.eng.setGraph(table, g)
}

// Part undoes join.
func (g *Graph) Part(table uint32) {
	delete(g.tables, table)
	g.eng.setGraph(table, nil)
}

// StartGraph starts a graph of a new table and its indexes.
func (e *Runner) StartGraph(table uint32, ixs []*catalog.Index) {
	g := e.addTable(table)
	g.mu.Lock()
	for _, ix := range ixs {
		g.AddIndex(ix)
	}
	g.mu.Unlock()
	go g.run()
}

// AddIndex starts an index whose rows are stored already; the graph is at rest.
func (g *Graph) AddIndex(ix *catalog.Index) {
	e := g.eng
	j, err := e.buildJob(ix, nil)
	if err != nil {
		j = e.brokenJob(ix, err)
	}
	j.fresh = true
	e.setGraph(ix.OID, g)
	e.mu.Lock()
	e.jobs[ix.OID] = j
	e.mu.Unlock()
	g.jobs[ix.OID] = j
	if err == nil {
		g.connect(j)
		j.start()
	}
}
