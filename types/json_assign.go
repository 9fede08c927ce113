package types

import "github.com/streamdb/streamdb/pgerr"

// AssignJSONB appends the jsonb b (nil: NULL) with the value val at a path, as a
// subscripted assignment of PostgreSQL makes it: what is missing on the way comes to
// be, arrays are filled up with nulls. array says that a NULL becomes an array, since
// the first subscript is a number.
func AssignJSONB(dst, b []byte, path []string, val []byte, array bool) ([]byte, error) {
	if b == nil {
		if b = []byte("{}"); array {
			b = []byte("[]")
		}
	}
	for _, p := range path {
		if n, err := ParseInt4(p); err == nil && n > maxJSONElems {
			return dst, pgerr.New(pgerr.ProgramLimitExceeded, "number of jsonb array elements exceeds the maximum allowed (%d)", maxJSONElems)
		}
	}
	return assignJSON(dst, b, path, 0, val)
}

// maxJSONElems bounds the subscripts that an assignment may fill an array up to.
const maxJSONElems = 1 << 22

func assignJSON(dst, b []byte, path []string, at int, val []byte) ([]byte, error) {
	if at == len(path) {
		return append(dst, val...), nil
	}
	switch JSONType(b) {
	case "object":
		ms := jsonMembers(b)
		for i := range ms {
			if ms[i].Key == path[at] {
				v, err := assignJSON(nil, ms[i].Val, path, at+1, val)
				ms[i].Val = v
				return AppendJSONBObject(dst, ms), err
			}
		}
		return AppendJSONBObject(dst, append(ms, JSONMember{path[at], newJSONPath(path[at+1:], val)})), nil
	case "array":
		return assignJSONElem(dst, b, path, at, val)
	}
	return dst, pgerr.New(pgerr.InvalidParameterValue, "cannot replace existing key").
		WithDetail("The path assumes key is a composite object, but it is a scalar value.")
}

func assignJSONElem(dst, b []byte, path []string, at int, val []byte) ([]byte, error) {
	es := jsonElems(b)
	n, err := ParseInt4(path[at])
	if err != nil {
		return dst, pgerr.New(pgerr.InvalidTextRepresentation, "path element at position %d is not an integer: \"%s\"", at+1, path[at])
	}
	i := int(n)
	if i < 0 {
		if i += len(es); i < 0 {
			return dst, pgerr.New(pgerr.InvalidParameterValue, "path element at position %d is out of range: %d", at+1, n)
		}
	}
	if i < len(es) {
		if es[i], err = assignJSON(nil, es[i], path, at+1, val); err != nil {
			return dst, err
		}
		return AppendJSONBArray(dst, es), nil
	}
	for len(es) < i {
		es = append(es, []byte("null"))
	}
	return AppendJSONBArray(dst, append(es, newJSONPath(path[at+1:], val))), nil
}

// newJSONPath is the value val at a path in nothing: a step that is a number makes an
// array.
func newJSONPath(path []string, val []byte) []byte {
	if len(path) == 0 {
		return val
	}
	inner := newJSONPath(path[1:], val)
	n, err := ParseInt4(path[0])
	if err != nil {
		return AppendJSONBObject(nil, []JSONMember{{path[0], inner}})
	}
	var es [][]byte
	for range max(int(n), 0) {
		es = append(es, []byte("null"))
	}
	return AppendJSONBArray(nil, append(es, inner))
}
