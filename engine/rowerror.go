package engine

import (
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// errorPolicy is the option on_error of a view or sink.
type errorPolicy uint8

const (
	// onErrorDeadLetter: the row leaves the view and is kept in the error table.
	onErrorDeadLetter errorPolicy = iota
	// onErrorFail: the job stops at its last good epoch.
	onErrorFail
)

// errorSchema is the schema of the error tables.
const errorSchema = "streamdb_catalog"

// The error tables: ordinary relations that jobs write with their epochs.
const (
	errorSchemaOID  uint32 = 14000
	viewErrorsOID   uint32 = 14101 // 14001 and 14002 had no operators
	sourceErrorsOID uint32 = 14102
)

// errorRelations are the built-in schema and tables of errors.
func errorRelations() []catalog.Object {
	text := func(names ...string) (cs []catalog.Column) {
		for _, n := range names {
			cs = append(cs, catalog.Column{Name: n, Type: types.TText})
		}
		return cs
	}
	head := func(oid uint32, name string) catalog.Head {
		return catalog.Head{OID: oid, Schema: errorSchema, Name: name, Owner: catalog.BootstrapOID}
	}
	src := append(text("job", "split", "record_offset"),
		catalog.Column{Name: "record_key", Type: types.TBytea}, catalog.Column{Name: "record_value", Type: types.TBytea})
	return []catalog.Object{
		&catalog.Schema{Head: catalog.Head{OID: errorSchemaOID, Name: errorSchema, Owner: catalog.BootstrapOID, Comment: "errors of jobs",
			ACL: catalog.SystemSchemaACL()}},
		&catalog.Table{Head: head(viewErrorsOID, "view_errors"), Columns: text("job", "sqlstate", "message", "input_row", "operator")},
		&catalog.Table{Head: head(sourceErrorsOID, "source_errors"), Columns: append(src, text("sqlstate", "message", "operator")...)},
	}
}

// errorTypes are the column types of an error table.
func errorTypes(rel uint32) []types.T {
	if rel == viewErrorsOID {
		return viewErrorTypes
	}
	return sourceErrorTypes
}

var (
	viewErrorTypes   = []types.T{types.TText, types.TText, types.TText, types.TText, types.TText}
	sourceErrorTypes = []types.T{types.TText, types.TText, types.TText, types.TBytea, types.TBytea, types.TText, types.TText, types.TText}
)

// rowError keeps a failing input row, with its weight, in the table of view
// errors; the later retraction of the row takes it out again, because the same
// row fails in the same way.
func (t *jobTask) rowError(op int, c *vec.Chunk, i int, w int64, err error) error {
	pe := pgerr.From(err)
	if !dataError(pe.Code) {
		return err
	}
	t.addError(viewErrorsOID, viewErrorRow(t.job.name(), pe, c, i, opAddr{t.frag, op}.String()), w)
	return nil
}

// viewErrorRow is the stored form of the error of row i of c in an operator, which
// is named by its fragment and its number there.
func viewErrorRow(job string, pe *pgerr.Error, c *vec.Chunk, i int, operator string) []byte {
	return encodedRow(viewErrorTypes, job, string(pe.Code), pe.Msg, rowText(c, i), operator)
}

func encodedRow(ts []types.T, row ...types.Datum) []byte {
	c := vec.NewChunk(ts, 1)
	c.AppendRow(1, row...)
	return vec.AppendRow(nil, c, nil, 0)
}

// dataError reports whether an error is a property of the row.
func dataError(c pgerr.Code) bool {
	return strings.HasPrefix(string(c), "22") || strings.HasPrefix(string(c), "21")
}

// badRecord keeps an undecodable record in the table of source errors.
func (t *jobTask) badRecord(b *connector.BadRecord, scan int, fail bool) error {
	pe := pgerr.From(b.Reason)
	if fail || t.job.onError == onErrorFail {
		return pe.WithDetail("Record %s of %s could not be decoded.", b.Offset, b.Split)
	}
	var key, val types.Datum
	if b.Key != nil {
		key = string(b.Key)
	}
	if b.Value != nil {
		val = string(b.Value)
	}
	t.addError(sourceErrorsOID, encodedRow(sourceErrorTypes, t.job.name(), b.Split, b.Offset, key, val, string(pe.Code), pe.Msg, opAddr{t.frag, scan}.String()), 1)
	return nil
}

// addError counts a row of an error table.
func (t *jobTask) addError(rel uint32, row []byte, w int64) {
	k := string(row)
	if t.errs == nil {
		t.errs = map[uint32]map[string]int64{}
	}
	if t.errs[rel] == nil {
		t.errs[rel] = map[string]int64{}
	}
	t.errs[rel][k] += w
}

// errorBatches takes the errors of the epoch as row batches.
func (t *jobTask) errorBatches() (out []*state.RowBatch) {
	for rel, m := range t.errs {
		b := state.NewRowBatch(rel)
		for k, w := range m {
			if w != 0 {
				b.Add([]byte(k), w)
			}
		}
		out = append(out, b)
		delete(t.errs, rel)
	}
	return out
}

// moveErrors adds to a commit that the rows which the job called from has in the
// error tables belong to the job called to; "": that they go.
func (e *Engine) moveErrors(c *state.Commit, from, to string) error {
	sn := e.store.Snapshot()
	defer sn.Close()
	for _, rel := range []uint32{viewErrorsOID, sourceErrorsOID} {
		b, ts := state.NewRowBatch(rel), errorTypes(rel)
		err := eachError(sn, rel, from, func(ch *vec.Chunk, i int) error {
			b.Add(vec.AppendRow(nil, ch, nil, i), -ch.Weight(i))
			if to == "" {
				return nil
			}
			row := make([]types.Datum, len(ch.Cols))
			for k, v := range ch.Cols {
				row[k] = v.Datum(i)
			}
			row[0] = to
			b.Add(encodedRow(ts, row...), ch.Weight(i))
			return nil
		})
		if err != nil {
			return err
		}
		if b.Len() > 0 {
			c.Rows = append(c.Rows, b)
		}
	}
	return nil
}

// eachError calls f for the rows of an error table that a job has put there.
func eachError(sn *state.Snapshot, rel uint32, job string, f func(c *vec.Chunk, i int) error) error {
	return scanRows(sn, rel, errorTypes(rel), formBag, nil, nil, vec.MaxRows, func(ch *vec.Chunk) error {
		for i := range ch.Rows {
			if ch.Cols[0].Datum(i) != job {
				continue
			}
			if err := f(ch, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// rowText shows a row as PostgreSQL's failing row detail does: (1, a, null).
func rowText(c *vec.Chunk, i int) string {
	b := []byte{'('}
	for k, v := range c.Cols {
		if k > 0 {
			b = append(b, ", "...)
		}
		if v.IsNull(i) {
			b = append(b, "null"...)
			continue
		}
		b = types.AppendText(b, v.Type(), v.Datum(i), &types.Options{})
	}
	return string(append(b, ')'))
}
