package planner

import (
	"slices"
	"strconv"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
)

// withPaths is a recursive query, whose WITH is bound, without its SEARCH and CYCLE clauses, which its terms
// then compute: the non-recursive term begins the sequence and the path, the recursive
// one reads those of the row it comes from and goes on with them. cols are the columns
// of the query as written, and extra the names of those that are new.
func (b *binder) withPaths(c *sql.CTE, cols []plan.Column) (with *sql.CTE, extra []string, err error) {
	if err := b.checkPaths(c, cols); err != nil {
		return nil, nil, err
	}
	q := c.Query.(*sql.Select)
	ref := selfReference(q.Right.From, c.Name)
	switch {
	case q.Left.Op != sql.SetNone:
		err = pgerr.New(pgerr.FeatureNotSupported, "with a SEARCH or CYCLE clause, the left side of the UNION must be a SELECT")
	case q.Right.Op != sql.SetNone || q.Right.Values != nil:
		err = pgerr.New(pgerr.SyntaxError, "with a SEARCH or CYCLE clause, the right side of the UNION must be a SELECT")
	case ref == "":
		err = pgerr.New(pgerr.FeatureNotSupported, "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"%s\" must be at the top level of its right-hand SELECT", c.Name)
	}
	if err != nil {
		return nil, nil, err
	}
	p := &paths{at: c.At, cte: c}
	for _, col := range cols {
		p.names = append(p.names, col.Name)
	}
	if c.Search != nil {
		extra = append(extra, c.Search.Set)
	}
	if c.Cycle != nil {
		extra = append(extra, c.Cycle.Mark, c.Cycle.Path)
	}
	step := *q.Right
	step.Targets = slices.Clone(step.Targets)
	for _, name := range extra {
		step.Targets = append(step.Targets, sql.Target{At: c.At, Expr: &sql.ColumnRef{At: c.At, Parts: []string{ref, name}}})
	}
	union := &sql.Select{At: q.At, Op: sql.Union, All: q.All, Left: p.over(q.Left, len(cols), p.first()),
		Right: p.over(&step, len(cols)+len(extra), p.next())}
	if c.Cycle != nil {
		mark := p.col(len(cols) + len(extra) - 2)
		union.Right.Where = &sql.OpExpr{At: c.Cycle.At, Op: "<>", Left: mark, Right: c.Cycle.Value}
	}
	return &sql.CTE{At: c.At, Name: c.Name, Columns: append(p.names, extra...), Query: union, Hint: c.Hint}, extra, nil
}

// selfReference is the name under which a FROM clause reads the query name; empty if it
// does not.
func selfReference(from []sql.TableExpr, name string) string {
	for _, te := range from {
		switch te := te.(type) {
		case *sql.TableRef:
			if te.Name.Schema == "" && te.Name.Name == name {
				if te.Alias != nil {
					return te.Alias.Name
				}
				return name
			}
		case *sql.JoinTable:
			if ref := selfReference([]sql.TableExpr{te.Left, te.Right}, name); ref != "" {
				return ref
			}
		}
	}
	return ""
}

// paths makes the terms of a recursive query with SEARCH and CYCLE.
type paths struct {
	at    sql.At
	cte   *sql.CTE
	names []string // of the columns as written
}

// pathsItem is the item of FROM that a term is put into, where its columns are called
// by their numbers: the names of a query's columns need not differ.
const pathsItem = "*term*"

func (p *paths) col(i int) sql.Expr {
	return &sql.ColumnRef{At: p.at, Parts: []string{pathsItem, strconv.Itoa(i)}}
}

// row is ROW(lead, the named columns).
func (p *paths) row(names []string, lead ...sql.Expr) sql.Expr {
	for _, n := range names {
		lead = append(lead, p.col(slices.Index(p.names, n)))
	}
	return &sql.RowExpr{At: p.at, Fields: lead, Explicit: true}
}

func (p *paths) array(e sql.Expr) sql.Expr {
	return &sql.ArrayExpr{At: p.at, Elems: []sql.Expr{e}}
}

// over selects from a term of width columns: those as written, then more.
func (p *paths) over(term *sql.Select, width int, more []sql.Expr) *sql.Select {
	alias := &sql.Alias{Name: pathsItem}
	q := &sql.Select{At: term.At}
	for i := range width {
		alias.Columns = append(alias.Columns, strconv.Itoa(i))
	}
	for i := range p.names {
		q.Targets = append(q.Targets, sql.Target{At: p.at, Expr: p.col(i)})
	}
	for _, e := range more {
		q.Targets = append(q.Targets, sql.Target{At: p.at, Expr: e})
	}
	q.From = []sql.TableExpr{&sql.SubqueryTable{At: p.at, Query: term, Alias: alias}}
	return q
}

// first are the new columns of a row of the non-recursive term.
func (p *paths) first() []sql.Expr {
	var out []sql.Expr
	if s := p.cte.Search; s != nil && s.Breadth {
		out = append(out, p.row(s.Columns, p.bigint(&sql.Literal{At: p.at, Kind: sql.LitInt, Text: "0"})))
	} else if s != nil {
		out = append(out, p.array(p.row(s.Columns)))
	}
	if c := p.cte.Cycle; c != nil {
		out = append(out, p.mark(&sql.Literal{At: p.at, Kind: sql.LitBool, Text: "false"}), p.array(p.row(c.Columns)))
	}
	return out
}

// next are those of a row of the recursive term, over those of the row it comes from.
func (p *paths) next() []sql.Expr {
	var out []sql.Expr
	at := len(p.names) // the place of the column before
	if s := p.cte.Search; s != nil {
		if s.Breadth {
			depth := &sql.FieldSelect{At: p.at, Arg: p.col(at), Field: "f1"}
			one := &sql.Literal{At: p.at, Kind: sql.LitInt, Text: "1"}
			out = append(out, p.row(s.Columns, p.bigint(&sql.OpExpr{At: p.at, Op: "+", Left: depth, Right: one})))
		} else {
			out = append(out, p.appended(at, s.Columns))
		}
		at++
	}
	if c := p.cte.Cycle; c != nil {
		met := &sql.QuantExpr{At: p.at, Arg: p.row(c.Columns), Op: "=", Array: p.col(at + 1)}
		out = append(out, p.mark(met), p.appended(at+1, c.Columns))
	}
	return out
}

// appended is the array of column at with the row of the named columns behind it.
func (p *paths) appended(at int, names []string) sql.Expr {
	return &sql.OpExpr{At: p.at, Op: "||", Left: p.col(at), Right: p.array(p.row(names))}
}

// mark is the value that tells of a cycle, or the other one.
func (p *paths) mark(cycle sql.Expr) sql.Expr {
	c := p.cte.Cycle
	return &sql.CaseExpr{At: c.At, Whens: []sql.When{{Cond: cycle, Then: c.Value}}, Else: c.Default}
}

func (p *paths) bigint(e sql.Expr) sql.Expr {
	return &sql.Cast{At: p.at, Arg: e, Type: &sql.TypeName{At: p.at, Schema: "pg_catalog", Name: "int8"}}
}

// checkPaths: SEARCH and CYCLE name columns of the query, once each, and new ones.
func (b *binder) checkPaths(c *sql.CTE, cols []plan.Column) error {
	has := func(name string) bool {
		return slices.ContainsFunc(cols, func(col plan.Column) bool { return col.Name == name })
	}
	named := func(at sql.Node, clause string, names []string) error {
		for i, n := range names {
			switch {
			case !has(n):
				return b.errAt(at, pgerr.SyntaxError, "%s column \"%s\" not in WITH query column list", clause, n)
			case slices.Contains(names[:i], n):
				return b.errAt(at, pgerr.DuplicateColumn, "%s column \"%s\" specified more than once", clause, n)
			}
		}
		return nil
	}
	added := func(at sql.Node, what, name string) error {
		if has(name) {
			return b.errAt(at, pgerr.SyntaxError, "%s column name \"%s\" already used in WITH query column list", what, name)
		}
		return nil
	}
	differ := func(at sql.Node, what, a, with, other string) error {
		if a == other {
			return b.errAt(at, pgerr.SyntaxError, "%s column name and %s column name are the same", what, with)
		}
		return nil
	}
	var errs []error
	if s := c.Search; s != nil {
		errs = append(errs, named(s, "search", s.Columns), added(s, "search sequence", s.Set))
	}
	if y := c.Cycle; y != nil {
		errs = append(errs, named(y, "cycle", y.Columns), added(y, "cycle mark", y.Mark), added(y, "cycle path", y.Path),
			differ(y, "cycle mark", y.Mark, "cycle path", y.Path))
		if s := c.Search; s != nil {
			errs = append(errs, differ(s, "search sequence", s.Set, "cycle mark", y.Mark), differ(s, "search sequence", s.Set, "cycle path", y.Path))
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
