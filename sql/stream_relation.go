package sql

import "github.com/streamdb/streamdb/pgerr"

// generated is a column declared as name [type] AS expr.
type generated struct {
	expr    Expr
	untyped bool
}

// columnParts holds what the grammar does not know of columns, by their places.
type columnParts struct {
	generated map[int32]generated
	paths     map[int32]*Path
}

// relation reads CREATE SOURCE, and CREATE TABLE with clauses of ours.
func (r *reader) relation(table bool) (Stmt, *pgerr.Error) {
	a := r.at(0)
	i := createHead(r.t)
	replace := isWord(r.t, 1, "or")
	if replace {
		r.blank(r.t[1].start, r.t[2].end)
	}
	if !table {
		r.put(r.t[i].start, "TABLE ")
	}
	temp := i > 1 && isOneOf(r.t, i-1, "temp", "temporary")
	i, exists := r.ifNotExists(i + 1)
	name, i, e := r.name(i)
	if e != nil {
		return nil, e
	}
	out := &CreateTable{At: a, Name: name, OrReplace: replace, IfNotExists: exists, Temp: temp}
	if isOp(r.t, i, "(") {
		end := closing(r.t, i)
		if end == len(r.t) {
			return nil, r.fail(end)
		}
		if e = r.columns(out, i, end); e != nil {
			return nil, e
		}
		i = end + 1
	}
	if e = r.relationTail(out, i, table); e != nil {
		return nil, e
	}
	if table {
		return out, nil
	}
	return &CreateSource{At: a, Name: name, OrReplace: replace, IfNotExists: exists, Temp: temp, RelationDef: out.RelationDef}, nil
}

// columns reads the column list between the brackets at open and end.
func (r *reader) columns(out *CreateTable, open, end int) *pgerr.Error {
	parts := columnParts{map[int32]generated{}, map[int32]*Path{}}
	kept := false
	for a := open + 1; a < end || a > open+1; {
		b := min(end, findTop(r.t[:end], a, func(i int) bool { return isOp(r.t, i, ",") }))
		if a == b && a == end && a == open+1 {
			break
		}
		if a == b {
			return r.fail(b)
		}
		keep, e := r.element(out, parts, a, b)
		if e != nil {
			return e
		}
		if !keep {
			r.blank(r.t[a].start, r.t[b-1].end)
		}
		// The comma before an element stays only if something precedes it.
		if a > open+1 && !(keep && kept) {
			r.blank(r.t[a-1].start, r.t[a-1].end)
		}
		kept = kept || keep
		if b == end {
			break
		}
		a = b + 1
	}
	n, e := r.grammar(r.t[end].end - r.base)
	if e != nil {
		return e
	}
	s := n.GetCreateStmt()
	if s == nil {
		return r.fail(open)
	}
	t := r.conv.createTable(s, out.At)
	out.Columns, out.Constraints, out.Like, out.Unlogged = t.Columns, t.Constraints, t.Like, t.Unlogged
	for i := range out.Columns {
		out.Columns[i].Path = parts.paths[out.Columns[i].Pos]
		if g, ok := parts.generated[out.Columns[i].Pos]; ok {
			out.Columns[i].Generated = g.expr
			if g.untyped {
				out.Columns[i].Type = nil
			}
		}
	}
	return nil
}

// element reads tokens a to b of the column list. keep says that the grammar
// shall see what is left of it.
func (r *reader) element(out *CreateTable, parts columnParts, a, b int) (keep bool, e *pgerr.Error) {
	switch {
	case isWords(r.t, a, "watermark", "for"):
		w := Watermark{At: r.at(a)}
		if a+2 >= b || !isName(r.t, a+2) {
			return false, r.fail(a + 2)
		}
		w.Column = r.t[a+2].val
		if a+3 < b {
			if !isWord(r.t, a+3, "as") {
				return false, r.fail(a + 3)
			}
			if w.Expr, e = r.expr(a+4, b); e != nil {
				return false, e
			}
		}
		out.Watermarks = append(out.Watermarks, w)
		return false, nil
	case isOp(r.t, a, "*") && b == a+1:
		out.Wildcard = true
		return false, nil
	}
	as := findTop(r.t[:b], a+1, func(i int) bool {
		return isWord(r.t, i, "as") && !isWord(r.t, i-1, "always") && !isWord(r.t, i-1, "default")
	})
	if as < b {
		if e = r.generatedColumn(parts.generated, a, as, b); e != nil {
			return false, e
		}
	}
	for i := a; i+1 < b; i++ {
		if isWords(r.t, i, "not", "enforced") {
			r.blank(r.t[i].start, r.t[i+1].end)
		}
	}
	return true, r.columnPath(parts.paths, a, b)
}

// columnPath reads name type PATH 'text'. PATH is a type of PostgreSQL's too, so
// DEFAULT path '...' is none of ours.
func (r *reader) columnPath(paths map[int32]*Path, a, b int) *pgerr.Error {
	i := findTop(r.t[:b], a+2, func(i int) bool {
		return isWord(r.t, i, "path") && isString(r.t, i+1) && !isWord(r.t, i-1, "default")
	})
	if i >= b-1 {
		return nil
	}
	text, e := r.stringValue(i + 1)
	if e != nil {
		return e
	}
	paths[int32(r.t[a].start)] = &Path{r.at(i + 1), text}
	r.blank(r.t[i].start, r.t[i+1].end)
	return nil
}

// generatedColumn reads name [type] AS expr [STORED]; the AS stands at as. A
// column without a type gets one for the grammar's sake, which is taken away
// again.
func (r *reader) generatedColumn(gen map[int32]generated, a, as, b int) *pgerr.Error {
	end := findTop(r.t[:b], as+1, func(i int) bool { return i > as+1 && r.endsGenerated(i) })
	x, e := r.expr(as+1, end)
	if e != nil {
		return e
	}
	last := end
	if isOneOf(r.t, end, "stored", "virtual") && end < b {
		last++
	}
	r.blank(r.t[as].start, r.t[last-1].end)
	if as == a+1 {
		r.put(r.t[as].start, "int")
	}
	gen[int32(r.t[a].start)] = generated{x, as == a+1}
	return nil
}

// endsGenerated reports whether token i begins what may follow a generated
// column's expression: STORED or a constraint.
func (r *reader) endsGenerated(i int) bool {
	return isOneOf(r.t, i, "stored", "virtual", "constraint", "unique") || isWords(r.t, i, "primary", "key") ||
		isWords(r.t, i, "not", "null") && !isWord(r.t, i-1, "is") || isWord(r.t, i, "check") && isOp(r.t, i+1, "(")
}

// relationTail reads what follows the column list.
func (r *reader) relationTail(out *CreateTable, i int, table bool) *pgerr.Error {
	var e *pgerr.Error
	for i < len(r.t) {
		switch {
		case isWord(r.t, i, "include"):
			i, e = r.include(out, i)
		case isWord(r.t, i, "with") && out.Options == nil:
			out.Options, i, e = r.withOptions(i)
		case isWord(r.t, i, "format") && out.Format == nil:
			out.Format, i, e = r.format(i)
		case isWords(r.t, i, "append", "only"):
			out.AppendOnly = true
			i += 2
		case isWords(r.t, i, "on", "conflict"):
			i, e = r.onConflict(out, i+2)
		case table && isWord(r.t, i, "from") && out.FromSource == nil:
			i, e = r.fromSource(out, i+1)
		case table && isWord(r.t, i, "as") && len(out.Columns) == 0:
			out.Query, e = r.query(i+1, len(r.t))
			i = len(r.t)
		default:
			e = r.fail(i)
		}
		if e != nil {
			return e
		}
	}
	return nil
}

var includeWords = map[string]bool{"key": true, "partition": true, "offset": true, "timestamp": true, "header": true, "headers": true,
	"payload": true, "file": true, "database_name": true, "schema_name": true, "table_name": true}

// include reads INCLUDE what ['inner'] [type] [AS name] at token i.
func (r *reader) include(out *CreateTable, i int) (int, *pgerr.Error) {
	in := Include{At: r.at(i)}
	i++
	if i >= len(r.t) || r.t[i].kind != tokWord || !includeWords[r.t[i].val] {
		return i, r.fail(i)
	}
	in.What = r.t[i].val
	var e *pgerr.Error
	if i++; isString(r.t, i) {
		if in.Inner, e = r.stringValue(i); e != nil {
			return i, e
		}
		i++
	}
	end := findTop(r.t, i, func(k int) bool {
		return isOneOf(r.t, k, "as", "include", "format", "append", "on", "from") || isWord(r.t, k, "with") && isOp(r.t, k+1, "(")
	})
	if end > i {
		if in.Type, e = r.typeName(i, end); e != nil {
			return i, e
		}
		i = end
	}
	if isWord(r.t, i, "as") {
		if !isName(r.t, i+1) {
			return i, r.fail(i + 1)
		}
		in.As = r.t[i+1].val
		i += 2
	}
	out.Includes = append(out.Includes, in)
	return i, nil
}

// onConflict reads the policy of ON CONFLICT at token i.
func (r *reader) onConflict(out *CreateTable, i int) (int, *pgerr.Error) {
	switch {
	case isOneOf(r.t, i, "overwrite", "ignore"):
		out.OnConflict = r.t[i].val
		return i + 1, nil
	case isWords(r.t, i, "do", "nothing"):
		out.OnConflict = "ignore"
		return i + 2, nil
	case isWords(r.t, i, "do", "update", "if", "not", "null"):
		out.OnConflict = "do update if not null"
		return i + 5, nil
	case isWords(r.t, i, "do", "update"):
		out.OnConflict = "overwrite"
		return i + 2, nil
	}
	return i, r.fail(i)
}

// fromSource reads FROM source [TABLE 'name'].
func (r *reader) fromSource(out *CreateTable, i int) (int, *pgerr.Error) {
	n, i, e := r.name(i)
	if e != nil {
		return i, e
	}
	out.FromSource = &n
	if isWord(r.t, i, "table") {
		if out.FromTable, e = r.stringValue(i + 1); e != nil {
			return i, e
		}
		i += 2
	}
	return i, nil
}
