package wire

import (
	"slices"
	"time"

	"github.com/streamdb/streamdb/pgerr"
)

// Statements are a connection's prepared statements by name. The unnamed one
// is not among them. Used by the connection's goroutine only.
type Statements struct {
	byName map[string]*NamedStatement
}

// NamedStatement is a prepared statement with what pg_prepared_statements shows.
type NamedStatement struct {
	Name     string
	Text     string // the whole text of Parse or of the PREPARE statement
	Prepared Prepared
	FromSQL  bool // made by PREPARE
	At       time.Time
}

// Put adds a statement; 42P05 if the name is taken.
func (s *Statements) Put(st *NamedStatement) error {
	if _, ok := s.byName[st.Name]; ok {
		return pgerr.New(pgerr.DuplicatePreparedStatement, "prepared statement \"%s\" already exists", st.Name)
	}
	if s.byName == nil {
		s.byName = map[string]*NamedStatement{}
	}
	s.byName[st.Name] = st
	return nil
}

// Get returns a statement; 26000 if there is none of the name.
func (s *Statements) Get(name string) (*NamedStatement, error) {
	if st, ok := s.byName[name]; ok {
		return st, nil
	}
	return nil, pgerr.New(pgerr.InvalidSQLStatementName, "prepared statement \"%s\" does not exist", name)
}

// Delete closes and forgets a statement and reports whether there was one.
func (s *Statements) Delete(name string) bool {
	st, ok := s.byName[name]
	if ok {
		delete(s.byName, name)
		st.close()
	}
	return ok
}

// Clear closes and forgets all statements.
func (s *Statements) Clear() {
	for _, st := range s.byName {
		st.close()
	}
	clear(s.byName)
}

// List returns the statements in the order of their names.
func (s *Statements) List() []*NamedStatement {
	out := make([]*NamedStatement, 0, len(s.byName))
	for _, st := range s.byName {
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b *NamedStatement) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

func (st *NamedStatement) close() {
	if st.Prepared != nil { // nil: an empty statement
		st.Prepared.Close()
	}
}
