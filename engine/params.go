package engine

import (
	"strconv"
	"time"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

type emitFunc = exec.Emit

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func msDuration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// bindParams returns the plan with its parameters replaced by constants; a plan
// without parameters is returned as it is.
func bindParams(n plan.Node, ts []types.T, args []types.Datum) (plan.Node, error) {
	if len(ts) == 0 {
		return n, nil
	}
	if len(args) != len(ts) {
		return nil, pgerr.New(pgerr.ProtocolViolation, "bind message supplies %d parameters, but the statement requires %d", len(args), len(ts))
	}
	return plan.Rewrite(n, func(n plan.Node) plan.Node {
		if s, ok := n.(*plan.Scan); ok && s.Made != nil {
			c := *s
			root, _ := bindParams(s.Made.Root, ts, args)
			c.Made = &plan.Made{Root: root}
			return &c
		}
		return plan.MapExprs(n, func(e expr.Expr) expr.Expr { return bindExpr(e, args) })
	}), nil
}

func bindExpr(e expr.Expr, args []types.Datum) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if p, ok := e.(*expr.Param); ok {
			return &expr.Const{Val: args[p.Index-1], Typ: p.Typ}
		}
		return e
	})
}
