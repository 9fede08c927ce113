package sql

import (
	"errors"
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"

	"github.com/streamdb/streamdb/pgerr"
)

// Parse reads all statements of a query text. Either all of them parse or an
// error is returned; errors are *pgerr.Error with a position in the whole text.
// An empty text has no statements. A statement whose syntax is PostgreSQL's but
// which StreamDB lacks becomes *Unsupported, with its error inside. The result
// shares memory with text.
func Parse(text string) ([]Parsed, error) { return caught(text, true) }

// ParseStored is Parse for the definition of an object: it takes also what the grammar
// of later versions does and PostgreSQL 15 refuses (strict.go), since definitions may
// have been written before that was refused here.
func ParseStored(text string) ([]Parsed, error) { return caught(text, false) }

func caught(text string, strict bool) (out []Parsed, err error) {
	defer func() { // a fault of ours in one client's text must not end the others' sessions
		if r := recover(); r != nil {
			out, err = nil, pgerr.New(pgerr.Internal, "internal error in the parser: %v", r)
		}
	}()
	return parse(text, strict)
}

// parse is Parse without the net for panics.
func parse(text string, strict bool) (out []Parsed, err error) {
	if i := invalidUTF8(text); i >= 0 {
		return nil, pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x%02x", text[i])
	}
	toks, lexErr := lex(text)
	parts := split(toks)
	foreign := false
	for _, t := range parts {
		if e := guard(text, t); e != nil {
			return nil, e
		}
		foreign = foreign || recognise(t) != nativeStatement
	}
	if lexErr != nil {
		return nil, wordLexError(text, lexErr)
	}
	if strict {
		if e := checkNumbers(text, toks, !foreign); e != nil {
			return nil, e
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	if len(parts) == 1 {
		if p := plainTransaction(text, parts[0]); p != nil {
			return []Parsed{*p}, nil
		}
	}
	if out, err = parseParts(text, parts, foreign); err != nil || !strict {
		return out, err
	}
	for i := range out {
		if e := out[i].unnamed; e != nil {
			return nil, e
		}
	}
	return out, nil
}

func parseParts(text string, parts [][]token, foreign bool) (out []Parsed, err error) {
	if !foreign {
		return parseNative(text, parts)
	}
	for _, t := range parts { // one after the other, so that each reader sees only its own text
		p, e := parseOne(text, t)
		if e != nil {
			return nil, e
		}
		out = append(out, p)
	}
	return out, nil
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or of a
// zero byte; -1 if there is none.
func invalidUTF8(s string) int {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return i
	}
	if utf8.ValidString(s) {
		return -1
	}
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && w == 1 {
			return i
		}
		i += w
	}
	return -1
}

// wordLexError words an unterminated token as PostgreSQL's scanner does.
func wordLexError(text string, l *lexError) error {
	return pgerr.New(pgerr.SyntaxError, "%s at or near \"%s\"", l.msg, text[l.pos:]).At(PosToChar(text, l.pos))
}

// parseNative parses a text that is all PostgreSQL's in one call.
func parseNative(text string, parts [][]token) ([]Parsed, error) {
	tree, e := callGrammar(text, 0, text)
	if e != nil {
		return nil, e
	}
	if len(tree.Stmts) != len(parts) {
		return nil, pgerr.New(pgerr.Internal, "the text splits into %d statements, the grammar found %d", len(parts), len(tree.Stmts))
	}
	out := make([]Parsed, len(parts))
	for i, t := range parts {
		p, e := finish(&converter{text: text}, tree.Stmts[i].Stmt, text, t)
		if e != nil {
			return nil, e
		}
		out[i] = p
	}
	return out, nil
}

// finish converts one native statement whose tokens are t.
func finish(c *converter, n *pg.Node, text string, t []token) (Parsed, *pgerr.Error) {
	p := spanOf(text, t)
	stmt := c.stmt(n, At{int32(p.Start)})
	if e := settle(c, &p, stmt, t); e != nil {
		return p, e
	}
	setQueryText(p.Stmt, text, t)
	return p, nil
}

func spanOf(text string, t []token) Parsed {
	start, end := t[0].start, t[len(t)-1].end
	return Parsed{Text: text[start:end], Start: start, End: end}
}

// settle puts the statement into p: itself, or an *Unsupported.
func settle(c *converter, p *Parsed, stmt Stmt, t []token) *pgerr.Error {
	if u := c.unnamed; u != nil {
		p.unnamed = u.error(c.text, t)
	}
	p.Stmt, p.NumParams, p.Far = stmt, c.maxParam, c.far
	if c.err == nil {
		return nil
	}
	if c.err.Code != pgerr.FeatureNotSupported {
		return c.err
	}
	p.Stmt = &Unsupported{At: At{int32(p.Start)}, What: c.what, Hint: c.err.Hint, Err: c.err}
	return nil
}

// callGrammar hands src, which stands for text[base:], to PostgreSQL's grammar.
// src must have passed the guard.
func callGrammar(src string, base int, text string) (*pg.ParseResult, *pgerr.Error) {
	tree, err := pg.Parse(src)
	if err == nil {
		return tree, nil
	}
	var pe *parser.Error
	if !errors.As(err, &pe) { // the tree was too deep to decode
		return nil, tooComplex()
	}
	e := grammarError(pe.Message)
	if pe.Cursorpos > 0 {
		off := 0
		for n := 1; n < pe.Cursorpos && off < len(src); n++ {
			_, w := utf8.DecodeRuneInString(src[off:])
			off += w
		}
		e = e.At(PosToChar(text, base+off))
		unicodeEscape(e, src[off:])
	}
	return nil, e
}
