package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/streamdb/streamdb/pgerr"
)

// reader reads one statement of our own. It keeps a copy of the statement's
// text in which it overwrites with blanks what the grammar does not know; the
// grammar is only ever shown text of the same length, so that all its locations
// stay true.
type reader struct {
	text      string  // the whole query text
	t         []token // the statement's tokens
	base, end int     // the statement's span in text
	buf       []byte
	conv      *converter
	work      int // bytes of text prepared for fragments so far
}

// The bounds of a statement of our own. A fragment costs time in proportion to
// the whole statement, and STRUCT<STRUCT<... recurses.
const (
	maxFragmentWork = 128 << 20 // bytes
	maxStructDepth  = 100
)

// parseOne parses one statement, native or ours.
func parseOne(text string, t []token) (Parsed, *pgerr.Error) {
	p := spanOf(text, t)
	c := &converter{text: text, base: p.Start}
	r := &reader{text: text, t: t, base: p.Start, end: p.End, buf: []byte(p.Text), conv: c}
	kind := recognise(t)
	if e := r.inner(); e != nil {
		return p, e
	}
	if kind == nativeStatement || kind == extendedNative {
		n, e := r.grammar(len(r.buf))
		if e != nil {
			return p, e
		}
		if n == nil {
			return p, r.fail(0)
		}
		return finish(c, n, text, r.t)
	}
	stmt, e := r.explained(kind)
	if e != nil {
		return p, e
	}
	e = settle(c, &p, stmt, r.t)
	return p, e
}

// explained reads the statement, behind EXPLAIN if there is one.
func (r *reader) explained(kind statementKind) (Stmt, *pgerr.Error) {
	head := explainHead(r.t)
	if head == 0 {
		return r.statement(kind)
	}
	n, e := r.fragment("", 0, head, " SELECT 1")
	if e != nil {
		return nil, e
	}
	out, ok := r.conv.stmt(n, At{int32(r.base)}).(*Explain)
	if !ok {
		return nil, r.fail(0)
	}
	r.blank(r.base, r.t[head-1].end)
	r.t = r.t[head:]
	if out.Stmt, e = r.statement(kind); e != nil {
		return nil, e
	}
	switch out.Stmt.(type) {
	case *CreateMaterializedView, *CreateSink, *CreateTable, *Subscribe, *RunningView:
		return out, nil
	}
	return nil, r.fail(0)
}

func (r *reader) statement(kind statementKind) (Stmt, *pgerr.Error) {
	switch kind {
	case createSource, createTable:
		return r.relation(kind == createTable)
	case createSink:
		return r.sink()
	case createMatView:
		return r.matView()
	case createSecret:
		return r.secret()
	case createConnection:
		return r.connection()
	case dropOwn:
		return r.drop()
	case alterOwn:
		return r.alter()
	case subscribeStatement:
		return r.subscribe(0, len(r.t))
	case copySubscribe:
		return r.copySubscribe()
	case declareSubscribe:
		return r.declareSubscribe()
	case showStatement:
		return r.show()
	case describeStatement:
		return r.describe()
	case runningView:
		n, i, e := r.name(2)
		if e != nil {
			return nil, e
		}
		return &RunningView{r.at(0), n}, r.done(i)
	case checkStatement:
		return r.check()
	case flushStatement:
		return &Flush{r.at(0)}, r.done(1)
	}
	return r.cancel()
}

// at is the place of token i.
func (r *reader) at(i int) At {
	if i < len(r.t) {
		return At{int32(r.t[i].start)}
	}
	return At{int32(r.end)}
}

// fail is a syntax error at token i.
func (r *reader) fail(i int) *pgerr.Error {
	if i >= len(r.t) {
		return pgerr.New(pgerr.SyntaxError, "syntax error at end of input").At(PosToChar(r.text, r.end))
	}
	k := r.t[i]
	return pgerr.New(pgerr.SyntaxError, "syntax error at or near \"%s\"", r.text[k.start:k.end]).At(PosToChar(r.text, k.start))
}

// done fails unless token i is the end.
func (r *reader) done(i int) *pgerr.Error {
	if i < len(r.t) {
		return r.fail(i)
	}
	return nil
}

// blank overwrites the bytes from a to b of the whole text; line breaks stay.
func (r *reader) blank(a, b int) {
	for i := max(0, a-r.base); i < b-r.base && i < len(r.buf); i++ {
		if r.buf[i] != '\n' {
			r.buf[i] = ' '
		}
	}
}

// put writes s over what stands at a; s must be no longer than that.
func (r *reader) put(a int, s string) { copy(r.buf[a-r.base:], s) }

// grammar parses the first n bytes of the statement's blanked text; nil if they
// hold no statement.
func (r *reader) grammar(n int) (*pg.Node, *pgerr.Error) {
	tree, e := callGrammar(string(r.buf[:n]), r.base, r.text)
	if e != nil || len(tree.Stmts) == 0 {
		return nil, e
	}
	return tree.Stmts[0].Stmt, nil
}

// fragment parses tokens i to j alone, between prefix and suffix. Errors at the
// suffix are moved to the next real token.
func (r *reader) fragment(prefix string, i, j int, suffix string) (*pg.Node, *pgerr.Error) {
	if i >= j || j > len(r.t) {
		return nil, r.fail(min(j, len(r.t)))
	}
	if r.work += r.end - r.base; r.work > maxFragmentWork {
		return nil, tooComplex().At(PosToChar(r.text, r.t[i].start))
	}
	a, b := r.t[i].start-r.base, r.t[j-1].end-r.base
	if len(prefix) > a {
		return nil, r.fail(i)
	}
	src := make([]byte, 0, b+len(suffix))
	for _, c := range r.buf[:a] {
		if c != '\n' {
			c = ' '
		}
		src = append(src, c)
	}
	copy(src[a-len(prefix):], prefix)
	src = append(append(src, r.buf[a:b]...), suffix...)
	tree, e := callGrammar(string(src), r.base, r.text)
	if e != nil {
		if suffix != "" && e.Pos >= PosToChar(r.text, r.base+b) || strings.HasSuffix(e.Msg, "at end of input") {
			return nil, r.fail(j)
		}
		return nil, e
	}
	if len(tree.Stmts) != 1 {
		return nil, r.fail(i)
	}
	return tree.Stmts[0].Stmt, nil
}

// expr reads tokens i to j as an expression. The brackets around it matter:
// without them INTERVAL '5' seconds would pass as a value with an alias.
func (r *reader) expr(i, j int) (Expr, *pgerr.Error) {
	n, e := r.fragment("SELECT (", i, j, ")")
	if e != nil {
		return nil, e
	}
	s := n.GetSelectStmt()
	if s == nil || len(s.TargetList) != 1 || s.FromClause != nil || s.WhereClause != nil || s.Op != pg.SetOperation_SETOP_NONE {
		return nil, r.fail(i)
	}
	return r.conv.expr(s.TargetList[0].GetResTarget().Val), nil
}

// query reads tokens i to j as a query.
func (r *reader) query(i, j int) (*Select, *pgerr.Error) {
	n, e := r.fragment("", i, j, "")
	if e != nil {
		return nil, e
	}
	if n.GetSelectStmt() == nil {
		return nil, r.fail(i)
	}
	return r.conv.query(n, r.at(i)), nil
}

// typeName reads tokens i to j as a type.
func (r *reader) typeName(i, j int) (*TypeName, *pgerr.Error) {
	n, e := r.fragment("SELECT NULL::", i, j, "")
	if e != nil {
		return nil, e
	}
	s := n.GetSelectStmt()
	if s == nil || len(s.TargetList) != 1 || s.TargetList[0].GetResTarget().GetName() != "" {
		return nil, r.fail(i)
	}
	cast := s.TargetList[0].GetResTarget().Val.GetTypeCast()
	if cast == nil {
		return nil, r.fail(i)
	}
	return r.conv.typeName(cast.TypeName), nil
}

// name reads a qualified name at token i and returns the index behind it.
func (r *reader) name(i int) (Name, int, *pgerr.Error) {
	start := i
	var parts []string
	for {
		if !isName(r.t, i) {
			return Name{}, i, r.fail(i)
		}
		parts = append(parts, r.t[i].val)
		if i++; !isOp(r.t, i, ".") {
			break
		}
		i++
	}
	if len(parts) > 3 {
		return Name{}, i, pgerr.New(pgerr.SyntaxError, "improper qualified name (too many dotted names): %s", strings.Join(parts, ".")).
			At(PosToChar(r.text, r.t[start].start))
	}
	return r.conv.name(parts, r.at(start)), i, nil
}

// ifNotExists skips IF NOT EXISTS at token i.
func (r *reader) ifNotExists(i int) (int, bool) {
	if isWords(r.t, i, "if", "not", "exists") {
		return i + 3, true
	}
	return i, false
}

// nameList reads (a, b, c) at token i.
func (r *reader) nameList(i int) ([]string, int, *pgerr.Error) {
	var out []string
	for {
		i++
		if !isName(r.t, i) {
			return nil, i, r.fail(i)
		}
		out = append(out, r.t[i].val)
		i++
		if isOp(r.t, i, ")") {
			return out, i + 1, nil
		}
		if !isOp(r.t, i, ",") {
			return nil, i, r.fail(i)
		}
	}
}

// stringValue returns the value of the string constant at token i.
func (r *reader) stringValue(i int) (string, *pgerr.Error) {
	if !isString(r.t, i) {
		return "", r.fail(i)
	}
	s := r.t[i].val
	if s[0] == '$' {
		tag := strings.IndexByte(s[1:], '$') + 2
		return s[tag : len(s)-tag], nil
	}
	if s[0] == '\'' {
		inner := s[1 : len(s)-1]
		if plain := strings.ReplaceAll(inner, "''", ""); strings.IndexByte(plain, '\'') < 0 {
			return strings.ReplaceAll(inner, "''", "'"), nil
		}
	}
	x, e := r.expr(i, i+1)
	if l, ok := x.(*Literal); e == nil && ok {
		return l.Text, nil
	}
	return "", e
}
