package pgerr

import (
	"errors"
	"fmt"
)

// Error is an error a client may see. Values are immutable once shared; the
// With methods return changed copies, so package-level errors can be reused.
type Error struct {
	Code   Code
	Msg    string // primary message, lower case, no full stop
	Detail string // full sentences
	Hint   string // full sentences
	// Pos is the 1-based position of the offending token in characters (not
	// bytes) of the statement text, as PostgreSQL's P field has it; 0: unknown.
	Pos int
	// Schema, Table, Column and Constraint name the objects concerned, for the
	// fields s, t, c and n of ErrorResponse; empty: unknown.
	Schema, Table, Column, Constraint string
	// DataType names the type concerned, for field d; empty: unknown.
	DataType string
	// Where is the context, as PostgreSQL's W field has it.
	Where string
	cause error
}

// New makes an error with a formatted primary message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...)}
}

// Unsupported makes a 0A000 error; what completes "… is not supported".
func Unsupported(what, hint string) *Error {
	return &Error{Code: FeatureNotSupported, Msg: what + " is not supported", Hint: hint}
}

// Wrap makes an error of the given code whose cause stays reachable by
// errors.Is and errors.As. The cause's text is not shown to clients.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...), cause: cause}
}

// Error returns the primary message and the code.
func (e *Error) Error() string { return e.Msg + " (SQLSTATE " + string(e.Code) + ")" }

// Unwrap returns the cause given to Wrap.
func (e *Error) Unwrap() error { return e.cause }

// WithDetail returns a copy with a detail.
func (e *Error) WithDetail(format string, args ...any) *Error {
	c := *e
	c.Detail = fmt.Sprintf(format, args...)
	return &c
}

// WithHint returns a copy with a hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// At returns a copy with a position, unless the error has one already: the
// innermost place that knows the token wins.
func (e *Error) At(pos int) *Error {
	if e.Pos != 0 || pos <= 0 {
		return e
	}
	c := *e
	c.Pos = pos
	return &c
}

// From returns the *Error inside err. An error without one becomes XX000 with
// err's text; nil stays nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: Internal, Msg: err.Error(), cause: err}
}

// CodeOf returns the SQLSTATE of err; XX000 if it carries none, 00000 for nil.
func CodeOf(err error) Code {
	if err == nil {
		return SuccessfulCompletion
	}
	return From(err).Code
}
