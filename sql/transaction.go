package sql

// plainTransaction reads a statement that is a word without more, as clients send
// around every transaction; PostgreSQL's grammar would take a call to C and a copy
// of the tree. nil: it is something else.
func plainTransaction(text string, t []token) *Parsed {
	if len(t) != 1 || t[0].kind != tokWord {
		return nil
	}
	p := spanOf(text, t)
	at := At{int32(p.Start)}
	switch t[0].val {
	case "begin":
		p.Stmt = &Begin{At: at}
	case "commit", "end":
		p.Stmt = &Commit{At: at}
	case "rollback", "abort":
		p.Stmt = &Rollback{At: at}
	default:
		return nil
	}
	return &p
}
