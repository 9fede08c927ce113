package engine

import (
	"context"

	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/vec"
)

// lockRows runs SELECT … FOR UPDATE. No lock is held: inside of a transaction the
// rows are staged as changed to what they are, so that the transaction does not
// commit (40001) if one of them has changed by then.
func (p *prepared) lockRows(ctx context.Context, o *portal) error {
	s := p.s
	if s.tx.modes.readOnly {
		return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute SELECT FOR %s in a read-only transaction", p.st.Stmt.(*sql.Select).Locks[0].Strength)
	}
	root, err := bindParams(p.query.Root, p.params, o.args)
	if err != nil {
		return err
	}
	r := s.newRun(ctx)
	defer r.close()
	if r.cat != p.cat {
		return errStalePlan
	}
	c, err := r.collect(root)
	if err != nil {
		return stage.ConflictError(err)
	}
	for _, l := range p.locks {
		if s.tx.alone {
			break
		}
		w, err := r.staged(l.Table)
		if err != nil {
			return stage.ConflictError(err)
		}
		rows := stage.Columns(c, l.At, l.At+len(l.Table.Columns))
		seen := map[string]bool{} // a row that is joined to several others
		for i := range rows.Rows {
			k := string(vec.AppendRow(nil, rows, nil, i))
			if seen[k] {
				continue
			}
			seen[k] = true
			if err := w.Add(rows, i, -1); err != nil {
				return err
			}
			if err := w.Add(rows, i, 1); err != nil {
				return err
			}
		}
	}
	o.tag = p.queryTag
	out := stage.Columns(c, 0, len(p.query.Columns))
	if out.Rows == 0 {
		out = nil
	}
	o.rows = once(out)
	return nil
}
