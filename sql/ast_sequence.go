package sql

// SequenceOption is an option of a sequence or an identity column. Name is as in
// PostgreSQL's grammar: as, increment, minvalue, maxvalue, start, restart, cache,
// cycle, owned_by, sequence_name, and for ALTER COLUMN generated.
type SequenceOption struct {
	At
	Name string
	// Value is the number; empty with NO MINVALUE, NO MAXVALUE and bare RESTART, and
	// for the options that have none. Of generated it is ALWAYS or BY DEFAULT.
	Value string
	Off   bool // NO CYCLE
	Type  *TypeName
	// Names are those of OWNED BY and SEQUENCE NAME, in parts.
	Names []string
}

// CreateSequence is CREATE SEQUENCE.
type CreateSequence struct {
	At
	Name        Name
	IfNotExists bool
	Temp        bool
	Options     []SequenceOption
}

// AlterSequence is ALTER SEQUENCE with options.
type AlterSequence struct {
	At
	Name     Name
	IfExists bool
	Options  []SequenceOption
}

func (*CreateSequence) stmtNode() {}
func (*AlterSequence) stmtNode()  {}
