package sql

// setQueryText notes the text of the query in the CREATE statements that keep it.
func setQueryText(s Stmt, text string, t []token) {
	if e, ok := s.(*Explain); ok {
		s = e.Stmt
	}
	switch v := s.(type) {
	case *CreateView:
		v.QueryText = queryText(text, t)
	case *CreateMaterializedView:
		v.QueryText = queryText(text, t)
	}
}

// queryText is what follows the first AS outside brackets, without the clauses
// that come after a view's query. Empty for CREATE RECURSIVE VIEW, whose tree is
// another query than its text.
func queryText(text string, t []token) string {
	as := findTop(t, 0, func(i int) bool { return isWord(t, i, "as") })
	if as+1 >= len(t) {
		return ""
	}
	for i := 0; i < as; i++ {
		if isWord(t, i, "recursive") && isWord(t, i+1, "view") {
			return ""
		}
	}
	end := len(t)
	for _, tail := range [][]string{
		{"emit", "on", "window", "close"}, {"with", "no", "data"}, {"with", "data"},
		{"with", "cascaded", "check", "option"}, {"with", "local", "check", "option"}, {"with", "check", "option"},
	} {
		if isWords(t[:end], end-len(tail), tail...) {
			end -= len(tail)
		}
	}
	if end <= as+1 {
		return ""
	}
	return text[t[as+1].start:t[end-1].end]
}
