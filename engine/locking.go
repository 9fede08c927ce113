package engine

import (
	"context"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/vec"
)

// lockedRows are rows of a table that a statement has locked, each once.
type lockedRows struct {
	rows *vec.Chunk
	seen map[string]bool
}

// lock takes rows that a plan locks. No lock is held: inside of a transaction
// the rows are staged as changed to what they are when the plan has run, so that the
// transaction does not commit (40001) if one of them has changed by then.
func (r *run) lock(table uint32, cols []vec.Vector, n int) error {
	k := r.locked[table]
	in := &vec.Chunk{Cols: cols, Rows: n}
	if k == nil {
		if r.locked == nil {
			r.locked = map[uint32]*lockedRows{}
		}
		k = &lockedRows{rows: vec.NewChunk(in.Types(), n), seen: map[string]bool{}}
		r.locked[table] = k
	}
	var row []byte
	for i := range n { // a row that is joined to several others comes several times
		row = vec.AppendRow(row[:0], in, nil, i)
		if !k.seen[string(row)] {
			k.seen[string(row)] = true
			k.rows.AppendFrom(in, i, 1)
		}
	}
	return nil
}

// keepLocks stages the rows that have been locked.
func (r *run) keepLocks() error {
	locked := r.locked
	r.locked = nil
	for oid, k := range locked {
		t, ok := r.cat.ByOID(oid).(*catalog.Table)
		if !ok {
			continue
		}
		w, err := r.staged(t)
		if err != nil {
			return err
		}
		for i := range k.rows.Rows {
			if err := w.Add(k.rows, i, -1); err != nil {
				return err
			}
			if err := w.Add(k.rows, i, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayLock refuses locking clauses in read-only transactions.
func (s *Session) mayLock(strength string) error {
	if strength != "" && s.tx.modes.readOnly {
		return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute SELECT FOR %s in a read-only transaction", strength)
	}
	return nil
}

// lockRows runs a query with locking clauses: all of it, before the first row is
// given out.
func (p *prepared) lockRows(ctx context.Context, o *portal) error {
	if err := p.s.mayLock(p.query.Locks); err != nil {
		return err
	}
	root, err := bindParams(p.query.Root, p.params, o.args)
	if err != nil {
		return err
	}
	r := p.s.newRun(ctx)
	defer r.close()
	if r.cat != p.cat {
		return errStalePlan
	}
	out, err := r.collect(root)
	if err == nil {
		err = r.keepLocks()
	}
	if err != nil {
		return stage.ConflictError(err)
	}
	if o.tag = p.queryTag; out.Rows == 0 {
		out = nil
	}
	o.rows = once(out)
	return nil
}
