package catalog

import (
	"cmp"
	"slices"
)

// FKAction is what becomes of rows whose referenced row goes away or gets another
// key, as pg_constraint has it.
type FKAction byte

// The actions of foreign keys.
const (
	FKNoAction   FKAction = 'a'
	FKRestrict   FKAction = 'r'
	FKCascade    FKAction = 'c'
	FKSetNull    FKAction = 'n'
	FKSetDefault FKAction = 'd'
)

// FKActionOf returns the action that SQL calls word; empty: NO ACTION.
func FKActionOf(word string) FKAction {
	switch word {
	case "RESTRICT":
		return FKRestrict
	case "CASCADE":
		return FKCascade
	case "SET NULL":
		return FKSetNull
	case "SET DEFAULT":
		return FKSetDefault
	}
	return FKNoAction
}

// String is the action as it stands in SQL.
func (a FKAction) String() string {
	switch a {
	case FKRestrict:
		return "RESTRICT"
	case FKCascade:
		return "CASCADE"
	case FKSetNull:
		return "SET NULL"
	case FKSetDefault:
		return "SET DEFAULT"
	}
	return "NO ACTION"
}

// ForeignKey is a FOREIGN KEY constraint of a table. Columns are named by their
// numbers, see ColumnNumber, so that others may come and go. It does not make the
// table depend on the one it references, since it goes alone when that is dropped.
type ForeignKey struct {
	OID  uint32 `json:"oid"`
	Name string `json:"name"`
	// Columns of the table reference RefColumns of the table Table, which have the
	// unique key Index: the OID of a unique index, or of the key rows are stored by.
	Columns    []int  `json:"columns"`
	Table      uint32 `json:"table"`
	RefColumns []int  `json:"ref_columns"`
	Index      uint32 `json:"index"`

	MatchFull bool     `json:"match_full,omitempty"`
	OnDelete  FKAction `json:"on_delete"`
	OnUpdate  FKAction `json:"on_update"`
	// SetColumns are those that ON DELETE SET NULL and SET DEFAULT set; nil: all.
	SetColumns []int  `json:"set_columns,omitempty"`
	Deferrable bool   `json:"deferrable,omitempty"`
	Deferred   bool   `json:"deferred,omitempty"` // INITIALLY DEFERRED
	NotValid   bool   `json:"not_valid,omitempty"`
	Comment    string `json:"comment,omitempty"`
}

// Reference is a foreign key with the table that has it.
type Reference struct {
	*ForeignKey
	Child *Table
}

// References returns the foreign keys to a table, in OID order; nil: none.
func (s *Snapshot) References(oid uint32) []Reference {
	var out []Reference
	for _, c := range s.children[oid] {
		t, ok := s.byOID[c].(*Table)
		if !ok {
			continue
		}
		for i := range t.ForeignKeys {
			if t.ForeignKeys[i].Table == oid {
				out = append(out, Reference{&t.ForeignKeys[i], t})
			}
		}
	}
	slices.SortFunc(out, func(a, b Reference) int { return cmp.Compare(a.OID, b.OID) })
	return out
}

// addReferences takes note of the tables that t references.
func (s *Snapshot) addReferences(t *Table) {
	for i := range t.ForeignKeys {
		if p := t.ForeignKeys[i].Table; !slices.Contains(s.children[p], t.OID) {
			s.children[p] = append(slices.Clip(s.children[p]), t.OID)
		}
	}
}

// removeReferences forgets that t references tables.
func (s *Snapshot) removeReferences(t *Table) {
	for i := range t.ForeignKeys {
		p := t.ForeignKeys[i].Table
		if s.children[p] = without(s.children[p], t.OID); s.children[p] == nil {
			delete(s.children, p)
		}
	}
}

// ColumnPositions returns the positions of the columns with these numbers.
func ColumnPositions(cs []Column, numbers []int) []int {
	out := make([]int, len(numbers))
	for i, n := range numbers {
		out[i] = ColumnNumbered(cs, n)
	}
	return out
}
