package planner

import (
	"slices"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// eachReference calls visit for every table name without a schema in n that no
// WITH clause inside of n captures. inside is told of every node before its
// children and returns what to call after them, or nil.
func eachReference(n sql.Node, captured []string, inside func(parent, child sql.Node) (leave func()), visit func(*sql.TableRef) error) error {
	if t, ok := n.(*sql.TableRef); ok && t.Name.Schema == "" && !slices.Contains(captured, t.Name.Name) {
		return visit(t)
	}
	walk := func(child sql.Node, captured []string) error {
		if inside != nil {
			if leave := inside(n, child); leave != nil {
				defer leave()
			}
		}
		return eachReference(child, captured, inside, visit)
	}
	if q, ok := n.(*sql.Select); ok && q.With != nil {
		captured = slices.Clone(captured)
		if q.With.Recursive {
			for _, c := range q.With.CTEs {
				captured = append(captured, c.Name)
			}
		}
		for _, c := range q.With.CTEs {
			if cq, ok := c.Query.(*sql.Select); ok {
				if err := walk(cq, captured); err != nil {
					return err
				}
			}
			if !q.With.Recursive {
				captured = append(captured, c.Name)
			}
		}
	}
	for _, c := range sql.Children(n) {
		if err := walk(c, captured); err != nil {
			return err
		}
	}
	return nil
}

// references tells which of the queries of a WITH clause q reads.
func references(q *sql.Select, byName map[string]*sql.CTE) map[string]bool {
	out := map[string]bool{}
	_ = eachReference(q, nil, nil, func(t *sql.TableRef) error {
		if byName[t.Name.Name] != nil {
			out[t.Name.Name] = true
		}
		return nil
	})
	return out
}

// changeReads reports whether a statement of WITH that changes data reads its own rows.
func changeReads(c *sql.CTE) bool {
	var with *sql.With
	parts := &sql.Select{}
	switch s := c.Query.(type) {
	case *sql.Insert:
		with = s.With
		if s.Source != nil {
			parts.From = []sql.TableExpr{&sql.SubqueryTable{Query: s.Source}}
		}
	case *sql.Update:
		with, parts.From, parts.Where = s.With, s.From, s.Where
		for _, set := range s.Set {
			parts.Targets = append(parts.Targets, sql.Target{Expr: set.Value})
		}
	case *sql.Delete:
		with, parts.From, parts.Where = s.With, s.Using, s.Where
	}
	parts.With = with
	return references(parts, map[string]*sql.CTE{c.Name: c})[c.Name]
}

// The places where a query may not read itself, as errors name them.
const (
	inBase      = "its non-recursive term"
	inSubquery  = "a subquery"
	inOuterJoin = "an outer join"
	inIntersect = "INTERSECT"
	inExcept    = "EXCEPT"
)

// recursionCheck finds out where a recursive query reads itself.
type recursionCheck struct {
	b    *binder
	name string
	// place is where the walk stands; empty where the query may read itself.
	place string
	count int
}

// checkRecursion demands the form that recursive queries must have: a UNION whose
// right side alone reads the query, once, and where the rows of one iteration
// suffice to compute those of the next.
func (b *binder) checkRecursion(c *sql.CTE) error {
	q := c.Query.(*sql.Select)
	if q.Op != sql.Union {
		return b.errAt(c, pgerr.InvalidRecursion, "recursive query \"%s\" does not have the form non-recursive-term UNION [ALL] recursive-term", c.Name)
	}
	r := &recursionCheck{b: b, name: c.Name, place: inBase}
	if err := r.walk(q.Left); err != nil {
		return err
	}
	r.place = ""
	if err := r.walk(q.Right); err != nil {
		return err
	}
	if q.With != nil {
		r.place = inSubquery
		if err := r.walk(&sql.Select{At: q.At, With: q.With}); err != nil {
			return err
		}
	}
	refused := func(what string) *pgerr.Error {
		return pgerr.New(pgerr.FeatureNotSupported, "%s in a recursive query is not implemented", what).
			WithHint("Put it in the query that reads the recursive one.")
	}
	switch {
	case len(q.OrderBy) > 0:
		return refused("ORDER BY").At(b.at(q.OrderBy[0].Expr))
	case q.Skip != nil:
		return refused("OFFSET").At(b.at(q.Skip))
	case q.Limit != nil:
		return refused("LIMIT").At(b.at(q.Limit))
	case len(q.Locks) > 0:
		return refused("FOR UPDATE/SHARE")
	}
	return nil
}

func (r *recursionCheck) walk(n sql.Node) error {
	return eachReference(n, nil, r.enter, r.reference)
}

func (r *recursionCheck) reference(t *sql.TableRef) error {
	if t.Name.Name != r.name {
		return nil
	}
	if r.place != "" {
		return r.b.errAt(t, pgerr.InvalidRecursion, "recursive reference to query \"%s\" must not appear within %s", r.name, r.place)
	}
	if r.count++; r.count > 1 {
		return r.b.errAt(t, pgerr.InvalidRecursion, "recursive reference to query \"%s\" must not appear more than once", r.name)
	}
	return nil
}

// enter notes that the walk goes from a node into a part of it.
func (r *recursionCheck) enter(parent, child sql.Node) func() {
	place := r.place
	switch p := parent.(type) {
	case *sql.Select:
		arm := child == sql.Node(p.Left) || child == sql.Node(p.Right)
		switch {
		case place != "" || !arm:
		case p.Op == sql.Intersect && p.All:
			place = inIntersect
		case p.Op == sql.Except && (p.All || child == sql.Node(p.Right)):
			place = inExcept
		}
	case *sql.JoinTable:
		padded := p.Kind == sql.FullJoin && (child == sql.Node(p.Left) || child == sql.Node(p.Right)) ||
			p.Kind == sql.LeftJoin && child == sql.Node(p.Right) || p.Kind == sql.RightJoin && child == sql.Node(p.Left)
		if padded && place == "" {
			place = inOuterJoin
		}
	case sql.Expr:
		if q, ok := sql.IsSubquery(p); ok && child == sql.Node(q) {
			place = inSubquery
		}
	}
	if place == r.place {
		return nil
	}
	before := r.place
	r.place = place
	return func() { r.place = before }
}
