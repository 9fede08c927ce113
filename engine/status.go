package engine

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// What jobs, sources and sinks are doing: SHOW JOBS, SOURCES and SINKS, and the
// relations of the same names in the schema of the error tables.
const (
	jobsOID         uint32 = 14003
	sourcesOID      uint32 = 14004
	sourceSplitsOID uint32 = 14005
	sinksOID        uint32 = 14006
)

// statusRelations are those relations.
func statusRelations() []catalog.Object {
	rel := func(oid uint32, name, columns string, rows func(*Session, *sql.Show) [][]types.Datum) catalog.Object {
		t := &catalog.VirtualTable{Head: catalog.Head{OID: oid, Schema: jobs.ErrorSchema, Name: name, Owner: catalog.BootstrapOID, ACL: catalog.SystemRelationACL()}}
		for _, f := range strings.Fields(columns) {
			n, typ, _ := strings.Cut(f, ":")
			t.Columns = append(t.Columns, catalog.Column{Name: n, Type: statusType(typ)})
		}
		t.Scan = func(c *catalog.Context, emit func(...types.Datum) error) error {
			i, ok := c.Server.(serverInfo)
			if !ok {
				return nil
			}
			for _, r := range rows(i.s, nil) {
				if err := emit(r...); err != nil {
					return err
				}
			}
			return nil
		}
		return t
	}
	return []catalog.Object{
		rel(jobsOID, "jobs", "id:bigint name kind status rows_read:bigint state_bytes:bigint error since:timestamptz", (*Session).jobRows),
		rel(sourcesOID, "sources", "name connector format status jobs:bigint lag:bigint skipped:bigint error since:timestamptz", (*Session).sourceRows),
		rel(sourceSplitsOID, "source_splits", "source job split next_offset:bigint committed_offset:bigint end_offset:bigint lag:bigint status error since:timestamptz", (*Session).splitRows),
		rel(sinksOID, "sinks", "name connector status pending_epochs:bigint pending_rows:bigint pending_bytes:bigint pending_since:timestamptz error since:timestamptz", (*Session).sinkRows),
	}
}

func statusType(name string) types.T {
	switch name {
	case "bigint":
		return types.TInt8
	case "timestamptz":
		return types.TTimestamptz
	}
	return types.TText
}

// instant is a time as a datum; none for the zero time.
func instant(t time.Time) types.Datum {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro() - jobs.EpochUnixMicros
}

// message is an error as a datum.
func message(err error) types.Datum {
	if err == nil {
		return nil
	}
	pe := pgerr.From(err)
	if pe.Code == pgerr.ConnectionException && pe.Detail != "" {
		return pe.Msg + ": " + pe.Detail
	}
	return pe.Msg
}

func (s *Session) jobRows(sh *sql.Show) (out [][]types.Datum) {
	snap := s.snapshot()
	js := append(s.eng.JobsInOrder(), s.eng.ReplacingJobs()...)
	slices.SortStableFunc(js, func(a, b *jobs.Job) int { return cmp.Compare(a.ID, b.ID) })
	for _, j := range js {
		o := snap.ByOID(j.ID)
		if o == nil || !shown(o.Header(), sh) {
			continue
		}
		status, t := j.Status()
		out = append(out, []types.Datum{int64(j.ID), j.Name(), o.Kind().String(), status, j.Rows.Load() + j.Backfilled.Load(), j.StateBytes.Load(), message(t.Err), instant(t.Since)})
	}
	return out
}

// sourceUse is what is known of one source from the jobs that read it.
type sourceUse struct {
	jobs    map[uint32]bool
	lag     int64
	known   bool // some lag is known
	skipped int64
	status  string
	trouble jobs.Trouble
}

func (s *Session) sourceUses() map[uint32]*sourceUse {
	uses := map[uint32]*sourceUse{}
	for _, j := range s.eng.JobsInOrder() {
		status, t := j.Status()
		counted := map[uint32]bool{}
		for _, r := range j.Sources() {
			u := uses[r.Scan.Rel]
			if u == nil {
				u = &sourceUse{jobs: map[uint32]bool{}, status: "running"}
				uses[r.Scan.Rel] = u
			}
			u.jobs[j.ID] = true
			for _, p := range r.Contact.Positions() {
				u.lag, u.known = u.lag+p.End-p.Next, true
			}
			if !counted[r.Scan.Rel] {
				counted[r.Scan.Rel] = true
				u.skipped += j.Skipped.Load()
			}
			if rt := r.Contact.Trouble(); rt.Err != nil && u.trouble.Err == nil {
				u.status, u.trouble = jobs.Retrying, rt
			} else if status == "failed" && u.trouble.Err == nil {
				u.status, u.trouble = "failed", t
			}
		}
	}
	return uses
}

func (s *Session) sourceRows(sh *sql.Show) (out [][]types.Datum) {
	snap, uses := s.snapshot(), s.sourceUses()
	for _, o := range catalog.All[*catalog.Source](snap) {
		if !shown(&o.Head, sh) {
			continue
		}
		con, _ := o.Connector.Option("connector")
		format := types.Datum(nil)
		if o.Connector.Format != "" {
			format = strings.ToUpper(o.Connector.Format + " " + o.Connector.Encode)
		}
		u := uses[o.OID]
		if u == nil {
			u = &sourceUse{status: "not read"}
		}
		lag := types.Datum(nil)
		if u.known {
			lag = u.lag
		}
		out = append(out, []types.Datum{snap.QualifiedName(o, s.expr.SearchPath), con, format, u.status, int64(len(u.jobs)), lag, u.skipped,
			message(u.trouble.Err), instant(u.trouble.Since)})
	}
	return out
}

func (s *Session) splitRows(_ *sql.Show) (out [][]types.Datum) {
	snap := s.snapshot()
	for _, j := range s.eng.JobsInOrder() {
		for _, r := range j.Sources() {
			o := snap.ByOID(r.Scan.Rel)
			if o == nil {
				continue
			}
			status, t := "running", r.Contact.Trouble()
			if t.Err != nil {
				status = jobs.Retrying
			}
			if err := j.Err(); err != nil {
				status, t = "failed", jobs.Trouble{Err: err}
			}
			stored := r.Committed()
			ps := r.Contact.Positions()
			sort.Slice(ps, func(a, b int) bool {
				return len(ps[a].Split) < len(ps[b].Split) || len(ps[a].Split) == len(ps[b].Split) && ps[a].Split < ps[b].Split
			})
			for _, p := range ps {
				at := types.Datum(nil)
				if n, ok := stored[p.Split]; ok {
					at = n
				}
				out = append(out, []types.Datum{snap.QualifiedName(o, s.expr.SearchPath), j.Name(), p.Split, p.Next, at, p.End, p.End - p.Next, status, message(t.Err), instant(t.Since)})
			}
		}
	}
	return out
}

func (s *Session) sinkRows(sh *sql.Show) (out [][]types.Datum) {
	snap := s.snapshot()
	for _, o := range catalog.All[*catalog.Sink](snap) {
		j := s.eng.JobOf(o.OID)
		if j == nil || !shown(&o.Head, sh) {
			continue
		}
		con, _ := o.Connector.Option("connector")
		row := []types.Datum{snap.QualifiedName(o, s.expr.SearchPath), con}
		status, t := j.Status()
		if j.Sink == nil { // the sink could not be set up
			out = append(out, append(row, status, int64(0), int64(0), int64(0), nil, message(t.Err), instant(t.Since)))
			continue
		}
		p := j.Sink.Log.Pending()
		out = append(out, append(row, status, int64(p.Epochs), p.Rows, p.Bytes, instant(p.Oldest), message(t.Err), instant(t.Since)))
	}
	return out
}

// showRows sets up a SHOW of such rows.
func showRows(rows func(*sql.Show) [][]types.Datum, sh *sql.Show) func(*table) error {
	return func(t *table) error {
		for _, r := range rows(sh) {
			t.add(r...)
		}
		return nil
	}
}

// shown reports whether FROM and LIKE of a SHOW, if there are any, let an object
// through.
func shown(h *catalog.Head, sh *sql.Show) bool {
	return sh == nil || (sh.From == nil || sh.From.Name == h.Schema) && (!sh.HasLike || likeMatch(h.Name, sh.Like))
}
