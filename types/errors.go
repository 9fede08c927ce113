package types

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

func errInput(typ, s string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", typ, s)
}

func errRange(typ, s string) *pgerr.Error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value \"%s\" is out of range for type %s", s, typ)
}

func errOutOfRange(typ string) *pgerr.Error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "%s out of range", typ)
}

func errDateSyntax(typ, s string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid input syntax for type %s: \"%s\"", typ, s)
}

func errDateRange(s string) *pgerr.Error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", s)
}

func errTypeRange(typ string) *pgerr.Error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "%s out of range", typ)
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func trimSpace(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func equalFold(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }
