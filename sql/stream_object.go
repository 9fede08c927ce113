package sql

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// secret reads CREATE SECRET name [WITH (...)] AS 'value'.
func (r *reader) secret() (Stmt, *pgerr.Error) {
	out := &CreateSecret{At: r.at(0)}
	i, exists := r.ifNotExists(createHead(r.t) + 1)
	out.IfNotExists = exists
	var e *pgerr.Error
	if out.Name, i, e = r.name(i); e != nil {
		return nil, e
	}
	if out.Options, i, e = r.withOptions(i); e != nil {
		return nil, e
	}
	if !isWord(r.t, i, "as") {
		return nil, r.fail(i)
	}
	if out.Value, e = r.stringValue(i + 1); e != nil {
		return nil, e
	}
	return out, r.done(i + 2)
}

// connection reads CREATE CONNECTION name WITH (...).
func (r *reader) connection() (Stmt, *pgerr.Error) {
	out := &CreateConnection{At: r.at(0)}
	i, exists := r.ifNotExists(createHead(r.t) + 1)
	out.IfNotExists = exists
	var e *pgerr.Error
	if out.Name, i, e = r.name(i); e != nil {
		return nil, e
	}
	if !isWord(r.t, i, "with") {
		return nil, r.fail(i)
	}
	if out.Options, i, e = r.withOptions(i); e != nil {
		return nil, e
	}
	return out, r.done(i)
}

// asView writes VIEW over the object's word at token 1, since views have the
// same DROP and ALTER statements.
func (r *reader) asView() string {
	k := r.t[1]
	r.blank(k.start, k.end)
	r.put(k.start, "VIEW")
	return k.val
}

func (r *reader) drop() (Stmt, *pgerr.Error) {
	kind := r.asView()
	n, e := r.grammar(len(r.buf))
	if e != nil {
		return nil, e
	}
	out, ok := r.conv.stmt(n, r.at(0)).(*Drop)
	if !ok {
		return nil, r.fail(1)
	}
	out.Kind = kind
	return out, nil
}

// alter reads ALTER SOURCE and its kin; actions that views lack are read here.
func (r *reader) alter() (Stmt, *pgerr.Error) {
	i, what := 2, r.t[1].val
	if what == "materialized" {
		i, what = 3, "materialized view"
	}
	exists := isWords(r.t, i, "if", "exists")
	if exists {
		i += 2
	}
	name, i, e := r.name(i)
	if e != nil {
		return nil, e
	}
	out := &Alter{At: r.at(0), Kind: what, Name: name, IfExists: exists}
	switch {
	case isWord(r.t, i, "set") && isOp(r.t, i+1, "("):
		act := AlterAction{At: r.at(i), Kind: AlterSetOptions}
		if act.Options, i, e = r.optionList(i + 1); e != nil {
			return nil, e
		}
		out.Actions = []AlterAction{act}
		return out, r.done(i)
	case isWord(r.t, i, "resume"):
		out.Actions = []AlterAction{{At: r.at(i), Kind: AlterResume}}
		return out, r.done(i + 1)
	case isOneOf(r.t, i, "refresh", "format", "pause"):
		out.Actions = []AlterAction{{At: r.at(i), Kind: AlterOther, Text: r.text[r.t[i].start:r.end]}}
		return out, nil
	}
	kind := r.asView()
	n, e := r.grammar(len(r.buf))
	if e != nil {
		return nil, e
	}
	got, ok := r.conv.stmt(n, r.at(0)).(*Alter)
	if !ok {
		return nil, r.fail(1)
	}
	got.Kind = kind
	return got, nil
}

// showLists has the first words of our SHOW statements; none is a setting.
var showLists = map[string]bool{
	"sources": true, "sinks": true, "tables": true, "views": true, "materialized": true, "jobs": true, "indexes": true,
	"schemas": true, "databases": true, "connections": true, "secrets": true, "functions": true, "columns": true,
	"create": true, "internal": true, "cursors": true, "subscriptions": true, "backups": true,
}

// show reads SHOW list [FROM schema] [LIKE 'pattern'] and SHOW CREATE kind name.
func (r *reader) show() (Stmt, *pgerr.Error) {
	out := &Show{At: r.at(0), What: r.t[1].val}
	i := 2
	var e *pgerr.Error
	switch out.What {
	case "create":
		return r.showCreate(out)
	case "materialized", "internal":
		second := map[string]string{"materialized": "views", "internal": "tables"}[out.What]
		if !isWord(r.t, i, second) {
			return nil, r.fail(i)
		}
		out.What += " " + second
		i++
	case "columns":
		if !isOneOf(r.t, i, "from", "in") {
			return nil, r.fail(i)
		}
	}
	if isOneOf(r.t, i, "from", "in") {
		var n Name
		if n, i, e = r.name(i + 1); e != nil {
			return nil, e
		}
		out.From = &n
	}
	if isWord(r.t, i, "like") {
		if out.Like, e = r.stringValue(i + 1); e != nil {
			return nil, e
		}
		out.HasLike = true
		i += 2
	}
	return out, r.done(i)
}

func (r *reader) showCreate(out *Show) (Stmt, *pgerr.Error) {
	i := 2
	if isWord(r.t, i, "materialized") {
		out.Kind = "materialized "
		if i++; !isWord(r.t, i, "view") {
			return nil, r.fail(i)
		}
	}
	if !isOneOf(r.t, i, "table", "view", "source", "sink", "index", "function", "connection", "secret") {
		return nil, r.fail(i)
	}
	out.Kind += r.t[i].val
	n, i, e := r.name(i + 1)
	if e != nil {
		return nil, e
	}
	out.From = &n
	return out, r.done(i)
}

// describe reads DESCRIBE [TABLE] relation.
func (r *reader) describe() (Stmt, *pgerr.Error) {
	i := 1
	if isWord(r.t, i, "table") && i+1 < len(r.t) {
		i++
	}
	n, i, e := r.name(i)
	if e != nil {
		return nil, e
	}
	return &Describe{r.at(0), n}, r.done(i)
}

// cancel reads CANCEL JOB id, ....
func (r *reader) cancel() (Stmt, *pgerr.Error) {
	out := &Cancel{At: r.at(0)}
	if !isOneOf(r.t, 1, "job", "jobs") {
		return nil, r.fail(1)
	}
	for i := 2; ; i += 2 {
		switch {
		case isString(r.t, i):
			s, e := r.stringValue(i)
			if e != nil {
				return nil, e
			}
			out.Jobs = append(out.Jobs, s)
		case i < len(r.t) && (r.t[i].kind == tokNumber || isName(r.t, i)):
			out.Jobs = append(out.Jobs, strings.TrimSpace(r.t[i].val))
		default:
			return nil, r.fail(i)
		}
		if !isOp(r.t, i+1, ",") {
			return out, r.done(i + 1)
		}
	}
}
