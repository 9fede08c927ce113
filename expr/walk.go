package expr

// Children returns e's direct subexpressions in evaluation order.
func Children(e Expr) []Expr {
	switch e := e.(type) {
	case *Call:
		return e.Args
	case *Cast:
		return []Expr{e.Arg}
	case *And:
		return e.Args
	case *Or:
		return e.Args
	case *Not:
		return []Expr{e.Arg}
	case *IsNull:
		return []Expr{e.Arg}
	case *IsBool:
		return []Expr{e.Arg}
	case *Distinct:
		return []Expr{e.L, e.R}
	case *Case:
		var c []Expr
		for _, w := range e.Whens {
			c = append(c, w.Cond, w.Then)
		}
		if e.Else != nil {
			c = append(c, e.Else)
		}
		return c
	case *Coalesce:
		return e.Args
	case *MinMax:
		return e.Args
	case *In:
		return append([]Expr{e.Arg}, e.List...)
	case *AnyAll:
		return []Expr{e.Arg, e.Array}
	case *MakeArray:
		return e.Args
	case *MakeRow:
		return e.Args
	case *Field:
		return []Expr{e.Arg}
	}
	return nil
}

// Walk calls f on e and its subexpressions, parents first, until f returns false
// for a subtree.
func Walk(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, c := range Children(e) {
		Walk(c, f)
	}
}

// Rewrite rebuilds e bottom-up: f sees every node with its children already
// rewritten and returns its replacement. Unchanged subtrees are shared.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	if e == nil {
		return nil
	}
	switch x := e.(type) {
	case *Call:
		e = &Call{x.Fn, rewriteAll(x.Args, f), x.Typ}
	case *Cast:
		e = &Cast{Rewrite(x.Arg, f), x.To, x.Explicit}
	case *And:
		e = &And{rewriteAll(x.Args, f)}
	case *Or:
		e = &Or{rewriteAll(x.Args, f)}
	case *Not:
		e = &Not{Rewrite(x.Arg, f)}
	case *IsNull:
		e = &IsNull{Rewrite(x.Arg, f), x.Negate}
	case *IsBool:
		e = &IsBool{Rewrite(x.Arg, f), x.Want, x.Negate}
	case *Distinct:
		e = &Distinct{Rewrite(x.L, f), Rewrite(x.R, f), x.Negate}
	case *Case:
		c := &Case{Whens: make([]When, len(x.Whens)), Else: Rewrite(x.Else, f), Typ: x.Typ}
		for i, w := range x.Whens {
			c.Whens[i] = When{Rewrite(w.Cond, f), Rewrite(w.Then, f)}
		}
		e = c
	case *Coalesce:
		e = &Coalesce{rewriteAll(x.Args, f), x.Typ}
	case *MinMax:
		e = &MinMax{rewriteAll(x.Args, f), x.Greatest, x.Typ}
	case *In:
		e = &In{Rewrite(x.Arg, f), rewriteAll(x.List, f), x.Negate}
	case *AnyAll:
		e = &AnyAll{Rewrite(x.Arg, f), Rewrite(x.Array, f), x.Op, x.All}
	case *MakeArray:
		e = &MakeArray{rewriteAll(x.Args, f), x.Typ}
	case *MakeRow:
		e = &MakeRow{rewriteAll(x.Args, f), x.Names, x.Typ, x.Whole}
	case *Field:
		e = &Field{Rewrite(x.Arg, f), x.Index, x.Typ}
	}
	return f(e)
}

func rewriteAll(es []Expr, f func(Expr) Expr) []Expr {
	out := make([]Expr, len(es))
	for i, e := range es {
		out[i] = Rewrite(e, f)
	}
	return out
}
