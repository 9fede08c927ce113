package engine

import (
	"context"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
)

// resume starts the failed job of o again. Runner.DDL is held.
func (s *Session) resume(ctx context.Context, o catalog.Object) error {
	kept, err := s.eng.Resume(ctx, o)
	if err != nil {
		return err
	}
	if kept != nil {
		s.tellKept(kept)
	}
	s.tellFailed(o.Header().OID)
	return nil
}

// tellFailed says which jobs that read an object are still failed.
func (s *Session) tellFailed(oid uint32) {
	var names []string
	for _, o := range s.eng.Catalog.Current().DropOrder(oid) {
		j := s.eng.JobOf(o.Header().OID)
		if _, index := o.(*catalog.Index); !index && j != nil && o.Header().OID != oid && j.Err() != nil {
			names = append(names, o.Kind().String()+" "+j.Name())
		}
	}
	if len(names) > 0 {
		s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "what reads it is still failed: %s", strings.Join(names, ", ")).
			WithHint("Resume each of them, those that read others last."))
	}
}
