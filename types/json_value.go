package types

import (
	"bytes"
	"encoding/binary"
)

// The functions of this file read valid JSON text, of json as well as canonical
// jsonb, without building trees. Returned slices are parts of their input.

func jsonSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// jsonEnd returns the position after the value that begins at i.
func jsonEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = jsonStringEnd(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			i++
			continue
		default:
			for i < len(b) && bytes.IndexByte([]byte(",:]} \n\t\r"), b[i]) < 0 {
				i++
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

func jsonStringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		if b[i] == '\\' {
			i++
		} else if b[i] == '"' {
			return i + 1
		}
	}
	return len(b)
}

// JSONType returns object, array, string, number, boolean or null.
func JSONType(b []byte) string {
	i := jsonSpace(b, 0)
	if i >= len(b) {
		return "null"
	}
	switch b[i] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// JSONUnquote returns the text of a JSON string; raw includes the quotes. It
// allocates only when there are escapes.
func JSONUnquote(raw []byte) []byte {
	if len(raw) < 2 {
		return raw
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	p := jsonParser{s: string(raw), chars: true}
	s, err := p.str()
	if err != nil {
		return raw[1 : len(raw)-1]
	}
	return []byte(s)
}

// JSONObjectEach calls f for each member until it returns false. The key is
// the raw string with its quotes.
func JSONObjectEach(b []byte, f func(rawKey, val []byte) bool) {
	i := jsonSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return
	}
	for i++; i < len(b); {
		for i < len(b) && (b[i] == ',' || jsonSpace(b, i) > i) {
			i++
		}
		if i >= len(b) || b[i] != '"' {
			return
		}
		ke := jsonStringEnd(b, i)
		key := b[i:ke]
		i = jsonSpace(b, jsonSpace(b, ke)+1)
		e := jsonEnd(b, i)
		if i > len(b) || !f(key, b[i:e]) {
			return
		}
		i = e
	}
}

// JSONArrayEach calls f for each element until it returns false.
func JSONArrayEach(b []byte, f func(val []byte) bool) {
	i := jsonSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return
	}
	for i++; i < len(b); {
		for i < len(b) && (b[i] == ',' || jsonSpace(b, i) > i) {
			i++
		}
		if i >= len(b) || b[i] == ']' {
			return
		}
		e := jsonEnd(b, i)
		if !f(b[i:e]) {
			return
		}
		i = e
	}
}

// JSONLen returns the number of elements or members.
func JSONLen(b []byte) int {
	n := 0
	JSONArrayEach(b, func([]byte) bool { n++; return true })
	JSONObjectEach(b, func(_, _ []byte) bool { n++; return true })
	return n
}

// JSONField returns the value of an object's key; the last one in json text
// with duplicates.
func JSONField(b []byte, key string) (val []byte, ok bool) {
	JSONObjectEach(b, func(k, v []byte) bool {
		if string(JSONUnquote(k)) == key {
			val, ok = v, true
		}
		return true
	})
	return val, ok
}

// JSONIndex returns an array's element; negative counts from the end.
func JSONIndex(b []byte, i int) (val []byte, ok bool) {
	if JSONType(b) != "array" {
		return nil, false
	}
	if i < 0 {
		if i += JSONLen(b); i < 0 {
			return nil, false
		}
	}
	JSONArrayEach(b, func(v []byte) bool {
		if i == 0 {
			val, ok = v, true
		}
		i--
		return i >= 0
	})
	return val, ok
}

// JSONFollow follows a path of keys and array indexes.
func JSONFollow(b []byte, path []string) ([]byte, bool) {
	ok := true
	for _, p := range path {
		if JSONType(b) == "array" {
			i, err := ParseInt4(p)
			if err != nil {
				return nil, false
			}
			b, ok = JSONIndex(b, int(i))
		} else {
			b, ok = JSONField(b, p)
		}
		if !ok {
			return nil, false
		}
	}
	return b[jsonSpace(b, 0):], true
}

// JSONAsText is what ->> returns of a value: a string's text, NULL for null.
func JSONAsText(val []byte) (text []byte, null bool) {
	switch JSONType(val) {
	case "null":
		return nil, true
	case "string":
		return JSONUnquote(bytes.TrimSpace(val)), false
	}
	return val, false
}

// Tags of jsonb keys, in PostgreSQL's order. An empty array at the top sorts
// below everything, which PostgreSQL keeps for compatibility.
const (
	jkEmptyTop = iota + 1
	jkNull
	jkString
	jkNumber
	jkFalse
	jkTrue
	jkArray
	jkObject
)

// AppendJSONBKey appends key bytes of canonical jsonb text: ordered as
// PostgreSQL orders jsonb and equal for equal values, 0.1 and 0.10 included.
func AppendJSONBKey(dst, b []byte) []byte {
	if string(b) == "[]" {
		return append(dst, jkEmptyTop)
	}
	return appendJSONKey(dst, b)
}

func appendJSONKey(dst, b []byte) []byte {
	switch JSONType(b) {
	case "null":
		return append(dst, jkNull)
	case "string":
		return appendEscaped(append(dst, jkString), JSONUnquote(b))
	case "number":
		d, _ := ParseDecimal(string(b))
		return AppendDecimalKey(append(dst, jkNumber), d)
	case "boolean":
		if b[0] == 't' {
			return append(dst, jkTrue)
		}
		return append(dst, jkFalse)
	case "array":
		dst = binary.BigEndian.AppendUint32(append(dst, jkArray), uint32(JSONLen(b)))
		JSONArrayEach(b, func(v []byte) bool { dst = appendJSONKey(dst, v); return true })
		return dst
	}
	dst = binary.BigEndian.AppendUint32(append(dst, jkObject), uint32(JSONLen(b)))
	JSONObjectEach(b, func(k, v []byte) bool {
		dst = appendJSONKey(appendEscaped(dst, JSONUnquote(k)), v)
		return true
	})
	return dst
}

// jsonEqual compares canonical values.
func jsonEqual(a, b []byte) bool {
	return bytes.Equal(a, b) || bytes.Equal(appendJSONKey(nil, a), appendJSONKey(nil, b))
}

// JSONBContains reports a @> b for canonical jsonb.
func JSONBContains(a, b []byte) bool {
	ta, tb := JSONType(a), JSONType(b)
	if ta == "array" && tb != "array" && tb != "object" {
		return arrayHas(a, b) // an array contains a bare scalar
	}
	return jsonContains(a, b)
}

func arrayHas(a, v []byte) (found bool) {
	scalar := v[0] != '{' && v[0] != '['
	JSONArrayEach(a, func(e []byte) bool {
		if scalar {
			found = jsonEqual(e, v)
		} else {
			found = jsonContains(e, v)
		}
		return !found
	})
	return found
}

func jsonContains(a, b []byte) bool {
	ta, tb := JSONType(a), JSONType(b)
	if ta != tb {
		return false
	}
	ok := true
	switch tb {
	case "object":
		JSONObjectEach(b, func(k, v []byte) bool {
			w, has := JSONField(a, string(JSONUnquote(k)))
			ok = has && jsonContains(w, v)
			return ok
		})
	case "array":
		JSONArrayEach(b, func(v []byte) bool { ok = arrayHas(a, v); return ok })
	default:
		ok = jsonEqual(a, b)
	}
	return ok
}

// JSONBExists reports b ? key: a member, an array's string element, or a
// string itself.
func JSONBExists(b []byte, key string) (ok bool) {
	switch JSONType(b) {
	case "object":
		_, ok = JSONField(b, key)
	case "array":
		JSONArrayEach(b, func(v []byte) bool {
			ok = v[0] == '"' && string(JSONUnquote(v)) == key
			return !ok
		})
	case "string":
		ok = string(JSONUnquote(b)) == key
	}
	return ok
}
