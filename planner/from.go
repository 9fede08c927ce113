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

// fromPart is a bound part of a FROM clause: a plan and the names of its
// columns. The plan is bound under a scope of the items to its left: its outer
// references of level 1 are to their row, until settle removes that level.
type fromPart struct {
	node    plan.Node
	items   []*rangeItem
	hidden  []*rangeItem // behind the alias of a join
	lateral bool         // the plan does refer to the items to its left
}

// fromList binds a comma list and adds its items to sc.
func (b *binder) fromList(list []sql.TableExpr, sc *scope) (plan.Node, error) {
	var node plan.Node
	for _, te := range list {
		left := &scope{parent: sc.parent, items: slices.Clone(sc.items), hidden: slices.Clone(sc.hidden), ctes: sc.ctes, from: true, first: true}
		if b.dmlItem != nil && len(sc.items) > 0 && sc.items[0] == b.dmlItem {
			left.items, left.barred = left.items[1:], left.items[:1]
		}
		right, err := b.tableExpr(te, left)
		if err != nil {
			return nil, err
		}
		if err := b.checkAliases(sc.items, right.items, te); err != nil {
			return nil, err
		}
		if right = settle(right); node == nil {
			node = right.node
		} else {
			shiftItems(right.items, len(node.Schema()))
			node = crossJoin(plan.Inner, node, right)
		}
		sc.items, sc.hidden = append(sc.items, right.items...), append(sc.hidden, right.hidden...)
		if te == sql.TableExpr(b.dmlRef) {
			b.dmlItem = sc.items[0]
		}
	}
	if node == nil {
		node = oneRow()
	}
	return node, nil
}

// crossJoin joins a settled part to what is on its left.
func crossJoin(k plan.JoinKind, left plan.Node, right *fromPart) plan.Node {
	if right.lateral {
		return &plan.Apply{Kind: k, Left: left, Right: right.node}
	}
	return &plan.Join{Kind: k, Left: left, Right: right.node}
}

// settle finds out whether a part uses the items to its left. If not, that level
// disappears from its outer references.
func settle(p *fromPart) *fromPart {
	if refersToLevel(p.node, 1) {
		p.lateral = true
		return p
	}
	p.node = lowerOuter(p.node)
	return p
}

// oneRow is the input of a query without FROM.
func oneRow() plan.Node { return &plan.Values{Rows: [][]expr.Expr{{}}} }

// checkAliases finds two items of one name.
func (b *binder) checkAliases(left, right []*rangeItem, at sql.Node) error {
	for _, r := range right {
		if r.name == "" || !r.relVisible {
			continue
		}
		for _, l := range left {
			if l.relVisible && l.name == r.name && (l.schema == r.schema || l.schema == "" || r.schema == "") {
				return pgerr.New(pgerr.DuplicateAlias, "table name \"%s\" specified more than once", r.name)
			}
		}
	}
	return nil
}

// tableExpr binds one item of FROM under outer, whose items LATERAL ones may see.
func (b *binder) tableExpr(te sql.TableExpr, outer *scope) (*fromPart, error) {
	if err := b.enter(te); err != nil {
		return nil, err
	}
	defer b.leave()
	if err := b.grow(1, te); err != nil {
		return nil, err
	}
	switch te := te.(type) {
	case *sql.TableRef:
		return b.tableRef(te, outer)
	case *sql.SubqueryTable:
		return b.subqueryTable(te, outer)
	case *sql.FuncTable:
		return b.funcTable(te, outer)
	case *sql.JoinTable:
		return b.joinTable(te, outer)
	case *sql.WindowTable:
		return b.windowTable(te, outer)
	}
	return nil, b.unsupported(te, "this item of FROM", "Use a table, a subquery or a function.")
}

// primaryKey returns the columns of a table's primary key on which others depend: the
// one by which rows are stored, or one that was added later and always holds.
func (b *binder) primaryKey(t *catalog.Table) []int {
	if t.PrimaryKey != nil {
		return t.PrimaryKey.Columns
	}
	for _, ix := range b.p.Cat.Indexes(t.OID) {
		if ix.Primary && !ix.Deferrable {
			return ix.Columns()
		}
	}
	return nil
}

// blind is outer for a part that may not see the items of its FROM.
func blind(outer *scope) *scope {
	if !outer.from {
		return outer
	}
	hidden := slices.Concat(outer.items, outer.barred, outer.hidden)
	out := &scope{parent: outer.parent, hidden: hidden, ctes: outer.ctes, from: true, first: outer.first, ec: outer.ec, fn: outer.fn}
	if !out.first {
		out.parent = blind(out.parent)
	}
	return out
}

func (b *binder) subqueryTable(te *sql.SubqueryTable, outer *scope) (*fromPart, error) {
	if !te.Lateral {
		outer = blind(outer)
	}
	mode := queryMode{order: true}
	if k := b.locked[te]; k != nil {
		mode.lock = k.strength
	}
	r, err := b.boundQuery(te.Query, outer, mode)
	if err != nil {
		return nil, err
	}
	n := r.node
	it, err := b.alias(te.Alias, "", r.cols, te)
	if err != nil {
		return nil, err
	}
	it.order = r.order
	return &fromPart{node: n, items: append([]*rangeItem{it}, lockedItems(r.locks, n)...)}, nil
}

// alias names the columns of a part.
func (b *binder) alias(a *sql.Alias, name string, cols []plan.Column, at sql.Node) (*rangeItem, error) {
	it := &rangeItem{name: name, relVisible: true, colVisible: true}
	for i, c := range cols {
		it.cols = append(it.cols, scopeCol{name: c.Name, typ: c.Typ, index: i, origin: c.From})
	}
	if a == nil {
		return it, nil
	}
	it.name = a.Name
	return it, b.renameColumns(it, a, at)
}

func (b *binder) renameColumns(it *rangeItem, a *sql.Alias, at sql.Node) error {
	if len(a.Columns) > len(it.cols) {
		what := "table"
		if it.join {
			what = "join expression"
		}
		return pgerr.New(pgerr.InvalidColumnReference, "%s \"%s\" has %d columns available but %d columns specified",
			what, it.name, len(it.cols), len(a.Columns))
	}
	for i, n := range a.Columns {
		it.cols[i].name = n
	}
	return nil
}

// tableRef binds a named relation or common table expression.
func (b *binder) tableRef(te *sql.TableRef, outer *scope) (*fromPart, error) {
	if te.Name.Schema == "" {
		if p, err := b.cteRef(te, outer); p != nil || err != nil {
			if p != nil && te.Sample != nil {
				return nil, b.errAt(te, pgerr.FeatureNotSupported, "TABLESAMPLE clause can only be applied to tables and materialized views")
			}
			return p, err
		}
	}
	if te.AsOf != nil {
		return nil, b.unsupported(te, "FOR SYSTEM_TIME AS OF", "Join the relation without it to see its current rows.")
	}
	rel, err := b.relation(te.Name, te)
	if err != nil {
		return nil, notInSight(err, te.Name.Name, outer.ctes)
	}
	if b.pins != nil {
		b.pins.refs[te] = rel
	}
	h := rel.Header()
	if _, table := rel.(*catalog.Table); te.Sample != nil && !table && rel.Kind() != catalog.KindMatView {
		return nil, b.errAt(te, pgerr.FeatureNotSupported, "TABLESAMPLE clause can only be applied to tables and materialized views")
	}
	if v, ok := rel.(*catalog.View); ok {
		return b.viewRef(v, te)
	}
	b.deps[h.OID] = true
	privs := catalog.Select
	if te == b.dmlRef {
		privs = 0
	}
	need := b.need(h.OID, privs)
	n := scanOf(rel)
	n.Pos = b.at(te)
	if n.Kind == plan.RelVirtual && b.maintained {
		return nil, b.unsupported(te, "a catalog table in a materialized view or sink", "Its changes are not tracked.")
	}
	it, err := b.alias(te.Alias, h.Name, n.Out, te)
	if err != nil {
		return nil, err
	}
	if te.Alias == nil {
		it.schema = h.Schema
	}
	it.rel = rel
	guarded(it, need)
	b.originate(it, h.OID)
	if src, ok := rel.(*catalog.Source); ok {
		if k := b.locked[te]; k != nil {
			return nil, b.lockKind(rel, te, k)
		}
		in, err := b.sourceNode(src, n)
		if err != nil {
			return nil, err
		}
		return &fromPart{node: in, items: []*rangeItem{it}}, nil
	}
	if n.Kind == plan.RelVirtual {
		return &fromPart{node: withTableOID(n, it), items: []*rangeItem{it}}, nil
	}
	t, ok := rel.(*catalog.Table)
	if ok {
		it.key = b.primaryKey(t)
	}
	items := []*rangeItem{it}
	if k := b.locked[te]; k != nil {
		if !ok {
			return nil, b.lockKind(rel, te, k)
		}
		if k.strength != cursorLock {
			b.need(t.OID, catalog.Update)
		}
		items = append(items, lockedItems([]lockedRow{{t, 0}}, n)...)
	}
	if te.Sample == nil {
		return &fromPart{node: n, items: items}, nil
	}
	node, err := b.sampled(n, rel, te, outer)
	return &fromPart{node: node, items: items}, err
}

// withTableOID adds the system column that psql asks catalog tables for.
func withTableOID(n *plan.Scan, it *rangeItem) plan.Node {
	if catalog.ColumnIndex(it.rel.Cols(), "tableoid") >= 0 {
		return n
	}
	p := &plan.Project{Input: n, Exprs: append(identity(n), &expr.Const{Val: int64(n.Rel), Typ: types.TOid}), Out: slices.Clone(n.Out)}
	p.Out = append(p.Out, plan.Column{Name: "tableoid", Typ: types.TOid})
	it.cols = append(it.cols, scopeCol{name: "tableoid", typ: types.TOid, index: len(n.Out), system: true})
	return p
}

// relation looks up a readable relation.
func (b *binder) relation(name sql.Name, at sql.Node) (catalog.Relation, error) {
	if name.Catalog != "" && b.p.Session != nil && name.Catalog != b.p.Session.Database {
		return nil, catalog.CrossDatabase(`"` + name.Catalog + "." + name.Schema + "." + name.Name + `"`).At(b.at(at))
	}
	if b.p.Cat.Schema(name.Schema) != nil {
		if err := b.mayUse(name.Schema); err != nil {
			return nil, b.placed(err, at)
		}
	}
	o, err := b.p.Cat.Resolve(name.Schema, name.Name, b.searchPath())
	if err != nil {
		return nil, b.placed(err, at)
	}
	if sch := o.Header().Schema; catalog.IsTemp(sch) && b.p.Session != nil && b.path == nil && !slices.Contains(b.p.Session.SearchPath, sch) {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "cannot access temporary tables of other sessions")
	}
	rel, ok := o.(catalog.Relation)
	if !ok {
		err := pgerr.New(pgerr.WrongObjectType, "cannot open relation \"%s\"", name.Name).
			WithDetail("This operation is not supported for %ss.", o.Kind())
		if o.Kind() == catalog.KindIndex {
			err.Detail = "This operation is not supported for indexes."
		}
		return nil, err.At(b.at(at))
	}
	return rel, nil
}

func originOf(rel catalog.Relation, i int) plan.Origin {
	return plan.Origin{Rel: rel.Header().OID, Attr: int16(catalog.ColumnNumber(rel.Cols(), i))}
}

// scanOf makes a scan of all columns.
func scanOf(rel catalog.Relation) *plan.Scan {
	h := rel.Header()
	n := &plan.Scan{Rel: h.OID, Name: h.Name}
	moved := false
	for i, c := range rel.Cols() {
		n.Cols = append(n.Cols, i)
		n.Out = append(n.Out, plan.Column{Name: c.Name, Typ: c.Type, From: originOf(rel, i)})
		n.Numbers = append(n.Numbers, catalog.ColumnNumber(rel.Cols(), i))
		moved = moved || n.Numbers[i] != i+1
	}
	if !moved {
		n.Numbers = nil
	}
	switch r := rel.(type) {
	case *catalog.Table:
		n.Kind = plan.RelTable
		n.P.AppendOnly = r.AppendOnly
		if r.PrimaryKey != nil {
			n.P.Keys = [][]int{slices.Clone(r.PrimaryKey.Columns)}
		}
	case *catalog.MatView:
		n.Kind = plan.RelView
		n.P.AppendOnly = r.AppendOnly
		if r.Key != nil {
			n.P.Keys = [][]int{slices.Clone(r.Key)}
		}
	case *catalog.Source:
		// A key that nobody enforces is none.
		n.Kind = plan.RelSource
		n.P.AppendOnly = r.AppendOnly
	case *catalog.VirtualTable, *catalog.Sequence:
		n.Kind = plan.RelVirtual
	}
	return n
}

// viewRef binds a view by its stored query.
func (b *binder) viewRef(v *catalog.View, te *sql.TableRef) (*fromPart, error) {
	if b.views++; b.views > maxViewDepth {
		return nil, b.errAt(te, pgerr.StatementTooComplex, "view \"%s\" is nested too deeply", v.Name)
	}
	defer func() { b.views-- }()
	b.deps[v.OID] = true
	need := b.need(v.OID, catalog.Select)
	q, err := ParseQuery(v.Query)
	if err != nil {
		return nil, err
	}
	text, path, params, as := b.text, b.path, b.params, b.asRole
	b.text, b.path, b.params, b.asRole = "", v.SearchPath, &paramSet{pos: map[int]int{}}, b.roleIn(v)
	mode := queryMode{}
	if k := b.locked[te]; k != nil {
		mode.lock, mode.view = k.strength, true
		if k.strength != cursorLock {
			need.Privs |= catalog.Update
		}
	}
	r, err := b.boundQuery(q, nil, mode)
	b.text, b.path, b.params, b.asRole = text, path, params, as
	if err != nil {
		return nil, pgerr.From(err)
	}
	n, cols := r.node, r.cols
	if len(r.locks) == 0 {
		n = narrowTo(n, len(cols))
	}
	if len(cols) < len(v.Columns) {
		return nil, b.errAt(te, pgerr.Internal, "view \"%s\" no longer has the columns it was created with", v.Name)
	}
	// The view's columns are those at its creation, under their names and types.
	es := make([]expr.Expr, len(v.Columns))
	out := make([]plan.Column, len(v.Columns))
	for i, c := range v.Columns {
		out[i] = plan.Column{Name: c.Name, Typ: c.Type, From: originOf(v, i)}
		es[i], err = expr.Coerce(&expr.Col{Index: i, Typ: cols[i].Typ}, c.Type, expr.Explicit)
		if err != nil {
			return nil, err
		}
	}
	it, err := b.alias(te.Alias, v.Name, out, te)
	if err != nil {
		return nil, err
	}
	if te.Alias == nil {
		it.schema = v.Schema
	}
	it.rel = v
	guarded(it, need)
	b.originate(it, v.OID)
	p := &plan.Project{Input: n, Exprs: es, Out: out}
	return &fromPart{node: p, items: append([]*rangeItem{it}, passLocked(p, r.locks)...)}, nil
}

// ParseQuery reads a stored query text.
func ParseQuery(text string) (*sql.Select, error) {
	st, err := sql.ParseStored(text)
	if err != nil {
		return nil, err
	}
	if len(st) == 1 {
		if q, ok := st[0].Stmt.(*sql.Select); ok {
			return q, nil
		}
	}
	return nil, pgerr.New(pgerr.SyntaxError, "not a query: %s", text)
}
