package catalog

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// Sequence is a sequence generator. What it has given out so far is no part of the
// catalog.
type Sequence struct {
	Head
	Type      types.T `json:"type"`
	Start     int64   `json:"start"`
	Increment int64   `json:"increment"`
	Min       int64   `json:"min"`
	Max       int64   `json:"max"`
	Cache     int64   `json:"cache"`
	Cycle     bool    `json:"cycle,omitempty"`
	// OwnedTable and OwnedColumn are the column that the sequence goes away with.
	// Identity: it belongs to an identity column.
	OwnedTable  uint32 `json:"owned_table,omitempty"`
	OwnedColumn string `json:"owned_column,omitempty"`
	Identity    bool   `json:"identity,omitempty"`
}

// Kind returns KindSequence.
func (*Sequence) Kind() Kind { return KindSequence }

// Dependencies returns the table that owns the sequence.
func (s *Sequence) Dependencies() []uint32 {
	if s.OwnedTable != 0 {
		return []uint32{s.OwnedTable}
	}
	return nil
}

var sequenceColumns = []Column{
	{Name: "last_value", Type: types.TInt8, NotNull: true},
	{Name: "log_cnt", Type: types.TInt8, NotNull: true},
	{Name: "is_called", Type: types.TBool, NotNull: true},
}

// Cols are the columns of the sequence read as a relation of one row.
func (*Sequence) Cols() []Column { return sequenceColumns }

// Limits returns the bounds of a sequence's type.
func SequenceLimits(t types.T) (lo, hi int64) {
	switch t.ID {
	case types.Int2:
		return math.MinInt16, math.MaxInt16
	case types.Int4:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// SequenceSource is what a server tells of its sequences.
type SequenceSource interface {
	// SequenceState returns the value last given out, or the first to be given out
	// if called is false.
	SequenceState(oid uint32) (last int64, called bool)
}

// NextValueText is the default that takes a sequence's next value. It names the
// sequence by OID, so that renaming does not matter.
func NextValueText(oid uint32) string {
	return "nextval('" + strconv.FormatUint(uint64(oid), 10) + "'::regclass)"
}

var sequenceUse = regexp.MustCompile(`nextval\('(\d+)'::regclass\)`)

// SequencesUsed returns the OIDs of the sequences that a default reads.
func SequencesUsed(text string) []uint32 {
	var out []uint32
	for _, m := range sequenceUse.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.ParseUint(m[1], 10, 32); err == nil {
			out = append(out, uint32(n))
		}
	}
	return out
}

// DefaultText is a column's default as PostgreSQL shows it: a string has the type
// that it was read as, and sequences have names.
func (s *Snapshot) DefaultText(c *Column, path []string) string {
	if !strings.Contains(c.Default, "nextval") {
		return c.defaultText()
	}
	return sequenceUse.ReplaceAllStringFunc(c.Default, func(use string) string {
		o := s.byOID[SequencesUsed(use)[0]]
		if o == nil {
			return use
		}
		name := sql.QuoteIdent(o.Header().Name)
		if !s.Visible(o.Header().OID, path) {
			name = sql.QuoteIdent(o.Header().Schema) + "." + name
		}
		return "nextval(" + sql.QuoteLiteral(name) + "::regclass)"
	})
}

// Sequences returns the sequences that a table owns, in OID order.
func (s *Snapshot) Sequences(table uint32) []*Sequence {
	var out []*Sequence
	for _, d := range s.Dependents(table) {
		if q, ok := d.(*Sequence); ok {
			out = append(out, q)
		}
	}
	return out
}

// OwnedSequence returns the sequence of a serial or identity column, or nil.
func (s *Snapshot) OwnedSequence(table uint32, column string) *Sequence {
	for _, q := range s.Sequences(table) {
		if q.OwnedColumn == column {
			return q
		}
	}
	return nil
}

// FreeName returns a name for an object that belongs to a column, as PostgreSQL
// makes it: parts cut to fit, and numbered until no relation of the schema has it.
func (s *Snapshot) FreeName(schema, table, column, suffix string, taken func(string) bool) string {
	for n := 0; ; n++ {
		tail := "_" + suffix
		if n > 0 {
			tail += strconv.Itoa(n)
		}
		name := ObjectName(table, column, tail)
		if s.Get(schema, name) == nil && (taken == nil || !taken(name)) {
			return name
		}
	}
}

// maxName is the longest name of an object in bytes.
const maxName = 63

// ObjectName joins names and a tail, cutting the longer of the names until the
// whole fits.
func ObjectName(table, column, tail string) string {
	sep := 0
	if column != "" {
		sep = 1
	}
	for len(table)+sep+len(column)+len(tail) > maxName {
		if len(table) > len(column) {
			table = table[:len(table)-1]
		} else {
			column = column[:len(column)-1]
		}
	}
	if sep > 0 {
		table += "_" + column
	}
	return strings.ToValidUTF8(table, "") + tail
}

func sequenceDefs() []def {
	return []def{
		{"pg_catalog.pg_sequence", "seqrelid seqtypid seqstart seqincrement seqmax seqmin seqcache seqcycle", func(c *Context, r *rows) {
			for _, q := range All[*Sequence](c.Snapshot) {
				r.add(q.OID, q.Type.OID(), q.Start, q.Increment, q.Max, q.Min, q.Cache, q.Cycle)
			}
		}},
		{"pg_catalog.pg_sequences", "schemaname sequencename sequenceowner data_type start_value min_value max_value increment_by " +
			"cycle cache_size last_value", func(c *Context, r *rows) {
			state, _ := c.Server.(SequenceSource)
			for _, q := range All[*Sequence](c.Snapshot) {
				var last any
				if state != nil {
					if v, called := state.SequenceState(q.OID); called {
						last = v
					}
				}
				r.add(q.Schema, q.Name, c.Snapshot.RoleName(q.Owner), q.Type.OID(), q.Start, q.Min, q.Max, q.Increment, q.Cycle, q.Cache, last)
			}
		}},
		{"information_schema.sequences", "sequence_catalog sequence_schema sequence_name data_type numeric_precision " +
			"numeric_precision_radix numeric_scale start_value minimum_value maximum_value increment cycle_option", func(c *Context, r *rows) {
			text := func(n int64) string { return strconv.FormatInt(n, 10) }
			for _, q := range All[*Sequence](c.Snapshot) {
				if q.Identity {
					continue
				}
				f := facetsOf(q.Type)
				r.add(database(c), q.Schema, q.Name, dataType(q.Type), f.precision, 2, 0, text(q.Start), text(q.Min), text(q.Max), text(q.Increment), yesNo(q.Cycle))
			}
		}},
	}
}
