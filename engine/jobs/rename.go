package jobs

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/state"
)

// Unmoved checks that every job means the same after the changes as before.
func (e *Runner) Unmoved(snap *catalog.Snapshot, changes []catalog.Change) error {
	next, _, err := snap.Apply(changes...)
	if err != nil {
		return err
	}
	for _, c := range changes {
		oid := c.Replace.Header().OID
		was, err := e.PlanPrint(snap, snap.ByOID(oid))
		if err != nil {
			continue // a job that cannot be planned today is none the worse
		}
		is, err := e.PlanPrint(next, c.Replace)
		if err != nil || was != is {
			return pgerr.Unsupported("renaming this object",
				c.Replace.Kind().String()+" "+c.Replace.Header().Name+" reads it in a way that cannot be rewritten.")
		}
	}
	return nil
}

// PlanPrint is the fingerprint of a job's plan; "" for what is no job.
func (e *Runner) PlanPrint(snap *catalog.Snapshot, o catalog.Object) (string, error) {
	if v, ok := o.(*catalog.View); ok {
		return e.viewPrint(snap, v)
	}
	st, err := e.StreamOf(snap, o)
	if err != nil || st == nil {
		return "", err
	}
	return string(fingerprint(st.Root, 1)), nil
}

// viewPrint describes the plan of a view.
func (e *Runner) viewPrint(snap *catalog.Snapshot, v *catalog.View) (string, error) {
	snap = snap.In(v.Database)
	q, err := planner.ParseQuery("SELECT * FROM " + sql.QuoteIdent(v.Schema) + "." + sql.QuoteIdent(v.Name))
	if err != nil {
		return "", err
	}
	path := v.SearchPath
	if catalog.IsTemp(v.Schema) {
		path = append(slices.Clip(path), v.Schema)
	}
	p, err := (&planner.Planner{Cat: snap, Session: e.FrozenSession(path, nil)}).PlanQuery(q)
	if err != nil {
		return "", err
	}
	return strings.Join(planner.Canonical(p.Root), "\n"), nil
}

// RenameJob commits the renaming of a job's object together with the rows of the
// error tables that name it, and the job takes the new name. Its graph is at rest.
func (e *Runner) RenameJob(j *Job, o catalog.Object, changes []catalog.Change) error {
	return e.RenameJobs(map[*Job]string{j: JobName(o)}, changes)
}

// JobOf returns the job of an object; nil: it has none.
func (e *Runner) JobOf(oid uint32) *Job {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.jobs[oid]
}

// RenameJobs commits changes that give jobs other names, together with the rows of
// the error tables that name them. Their graphs are at rest.
func (e *Runner) RenameJobs(jobs map[*Job]string, changes []catalog.Change) error {
	c := &state.Commit{}
	for j, name := range jobs {
		if err := e.moveErrors(c, j.errors, j.Name(), name); err != nil {
			return err
		}
	}
	if err := e.ChangeCatalog(c, changes...); err != nil {
		return err
	}
	for j, name := range jobs {
		j.label.Store(&name)
	}
	return nil
}
