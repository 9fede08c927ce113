package json

import (
	"github.com/streamdb/streamdb/pgerr"
)

func errSyntax(b []byte, at int) error {
	what := "end of input"
	if at < len(b) {
		what = "character " + string(rune(b[at]))
	}
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type json").
		WithDetail("Unexpected %s at byte %d.", what, at+1)
}

// maxDepth bounds the nesting of skipped values.
const maxDepth = 512

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// str returns the end of the string whose opening quote is at i-1: the place of
// its closing quote, and whether it holds escapes.
func str(b []byte, i int) (end int, escaped bool, err error) {
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i, escaped, nil
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return 0, false, errSyntax(b, i)
		}
	}
	return 0, false, errSyntax(b, len(b))
}

// value returns the end of the value that begins at i.
func value(b []byte, i int) (end int, err error) {
	if i >= len(b) {
		return 0, errSyntax(b, i)
	}
	switch c := b[i]; {
	case c == '"':
		e, _, err := str(b, i+1)
		return e + 1, err
	case c == '{' || c == '[':
		return nested(b, i)
	case c == '-' || (c >= '0' && c <= '9'):
		return number(b, i)
	case c == 't':
		return word(b, i, "true")
	case c == 'f':
		return word(b, i, "false")
	case c == 'n':
		return word(b, i, "null")
	}
	return 0, errSyntax(b, i)
}

func word(b []byte, i int, w string) (int, error) {
	if len(b)-i < len(w) || string(b[i:i+len(w)]) != w {
		return 0, errSyntax(b, i)
	}
	return i + len(w), nil
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

func number(b []byte, i int) (int, error) {
	if b[i] == '-' {
		i++
	}
	n := digits(b, i)
	if n == i || (b[i] == '0' && n > i+1) {
		return 0, errSyntax(b, i)
	}
	i = n
	if i < len(b) && b[i] == '.' {
		if n = digits(b, i+1); n == i+1 {
			return 0, errSyntax(b, n)
		}
		i = n
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if n = digits(b, i); n == i {
			return 0, errSyntax(b, n)
		}
		i = n
	}
	return i, nil
}

// nested skips an object or array by walking its values.
func nested(b []byte, i int) (int, error) {
	var stack [maxDepth]byte
	depth := 0
	open := func(c byte) error {
		if depth == maxDepth {
			return pgerr.New(pgerr.StatementTooComplex, "the record is nested too deeply")
		}
		stack[depth] = c
		depth++
		return nil
	}
	if err := open(b[i]); err != nil {
		return 0, err
	}
	i++
	fresh := true // just after an opening bracket
	for {
		i = space(b, i)
		if i >= len(b) {
			return 0, errSyntax(b, i)
		}
		top := stack[depth-1]
		if (top == '{' && b[i] == '}') || (top == '[' && b[i] == ']') {
			depth--
			i++
			if depth == 0 {
				return i, nil
			}
			fresh = false
			continue
		}
		if !fresh {
			if b[i] != ',' {
				return 0, errSyntax(b, i)
			}
			i = space(b, i+1)
		}
		if top == '{' {
			var err error
			if i, err = key(b, i); err != nil {
				return 0, err
			}
		}
		if i < len(b) && (b[i] == '{' || b[i] == '[') {
			if err := open(b[i]); err != nil {
				return 0, err
			}
			i++
			fresh = true
			continue
		}
		e, err := value(b, i)
		if err != nil {
			return 0, err
		}
		i, fresh = e, false
	}
}

// key skips a key and its colon.
func key(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '"' {
		return 0, errSyntax(b, i)
	}
	e, _, err := str(b, i+1)
	if err != nil {
		return 0, err
	}
	i = space(b, e+1)
	if i >= len(b) || b[i] != ':' {
		return 0, errSyntax(b, i)
	}
	return space(b, i+1), nil
}
