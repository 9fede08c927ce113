package planner

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// IndexShape is an index bound over the row of its relation. The rows that the
// index stores are the relation's, followed by the values of the keys that are
// expressions.
type IndexShape struct {
	Rel catalog.Relation
	// Keys are the key columns, by position in the stored rows.
	Keys []int
	// Exprs are the keys that are expressions, in order.
	Exprs []expr.Expr
	// Where is the condition of a partial index, or nil.
	Where expr.Expr
}

// Width is the number of columns of the relation.
func (s *IndexShape) Width() int { return len(s.Rel.Cols()) }

// KeyExprs are the keys over the row of the relation.
func (s *IndexShape) KeyExprs() []expr.Expr {
	var out []expr.Expr
	for _, k := range s.Keys {
		if n := k - s.Width(); n >= 0 {
			out = append(out, s.Exprs[n])
		} else {
			out = append(out, &expr.Col{Index: k, Typ: s.Rel.Cols()[k].Type})
		}
	}
	return out
}

// BindIndex binds an index of the catalog.
func (p *Planner) BindIndex(ix *catalog.Index) (*IndexShape, error) {
	rel, ok := p.Cat.ByOID(ix.Table).(catalog.Relation)
	if !ok {
		return nil, pgerr.New(pgerr.UndefinedTable, "the relation of index \"%s\" does not exist", ix.Name)
	}
	c := *p
	c.Text = ""
	b := c.newBinder(false)
	s := &IndexShape{Rel: rel}
	for _, k := range ix.Keys {
		if k.Column >= 0 {
			s.Keys = append(s.Keys, k.Column)
			continue
		}
		e, err := b.storedExpr(k.Expr, rel, k.As.Type)
		if err != nil {
			return nil, err
		}
		s.Keys = append(s.Keys, s.Width()+len(s.Exprs))
		s.Exprs = append(s.Exprs, b.foldExpr(e))
	}
	if ix.Where != "" {
		var err error
		if s.Where, err = b.storedExpr(ix.Where, rel, types.TBool); err != nil {
			return nil, err
		}
		s.Where = b.foldExpr(s.Where)
	}
	return s, nil
}

// PlanIndex is the dataflow of an index: relation rows that satisfy its condition,
// with the values of its expressions, stored under its keys followed by what the
// relation's own storage key, own, adds. Without one the key is not unique, and
// the rows are counted.
func (p *Planner) PlanIndex(ix *catalog.Index, own []int) (*plan.Materialize, error) {
	s, err := p.BindIndex(ix)
	if err != nil {
		return nil, err
	}
	scan := scanOf(s.Rel)
	scan.P = plan.Props{}
	if own != nil {
		scan.P.Keys = [][]int{own}
	}
	var n plan.Node = scan
	if s.Where != nil {
		n = &plan.Filter{Input: n, Cond: s.Where}
	}
	if len(s.Exprs) > 0 {
		pr := &plan.Project{Input: n, Exprs: append(identity(scan), s.Exprs...), Out: slices.Clone(scan.Out)}
		for _, k := range ix.Keys {
			if k.Column < 0 {
				pr.Out = append(pr.Out, plan.Column{Name: k.As.Name, Typ: k.As.Type})
			}
		}
		n = pr
	}
	return &plan.Materialize{Input: n, Rel: ix.OID, Key: IndexKey(s.Keys, own), Ordered: own == nil}, nil
}

// IndexKey is the storage key of an index: its key columns, then what the
// relation's own key adds.
func IndexKey(keys, own []int) []int {
	var out []int
	for _, k := range slices.Concat(keys, own) {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// BindCreateIndex makes the catalog object of CREATE INDEX.
func (p *Planner) BindCreateIndex(s *sql.CreateIndex) (*catalog.Index, error) {
	b := p.newBinder(false)
	rel, err := b.relation(s.Table, s.Table)
	if err != nil {
		if pgerr.CodeOf(err) == pgerr.InsufficientPrivilege { // PostgreSQL looks the table up later
			e := *pgerr.From(err)
			e.Pos, err = 0, &e
		}
		return nil, err
	}
	switch rel.(type) {
	case *catalog.Table, *catalog.MatView:
	default:
		return nil, pgerr.New(pgerr.WrongObjectType, "cannot create index on relation \"%s\"", rel.Header().Name).
			WithDetail("This operation is not supported for %ss.", rel.Kind()).At(b.at(s.Table))
	}
	if s.Method != "" && s.Method != "btree" {
		return nil, b.unsupported(s, "the access method \""+s.Method+"\"", "Use btree.")
	}
	ix := &catalog.Index{Head: catalog.Head{Schema: rel.Header().Schema, Name: s.Name, Owner: rel.Header().Owner}, Table: rel.Header().OID,
		Unique: s.Unique, NullsNotDistinct: s.NullsNotDistinct, Definition: sql.Format(s)}
	x := &indexBinder{b: b, rel: rel, ix: ix}
	for _, c := range s.Columns {
		if err := x.key(c); err != nil {
			return nil, err
		}
	}
	for _, n := range s.Include {
		if err := x.include(n); err != nil {
			return nil, err
		}
	}
	if s.Where != nil {
		if err := x.where(s.Where); err != nil {
			return nil, err
		}
	}
	if v, ok := rel.(*catalog.MatView); ok && ix.Unique && !v.Distinct(ix.Columns()) {
		return nil, b.unsupported(s, "a unique index on columns by which the query of a materialized view may give several rows", keyHint(v))
	}
	if ix.Options, err = SetStorage(IndexStorage, nil, s.Options); err != nil {
		return nil, err
	}
	if ix.Name == "" {
		ix.Name = freeName(p.Cat, ix.Schema, rel.Header().Name, x.names, "idx", nil)
	}
	return ix, nil
}

// indexBinder makes the keys of an index.
type indexBinder struct {
	b     *binder
	rel   catalog.Relation
	ix    *catalog.Index
	names []string // of the key columns, for the name of the index
}

func (x *indexBinder) context(clause string) *exprContext {
	sc := &scope{items: []*rangeItem{relationItem(x.rel, x.rel.Header().Name, 0)}}
	return &exprContext{sc: sc, clause: clause, noSub: clause[:len(clause)-1]}
}

// key adds a key column.
func (x *indexBinder) key(c sql.IndexColumn) error {
	b := x.b
	k := catalog.IndexColumn{Column: -1, Desc: c.Sort.Desc, NullsFirst: c.Sort.Desc}
	switch c.Sort.Nulls {
	case sql.NullsFirst:
		k.NullsFirst = true
	case sql.NullsLast:
		k.NullsFirst = false
	}
	if ref, ok := c.Sort.Expr.(*sql.ColumnRef); ok && len(ref.Parts) == 1 {
		if k.Column = catalog.ColumnIndex(x.rel.Cols(), ref.Parts[0]); k.Column < 0 {
			return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", ref.Parts[0])
		}
		return x.add(k, ref.Parts[0], x.rel.Cols()[k.Column].Type, c.OpClass)
	}
	e, err := b.expr(x.context("index expressions"), c.Sort.Expr)
	if err != nil {
		return err
	}
	if !immutable(e) {
		return pgerr.New(pgerr.InvalidObjectDefinition, "functions in index expression must be marked IMMUTABLE")
	}
	if e, err = b.toText(e); err != nil {
		return err
	}
	name := x.columnName(c.Sort.Expr)
	k.Expr, k.As = sql.FormatExpr(c.Sort.Expr), &catalog.Column{Name: name, Type: e.Type()}
	return x.add(k, name, e.Type(), c.OpClass)
}

func (x *indexBinder) add(k catalog.IndexColumn, name string, t types.T, class *sql.Name) error {
	x.names = append(x.names, name)
	if err := orderable(t); err != nil {
		return err
	}
	var err error
	if class != nil {
		k.OpClass, err = operatorClass(*class, t)
	}
	x.ix.Keys = append(x.ix.Keys, k)
	return err
}

// operatorClass checks the class named for a key of type t; empty if it has that one
// anyway.
func operatorClass(n sql.Name, t types.T) (string, error) {
	exists, accepts, byDefault := catalog.OperatorClass(n.Name, t)
	switch {
	case !exists || n.Schema != "" && n.Schema != "pg_catalog":
		return "", pgerr.New(pgerr.UndefinedObject, "operator class \"%s\" does not exist for access method \"btree\"", n.Name)
	case !accepts:
		return "", pgerr.New(pgerr.DatatypeMismatch, "operator class \"%s\" does not accept data type %s", n.Name, t.Base())
	case byDefault:
		return "", nil
	}
	return n.Name, nil
}

// columnName names the column of an expression: after its function, else expr;
// a number is added until it is free.
func (x *indexBinder) columnName(e sql.Expr) string {
	base := figureName(e)
	if base == "?column?" {
		base = "expr"
	}
	name := base
	for i := 1; slices.Contains(x.names, name); i++ {
		name = base + itoa(i)
	}
	return name
}

func (x *indexBinder) include(name string) error {
	i := catalog.ColumnIndex(x.rel.Cols(), name)
	if i < 0 {
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", name)
	}
	x.ix.Include = append(x.ix.Include, i)
	return nil
}

func (x *indexBinder) where(e sql.Expr) error {
	cond, err := x.b.boolArg(x.context("index predicates"), e, "WHERE")
	if err != nil {
		return err
	}
	if !immutable(cond) {
		return pgerr.New(pgerr.InvalidObjectDefinition, "functions in index predicate must be marked IMMUTABLE")
	}
	x.ix.Where = sql.FormatExpr(e)
	return nil
}

// orderable refuses types that no index can be on.
func orderable(t types.T) *pgerr.Error {
	if !t.HasOrder() {
		return pgerr.New(pgerr.UndefinedObject, "data type %s has no default operator class for access method \"btree\"", t).
			WithHint("You must specify an operator class for the index or define a default operator class for the data type.")
	}
	return nil
}

// keyHint says which columns a unique index of a view can be on.
func keyHint(v *catalog.MatView) string {
	if v.Key == nil {
		return "Create an index that is not unique."
	}
	names := make([]string, len(v.Key))
	for i, k := range v.Key {
		names[i] = v.Columns[k].Name
	}
	return "The key of the view is (" + strings.Join(names, ", ") + "): an index with these columns can be unique."
}
