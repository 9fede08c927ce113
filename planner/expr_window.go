package planner

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// winItem is a call of an OVER clause of one query level.
type winItem struct {
	name      string
	agg       *aggItem // set for aggregates
	args      []expr.Expr
	partition []expr.Expr
	order     []sortExpr
	frame     plan.Frame
	typ       types.T
}

// winRef stands for the result of a window function between binding and planning.
type winRef struct {
	index int
	typ   types.T
}

// Type returns the function's type.
func (w *winRef) Type() types.T { return w.typ }

// windowFuncs are the pure window functions: parameter types (AnyElement: the
// first argument's type) with the number of optional ones, and the result.
var windowFuncs = map[string]struct {
	args     []types.T
	optional int
	ret      types.T
}{
	"row_number":   {nil, 0, types.TInt8},
	"rank":         {nil, 0, types.TInt8},
	"dense_rank":   {nil, 0, types.TInt8},
	"percent_rank": {nil, 0, types.TFloat8},
	"cume_dist":    {nil, 0, types.TFloat8},
	"ntile":        {[]types.T{types.TInt4}, 0, types.TInt4},
	"lag":          {[]types.T{expr.AnyElement, types.TInt4, expr.AnyElement}, 2, expr.AnyElement},
	"lead":         {[]types.T{expr.AnyElement, types.TInt4, expr.AnyElement}, 2, expr.AnyElement},
	"first_value":  {[]types.T{expr.AnyElement}, 0, expr.AnyElement},
	"last_value":   {[]types.T{expr.AnyElement}, 0, expr.AnyElement},
	"nth_value":    {[]types.T{expr.AnyElement, types.TInt4}, 0, expr.AnyElement},
}

func isWindowOnly(name string) bool { _, ok := windowFuncs[name]; return ok }

// windowCall binds f(...) OVER (...).
func (b *binder) windowCall(ec *exprContext, e *sql.FuncCall) (expr.Expr, error) {
	switch {
	case ec.inWindow:
		return nil, b.errAt(e, pgerr.WindowingError, "window function calls cannot be nested")
	case ec.inAgg:
		return nil, b.errAt(e, pgerr.GroupingError, "aggregate function calls cannot contain window function calls")
	case ec.wins == nil:
		return nil, b.errAt(e, pgerr.WindowingError, "window functions are not allowed in %s", ec.clause)
	case e.WithinGroup && isRankName(e.Name):
		return nil, b.overOrderedSet(e)
	}
	spec, err := b.windowSpec(ec, e.Over)
	if err != nil {
		return nil, err
	}
	w := &winItem{name: e.Name}
	inner := *ec
	inner.wins, inner.inWindow, inner.allowSet = nil, true, false
	if isWindowOnly(e.Name) {
		err = b.pureWindow(&inner, e, w)
	} else if expr.HasAgg(e.Name) {
		err = b.windowAgg(&inner, e, w)
	} else if expr.HasFunc(e.Name) {
		err = b.errAt(e, pgerr.WrongObjectType, "OVER specified, but %s is not a window function nor an aggregate function", e.Name)
	} else {
		args, aerr := b.plainArgs(&inner, e)
		if aerr != nil {
			return nil, aerr
		}
		_, err = expr.ResolveFunc(e.Name, typesOf(args))
		err = b.placed(err, e)
	}
	if err != nil {
		return nil, err
	}
	inner.inWindow, inner.clause, inner.allowSet = false, "window definitions", ec.allowSet
	if err := b.windowParts(&inner, spec, w); err != nil {
		return nil, err
	}
	*ec.wins = append(*ec.wins, w)
	return &winRef{len(*ec.wins) - 1, w.typ}, nil
}

func (b *binder) pureWindow(ec *exprContext, e *sql.FuncCall, w *winItem) error {
	sig := windowFuncs[e.Name]
	args, err := b.plainArgs(ec, e)
	if err != nil {
		return err
	}
	if e.Distinct {
		return b.unsupported(e, "DISTINCT for window functions", "Count distinct values in a subquery with GROUP BY, and join it.")
	}
	if e.Filter != nil {
		return pgerr.New(pgerr.FeatureNotSupported, "FILTER is not implemented for non-aggregate window functions").
			WithHint("Filter the rows in a subquery, or use an aggregate as the window function.").At(b.at(e))
	}
	if e.Star || len(args) > len(sig.args) || len(args) < len(sig.args)-sig.optional {
		_, err := expr.ResolveFunc(e.Name+"(", typesOf(args))
		_ = err
		return pgerr.New(pgerr.UndefinedFunction, "function %s(%s) does not exist", e.Name, typeList(typesOf(args))).
			WithHint("No function matches the given name and argument types. You might need to add explicit type casts.").At(b.at(e))
	}
	var elem types.T
	if len(args) > 0 && len(sig.args) > 0 && sig.args[0] == expr.AnyElement {
		elem = b.settleUnknown(args[0].Type()).Base()
		if len(args) == 3 { // lag(value, offset, default): anycompatible
			if elem, err = expr.CommonTypeFor("CASE", []types.T{args[0].Type(), args[2].Type()}); err != nil {
				return b.placed(err, e)
			}
		}
	}
	for i, a := range args {
		t := sig.args[i]
		if t == expr.AnyElement {
			t = elem
		}
		if args[i], err = b.coerce(a, t, expr.Implicit, e); err != nil {
			return err
		}
	}
	w.args, w.typ = args, sig.ret
	if sig.ret == expr.AnyElement {
		w.typ = elem
	}
	return nil
}

func (b *binder) windowAgg(ec *exprContext, e *sql.FuncCall, w *winItem) error {
	if e.Distinct {
		return pgerr.New(pgerr.FeatureNotSupported, "DISTINCT is not implemented for window functions").
			WithHint("Remove duplicates in a subquery, or aggregate with GROUP BY and join.").At(b.at(e))
	}
	if e.WithinGroup {
		return b.overOrderedSet(e)
	}
	if len(e.OrderBy) > 0 {
		return pgerr.New(pgerr.FeatureNotSupported, "aggregate ORDER BY is not implemented for window functions").
			WithHint("Order the window: OVER (... ORDER BY ...).").At(b.at(e))
	}
	// The arguments may hold aggregates of the query, so they are bound as those
	// of a window function, not as those of an aggregate.
	args, err := b.plainArgs(ec, e)
	if err != nil {
		return err
	}
	if !e.Star && len(args) == 0 && e.Name == "count" {
		return b.errAt(e, pgerr.WrongObjectType, "count(*) must be used to call a parameterless aggregate function")
	}
	item := &aggItem{}
	if item.fn, err = expr.ResolveAgg(e.Name, typesOf(args)); err != nil {
		return b.placed(err, e)
	}
	if item.args, err = b.coerceArgs(item.fn.ParamTypes(typesOf(args)), args, e); err != nil {
		return err
	}
	item.typ = item.fn.Result(typesOf(item.args))
	if e.Filter != nil {
		if item.filter, err = b.boolArg(ec, e.Filter, "FILTER"); err != nil {
			return err
		}
	}
	w.agg, w.typ = item, item.typ
	return nil
}

func (b *binder) overOrderedSet(e *sql.FuncCall) error {
	return pgerr.New(pgerr.FeatureNotSupported, "OVER is not supported for ordered-set aggregate %s", e.Name).
		WithHint("Compute it with GROUP BY and join.").At(b.at(e))
}

// windowSpec resolves OVER name and OVER (name ...).
func (b *binder) windowSpec(ec *exprContext, s *sql.WindowSpec) (*sql.WindowSpec, error) {
	ref := s.Name
	if ref == "" {
		ref = s.Ref
	}
	if ref == "" {
		return s, nil
	}
	for i, d := range ec.windows {
		for _, earlier := range ec.windows[:i] {
			if earlier.Name == d.Name {
				return nil, b.errAt(d.Spec, pgerr.WindowingError, "window \"%s\" is already defined", d.Name)
			}
		}
	}
	for i, d := range ec.windows {
		if d.Name != ref {
			continue
		}
		sub := *ec
		sub.windows = ec.windows[:i]
		base, err := b.windowSpec(&sub, d.Spec)
		if err != nil {
			return nil, err
		}
		if s.Name != "" {
			return base, nil
		}
		out := *base
		switch {
		case len(s.PartitionBy) > 0:
			return nil, b.errAt(s, pgerr.WindowingError, "cannot override PARTITION BY clause of window \"%s\"", ref)
		case len(s.OrderBy) > 0 && len(base.OrderBy) > 0:
			return nil, b.errAt(s, pgerr.WindowingError, "cannot override ORDER BY clause of window \"%s\"", ref)
		case base.Frame != nil:
			return nil, b.errAt(s, pgerr.WindowingError, "cannot copy window \"%s\" because it has a frame clause", ref)
		}
		if len(s.OrderBy) > 0 {
			out.OrderBy = s.OrderBy
		}
		out.Frame = s.Frame
		return &out, nil
	}
	return nil, b.errAt(s, pgerr.UndefinedObject, "window \"%s\" does not exist", ref)
}

// windowParts binds PARTITION BY, ORDER BY and the frame.
func (b *binder) windowParts(ec *exprContext, s *sql.WindowSpec, w *winItem) error {
	for _, p := range s.PartitionBy {
		x, err := b.expr(ec, p)
		if err != nil {
			return err
		}
		if x, err = b.toText(x); err != nil {
			return err
		}
		w.partition = append(w.partition, x)
	}
	for _, o := range s.OrderBy {
		x, err := b.expr(ec, o.Expr)
		if err != nil {
			return err
		}
		if x, err = b.toText(x); err != nil {
			return err
		}
		k, err := b.sortKey(x, o)
		if err != nil {
			return err
		}
		w.order = append(w.order, k)
	}
	w.frame = plan.Frame{Mode: plan.Range, Start: plan.UnboundedPreceding, End: plan.CurrentRow}
	if s.Frame != nil {
		return b.frame(ec, s, w)
	}
	return nil
}

var (
	frameModes = [...]plan.FrameMode{sql.FrameRange: plan.Range, sql.FrameRows: plan.Rows, sql.FrameGroups: plan.Groups}
	boundKinds = [...]plan.BoundKind{sql.UnboundedPreceding: plan.UnboundedPreceding, sql.OffsetPreceding: plan.Preceding,
		sql.CurrentRow: plan.CurrentRow, sql.OffsetFollowing: plan.Following, sql.UnboundedFollowing: plan.UnboundedFollowing}
	excludes = [...]plan.Exclude{sql.ExcludeNone: plan.ExcludeNone, sql.ExcludeCurrentRow: plan.ExcludeCurrent,
		sql.ExcludeGroup: plan.ExcludeGroup, sql.ExcludeTies: plan.ExcludeTies}
)

func (b *binder) frame(ec *exprContext, s *sql.WindowSpec, w *winItem) error {
	f := s.Frame
	w.frame = plan.Frame{Mode: frameModes[f.Mode], Start: boundKinds[f.Start.Kind], End: boundKinds[f.End.Kind], Exclude: excludes[f.Exclude]}
	if f.Mode == sql.FrameGroups && len(w.order) == 0 {
		return b.errAt(s, pgerr.WindowingError, "GROUPS mode requires an ORDER BY clause")
	}
	var err error
	if w.frame.StartOffset, err = b.frameOffset(ec, s, f.Start, w); err != nil {
		return err
	}
	w.frame.EndOffset, err = b.frameOffset(ec, s, f.End, w)
	return err
}

// frameOffset binds the distance of a frame's bound. It is the same for all rows of
// the query, but not always a constant: it may have subqueries and refer to the row
// around.
func (b *binder) frameOffset(ec *exprContext, s *sql.WindowSpec, bound sql.Bound, w *winItem) (expr.Expr, error) {
	if bound.Offset == nil {
		return nil, nil
	}
	mode := [...]string{"RANGE", "ROWS", "GROUPS"}[s.Frame.Mode]
	x, err := b.expr(&exprContext{sc: ec.sc, clause: "window " + mode}, bound.Offset)
	if err != nil {
		return nil, err
	}
	if err := b.noVariables(x, bound.Offset, mode); err != nil {
		return nil, err
	}
	if s.Frame.Mode != sql.FrameRange {
		x, err = b.rowCount(x, bound.Offset, mode)
	} else {
		x, err = b.rangeOffset(x, s, bound.Offset, w)
	}
	if err != nil {
		return nil, err
	}
	if x = b.fold(x); plan.IsVolatile(x) {
		return b.onceRow(x, bound.Offset)
	}
	return x, nil
}

// frameType is the type that an order by t is by: varchar has none of its own.
func frameType(t types.T) types.T {
	if t.ID == types.Varchar {
		return types.TText
	}
	return t.Base()
}

// rangeOffset gives an offset of RANGE the type that is added to the order value.
func (b *binder) rangeOffset(x expr.Expr, s *sql.WindowSpec, at sql.Node, w *winItem) (expr.Expr, error) {
	if len(w.order) != 1 {
		return nil, b.errAt(s, pgerr.WindowingError, "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column")
	}
	t := w.order[0].e.Type()
	switch c := t.Category(); {
	case c == 'D':
		t = types.TInterval
	case t.ID == types.Float4:
		t = types.TFloat8
	case t.ID == types.Int2 || t.ID == types.Int4:
		if t = t.Base(); x.Type().ID == types.Int4 || x.Type().ID == types.Int8 {
			t = x.Type().Base()
		}
	case (c == 'N' || c == 'T') && t.ID != types.Money:
		t = t.Base()
	default:
		return nil, pgerr.New(pgerr.FeatureNotSupported, "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s", frameType(t)).At(b.at(leftmost(at.(sql.Expr))))
	}
	if from := x.Type(); from.ID != types.Unknown && !expr.CanCast(from, t, expr.Implicit) {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s and offset type %s",
			frameType(w.order[0].e.Type()), from.Base()).WithHint("Cast the offset value to an appropriate type.").At(b.at(leftmost(at.(sql.Expr))))
	}
	return b.coerce(x, t, expr.Implicit, at)
}
