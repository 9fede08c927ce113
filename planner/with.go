package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
)

// cteEnv is the list of common table expressions in sight, newest first.
type cteEnv struct {
	next *cteEnv
	cte  *cte
	// ahead are the names of the WITH clause that are not in sight yet, for the
	// hint of the error.
	ahead []string
}

type cte struct {
	name  string
	node  plan.Node
	cols  []plan.Column
	depth int // of the scope its plan sees as level 1
	size  int
	rec   bool // recursive: its own query is being bound
	// extra is how many of the last columns only SEARCH and CYCLE have made: the query
	// itself can name them, but * does not mean them.
	extra int
	mute  bool // a data-modifying statement without RETURNING
	// once: its rows are others when they are computed again; read tells that
	// something has read them.
	once, read bool
}

func outerEnv(outer *scope) *cteEnv {
	if outer == nil {
		return nil
	}
	return outer.ctes
}

// under is a scope in which queries of a level below outer see env.
func under(outer *scope, env *cteEnv) *scope {
	if outer == nil {
		return &scope{ctes: env}
	}
	o := *outer
	o.ctes = env
	return &o
}

// withClause binds the common table expressions of a WITH clause. Statements that
// change data may stand in that of the whole statement only.
func (b *binder) withClause(w *sql.With, outer *scope, top bool) (*cteEnv, error) {
	env := outerEnv(outer)
	if w == nil {
		return env, nil
	}
	ctes, recursive, err := b.withOrder(w)
	if err != nil {
		return nil, err
	}
	for i, c := range ctes {
		if !w.Recursive {
			env = &cteEnv{next: env, ahead: cteNames(ctes[i:])}
		}
		q, isQuery := c.Query.(*sql.Select)
		if !isQuery {
			if !top {
				return nil, b.errAt(c, pgerr.FeatureNotSupported, "WITH clause containing a data-modifying statement must be at the top level")
			}
			m, err := b.withMutation(*c, env)
			if err != nil {
				return nil, err
			}
			env = &cteEnv{next: env, cte: m}
			continue
		}
		before := b.nodes
		var n plan.Node
		var cols []plan.Column
		if recursive[c.Name] {
			n, cols, err = b.recursive(c, outer, env, nil)
		} else if c.Search != nil || c.Cycle != nil {
			return nil, b.errAt(c, pgerr.SyntaxError, "WITH query is not recursive")
		} else {
			// The definition sees what the query itself sees, and earlier definitions.
			n, cols, err = b.query(q, under(outer, env), queryMode{})
		}
		if err != nil {
			return nil, err
		}
		if outer == nil {
			n = lowerOuter(n)
		}
		if cols, err = b.cteColumns(c, cols); err != nil {
			return nil, err
		}
		made := &cte{name: c.Name, node: n, cols: cols, depth: outer.depth(), size: b.nodes - before}
		if volatileRows(n) && !correlated(n) {
			b.share(made)
		}
		env = &cteEnv{next: env, cte: made}
	}
	return env, nil
}

// share makes the rows of a query of WITH be computed once.
func (b *binder) share(c *cte) {
	if c.once = true; b.stream {
		return
	}
	b.given++
	scan := givenScan(b.given, c.name, c.cols)
	scan.Made = &plan.Made{Root: c.node}
	b.shared = append(b.shared, scan.Made)
	c.node, c.size = scan, 1
}

// optimizeShared runs the rules on the queries whose rows are computed once.
func (b *binder) optimizeShared() error {
	for _, m := range b.shared {
		var err error
		if m.Root, err = b.optimize(m.Root); err != nil {
			return err
		}
	}
	return nil
}

// volatileRows reports whether a plan may have other rows when it is computed again.
func volatileRows(n plan.Node) bool {
	found := false
	plan.Walk(n, func(x plan.Node) bool {
		if f, ok := x.(*plan.TableFunc); ok {
			found = found || f.Fn.Volatility == expr.Volatile
		}
		plan.EachExpr(x, func(e expr.Expr) { found = found || plan.IsVolatile(e) })
		return !found
	})
	return found
}

// cteColumns gives the columns of a common table expression the names listed
// after its own.
func (b *binder) cteColumns(c *sql.CTE, cols []plan.Column) ([]plan.Column, error) {
	if len(c.Columns) > len(cols) {
		return nil, b.errAt(c, pgerr.InvalidColumnReference, "WITH query \"%s\" has %d columns available but %d columns specified", c.Name, len(cols), len(c.Columns))
	}
	cols = slices.Clone(cols)
	for i, name := range c.Columns {
		cols[i].Name = name
	}
	return cols, nil
}

func cteNames(ctes []*sql.CTE) []string {
	var out []string
	for _, c := range ctes {
		out = append(out, c.Name)
	}
	return out
}

// withOrder checks a WITH clause and returns its queries in an order in which
// each comes after those it reads, and which of them read themselves.
func (b *binder) withOrder(w *sql.With) ([]*sql.CTE, map[string]bool, error) {
	var ctes []*sql.CTE
	byName := map[string]*sql.CTE{}
	for i := range w.CTEs {
		c := &w.CTEs[i]
		if byName[c.Name] != nil {
			return nil, nil, b.errAt(c, pgerr.DuplicateAlias, "WITH query name \"%s\" specified more than once", c.Name)
		}
		if _, merge := c.Query.(*sql.Merge); merge {
			return nil, nil, b.errAt(c, pgerr.FeatureNotSupported, "MERGE not supported in WITH query")
		}
		byName[c.Name] = c
		ctes = append(ctes, c)
	}
	if !w.Recursive {
		return ctes, nil, nil
	}
	recursive := map[string]bool{}
	reads := map[*sql.CTE]map[string]bool{}
	for i, c := range ctes {
		q, ok := c.Query.(*sql.Select)
		if !ok { // statements that change data keep their places
			if changeReads(c) {
				return nil, nil, b.errAt(c, pgerr.InvalidRecursion, "recursive query \"%s\" must not contain data-modifying statements", c.Name)
			}
			reads[c] = map[string]bool{}
			for _, earlier := range ctes[:i] {
				reads[c][earlier.Name] = true
			}
			continue
		}
		reads[c] = references(q, byName)
		recursive[c.Name] = reads[c][c.Name]
	}
	ordered, stuck := cteOrder(ctes, reads)
	if stuck != nil {
		return nil, nil, pgerr.New(pgerr.FeatureNotSupported, "mutual recursion between WITH items is not implemented").
			WithHint("Write one recursive query over the rows of both, with a column that tells them apart.").At(b.at(stuck))
	}
	for _, c := range ordered {
		if recursive[c.Name] {
			if err := b.checkRecursion(c); err != nil {
				return nil, nil, err
			}
		}
	}
	return ordered, recursive, nil
}

// cteOrder sorts queries behind those they read, themselves apart. stuck is one
// that cannot be placed.
func cteOrder(ctes []*sql.CTE, reads map[*sql.CTE]map[string]bool) (ordered []*sql.CTE, stuck *sql.CTE) {
	left := slices.Clone(ctes)
	placed := map[string]bool{}
	for len(left) > 0 {
		next := slices.IndexFunc(left, func(c *sql.CTE) bool {
			for name := range reads[c] {
				if name != c.Name && !placed[name] {
					return false
				}
			}
			return true
		})
		if next < 0 {
			return nil, left[0]
		}
		placed[left[next].Name] = true
		ordered = append(ordered, left[next])
		left = slices.Delete(left, next, next+1)
	}
	return ordered, nil
}

// cteRef binds a reference to a common table expression; nil when there is none
// of the name.
func (b *binder) cteRef(te *sql.TableRef, outer *scope) (*fromPart, error) {
	for e := outer.ctes; e != nil; e = e.next {
		c := e.cte
		if c == nil || c.name != te.Name.Name {
			continue
		}
		if c.mute {
			return nil, b.errAt(te, pgerr.FeatureNotSupported, "WITH query \"%s\" does not have a RETURNING clause", c.name)
		}
		if err := b.grow(c.size, te); err != nil {
			return nil, err
		}
		if c.once && c.read && b.stream {
			return nil, b.unsupported(te, "a WITH query with volatile functions that is read more than once in a materialized view or sink",
				"Make a materialized view of the WITH query.")
		}
		c.read = true
		it, err := b.alias(te.Alias, c.name, c.cols, te)
		if err != nil {
			return nil, err
		}
		it.selfRef = c.rec
		for i := len(it.cols) - c.extra; i < len(it.cols); i++ {
			it.cols[i].system = true
		}
		return &fromPart{node: shiftOuter(c.node, outer.depth()-c.depth), items: []*rangeItem{it}}, nil
	}
	return nil, nil
}

// notInSight adds to the error about an unknown table that a WITH clause has a
// query of the name.
func notInSight(err error, name string, env *cteEnv) error {
	pe := pgerr.From(err)
	for e := env; e != nil && pe.Code == pgerr.UndefinedTable; e = e.next {
		if slices.Contains(e.ahead, name) {
			return pe.WithDetail("There is a WITH item named \"%s\", but it cannot be referenced from this part of the query.", name).
				WithHint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references.")
		}
	}
	return err
}
