package jobs

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/state"
)

// RemoveDatabase ends all that runs for the objects of a database, and removes it
// with all that is stored for them, in one commit. Nobody is connected to it.
// Runner.DDL is held.
func (e *Runner) RemoveDatabase(db uint32) error {
	snap := e.Catalog.Current()
	gone := snap.Contents(db)
	c := &state.Commit{}
	var changes []catalog.Change
	for _, o := range gone {
		e.dropStored(c, o.Header().OID)
		changes = append(changes, catalog.Change{Drop: o.Header().OID})
	}
	for _, r := range snap.Roles() {
		if n := r.WithoutDatabase(db); n != nil {
			changes = append(changes, catalog.Change{Replace: n})
		}
	}
	changes = append(changes, catalog.Change{Drop: db})
	if err := e.Retire(OIDsOf(gone), func() error { return e.ChangeCatalog(c, changes...) }); err != nil {
		return err
	}
	for _, o := range gone {
		e.ForgetSequence(o.Header().OID)
	}
	return nil
}

// StartTable starts the graph of a new, empty table with its indexes.
func (e *Runner) StartTable(t *catalog.Table, indexes []*catalog.Index) error {
	g := e.addTable(t.OID)
	for _, ix := range indexes {
		j, err := e.recoverJob(ix)
		if err != nil {
			return err
		}
		if j.Err() == nil {
			j.start()
		}
	}
	go g.run()
	return nil
}

// DropNow commits the removal of objects, dependents first, with all that is stored
// for them.
func (e *Runner) DropNow(order []catalog.Object, changes []catalog.Change) error {
	c := &state.Commit{}
	for _, o := range order {
		e.DropStorage(c, o.Header().OID)
	}
	if err := e.Retire(OIDsOf(order), func() error { return e.ChangeCatalog(c, changes...) }); err != nil {
		return err
	}
	for _, o := range order {
		e.ForgetSequence(o.Header().OID)
	}
	return nil
}
