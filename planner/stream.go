package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// Target says where a streaming plan ends.
type Target struct {
	// Rel is the materialized view or table to store the rows of; Sink the sink to
	// hand them to. Exactly one is not 0.
	Rel, Sink uint32
	// Key are a sink's upsert key columns; nil: the sink takes inserts only. Of a
	// view that is in the catalog (Known) they are the key its rows are stored by;
	// nil: none.
	Key   []int
	Known bool
	// Columns rename the output columns, from the left.
	Columns []string
}

// Stream is a planned streaming query.
type Stream struct {
	Root    plan.Node
	Columns []plan.Column
	// Keys are the unique keys of the output that are known; Key is the one that is
	// used, nil: none.
	Keys       [][]int
	Key        []int
	AppendOnly bool
	Deps       []uint32
}

// PlanStream plans a query as a dataflow that keeps its result up to date.
func (p *Planner) PlanStream(q *sql.Select, t Target) (*Stream, error) {
	b := p.newBinder(true)
	b.maintained = true
	freezeSamples(q)
	n, cols, err := b.rootQuery(q)
	if err != nil {
		return nil, err
	}
	if len(b.params.types) > len(p.ParamTypes) || len(b.params.pos) > 0 {
		return nil, pgerr.New(pgerr.UndefinedParameter, "there is no parameter $1").
			WithHint("The query of a view or sink cannot have parameters.")
	}
	cols, err = outputNames(cols, t.Columns)
	if err != nil {
		return nil, err
	}
	if n, err = b.optimize(n); err != nil {
		return nil, err
	}
	if err := b.checkStream(n); err != nil {
		return nil, err
	}
	props := n.Props()
	s := &Stream{Columns: cols, AppendOnly: props.AppendOnly, Deps: b.dependencies()}
	s.Keys = props.Keys
	switch {
	case t.Known:
		s.Key = t.Key
	case len(props.Keys) > 0:
		s.Key = props.Keys[0]
	}
	n = &plan.Project{Input: n, Exprs: identity(n), Out: cols}
	var root plan.Node
	if t.Sink != 0 {
		root = &plan.Sink{Input: n, ID: t.Sink, Key: t.Key}
	} else {
		root = &plan.Materialize{Input: n, Rel: t.Rel, Key: s.Key}
	}
	s.Root = b.chooseStored(mergeProjects(distribute(root)))
	return s, nil
}

// CheckColumn rejects types that no column may have.
func CheckColumn(name string, t types.T) error {
	if t.ID == types.Void || t.ID == types.Unknown || t.ID == types.Record && !t.IsComposite() ||
		t.ID == types.Array && t.Elem == types.Record && t.OID() == types.ArrayOf(types.Record).OID() {
		return pgerr.New(pgerr.InvalidTableDefinition, "column \"%s\" has pseudo-type %s", name, t)
	}
	return nil
}

// outputNames renames columns and checks that names are given once.
func outputNames(cols []plan.Column, names []string) ([]plan.Column, error) {
	for i, c := range cols {
		n := c.Name
		if i < len(names) {
			n = names[i]
		}
		if err := CheckColumn(n, c.Typ); err != nil {
			return nil, err
		}
	}
	if len(names) > len(cols) {
		return nil, pgerr.New(pgerr.SyntaxError, "too many column names were specified")
	}
	out := slices.Clone(cols)
	for i, n := range names {
		out[i].Name = n
	}
	seen := map[string]bool{}
	for _, c := range out {
		if seen[c.Name] {
			return nil, pgerr.New(pgerr.DuplicateColumn, "column \"%s\" specified more than once", c.Name)
		}
		seen[c.Name] = true
	}
	return out, nil
}

// checkStream rejects what cannot be kept up to date.
func (b *binder) checkStream(n plan.Node) error {
	var err error
	plan.Walk(n, func(x plan.Node) bool {
		switch x.(type) {
		case *plan.Sort, *plan.Limit, *plan.Apply:
			err = pgerr.New(pgerr.Internal, "a streaming plan has a %T node", x)
		}
		plan.EachExpr(x, func(e expr.Expr) {
			expr.Walk(e, func(y expr.Expr) bool {
				c, ok := y.(*expr.Call)
				if ok && err == nil && c.Fn.Volatility == expr.Volatile && retracts(x) {
					err = pgerr.Unsupported("the volatile function "+c.Fn.Name+"() over rows that may be taken back",
						"Compute the value where the row is inserted, for example as a column default.")
				}
				if k, cast := y.(*expr.Cast); cast && err == nil && k.Arg.Type().ID.IsReg() && k.To.Category() == 'S' {
					err = pgerr.Unsupported("the name of an object of the catalog as text in a materialized view or sink",
						"Keep the value as it is: it shows the name when it is read.")
				}
				if ok && err == nil && isClock(c) && !isClockNode(x) {
					err = pgerr.Unsupported("the current time in this place of a materialized view or sink",
						"Compute what depends on the time in a select list or a condition.")
				}
				return err == nil
			})
		})
		return err == nil
	})
	return err
}

// retracts reports whether rows reaching n may be taken back.
func retracts(n plan.Node) bool {
	for _, c := range n.Children() {
		if !c.Props().AppendOnly {
			return true
		}
	}
	return false
}

// spread says how the rows of a stream lie over the instances of its fragment.
type spread struct {
	single bool
	// keys are the columns whose hash chose the instance; nil: any instance.
	keys []int
}

// distribute puts an Exchange under each operator whose state needs the rows of
// a key at one instance, where they are not there already.
func distribute(n plan.Node) plan.Node {
	out, _ := placed(n)
	return out
}

// placed returns n with exchanges below it, and its distribution.
func placed(n plan.Node) (plan.Node, spread) {
	switch n := n.(type) {
	case *plan.Scan:
		return n, spread{}
	case *plan.Values, *plan.TableFunc, *plan.Clock:
		return n, spread{single: true} // else every instance would yield the rows
	case *plan.Join:
		return placeJoin(n)
	case *plan.Threshold:
		in, isp := placed(n.Input)
		if clockOnly(n.Bound) { // every instance has a clock of its own, and they all tell the same
			return plan.WithChildren(n, []plan.Node{in, n.Bound}), isp
		}
		bound, bsp := placed(n.Bound)
		return plan.WithChildren(n, []plan.Node{single(in, isp), single(bound, bsp)}), spread{single: true}
	case *plan.SetOp:
		keys := all(len(n.Left.Schema()))
		l, r := hashed(n.Left, keys), hashed(n.Right, keys)
		return &plan.SetOp{Kind: n.Kind, All: n.All, Left: l, Right: r}, spread{keys: keys}
	case *plan.Union:
		return placeUnion(n)
	case *plan.Recursive:
		// The iterations of an epoch follow one another, at one instance.
		base, sp := placed(n.Base)
		return plan.WithChildren(n, []plan.Node{single(base, sp), placeStep(n.Step, []int{n.ID})}), spread{single: true}
	}
	in, sp := placed(n.Children()[0])
	switch n := n.(type) {
	case *plan.Project:
		return plan.WithChildren(n, []plan.Node{in}), projected(sp, n.Exprs)
	case *plan.ProjectSet:
		return plan.WithChildren(n, []plan.Node{in}), projected(sp, n.Exprs)
	case *plan.Aggregate:
		if len(n.Group) == 0 {
			return plan.WithChildren(n, []plan.Node{single(in, sp)}), spread{single: true}
		}
		in, sp = byKeys(in, sp, n.Group)
		exprs := make([]expr.Expr, len(n.Group))
		for i, g := range n.Group {
			exprs[i] = &expr.Col{Index: g}
		}
		return plan.WithChildren(n, []plan.Node{in}), projected(sp, exprs)
	case *plan.Upsert:
		return partitioned(n, n.Key, in, sp)
	case *plan.TopN:
		return partitioned(n, n.Partition, in, sp)
	case *plan.Window:
		return partitioned(n, n.Partition, in, sp)
	case *plan.SingleRow:
		return plan.WithChildren(n, []plan.Node{single(in, sp)}), spread{single: true}
	case *plan.Materialize:
		if n.Key != nil {
			in, sp = byKeys(in, sp, n.Key)
		}
		return plan.WithChildren(n, []plan.Node{in}), sp
	case *plan.Sink:
		if n.Key != nil {
			in, sp = byKeys(in, sp, n.Key)
		}
		return plan.WithChildren(n, []plan.Node{in}), sp
	}
	return plan.WithChildren(n, []plan.Node{in}), sp
}

// placeStep brings what the step of a recursion reads besides its own rows to
// where these are. ids are those of the recursion and of the ones around it and
// within it that the place is in.
func placeStep(n plan.Node, ids []int) plan.Node {
	if !slices.ContainsFunc(ids, func(id int) bool { return readsLoop(n, id) }) {
		in, sp := placed(n)
		return single(in, sp)
	}
	if r, ok := n.(*plan.Recursive); ok {
		ids = append(slices.Clone(ids), r.ID)
	}
	ch := n.Children()
	out := make([]plan.Node, len(ch))
	for i, c := range ch {
		out[i] = placeStep(c, ids)
	}
	return plan.WithChildren(n, out)
}

func partitioned(n plan.Node, part []int, in plan.Node, sp spread) (plan.Node, spread) {
	if len(part) == 0 {
		return plan.WithChildren(n, []plan.Node{single(in, sp)}), spread{single: true}
	}
	in, sp = byKeys(in, sp, part)
	return plan.WithChildren(n, []plan.Node{in}), sp
}

// single brings all rows to one instance.
func single(in plan.Node, sp spread) plan.Node {
	if sp.single {
		return in
	}
	return &plan.Exchange{Input: in, Dist: plan.Singleton}
}

// byKeys brings the rows of equal keys to one instance. Rows spread by a part of
// the keys already are.
func byKeys(in plan.Node, sp spread, keys []int) (plan.Node, spread) {
	if sp.single {
		return in, sp
	}
	if len(keys) == 0 {
		return single(in, sp), spread{single: true}
	}
	if len(sp.keys) > 0 && !slices.ContainsFunc(sp.keys, func(k int) bool { return !slices.Contains(keys, k) }) {
		return in, sp
	}
	return &plan.Exchange{Input: in, Dist: plan.Hash, Keys: keys}, spread{keys: keys}
}

// hashed is byKeys with exactly these keys, in this order.
func hashed(n plan.Node, keys []int) plan.Node {
	in, sp := placed(n)
	if !sp.single && slices.Equal(sp.keys, keys) {
		return in
	}
	return &plan.Exchange{Input: in, Dist: plan.Hash, Keys: keys}
}

func projected(sp spread, es []expr.Expr) spread {
	if sp.single || len(sp.keys) == 0 {
		return sp
	}
	var keys []int
	for _, k := range sp.keys {
		i := slices.IndexFunc(es, func(e expr.Expr) bool { c, ok := e.(*expr.Col); return ok && c.Index == k })
		if i < 0 {
			return spread{}
		}
		keys = append(keys, i)
	}
	return spread{keys: keys}
}

// placeJoin brings equal keys together; without keys, or where NULLs concern all
// keys (NOT IN), everything goes to one instance.
func placeJoin(n *plan.Join) (plan.Node, spread) {
	if isClockNode(n.Right) && len(n.LeftKeys) == 0 {
		// Every instance has a clock of its own, and they all tell the same.
		l, sp := placed(n.Left)
		return plan.WithChildren(n, []plan.Node{l, n.Right}), sp
	}
	if len(n.LeftKeys) == 0 || n.Kind == plan.NullAnti {
		l, lsp := placed(n.Left)
		r, rsp := placed(n.Right)
		return plan.WithChildren(n, []plan.Node{single(l, lsp), single(r, rsp)}), spread{single: true}
	}
	c := *n
	c.Left, c.Right = hashed(n.Left, n.LeftKeys), hashed(n.Right, n.RightKeys)
	switch n.Kind {
	case plan.Full:
		return &c, spread{}
	case plan.Right:
		keys := make([]int, len(n.RightKeys))
		for i, k := range n.RightKeys {
			keys[i] = len(n.Left.Schema()) + k
		}
		return &c, spread{keys: keys}
	}
	return &c, spread{keys: n.LeftKeys}
}

// placeUnion keeps a distribution all inputs share. An input on one instance
// among others is spread, since a fragment has one distribution.
func placeUnion(n *plan.Union) (plan.Node, spread) {
	out, sps := &plan.Union{Out: n.Out}, make([]spread, len(n.Inputs))
	same := true
	for i, in := range n.Inputs {
		p, sp := placed(in)
		out.Inputs, sps[i] = append(out.Inputs, p), sp
		same = same && sp.single == sps[0].single && slices.Equal(sp.keys, sps[0].keys)
	}
	if same {
		return out, sps[0]
	}
	for i, in := range out.Inputs {
		if sps[i].single {
			out.Inputs[i] = &plan.Exchange{Input: in, Dist: plan.Hash, Keys: all(len(n.Out))}
		}
	}
	return out, spread{}
}
