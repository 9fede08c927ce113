package sql

import (
	"strconv"

	"github.com/streamdb/streamdb/pgerr"
)

// matView reads CREATE [OR REPLACE] MATERIALIZED VIEW. The grammar sees it
// without OR REPLACE, the options and EMIT ON WINDOW CLOSE.
func (r *reader) matView() (Stmt, *pgerr.Error) {
	replace := isWord(r.t, 1, "or")
	if replace {
		r.blank(r.t[1].start, r.t[2].end)
	}
	all, n := r.t, len(r.t)
	emit := n > 4 && isWords(r.t, n-4, "emit", "on", "window", "close")
	if emit {
		r.blank(r.t[n-4].start, r.t[n-1].end)
		r.t = r.t[:n-4]
	}
	i, exists := r.ifNotExists(createHead(r.t) + 2)
	if exists && replace {
		return nil, r.fail(i - 2)
	}
	_, i, e := r.name(i)
	if e != nil {
		return nil, e
	}
	if isOp(r.t, i, "(") {
		i = closing(r.t, i) + 1
	}
	var options []Option
	if isWord(r.t, i, "with") {
		var next int
		if options, next, e = r.withOptions(i); e != nil {
			return nil, e
		}
		r.blank(r.t[i].start, r.t[next-1].end)
	}
	node, e := r.grammar(len(r.buf))
	if e != nil {
		return nil, e
	}
	out, ok := r.conv.stmt(node, r.at(0)).(*CreateMaterializedView)
	if !ok {
		return &Unsupported{At: r.at(0)}, nil
	}
	out.OrReplace, out.EmitOnWindowClose, out.Options = replace, emit, options
	out.QueryText = queryText(r.text, all)
	return out, nil
}

// check reads CHECK MATERIALIZED VIEW name [LIMIT n].
func (r *reader) check() (Stmt, *pgerr.Error) {
	for i, w := range []string{"materialized", "view"} {
		if !isWord(r.t, i+1, w) {
			return nil, r.fail(i + 1)
		}
	}
	out := &Check{At: r.at(0), Limit: -1}
	var i int
	var e *pgerr.Error
	if out.Name, i, e = r.name(3); e != nil || i == len(r.t) {
		return out, e
	}
	if !isWord(r.t, i, "limit") {
		return nil, r.fail(i)
	}
	if i++; i == len(r.t) || r.t[i].kind != tokNumber {
		return nil, r.fail(i)
	}
	n, err := strconv.ParseInt(r.t[i].val, 10, 64)
	if err != nil {
		return nil, r.fail(i)
	}
	out.Limit = n
	return out, r.done(i + 1)
}

// sink reads CREATE SINK name [INTO table (columns)] FROM relation or AS query.
func (r *reader) sink() (Stmt, *pgerr.Error) {
	out := &CreateSink{At: r.at(0), OrReplace: isWord(r.t, 1, "or")}
	i, exists := r.ifNotExists(createHead(r.t) + 1)
	out.IfNotExists = exists
	var e *pgerr.Error
	if out.Name, i, e = r.name(i); e != nil {
		return nil, e
	}
	if isWord(r.t, i, "into") {
		var into Name
		if into, i, e = r.name(i + 1); e != nil {
			return nil, e
		}
		out.Into = &into
	}
	if isOp(r.t, i, "(") {
		if out.Columns, i, e = r.nameList(i); e != nil {
			return nil, e
		}
	}
	if i, e = r.sinkInput(out, i); e != nil {
		return nil, e
	}
	if out.Options, i, e = r.withOptions(i); e != nil {
		return nil, e
	}
	if out.Format, i, e = r.format(i); e != nil {
		return nil, e
	}
	return out, r.done(i)
}

// sinkInput reads FROM relation, or AS query. The query ends at the first WITH (
// outside brackets, since no query has one there, or at FORMAT word ENCODE.
func (r *reader) sinkInput(out *CreateSink, i int) (int, *pgerr.Error) {
	switch {
	case isWord(r.t, i, "from"):
		from, next, e := r.name(i + 1)
		out.From = &from
		return next, e
	case isWord(r.t, i, "as"):
		end := findTop(r.t, i+1, func(k int) bool {
			return isWord(r.t, k, "with") && isOp(r.t, k+1, "(") ||
				isWord(r.t, k, "format") && (isWord(r.t, k+2, "encode") || isOp(r.t, k+2, "("))
		})
		q, e := r.query(i+1, end)
		if e != nil {
			return i, e
		}
		out.Query, out.QueryText = q, r.text[r.t[i+1].start:r.t[end-1].end]
		return end, nil
	}
	return i, r.fail(i)
}

// subscribe reads tokens i to j: SUBSCRIBE [TO] relation or (query) [WITH (...)]
// [AS OF expr] [UP TO expr].
func (r *reader) subscribe(i, j int) (*Subscribe, *pgerr.Error) {
	all := r.t
	r.t = r.t[:j]
	defer func() { r.t = all }()
	out := &Subscribe{At: r.at(i)}
	if i++; isWord(r.t, i, "to") {
		i++
	}
	var e *pgerr.Error
	if isOp(r.t, i, "(") {
		end := closing(r.t, i)
		if out.Query, e = r.query(i+1, min(end, j)); e != nil {
			return nil, e
		}
		if i = end + 1; end >= j {
			return nil, r.fail(j)
		}
	} else {
		var n Name
		if n, i, e = r.name(i); e != nil {
			return nil, e
		}
		out.Relation = &n
	}
	if out.Options, i, e = r.withOptions(i); e != nil {
		return nil, e
	}
	if isWords(r.t, i, "as", "of") {
		end := findTop(r.t, i, func(k int) bool { return isWords(r.t, k, "up", "to") })
		if out.AsOf, e = r.expr(i+2, end); e != nil {
			return nil, e
		}
		i = end
	}
	if isWords(r.t, i, "up", "to") {
		if out.UpTo, e = r.expr(i+2, j); e != nil {
			return nil, e
		}
		i = j
	}
	return out, r.done(i)
}

// copySubscribe reads COPY (SUBSCRIBE ...) TO STDOUT [WITH (options)].
func (r *reader) copySubscribe() (Stmt, *pgerr.Error) {
	end := closing(r.t, 1)
	if !isWords(r.t, end+1, "to", "stdout") {
		return nil, r.fail(end + 1)
	}
	s, e := r.subscribe(2, end)
	if e != nil {
		return nil, e
	}
	out := &Copy{At: r.at(0), Query: s}
	i := end + 3
	if out.Options, i, e = r.withOptions(i); e != nil {
		return nil, e
	}
	return out, r.done(i)
}

// declareSubscribe reads DECLARE name ... CURSOR FOR SUBSCRIBE ...; the grammar
// reads the head, with a query in place of the subscription.
func (r *reader) declareSubscribe() (Stmt, *pgerr.Error) {
	i := subscribeOfCursor(r.t)
	s, e := r.subscribe(i, len(r.t))
	if e != nil {
		return nil, e
	}
	r.blank(r.t[i].start, r.end)
	r.put(r.t[i].start, "SELECT 1")
	n, e := r.grammar(len(r.buf))
	if e != nil {
		return nil, e
	}
	out, ok := r.conv.stmt(n, r.at(0)).(*DeclareCursor)
	if !ok {
		return nil, r.fail(0)
	}
	out.Query, out.Subscribe = nil, s
	return out, nil
}
