package engine

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// outsideBlocks refuses a statement that PostgreSQL does not run in a transaction
// block, nor as one of several in a text.
func (s *Session) outsideBlocks(st *statement) error {
	if what := standsAlone(st.Stmt); what != "" && (s.tx.block || st.part) {
		return pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot run inside a transaction block", what)
	}
	return nil
}

// standsAlone names a statement as PostgreSQL does where it refuses it in a block;
// empty: it can stand in one.
func standsAlone(st sql.Stmt) string {
	switch st := st.(type) {
	case *sql.Vacuum:
		if !st.Analyze {
			return "VACUUM"
		}
	case *sql.CreateIndex:
		if st.Concurrently {
			return "CREATE INDEX CONCURRENTLY"
		}
	case *sql.Drop:
		if st.Concurrently {
			return "DROP INDEX CONCURRENTLY"
		}
	case *sql.Reindex:
		switch {
		case st.Concurrently:
			return "REINDEX CONCURRENTLY"
		case st.Kind == "schema" || st.Kind == "database" || st.Kind == "system":
			return "REINDEX " + strings.ToUpper(st.Kind)
		}
	case *sql.Cluster:
		if st.Table == nil {
			return "CLUSTER"
		}
	case *sql.Discard:
		if strings.EqualFold(st.What, "all") {
			return "DISCARD ALL"
		}
	case *sql.DatabaseStmt:
		if st.Verb != "ALTER" {
			return st.Verb + " DATABASE"
		}
	}
	return ""
}
