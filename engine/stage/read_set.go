package stage

import (
	"slices"
)

// ReadSet is what a serializable transaction has read of stored relations, which
// must not change before it commits.
type ReadSet struct {
	Whole map[uint32]WholeRead         // by OID
	Rows  map[uint32]map[string][]byte // of tables, by OID and storage key; nil: no such row
}

// WholeRead is a relation that was read by more than its whole key.
type WholeRead struct {
	Store uint32
	Clock uint64 // of the oldest snapshot that was read
	Table bool
}

// Relations are the OIDs of what was read.
func (rs *ReadSet) Relations() []uint32 {
	var out []uint32
	for rel := range rs.Whole {
		out = append(out, rel)
	}
	for rel := range rs.Rows {
		if _, ok := rs.Whole[rel]; !ok {
			out = append(out, rel)
		}
	}
	slices.Sort(out)
	return out
}

// ReadConflict means that what a serializable transaction has read has changed.
type ReadConflict struct{}

func (ReadConflict) Error() string { return "engine: what the transaction has read has changed" }

// Is makes it a conflict: a statement alone runs again.
func (ReadConflict) Is(err error) bool { return err == ErrConflict }

// Touched reports whether writes have changed a table in this epoch, or may have.
func Touched(o *Overlay) bool { return o != nil && len(o.Vals)+len(o.Count) > 0 }
