package types

import (
	"bytes"
	"sort"

	"github.com/streamdb/streamdb/pgerr"
)

// JSONMember is a member of an object being built: its key, unescaped, and its
// value's canonical text.
type JSONMember struct {
	Key string
	Val []byte
}

// AppendJSONBObject appends the canonical object of ms, which it sorts; of
// equal keys the last stays.
func AppendJSONBObject(dst []byte, ms []JSONMember) []byte {
	sort.SliceStable(ms, func(i, j int) bool { return jsonKeyLess(ms[i].Key, ms[j].Key) })
	dst = append(dst, '{')
	first := true
	for i, m := range ms {
		if i+1 < len(ms) && ms[i+1].Key == m.Key {
			continue
		}
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		dst = append(append(AppendJSONString(dst, m.Key), ": "...), m.Val...)
	}
	return append(dst, '}')
}

// AppendJSONBArray appends the canonical array of elems.
func AppendJSONBArray(dst []byte, elems [][]byte) []byte {
	dst = append(dst, '[')
	for i, e := range elems {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, e...)
	}
	return append(dst, ']')
}

func jsonMembers(b []byte) (ms []JSONMember) {
	JSONObjectEach(b, func(k, v []byte) bool {
		ms = append(ms, JSONMember{string(JSONUnquote(k)), v})
		return true
	})
	return ms
}

func jsonElems(b []byte) (es [][]byte) {
	JSONArrayEach(b, func(v []byte) bool { es = append(es, v); return true })
	return es
}

// AppendJSONBConcat appends a || b.
func AppendJSONBConcat(dst, a, b []byte) []byte {
	if JSONType(a) == "object" && JSONType(b) == "object" {
		return AppendJSONBObject(dst, append(jsonMembers(a), jsonMembers(b)...))
	}
	list := func(v []byte) [][]byte {
		if JSONType(v) == "array" {
			return jsonElems(v)
		}
		return [][]byte{v}
	}
	return AppendJSONBArray(dst, append(list(a), list(b)...))
}

func errJSONArg(msg string) error { return pgerr.New(pgerr.InvalidParameterValue, "%s", msg) }

// AppendJSONBDelete appends b - key.
func AppendJSONBDelete(dst, b []byte, key string) ([]byte, error) {
	switch JSONType(b) {
	case "object":
		ms := jsonMembers(b)
		out := ms[:0]
		for _, m := range ms {
			if m.Key != key {
				out = append(out, m)
			}
		}
		return AppendJSONBObject(dst, out), nil
	case "array":
		es := jsonElems(b)
		out := es[:0]
		for _, e := range es {
			if e[0] != '"' || string(JSONUnquote(e)) != key {
				out = append(out, e)
			}
		}
		return AppendJSONBArray(dst, out), nil
	}
	return dst, errJSONArg("cannot delete from scalar")
}

// AppendJSONBDeleteIndex appends b - i.
func AppendJSONBDeleteIndex(dst, b []byte, i int) ([]byte, error) {
	switch JSONType(b) {
	case "object":
		return dst, errJSONArg("cannot delete from object using integer index")
	case "array":
	default:
		return dst, errJSONArg("cannot delete from scalar")
	}
	es := jsonElems(b)
	if i < 0 {
		i += len(es)
	}
	if i >= 0 && i < len(es) {
		es = append(es[:i], es[i+1:]...)
	}
	return AppendJSONBArray(dst, es), nil
}

type jsonEdit uint8

const (
	jsonSet jsonEdit = iota
	jsonSetExisting
	jsonInsertBefore
	jsonInsertAfter
	jsonRemove
)

// AppendJSONBSet appends jsonb_set(b, path, val, create).
func AppendJSONBSet(dst, b []byte, path []string, val []byte, create bool) ([]byte, error) {
	op := jsonSetExisting
	if create {
		op = jsonSet
	}
	if err := editable(b, "cannot set path in scalar"); err != nil {
		return dst, err
	}
	if !create && emptyContainer(b) {
		return append(dst, b...), nil
	}
	return editJSON(dst, b, path, 0, val, op)
}

// AppendJSONBInsert appends jsonb_insert(b, path, val, after).
func AppendJSONBInsert(dst, b []byte, path []string, val []byte, after bool) ([]byte, error) {
	op := jsonInsertBefore
	if after {
		op = jsonInsertAfter
	}
	if err := editable(b, "cannot set path in scalar"); err != nil {
		return dst, err
	}
	return editJSON(dst, b, path, 0, val, op)
}

// AppendJSONBDeletePath appends b #- path.
func AppendJSONBDeletePath(dst, b []byte, path []string) ([]byte, error) {
	if err := editable(b, "cannot delete path in scalar"); err != nil {
		return dst, err
	}
	if emptyContainer(b) {
		return append(dst, b...), nil
	}
	return editJSON(dst, b, path, 0, nil, jsonRemove)
}

// emptyContainer reports whether b is {} or [], in which no path leads anywhere.
func emptyContainer(b []byte) bool { return string(b) == "{}" || string(b) == "[]" }

// JSONNullStep stands for a NULL in a path; no text value is equal to it.
const JSONNullStep = "\x00"

func editable(b []byte, msg string) error {
	if t := JSONType(b); t != "object" && t != "array" {
		return errJSONArg(msg)
	}
	return nil
}

func editJSON(dst, b []byte, path []string, at int, val []byte, op jsonEdit) ([]byte, error) {
	if at == len(path) {
		return append(dst, b...), nil
	}
	if path[at] == JSONNullStep {
		return dst, pgerr.New(pgerr.NullValueNotAllowed, "path element at position %d is null", at+1)
	}
	switch JSONType(b) {
	case "object":
		return editJSONObject(dst, b, path, at, val, op)
	case "array":
		return editJSONArray(dst, b, path, at, val, op)
	}
	return append(dst, b...), nil
}

func editJSONObject(dst, b []byte, path []string, at int, val []byte, op jsonEdit) ([]byte, error) {
	ms, last := jsonMembers(b), at == len(path)-1
	found := -1
	for i := range ms {
		if ms[i].Key == path[at] {
			found = i
		}
	}
	switch {
	case found < 0 && last && op != jsonRemove && op != jsonSetExisting:
		ms = append(ms, JSONMember{path[at], val})
	case found < 0:
	case !last:
		v, err := editJSON(nil, ms[found].Val, path, at+1, val, op)
		if err != nil {
			return dst, err
		}
		ms[found].Val = v
	case op == jsonRemove:
		ms = append(ms[:found], ms[found+1:]...)
	case op == jsonInsertBefore || op == jsonInsertAfter:
		return dst, pgerr.New(pgerr.InvalidParameterValue, "cannot replace existing key").
			WithHint("Try using the function jsonb_set to replace key value.")
	default:
		ms[found].Val = val
	}
	return AppendJSONBObject(dst, ms), nil
}

func editJSONArray(dst, b []byte, path []string, at int, val []byte, op jsonEdit) ([]byte, error) {
	es, last := jsonElems(b), at == len(path)-1
	i64, err := ParseInt4(path[at])
	if err != nil {
		return dst, pgerr.New(pgerr.InvalidTextRepresentation, "path element at position %d is not an integer: \"%s\"", at+1, path[at])
	}
	i := int(i64)
	if i < 0 {
		i += len(es)
	}
	in := i >= 0 && i < len(es)
	insert := func(k int) { es = append(es[:k], append([][]byte{val}, es[k:]...)...) }
	switch {
	case !in && (!last || op == jsonRemove || op == jsonSetExisting):
	case !in && i < 0:
		insert(0)
	case !in:
		es = append(es, val)
	case !last:
		v, err := editJSON(nil, es[i], path, at+1, val, op)
		if err != nil {
			return dst, err
		}
		es[i] = v
	case op == jsonRemove:
		es = append(es[:i], es[i+1:]...)
	case op == jsonInsertBefore:
		insert(i)
	case op == jsonInsertAfter:
		insert(i + 1)
	default:
		es[i] = val
	}
	return AppendJSONBArray(dst, es), nil
}

// AppendJSONBStripNulls appends b without the object members that are null.
func AppendJSONBStripNulls(dst, b []byte) []byte {
	switch JSONType(b) {
	case "object":
		ms := jsonMembers(b)
		out := ms[:0]
		for _, m := range ms {
			if JSONType(m.Val) != "null" {
				out = append(out, JSONMember{m.Key, AppendJSONBStripNulls(nil, m.Val)})
			}
		}
		return AppendJSONBObject(dst, out)
	case "array":
		es := jsonElems(b)
		for i := range es {
			es[i] = AppendJSONBStripNulls(nil, es[i])
		}
		return AppendJSONBArray(dst, es)
	}
	return append(dst, b...)
}

// AppendJSONBPretty appends jsonb_pretty(b).
func AppendJSONBPretty(dst, b []byte) []byte { return prettyJSON(dst, b, 0) }

func prettyJSON(dst, b []byte, depth int) []byte {
	line := func(d int) {
		dst = append(append(dst, '\n'), bytes.Repeat([]byte("    "), d)...)
	}
	n := 0
	sep := func() {
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		line(depth + 1)
	}
	switch JSONType(b) {
	case "object":
		dst = append(dst, '{')
		JSONObjectEach(b, func(k, v []byte) bool {
			sep()
			dst = prettyJSON(append(append(dst, k...), ": "...), v, depth+1)
			return true
		})
		line(depth)
		return append(dst, '}')
	case "array":
		dst = append(dst, '[')
		JSONArrayEach(b, func(v []byte) bool {
			sep()
			dst = prettyJSON(dst, v, depth+1)
			return true
		})
		line(depth)
		return append(dst, ']')
	}
	return append(dst, b...)
}
