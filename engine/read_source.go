package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/vec"
)

// scanSource reads what a source holds at this moment, from its connector. Records
// that do not decode are left out, as the source's on_error has it, and nothing
// of the read is kept.
func (r *run) scanSource(s *plan.Scan, o *catalog.Source, f func(*vec.Chunk) error) error {
	src, err := r.s.eng.OpenSource(o.OID)
	if err != nil {
		return err
	}
	b, ok := src.(connector.Bounded)
	if !ok {
		return pgerr.Unsupported("reading source \""+o.Name+"\" by a one-off query",
			"Its connector has no end to read to. Create a materialized view on the source and query that.").At(s.Pos)
	}
	rd, err := b.OpenBounded(r.ctx, jobs.ReadColumns(o, s.Cols))
	if err != nil {
		return err
	}
	defer rd.Close()
	policy, bad := jobs.SourcePolicy(o), 0
	for end := false; !end; {
		batch, err := rd.Read(r.ctx)
		if stop := jobs.Canceled(r.ctx); stop != nil {
			return stop
		}
		if err != nil {
			return err
		}
		if bad += len(batch.Bad); len(batch.Bad) > 0 && policy == "fail" {
			return badSourceRecord(o, &batch.Bad[0])
		}
		if batch.Chunk != nil && batch.Chunk.Rows > 0 {
			if err := f(batch.Chunk); err != nil {
				return err
			}
		}
		if batch.Pool != nil {
			batch.Pool.Put(batch.Chunk)
		}
		end = batch.End
	}
	if bad > 0 && policy != "skip" {
		r.s.notice("WARNING", pgerr.New(pgerr.Warning, "%d records of source \"%s\" do not decode and were left out", bad, o.Name).
			WithHint("A view on the source keeps them, with the reason, in streamdb_catalog.source_errors."))
	}
	return nil
}

func badSourceRecord(o *catalog.Source, b *connector.BadRecord) error {
	e := pgerr.From(b.Reason)
	return pgerr.Wrap(e, e.Code, "%s", e.Msg).WithDetail("It is the record at offset %s of %s, which source \"%s\" reads. %s", b.Offset, b.Split, o.Name, e.Detail)
}
