package expr

import (
	"github.com/streamdb/streamdb/types"
)

// Nothing is the value of a function that returns void: x is computed, and the result
// is NULL.
func Nothing(x Expr) Expr { return &Call{Fn: nothing, Args: []Expr{x}, Typ: types.TVoid} }

var nothing = &Func{Name: "void", Args: ts(Any), Ret: types.TVoid, NotStrict: true, Volatility: Stable,
	Eval: rowsNulls(func(r *row) error { return r.null() })}
