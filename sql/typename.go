package sql

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// ParseTypeName reads a text that is nothing but the name of a type, as
// "varchar(10)[]" or "timestamp with time zone". Errors have no position.
func ParseTypeName(text string) (*TypeName, error) {
	bad := pgerr.New(pgerr.SyntaxError, "invalid type name \"%s\"", text)
	if strings.TrimSpace(text) == "" {
		return nil, bad
	}
	sts, err := Parse("SELECT NULL::" + text)
	if err != nil {
		e := pgerr.From(err)
		return nil, pgerr.New(e.Code, "%s", e.Msg)
	}
	if len(sts) != 1 {
		return nil, bad
	}
	s, ok := sts[0].Stmt.(*Select)
	if !ok || len(s.Targets) != 1 {
		return nil, bad
	}
	c, ok := s.Targets[0].Expr.(*Cast)
	if !ok || c.Type.SetOf {
		return nil, bad
	}
	// Nothing else may stand there.
	if l, ok := c.Arg.(*Literal); !ok || l.Kind != LitNull || Format(s) != Format(&Select{Targets: []Target{{Expr: c}}}) {
		return nil, bad
	}
	return c.Type, nil
}
