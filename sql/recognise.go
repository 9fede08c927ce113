package sql

// statementKind says which reader a statement needs.
type statementKind uint8

const (
	nativeStatement statementKind = iota
	extendedNative                // PostgreSQL's, with FOR SYSTEM_TIME, STRUCT<> or TUMBLE(TABLE ...) inside
	createSource
	createTable
	createSink
	createMatView
	createSecret
	createConnection
	dropOwn
	alterOwn
	subscribeStatement
	copySubscribe
	declareSubscribe
	showStatement
	describeStatement
	flushStatement
	cancelStatement
	checkStatement
	runningView
)

// recognise tells by its leading words who reads a statement. A statement that
// PostgreSQL's grammar takes must never be recognised as ours, else our words
// would be reserved.
func recognise(t []token) statementKind {
	head := explainHead(t)
	if k := leading(t[head:]); k != nativeStatement {
		return k
	}
	if head > 0 && isWords(t, head, "materialized", "view") {
		return runningView
	}
	for i := range t {
		if t[i].kind != tokWord {
			continue
		}
		switch t[i].val {
		case "system_time":
			if isWord(t, i-1, "for") {
				return extendedNative
			}
		case "struct":
			if structAt(t, i) {
				return extendedNative
			}
		case "tumble", "hop", "cumulate", "session":
			if isOp(t, i+1, "(") && isWord(t, i+2, "table") {
				return extendedNative
			}
		}
	}
	return nativeStatement
}

// explainHead returns the number of tokens of EXPLAIN and its options.
func explainHead(t []token) int {
	if !isWord(t, 0, "explain") {
		return 0
	}
	i := 1
	if isOp(t, i, "(") {
		i = closing(t, i) + 1
	}
	for isOneOf(t, i, "analyze", "analyse", "verbose") {
		i++
	}
	return min(i, len(t))
}

var ownObjects = map[string]statementKind{
	"source": createSource, "sink": createSink, "secret": createSecret, "connection": createConnection,
}

// leading recognises a statement by its first words.
func leading(t []token) statementKind {
	if len(t) == 0 || t[0].kind != tokWord {
		return nativeStatement
	}
	switch t[0].val {
	case "create":
		return leadingCreate(t)
	case "drop", "alter":
		if t[0].val == "alter" && resumesView(t) {
			return alterOwn
		}
		if len(t) > 1 && t[1].kind == tokWord && ownObjects[t[1].val] != 0 {
			if t[0].val == "drop" {
				return dropOwn
			}
			return alterOwn
		}
	case "subscribe":
		return subscribeStatement
	case "copy":
		if isOp(t, 1, "(") && isWord(t, 2, "subscribe") {
			return copySubscribe
		}
	case "declare":
		if subscribeOfCursor(t) < len(t) {
			return declareSubscribe
		}
	case "show":
		if len(t) > 1 && t[1].kind == tokWord && showLists[t[1].val] {
			return showStatement
		}
	case "describe", "desc":
		return describeStatement
	case "flush":
		return flushStatement
	case "cancel":
		return cancelStatement
	case "check":
		return checkStatement
	}
	return nativeStatement
}

// resumesView tells ALTER MATERIALIZED VIEW [IF EXISTS] name RESUME or PAUSE.
func resumesView(t []token) bool {
	if !isWords(t, 1, "materialized", "view") {
		return false
	}
	i := 3
	if isWords(t, i, "if", "exists") {
		i += 2
	}
	for i++; isOp(t, i, "."); i += 2 {
	}
	return isOneOf(t, i, "resume", "pause")
}

// createHead skips CREATE [OR REPLACE] [TEMP] and returns the index of the
// object's word.
func createHead(t []token) int {
	i := 1
	if isWords(t, i, "or", "replace") {
		i += 2
	}
	for isOneOf(t, i, "temp", "temporary", "unlogged", "local", "global") {
		i++
	}
	return i
}

func leadingCreate(t []token) statementKind {
	i := createHead(t)
	if i >= len(t) || t[i].kind != tokWord {
		return nativeStatement
	}
	if k := ownObjects[t[i].val]; k != 0 {
		return k
	}
	switch {
	case isWords(t, i, "materialized", "view"):
		return createMatView
	case t[i].val == "table" && (isWord(t, 1, "or") || streamTable(t, i+1)):
		return createTable
	}
	return nativeStatement
}

// subscribeOfCursor returns the index of SUBSCRIBE in DECLARE c CURSOR FOR
// SUBSCRIBE, or len(t).
func subscribeOfCursor(t []token) int {
	for i := 2; i < len(t) && i < 12; i++ {
		if isWord(t, i, "for") && isWord(t, i-1, "hold") || isWords(t, i-1, "cursor", "for") {
			if isWord(t, i+1, "subscribe") {
				return i + 1
			}
			break
		}
	}
	return len(t)
}

// streamTable reports whether CREATE TABLE, whose name begins at token i, has a
// clause that PostgreSQL lacks.
func streamTable(t []token, i int) bool {
	depth := 0
	for ; i < len(t); i++ {
		d := nesting(t, i)
		if d != 0 {
			depth += d
			continue
		}
		switch depth {
		case 0:
			if t[i].kind != tokWord || isOp(t, i-1, ".") {
				continue
			}
			switch t[i].val {
			case "as":
				return false
			case "append":
				if isWord(t, i+1, "only") {
					return true
				}
			case "on":
				if isWord(t, i+1, "conflict") {
					return true
				}
			case "include", "format", "from":
				if i+1 < len(t) && isName(t, i+1) && isName(t, i-1) || isOp(t, i-1, ")") {
					return true
				}
			case "with":
				if isOp(t, i+1, "(") && streamOptions(t[i+1:closing(t, i+1)]) {
					return true
				}
			}
		case 1:
			if streamElement(t, i) {
				return true
			}
		}
	}
	return false
}

// streamElement reports whether token i, directly inside the column list, begins
// something of ours.
func streamElement(t []token, i int) bool {
	begins := isOp(t, i-1, "(") || isOp(t, i-1, ",")
	switch {
	case begins && isWords(t, i, "watermark", "for"):
		return true
	case begins && isOp(t, i, "*"):
		return true
	case isWord(t, i, "as"):
		return !begins && !isWord(t, i-1, "always") && !isWord(t, i-1, "default")
	case isWords(t, i, "not", "enforced"):
		return true
	}
	return false
}

// streamOptions reports whether WITH (...) has an option that is no storage
// parameter of PostgreSQL.
func streamOptions(t []token) bool {
	for i := range t {
		if isWord(t, i, "connector") || isWord(t, i, "secret") || isOp(t, i, ".") ||
			isString(t, i) && isOp(t, i+1, "=") {
			return true
		}
	}
	return false
}

// structAt reports whether a STRUCT<name type ...> type begins at token i; a
// column named struct that is compared with < has no name and type behind it.
func structAt(t []token, i int) bool {
	if !isWord(t, i, "struct") || !isOp(t, i+1, "<") || !isName(t, i+2) || !isName(t, i+3) {
		return false
	}
	return t[i+3].kind == tokIdent || !isOneOf(t, i+3, "and", "or", "is", "in", "like", "ilike", "similar", "not", "between",
		"then", "else", "end", "from", "where", "as", "group", "having", "window", "order", "limit", "offset", "fetch",
		"for", "union", "intersect", "except", "collate", "at", "isnull", "notnull", "asc", "desc", "when", "returning")
}
