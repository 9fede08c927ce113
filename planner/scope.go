package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// scope is what the names of one query level can mean: the columns of the row
// that its expressions are evaluated over. A subquery's scope has the enclosing
// one as parent; each step up is one level of expr.Outer.
type scope struct {
	parent *scope
	items  []*rangeItem
	ctes   *cteEnv
	// hidden are items of the FROM clause that exist but cannot be seen from
	// here, for the hint of the error.
	hidden []*rangeItem
	// barred are items that LATERAL would see, but may not refer to: the target of
	// UPDATE and DELETE, and the left side of a join that keeps rows of the right one.
	barred []*rangeItem
	// from: the scope is that of an item of FROM, with the ones to its left. The scopes
	// of an item within joins follow one another; the parent of the first of them is the
	// query around, if there is one.
	from, first bool
	// ec is where in the query the subquery stands that is being bound.
	ec *exprContext
	// fn: the scope holds the parameters of a function, whose query sees no further.
	fn *functionUse
}

// outside is the next scope outwards whose names can be seen.
func (sc *scope) outside() *scope {
	if sc.fn != nil {
		return nil
	}
	return sc.parent
}

// out is the scope level queries out; nil if it cannot be seen.
func (sc *scope) out(level int) *scope {
	for ; level > 0 && sc != nil; level-- {
		sc = sc.outside()
	}
	return sc
}

// depth is the number of scopes from sc outwards.
func (sc *scope) depth() int {
	n := 0
	for ; sc != nil; sc = sc.parent {
		n++
	}
	return n
}

// rangeItem is one entry of the namespace: a table, a subquery, or the merged
// columns of a join. PostgreSQL keeps apart whether its name can qualify columns
// and whether its columns can be named without qualification.
type rangeItem struct {
	name       string // alias, or the relation's name; empty for joins
	schema     string // of a relation without alias, for schema.table.column
	relVisible bool
	colVisible bool
	cols       []scopeCol
	rel        catalog.Relation // a base relation, else nil
	key        []int            // positions in cols of the primary key of rel
	// order is the ORDER BY of a subquery that is the whole FROM clause. A relation
	// has no order, but PostgreSQL keeps it for what reads the rows as they come,
	// and queries rely on that.
	order   []expr.SortKey
	selfRef bool // a recursive query's reference to itself
	scalar  bool // a function of one column: its name is also the column's value
	// nullable: an outer join may put NULLs in the place of the item's row. Then
	// witness, if not nil, is a column that is NULL exactly in that case.
	nullable bool
	witness  *scopeCol
	// lock is set for an item without names whose columns are a row of a table that a
	// locking clause is about.
	lock *catalog.Table
	join bool // the alias of a join: its columns are those of other items
}

// scopeCol is a named column of a rangeItem: column index of the row, or for a
// merged column of a join a computed expression over the row.
type scopeCol struct {
	name  string
	typ   types.T
	index int
	e     expr.Expr // nil: column index
	// system columns are found by name but are not part of * or of the row.
	system bool
	// rel and at are the relation that the query names, and the position in it, of
	// which this is a column; rel 0: of none. They are kept for pins only.
	rel uint32
	at  int
	// origin is what clients are told of it.
	origin plan.Origin
	// need is told when the query reads the column, as column needAt of a relation.
	need   *Need
	needAt int
}

// value returns the column's expression over the row of its scope.
func (c *scopeCol) value() expr.Expr {
	if c.e != nil {
		return expr.Rewrite(c.e, func(x expr.Expr) expr.Expr {
			if k, ok := x.(*expr.Col); ok {
				return &expr.Col{Index: k.Index, Typ: k.Typ}
			}
			return x
		})
	}
	return &expr.Col{Index: c.index, Typ: c.typ}
}

// shift moves the columns of items by n, when their row becomes the right part
// of a wider one.
func shiftItems(items []*rangeItem, n int) {
	for _, it := range items {
		if it.witness != nil {
			it.witness.index += n
		}
		for i := range it.cols {
			c := &it.cols[i]
			c.index += n
			if c.e != nil {
				c.e = shiftCols(c.e, n)
			}
		}
	}
}

// shiftCols adds n to every column position of e.
func shiftCols(e expr.Expr, n int) expr.Expr {
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Col); ok {
			return &expr.Col{Index: c.Index + n, Typ: c.Typ}
		}
		return x
	})
}

// outward turns an expression over the row of an enclosing query into one over
// references level queries up.
func outward(e expr.Expr, level int) expr.Expr {
	if level == 0 {
		return e
	}
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		switch x := x.(type) {
		case *expr.Col:
			return &expr.Outer{Level: level, Index: x.Index, Typ: x.Typ}
		case *expr.Outer:
			return &expr.Outer{Level: x.Level + level, Index: x.Index, Typ: x.Typ}
		case *aggRef:
			return &expr.Outer{Level: level, Index: aggOuter(x.index), Typ: x.typ}
		case *groupingRef:
			return &expr.Outer{Level: level, Index: markOuter(x.index), Typ: x.Type()}
		case *winRef:
			return &expr.Outer{Level: level, Index: winOuter(x.index), Typ: x.typ}
		case *subRef:
			c := *x
			c.node = shiftOuter(x.node, level)
			if c.cmp != nil {
				c.cmp = outward(x.cmp, level)
			}
			return &c
		}
		return x
	})
}

// column resolves a column reference; found is false when nothing of that name
// exists at all (the caller may then try a whole-row reference).
func (b *binder) column(sc *scope, ref *sql.ColumnRef) (expr.Expr, error) {
	parts := ref.Parts
	name := parts[len(parts)-1]
	level := 0
	for s := sc; s != nil; s = s.outside() {
		if s.fn != nil {
			return b.paramNamed(s, parts, level, ref)
		}
		var e expr.Expr
		var err error
		if len(parts) == 1 {
			e, err = b.unqualified(s, name, ref)
		} else {
			e, err = b.qualified(s, parts, ref)
		}
		if err != nil {
			return nil, err
		}
		if e != nil && len(parts) == 1 && s.alsoLeft(name) {
			return nil, b.errAt(ref, pgerr.AmbiguousColumn, "column reference \"%s\" is ambiguous", name)
		}
		if e != nil {
			b.noteQualifier(sc, s, ref)
			if level > 0 {
				e = outward(e, level)
				if o, ok := e.(*expr.Outer); ok {
					b.outAt[o] = b.at(ref)
				}
				return e, nil
			}
			if c, ok := e.(*expr.Col); ok {
				b.colAt[c] = colRef{b.at(ref), b.displayName(s, c.Index, name)}
			} else {
				expr.Walk(e, func(x expr.Expr) bool {
					if c, ok := x.(*expr.Col); ok {
						b.colAt[c] = colRef{b.at(ref), b.displayName(s, c.Index, name)}
					}
					return true
				})
			}
			return e, nil
		}
		level++
	}
	return nil, nil
}

// alsoLeft reports whether an item of the same FROM further left, outside of the join
// that s is in, has a column of the name.
func (s *scope) alsoLeft(name string) bool {
	for s.from && !s.first && s.parent != nil {
		s = s.parent
		if n, _ := findVisible(s.items, name); n > 0 {
			return true
		}
	}
	return false
}

// unqualified finds a bare column name in one scope: nil when absent.
func (b *binder) unqualified(s *scope, name string, ref *sql.ColumnRef) (expr.Expr, error) {
	var found *scopeCol
	for _, it := range s.items {
		if !it.colVisible {
			continue
		}
		for i := range it.cols {
			if it.cols[i].name != name {
				continue
			}
			if found != nil {
				return nil, b.errAt(ref, pgerr.AmbiguousColumn, "column reference \"%s\" is ambiguous", name)
			}
			found = &it.cols[i]
		}
	}
	for _, it := range s.barred {
		if !it.colVisible || !slices.ContainsFunc(it.cols, func(c scopeCol) bool { return c.name == name }) {
			continue
		}
		if found != nil {
			return nil, b.errAt(ref, pgerr.AmbiguousColumn, "column reference \"%s\" is ambiguous", name)
		}
		return nil, b.barredItem(it, ref)
	}
	if found == nil {
		return nil, nil
	}
	b.noteUse(found)
	return found.value(), nil
}

// barredItem is the error of a reference to an item that may not be referred to.
func (b *binder) barredItem(it *rangeItem, at sql.Node) error {
	err := pgerr.New(pgerr.InvalidColumnReference, "invalid reference to FROM-clause entry for table \"%s\"", it.name).At(b.at(at))
	if it == b.dmlItem {
		return err.WithHint("There is an entry for table \"%s\", but it cannot be referenced from this part of the query.", it.name)
	}
	return err.WithDetail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
}

// qualified finds table.column in one scope: nil when the table is not there.
func (b *binder) qualified(s *scope, parts []string, ref *sql.ColumnRef) (expr.Expr, error) {
	it, err := b.item(s, parts[:len(parts)-1], ref)
	if it == nil || err != nil {
		return nil, err
	}
	name := parts[len(parts)-1]
	var found *scopeCol
	for i := range it.cols {
		if it.cols[i].name == name {
			if found != nil {
				return nil, b.errAt(ref, pgerr.AmbiguousColumn, "column reference \"%s\" is ambiguous", name)
			}
			found = &it.cols[i]
		}
	}
	if found == nil {
		return nil, b.noColumn(s, it.name, name, ref)
	}
	b.noteUse(found)
	return found.value(), nil
}

// item finds a range item by [schema.]name in one scope.
func (b *binder) item(s *scope, qual []string, at sql.Node) (*rangeItem, error) {
	name := qual[len(qual)-1]
	schema := ""
	if len(qual) > 1 {
		schema = qual[len(qual)-2]
	}
	var found *rangeItem
	for _, it := range s.items {
		if !it.relVisible || it.name != name || schema != "" && it.schema != schema {
			continue
		}
		if found != nil {
			return nil, b.errAt(at, pgerr.AmbiguousAlias, "table reference \"%s\" is ambiguous", name)
		}
		found = it
	}
	for _, it := range s.barred {
		if found == nil && it.relVisible && it.name == name && (schema == "" || it.schema == schema) {
			return nil, b.barredItem(it, at)
		}
	}
	return found, nil
}

// displayName is a column as grouping errors print it.
func (b *binder) displayName(s *scope, index int, name string) string {
	for _, it := range s.items {
		if it.name == "" {
			continue
		}
		for i := range it.cols {
			if it.cols[i].e == nil && it.cols[i].index == index {
				return it.name + "." + it.cols[i].name
			}
		}
	}
	return name
}

// noTable is the error for a qualifier that names no item of FROM.
func (b *binder) noTable(sc *scope, qual []string, at sql.Node) error {
	last := qual[len(qual)-1]
	for s := sc; s != nil; s = s.outside() {
		for _, it := range slices.Concat(s.hidden, s.items) {
			if it.name == last && (!it.relVisible || len(qual) > 1 || slices.Contains(s.hidden, it)) {
				return pgerr.New(pgerr.UndefinedTable, "invalid reference to FROM-clause entry for table \"%s\"", last).
					WithHint("There is an entry for table \"%s\", but it cannot be referenced from this part of the query.", last).At(b.at(at))
			}
			if it.rel != nil && it.rel.Header().Name == last && it.name != last {
				return pgerr.New(pgerr.UndefinedTable, "invalid reference to FROM-clause entry for table \"%s\"", last).
					WithHint("Perhaps you meant to reference the table alias \"%s\".", it.name).At(b.at(at))
			}
		}
	}
	return pgerr.New(pgerr.UndefinedTable, "missing FROM-clause entry for table \"%s\"", last).At(b.at(at))
}

// columnRef binds a column reference, or a whole-row reference.
func (b *binder) columnRef(sc *scope, ref *sql.ColumnRef) (expr.Expr, error) {
	e, err := b.column(sc, ref)
	if e != nil || err != nil {
		return e, err
	}
	if len(ref.Parts) == 1 {
		if row, err := b.wholeRow(sc, ref.Parts, ref); row != nil || err != nil {
			return row, err
		}
		return nil, b.noColumn(sc, "", ref.Parts[0], ref)
	}
	return nil, b.noTable(sc, ref.Parts[:len(ref.Parts)-1], ref)
}

// wholeRow binds a reference to an item of FROM as one record value.
func (b *binder) wholeRow(sc *scope, qual []string, at sql.Node) (expr.Expr, error) {
	level := 0
	for s := sc; s != nil && s.fn == nil; s = s.outside() {
		it, err := b.item(s, qual, at)
		if err != nil {
			return nil, err
		}
		if it != nil {
			if it.scalar && len(it.cols) == 1 {
				return outward(it.cols[0].value(), level), nil
			}
			return b.itemRow(it, level, at)
		}
		level++
	}
	return nil, nil
}

// namedExpr is an output column before projection.
type namedExpr struct {
	name string
	e    expr.Expr
	at   sql.Node
	of   string // the table that * stands for
	from plan.Origin
}

// origin returns what column of a relation an expression over the row is.
func (sc *scope) origin(e expr.Expr) plan.Origin {
	if col, ok := e.(*expr.Col); ok {
		for _, it := range sc.items {
			for i := range it.cols {
				if c := &it.cols[i]; c.e == nil && c.index == col.Index {
					return c.origin
				}
			}
		}
	}
	return plan.Origin{}
}

// star expands * or t.*.
func (b *binder) star(sc *scope, ref *sql.ColumnRef) ([]namedExpr, error) {
	var out []namedExpr
	add := func(it *rangeItem, level int) {
		for i := range it.cols {
			c := &it.cols[i]
			if c.system {
				continue
			}
			b.noteUse(c)
			v := outward(c.value(), level)
			if k, ok := v.(*expr.Col); ok {
				b.colAt[k] = colRef{b.at(ref), b.displayName(sc, k.Index, c.name)}
			}
			out = append(out, namedExpr{name: c.name, e: v, at: ref, of: it.name, from: sc.origin(v)})
		}
	}
	if len(ref.Parts) == 0 {
		if len(sc.items) == 0 {
			return nil, b.errAt(ref, pgerr.SyntaxError, "SELECT * with no tables specified is not valid")
		}
		for _, it := range sc.items {
			if it.colVisible {
				add(it, 0)
			}
		}
		return out, nil
	}
	level := 0
	for s := sc; s != nil && s.fn == nil; s = s.outside() {
		it, err := b.item(s, ref.Parts, ref)
		if err != nil {
			return nil, err
		}
		if it != nil {
			add(it, level)
			return out, nil
		}
		level++
	}
	return nil, b.noTable(sc, ref.Parts, ref)
}

// columnsOf makes the output columns of a list of named expressions.
func columnsOf(es []namedExpr) []plan.Column {
	out := make([]plan.Column, len(es))
	for i, e := range es {
		out[i] = plan.Column{Name: e.name, Typ: e.e.Type(), From: e.from}
	}
	return out
}
