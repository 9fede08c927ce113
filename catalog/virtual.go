package catalog

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Context is what a catalog table may look at while it is scanned.
type Context struct {
	Snapshot *Snapshot
	Session  *expr.Session
	// Server gives tables about the running server (jobs, sessions, settings)
	// what the engine knows; nil outside a server.
	Server any
}

// VirtualTable is a table whose rows are computed when it is scanned. OID is
// below FirstOID, for pg_catalog that of PostgreSQL.
type VirtualTable struct {
	Head
	Columns []Column
	View    bool // a view in PostgreSQL
	// Scan calls emit for every row, with one datum a column in the Go form of
	// its type, and ends with emit's error if there is one. The row is only read
	// until emit returns.
	Scan func(c *Context, emit func(row ...types.Datum) error) error
}

// Kind returns KindVirtual.
func (*VirtualTable) Kind() Kind { return KindVirtual }

// Dependencies: none.
func (*VirtualTable) Dependencies() []uint32 { return nil }

// Cols returns the table's columns.
func (t *VirtualTable) Cols() []Column { return t.Columns }

// Chunks scans the table and passes on the columns cols of its rows in chunks of
// at most vec.MaxRows, which f borrows.
func (t *VirtualTable) Chunks(c *Context, cols []int, f func(*vec.Chunk) error) error {
	ts := make([]types.T, len(cols))
	for i, k := range cols {
		ts[i] = t.Columns[k].Type
	}
	chunk := vec.NewChunk(ts, vec.MaxRows)
	err := t.Scan(c, func(row ...types.Datum) error {
		for i, k := range cols {
			chunk.Cols[i].AppendDatum(row[k])
		}
		chunk.AddWeight(1)
		if chunk.Rows < vec.MaxRows {
			return nil
		}
		err := f(chunk)
		chunk.Reset()
		return err
	})
	if err == nil && chunk.Rows > 0 {
		err = f(chunk)
	}
	return err
}
