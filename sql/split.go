package sql

// isWord reports whether token i is the unquoted word w.
func isWord(t []token, i int, w string) bool {
	return i >= 0 && i < len(t) && t[i].kind == tokWord && t[i].val == w
}

// isWords reports whether the unquoted words ws stand from token i on.
func isWords(t []token, i int, ws ...string) bool {
	for k, w := range ws {
		if !isWord(t, i+k, w) {
			return false
		}
	}
	return true
}

// isOneOf reports whether token i is one of the unquoted words ws.
func isOneOf(t []token, i int, ws ...string) bool {
	for _, w := range ws {
		if isWord(t, i, w) {
			return true
		}
	}
	return false
}

// isOp reports whether token i is the operator or punctuation op.
func isOp(t []token, i int, op string) bool {
	return i >= 0 && i < len(t) && t[i].kind == tokOp && t[i].val == op
}

// isName reports whether token i can be a name.
func isName(t []token, i int) bool {
	return i >= 0 && i < len(t) && (t[i].kind == tokWord || t[i].kind == tokIdent)
}

// isString reports whether token i is a string constant.
func isString(t []token, i int) bool { return i >= 0 && i < len(t) && t[i].kind == tokString }

// nesting returns how token i changes the depth of brackets.
func nesting(t []token, i int) int {
	switch {
	case isOp(t, i, "("), isOp(t, i, "["):
		return 1
	case isOp(t, i, ")"), isOp(t, i, "]"):
		return -1
	}
	return 0
}

// closing returns the index of the bracket that closes the one at i, or len(t).
func closing(t []token, i int) int {
	depth := 0
	for ; i < len(t); i++ {
		if depth += nesting(t, i); depth == 0 {
			return i
		}
	}
	return len(t)
}

// findTop returns the index of the first token from i on for which match is
// true outside brackets, or len(t).
func findTop(t []token, i int, match func(int) bool) int {
	depth := 0
	for ; i < len(t); i++ {
		if depth == 0 && match(i) {
			return i
		}
		depth += nesting(t, i)
	}
	return len(t)
}

// split cuts the tokens at semicolons outside brackets; the body of BEGIN ATOMIC
// ... END stays whole. Empty statements are left out.
func split(t []token) [][]token {
	var out [][]token
	depth, atomic, start := 0, 0, 0
	for i := range t {
		switch {
		case t[i].kind == tokOp:
			depth = max(0, depth+nesting(t, i))
			if depth == 0 && atomic == 0 && t[i].val == ";" {
				if i > start {
					out = append(out, t[start:i])
				}
				start = i + 1
			}
		case t[i].kind != tokWord:
		case t[i].val == "atomic" && isWord(t, i-1, "begin"):
			atomic = 1
		case atomic > 0 && t[i].val == "case":
			atomic++
		case atomic > 0 && t[i].val == "end":
			atomic--
		}
	}
	if start < len(t) {
		out = append(out, t[start:])
	}
	return out
}
