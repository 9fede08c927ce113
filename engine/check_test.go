package engine

import (
	"strings"
	"testing"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// spoil changes what is stored of a view behind its job's back.
func spoil(t *testing.T, e *Engine, view string, w int64, row ...types.Datum) {
	t.Helper()
	v := e.Catalog.Current().In(catalog.DatabaseOID).Get("public", view).(*catalog.MatView)
	b := state.NewRowBatch(v.OID)
	c := vec.NewChunk(stage.ColumnTypes(v.Columns), 1)
	c.AppendRow(1, row...)
	b.Add(vec.AppendRow(nil, c, nil, 0), w)
	if err := e.Commit(&state.Commit{Epoch: e.NextEpoch(), Rows: []*state.RowBatch{b}}); err != nil {
		t.Fatal(err)
	}
}

// CHECK finds rows that are missing, too many, and counted wrongly, and errors
// that do not belong to a row; LIMIT bounds what it tells.
func TestCheckReportsDifferences(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int, b text)")
	c.exec("INSERT INTO t VALUES (1, 'x'), (1, 'x'), (2, NULL), (0, 'z')")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT 6 / a AS q, b FROM t")
	c.want("CHECK MATERIALIZED VIEW v", "")
	spoil(t, e, "v", 1, int32(6), "x")
	spoil(t, e, "v", -1, int32(3), nil)
	spoil(t, e, "v", 2, int32(9), "new")
	want := "row|(3, null)|1|0\nrow|(6, x)|2|3\nrow|(9, new)|0|2"
	c.want("CHECK MATERIALIZED VIEW v", want)
	c.want("CHECK MATERIALIZED VIEW v LIMIT 1", "row|(3, null)|1|0")
	c.want("CHECK MATERIALIZED VIEW v LIMIT 0", "")
	if n := c.l.Notices[len(c.l.Notices)-1]; n != "materialized view \"v\" differs from its query in 3 rows" {
		t.Fatalf("notice: %s", n)
	}
	b := state.NewRowBatch(jobs.ErrorTablesOf(e.Catalog.Current(), catalog.DatabaseOID)[jobs.ViewErrors])
	b.Add(jobs.EncodedRow(jobs.ViewErrorTypes, "v", "22012", "division by zero", "(7, y)", "0.1"), 1)
	if err := e.Commit(&state.Commit{Epoch: e.NextEpoch(), Rows: []*state.RowBatch{b}}); err != nil {
		t.Fatal(err)
	}
	got := c.query("CHECK MATERIALIZED VIEW v")
	if last := got[len(got)-1]; !strings.HasPrefix(last, "error|(v, 22012, division by zero, (7, y))|0|1") {
		t.Fatalf("got %s", last)
	}
}
