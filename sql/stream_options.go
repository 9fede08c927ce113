package sql

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// optionList reads (a.b.c = value, ...) at token i and returns the index behind
// it. A comma may trail.
func (r *reader) optionList(i int) ([]Option, int, *pgerr.Error) {
	if !isOp(r.t, i, "(") {
		return nil, i, r.fail(i)
	}
	var out []Option
	for i++; !isOp(r.t, i, ")"); {
		o, next, e := r.option(i)
		if e != nil {
			return nil, next, e
		}
		out = append(out, o)
		i = next
		switch {
		case isOp(r.t, i, ","):
			i++
		case !isOp(r.t, i, ")"):
			return nil, i, r.fail(i)
		}
	}
	return out, i + 1, nil
}

// option reads one name [= value].
func (r *reader) option(i int) (Option, int, *pgerr.Error) {
	o := Option{At: r.at(i)}
	var name strings.Builder
	for {
		switch {
		case isString(r.t, i):
			s, e := r.stringValue(i)
			if e != nil {
				return o, i, e
			}
			name.WriteString(s)
		case isName(r.t, i), name.Len() > 0 && i < len(r.t) && r.t[i].kind == tokNumber:
			name.WriteString(r.t[i].val)
		default:
			return o, i, r.fail(i)
		}
		i++
		if !isOp(r.t, i, ".") && !isOp(r.t, i, "-") {
			break
		}
		name.WriteString(r.t[i].val)
		i++
	}
	o.Name = name.String()
	if !isOp(r.t, i, "=") {
		return o, i, nil
	}
	i, e := r.optionValue(&o, i+1)
	return o, i, e
}

// optionValue reads the value at token i into o.
func (r *reader) optionValue(o *Option, i int) (int, *pgerr.Error) {
	sign := ""
	if isOp(r.t, i, "-") || isOp(r.t, i, "+") {
		sign = strings.TrimPrefix(r.t[i].val, "+")
		if i++; i >= len(r.t) || r.t[i].kind != tokNumber {
			return i, r.fail(i)
		}
	}
	switch {
	case i >= len(r.t):
		return i, r.fail(i)
	case r.t[i].kind == tokNumber:
		o.Kind, o.Value = OptNumber, sign+r.t[i].val
		return i + 1, nil
	case isString(r.t, i):
		s, e := r.stringValue(i)
		o.Kind, o.Value = OptString, s
		return i + 1, e
	case isWord(r.t, i, "secret") && isName(r.t, i+1):
		n, next, e := r.name(i + 1)
		o.Kind, o.Value = OptSecret, n.Name
		if n.Schema != "" {
			o.Value = n.Schema + "." + n.Name
		}
		return next, e
	case isName(r.t, i):
		o.Kind, o.Value = OptWord, r.t[i].val
		return i + 1, nil
	}
	return i, r.fail(i)
}

// withOptions reads WITH (...) at token i, if it is there.
func (r *reader) withOptions(i int) ([]Option, int, *pgerr.Error) {
	if !isWord(r.t, i, "with") {
		return nil, i, nil
	}
	return r.optionList(i + 1)
}

// format reads FORMAT f [(...)] ENCODE e [(...)] [KEY ENCODE k [(...)]] at token i,
// if it is there.
func (r *reader) format(i int) (*FormatSpec, int, *pgerr.Error) {
	if !isWord(r.t, i, "format") {
		return nil, i, nil
	}
	f := &FormatSpec{At: r.at(i)}
	var e *pgerr.Error
	if f.Format, f.FormatOptions, i, e = r.formatPart(i + 1); e != nil {
		return nil, i, e
	}
	if isWord(r.t, i, "encode") {
		if f.Encode, f.EncodeOptions, i, e = r.formatPart(i + 1); e != nil {
			return nil, i, e
		}
	}
	if isWords(r.t, i, "key", "encode") {
		if f.KeyEncode, f.KeyOptions, i, e = r.formatPart(i + 2); e != nil {
			return nil, i, e
		}
	}
	return f, i, nil
}

// formatPart reads a word and its options.
func (r *reader) formatPart(i int) (word string, opts []Option, next int, e *pgerr.Error) {
	if i >= len(r.t) || r.t[i].kind != tokWord {
		return "", nil, i, r.fail(i)
	}
	word = r.t[i].val
	if i++; isOp(r.t, i, "(") {
		opts, i, e = r.optionList(i)
	}
	return word, opts, i, e
}
