package sql

import "github.com/streamdb/streamdb/pgerr"

// Parse reads all statements of a query text. Either all of them parse or an
// error is returned; errors are *pgerr.Error with a position in the whole text.
// An empty text has no statements.
func Parse(text string) ([]Parsed, error) {
	return nil, pgerr.Unsupported("parsing", "")
}

// Format writes a statement as SQL that parses to an equal tree.
func Format(s Stmt) string { return "" }

// FormatExpr writes an expression as SQL that parses to an equal tree.
func FormatExpr(e Expr) string { return "" }

// QuoteIdent writes a name so that it is read back unchanged.
func QuoteIdent(s string) string { return s }

// QuoteLiteral writes a string constant.
func QuoteLiteral(s string) string { return s }
