package sql

import (
	"fmt"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// inner cuts out the extensions that stand inside queries and column lists: FOR
// SYSTEM_TIME AS OF, STRUCT<...> and the TABLE of TUMBLE(TABLE t, ...).
func (r *reader) inner() *pgerr.Error {
	for i := 0; i < len(r.t); i++ {
		if r.t[i].kind != tokWord {
			continue
		}
		var e *pgerr.Error
		switch r.t[i].val {
		case "system_time":
			if isWord(r.t, i-1, "for") {
				i, e = r.systemTime(i - 1)
			}
		case "struct":
			if structAt(r.t, i) {
				e = r.structType(i, 0)
			}
		case "tumble", "hop", "cumulate", "session":
			if isOp(r.t, i+1, "(") && isWord(r.t, i+2, "table") && isName(r.t, i+3) {
				r.blank(r.t[i+2].start, r.t[i+2].end)
				r.cut(i+2, i+3)
			}
		}
		if e != nil {
			return e
		}
	}
	return nil
}

// cut takes tokens i to j out of the reader's own copy of the tokens.
func (r *reader) cut(i, j int) {
	r.t = append(append(make([]token, 0, len(r.t)), r.t[:i]...), r.t[j:]...)
}

// systemTime reads FOR SYSTEM_TIME AS OF operand, whose FOR is token i, keeps it
// under the place of the table before it, and returns the index to go on from.
func (r *reader) systemTime(i int) (int, *pgerr.Error) {
	if !isWords(r.t, i+2, "as", "of") {
		return i, r.fail(i + 2)
	}
	end, e := r.operands(i + 4)
	if e != nil {
		return i, e
	}
	x, e := r.expr(i+4, end)
	if e != nil {
		return i, e
	}
	if !isName(r.t, i-1) {
		return i, r.fail(i)
	}
	name := i - 1
	for isOp(r.t, name-1, ".") && isName(r.t, name-2) {
		name -= 2
	}
	if r.conv.asOf == nil {
		r.conv.asOf = map[int32]Expr{}
	}
	r.conv.asOf[int32(r.t[name].start)] = x
	r.blank(r.t[i].start, r.t[end-1].end)
	r.cut(i, end)
	return i - 1, nil
}

// operands returns the end of the expression at token i: constants, calls, casts
// and bracketed expressions joined by + and -. What follows may be an alias, so
// the expression cannot simply run on.
func (r *reader) operands(i int) (int, *pgerr.Error) {
	for {
		switch {
		case i >= len(r.t):
			return i, r.fail(i)
		case isOp(r.t, i, "("):
			i = closing(r.t, i) + 1
		case isWord(r.t, i, "interval") && isString(r.t, i+1):
			if i += 2; isOneOf(r.t, i, "year", "month", "day", "hour", "minute", "second") {
				i++
			}
		case r.t[i].kind == tokString, r.t[i].kind == tokNumber, r.t[i].kind == tokParam:
			i++
		case isName(r.t, i):
			i++
			for isOp(r.t, i, ".") && isName(r.t, i+1) {
				i += 2
			}
			if isOp(r.t, i, "(") {
				i = closing(r.t, i) + 1
			} else if isString(r.t, i) { // timestamp '...'
				i++
			}
		default:
			return i, r.fail(i)
		}
		for isOp(r.t, i, "::") && isName(r.t, i+1) {
			i += 2
		}
		if i > len(r.t) {
			return len(r.t), r.fail(len(r.t))
		}
		if !isOp(r.t, i, "+") && !isOp(r.t, i, "-") {
			return i, nil
		}
		i++
	}
}

// structType reads STRUCT<name type, ...> at token i, keeps its fields under its
// place, and leaves a made-up type name of the same length to the grammar. A >>
// token may close two of them, so angle brackets are counted in bytes.
func (r *reader) structType(i, depth int) *pgerr.Error {
	if depth > maxStructDepth {
		return tooComplex().At(PosToChar(r.text, r.t[i].start))
	}
	a := r.t[i].start
	out := &TypeName{At: At{int32(a)}, Name: "struct"}
	field, par := i+2, 0
	for j := i + 2; j < len(r.t); j++ {
		par += nesting(r.t, j)
		if structAt(r.t, j) && par == 0 {
			if e := r.structType(j, depth+1); e != nil {
				return e
			}
			continue
		}
		closes := r.t[j].kind == tokOp && strings.HasPrefix(r.t[j].val, ">")
		if par != 0 || !closes && !isOp(r.t, j, ",") {
			continue
		}
		f, e := r.structField(field, j)
		if e != nil {
			return e
		}
		out.Fields = append(out.Fields, f)
		field = j + 1
		if closes {
			r.leaveStruct(i, j, out)
			return nil
		}
	}
	return r.fail(len(r.t))
}

// structField reads tokens i to j as name type.
func (r *reader) structField(i, j int) (StructField, *pgerr.Error) {
	if !isName(r.t, i) || i+1 >= j {
		return StructField{}, r.fail(min(i+1, j))
	}
	t, e := r.typeName(i+1, j)
	return StructField{r.t[i].val, t}, e
}

// leaveStruct replaces tokens i to j, the latter beginning with the closing >, by
// a type name; what is left of the closing token stays.
func (r *reader) leaveStruct(i, j int, s *TypeName) {
	if r.conv.structs == nil {
		r.conv.structs = map[int32]*TypeName{}
	}
	a, close := r.t[i].start, r.t[j]
	r.conv.structs[int32(a)] = s
	name := fmt.Sprintf("_s%d", len(r.conv.structs))
	r.blank(a, close.start+1)
	r.put(a, name)
	rest := r.t[j+1:]
	toks := append(make([]token, 0, len(r.t)), r.t[:i]...)
	toks = append(toks, token{tokWord, a, a + len(name), name})
	if close.end > close.start+1 {
		toks = append(toks, token{tokOp, close.start + 1, close.end, close.val[1:]})
	}
	r.t = append(toks, rest...)
}
