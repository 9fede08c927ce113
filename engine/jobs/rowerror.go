package jobs

import (
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// ErrorPolicy is the option on_error of a view or sink.
type ErrorPolicy uint8

const (
	// onErrorDeadLetter: the row leaves the view and is kept in the error table.
	onErrorDeadLetter ErrorPolicy = iota
	// OnErrorFail: the job stops at its last good epoch.
	OnErrorFail
)

// ErrorSchema is the schema of the error tables.
const ErrorSchema = "streamdb_catalog"

const errorSchemaOID uint32 = 14000

// errorTables are the OIDs of the error tables of a database: ordinary relations
// that jobs write with their epochs.
type errorTables [2]uint32

// The error tables by what they are about.
const (
	ViewErrors = iota
	sourceErrors
)

var errorTableNames = [2]string{ViewErrors: "view_errors", sourceErrors: "source_errors"}

// ErrorTablesOf finds the error tables of a database.
func ErrorTablesOf(snap *catalog.Snapshot, db uint32) (out errorTables) {
	for k, n := range errorTableNames {
		if o := snap.In(db).Get(ErrorSchema, n); o != nil {
			out[k] = o.Header().OID
		}
	}
	return out
}

// errorRelations are the built-in schema of errors and its tables in the databases
// that are there from the start. Until the end of November 2026 those of the main
// one were 14001 and 14002.
func errorRelations() []catalog.Object {
	out := []catalog.Object{&catalog.Schema{Head: catalog.Head{OID: errorSchemaOID, Name: ErrorSchema, Owner: catalog.BootstrapOID, Comment: "errors of jobs",
		ACL: catalog.SystemSchemaACL()}}}
	for _, db := range catalog.InitialDatabases {
		first := 14110 + 2*db
		if db == catalog.DatabaseOID {
			first = 14101
		}
		for k, o := range ErrorRelationsOf(db) {
			o.Header().OID = first + uint32(k)
			out = append(out, o)
		}
	}
	return out
}

// ErrorRelationsOf makes the error tables of a database, without OIDs.
func ErrorRelationsOf(db uint32) []catalog.Object {
	text := func(names ...string) (cs []catalog.Column) {
		for _, n := range names {
			cs = append(cs, catalog.Column{Name: n, Type: types.TText})
		}
		return cs
	}
	head := func(kind int) catalog.Head {
		return catalog.Head{Database: db, Schema: ErrorSchema, Name: errorTableNames[kind], Owner: catalog.BootstrapOID}
	}
	src := append(text("job", "split", "record_offset"),
		catalog.Column{Name: "record_key", Type: types.TBytea}, catalog.Column{Name: "record_value", Type: types.TBytea})
	return []catalog.Object{
		&catalog.Table{Head: head(ViewErrors), Columns: text("job", "sqlstate", "message", "input_row", "operator")},
		&catalog.Table{Head: head(sourceErrors), Columns: append(src, text("sqlstate", "message", "operator")...)},
	}
}

// errorTypes are the column types of the error tables.
var errorTypes = [2][]types.T{ViewErrors: ViewErrorTypes, sourceErrors: sourceErrorTypes}

var (
	ViewErrorTypes   = []types.T{types.TText, types.TText, types.TText, types.TText, types.TText}
	sourceErrorTypes = []types.T{types.TText, types.TText, types.TText, types.TBytea, types.TBytea, types.TText, types.TText, types.TText}
)

// rowError keeps a failing input row, with its weight, in the table of view
// errors; the later retraction of the row takes it out again, because the same
// row fails in the same way.
func (t *jobTask) rowError(op int, c *vec.Chunk, i int, w int64, err error) error {
	pe := pgerr.From(err)
	if !DataError(pe.Code) {
		return err
	}
	t.addError(ViewErrors, viewErrorRow(t.job.Name(), pe, c, i, opAddr{t.frag, op}.String()), w)
	return nil
}

// viewErrorRow is the stored form of the error of row i of c in an operator, which
// is named by its fragment and its number there.
func viewErrorRow(job string, pe *pgerr.Error, c *vec.Chunk, i int, operator string) []byte {
	return EncodedRow(ViewErrorTypes, job, string(pe.Code), pe.Msg, RowText(c, i), operator)
}

// EncodedRow is a row in its exact form.
func EncodedRow(ts []types.T, row ...types.Datum) []byte {
	c := vec.NewChunk(ts, 1)
	c.AppendRow(1, row...)
	return vec.AppendRow(nil, c, nil, 0)
}

// DataError reports whether an error is a property of the row. Those of class 23 are
// of values that are not in a domain.
func DataError(c pgerr.Code) bool {
	return strings.HasPrefix(string(c), "22") || strings.HasPrefix(string(c), "21") || c == pgerr.NotNullViolation || c == pgerr.CheckViolation
}

// badRecord keeps an undecodable record in the table of source errors.
func (t *jobTask) badRecord(b *connector.BadRecord, scan int, fail bool) error {
	pe := pgerr.From(b.Reason)
	if fail || t.job.onError == OnErrorFail {
		return pe.WithDetail("Record %s of %s could not be decoded.", b.Offset, b.Split)
	}
	var key, val types.Datum
	if b.Key != nil {
		key = string(b.Key)
	}
	if b.Value != nil {
		val = string(b.Value)
	}
	t.addError(sourceErrors, EncodedRow(sourceErrorTypes, t.job.Name(), b.Split, b.Offset, key, val, string(pe.Code), pe.Msg, opAddr{t.frag, scan}.String()), 1)
	return nil
}

// addError counts a row of an error table.
func (t *jobTask) addError(kind int, row []byte, w int64) {
	k, rel := string(row), t.job.errors[kind]
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

// RenameErrors adds to a commit that the errors of a job belong to its new name.
func (e *Runner) RenameErrors(c *state.Commit, j *Job, to string) error {
	return e.moveErrors(c, j.errors, j.Name(), to)
}

// moveErrors adds to a commit that the rows which the job called from has in the
// error tables of its database belong to the job called to; "": that they go.
func (e *Runner) moveErrors(c *state.Commit, tables errorTables, from, to string) error {
	sn := e.Store.Snapshot()
	defer sn.Close()
	for kind, rel := range tables {
		b, ts := state.NewRowBatch(rel), errorTypes[kind]
		err := EachError(sn, rel, ts, from, func(ch *vec.Chunk, i int) error {
			b.Add(vec.AppendRow(nil, ch, nil, i), -ch.Weight(i))
			if to == "" {
				return nil
			}
			row := make([]types.Datum, len(ch.Cols))
			for k, v := range ch.Cols {
				row[k] = v.Datum(i)
			}
			row[0] = to
			b.Add(EncodedRow(ts, row...), ch.Weight(i))
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

// EachError calls f for the rows of an error table, with columns of types ts, that a
// job has put there.
func EachError(sn *state.Snapshot, rel uint32, ts []types.T, job string, f func(c *vec.Chunk, i int) error) error {
	return stage.ScanRows(sn, rel, ts, stage.FormBag, nil, nil, vec.MaxRows, func(ch *vec.Chunk) error {
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

// RowText shows a row as PostgreSQL's failing row detail does: (1, a, null).
func RowText(c *vec.Chunk, i int) string {
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
