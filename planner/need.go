package planner

import (
	"github.com/streamdb/streamdb/catalog"
)

// Need is what a statement needs the right to: privileges on an object of the
// catalog. As is the role that must have them; 0: whoever runs the statement. What a
// view or a function with SECURITY DEFINER reads is its owner's affair.
type Need struct {
	OID   uint32
	As    uint32
	Privs catalog.Privs
	// Columns are those of a relation that each privilege is about, by position: one
	// of the whole relation, or of all of these columns, is enough.
	Columns [4]map[int]bool // SELECT, INSERT, UPDATE, REFERENCES
}

// The places of privileges in Need.Columns.
const (
	NeedSelect = iota
	NeedInsert
	NeedUpdate
	NeedReferences
)

// need notes that the text being bound needs privileges on an object.
func (b *binder) need(oid uint32, p catalog.Privs) *Need {
	as := b.asRole
	for _, n := range b.p.Needs {
		if n.OID == oid && n.As == as {
			n.Privs |= p
			return n
		}
	}
	n := &Need{OID: oid, As: as, Privs: p}
	b.p.Needs = append(b.p.Needs, n)
	return n
}

// column notes a column that a privilege is about.
func (n *Need) column(kind, at int) {
	if n.Columns[kind] == nil {
		n.Columns[kind] = map[int]bool{}
	}
	n.Columns[kind][at] = true
}

// guarded makes reading the columns of an item need SELECT.
func guarded(it *rangeItem, n *Need) *rangeItem {
	for i := range it.cols {
		if !it.cols[i].system {
			it.cols[i].need, it.cols[i].needAt = n, i
		}
	}
	return it
}

// reads notes that the query reads a column.
func (c *scopeCol) reads() {
	if c.need != nil {
		c.need.Privs |= catalog.Select
		c.need.column(NeedSelect, c.needAt)
	}
}

// mayUse refuses names in schemas that the session's role may not look into. Names
// in stored texts were looked up when they were stored.
func (b *binder) mayUse(schema string) error {
	if schema == "" || b.p.Usable == nil || b.views > 0 || len(b.calling) > 0 {
		return nil
	}
	return b.p.Usable(schema)
}
