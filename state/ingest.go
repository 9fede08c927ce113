package state

import "context"

func (t *tx) ingest(ctx context.Context) error { return t.batch() }
