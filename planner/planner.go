package planner

import (
	"unicode/utf8"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// Planner plans the statements of one query text against one catalog snapshot.
type Planner struct {
	Cat     *catalog.Snapshot
	Session *expr.Session
	// Text is the whole text given to sql.Parse; positions of errors count its
	// characters.
	Text string
	// ParamTypes are the types a client declared for $1, $2, …; Unknown or
	// missing ones are inferred.
	ParamTypes []types.T
	// Bytes estimates the size on disk of a stored relation, for the order of joins
	// in one-off queries. Streaming plans take the sizes of SettingSizes, as they
	// must be the same each time.
	Bytes func(rel uint32) int64
	// Rows counts the rows of a stored relation if that costs nothing. Only one-off
	// queries are planned by it.
	Rows func(rel uint32) (int64, bool)
	// Params are the values of $1, $2, … when they are known, of the types an
	// earlier plan of the statement inferred; the plan then holds constants.
	Params []types.Datum
	// Of is the function whose stored query is read or rewritten; nil for those of
	// other objects.
	Of *catalog.Function
	// Usable refuses schemas that the session may not look into; nil: it may look into
	// all.
	Usable func(schema string) error
	// Needs gathers what the statements bound so far need the right to.
	Needs []*Need
}

// Query is a planned one-off query.
type Query struct {
	Root    plan.Node
	Columns []plan.Column
	// ParamTypes are the types of $1, $2, …, inferred where not declared.
	ParamTypes []types.T
	// Deps are the relations read, views in between included.
	Deps []uint32
	// With are the data-modifying statements of its WITH clause.
	With []*Mutation
	// Locks is the strength of the first locking clause in it (UPDATE, SHARE, …); empty:
	// it has none.
	Locks string
	// Current, of a query for a cursor, is where its rows have what WHERE CURRENT OF finds
	// a row of a table by, behind the columns of the query; nil: it cannot.
	Current *CurrentRow
}

// PlanQuery plans a one-off query.
func (p *Planner) PlanQuery(q *sql.Select) (*Query, error) {
	b := p.newBinder(false)
	n, cols, err := b.rootQuery(q)
	if err != nil {
		return nil, err
	}
	return b.finish(n, cols)
}

// finish optimises a bound plan and checks the parameters.
func (b *binder) finish(n plan.Node, cols []plan.Column) (*Query, error) {
	ts, err := b.params.resolved()
	if err != nil {
		return nil, err
	}
	if n, err = b.optimize(n); err != nil {
		return nil, err
	}
	if err := b.optimizeShared(); err != nil {
		return nil, err
	}
	for _, m := range b.with {
		if err := b.optimizeMutation(m); err != nil {
			return nil, err
		}
	}
	return &Query{Root: n, Columns: cols, ParamTypes: ts, Deps: b.dependencies(), With: b.with, Locks: b.locks}, nil
}

// optimize runs the rules on a bound plan.
func (b *binder) optimize(n plan.Node) (plan.Node, error) {
	n, err := b.decorrelate(n)
	if err != nil {
		return nil, err
	}
	if n, err = b.iterate(n); err != nil {
		return nil, err
	}
	n = b.foldConstants(n)
	n = factorDisjunctions(n)
	n = dropUnits(pushFilters(n))
	n = b.orderJoins(n)
	if b.stream {
		n = readClocks(n)
	}
	n = extractJoinKeys(n)
	n = rankToTopN(n)
	n = pruneColumns(n, b.stream)
	n = mergeProjects(n)
	if !b.stream {
		n = b.chooseLookups(n)
		n = cutRecursion(n)
	}
	return n, nil
}

// newBinder makes the state of binding one statement.
func (p *Planner) newBinder(stream bool) *binder {
	ts := make([]types.T, len(p.ParamTypes))
	copy(ts, p.ParamTypes)
	for i, t := range ts {
		if t.ID == types.Invalid {
			ts[i] = types.TUnknown
		}
	}
	return &binder{p: p, text: p.Text, stream: stream, params: &paramSet{types: ts, values: p.Params, pos: map[int]int{}},
		colAt: map[*expr.Col]colRef{}, litAt: map[*expr.Const]int{}, outAt: map[*expr.Outer]int{}, deps: map[uint32]bool{}}
}

// paramSet collects the types of $n over a statement.
type paramSet struct {
	types  []types.T
	values []types.Datum
	pos    map[int]int // first place of each, in characters
}

// resolved returns the types found; a parameter nobody gave a type is 42P18.
func (s *paramSet) resolved() ([]types.T, error) {
	for i, t := range s.types {
		if t.ID == types.Unknown {
			return nil, pgerr.New(pgerr.IndeterminateDatatype, "could not determine data type of parameter $%d", i+1)
		}
	}
	return s.types, nil
}

// colRef is where a column reference stood and what it was called, for errors
// found later.
type colRef struct {
	pos  int
	name string // as in messages: t.a
}

// Limits that keep hostile statements from exhausting the server.
const (
	maxDepth     = 2000  // nesting of expressions and queries
	maxPlanNodes = 20000 // nodes of a plan, common table expressions counted at each use
	maxViewDepth = 100
	maxColumns   = 1664 // PostgreSQL's MaxTupleAttributeNumber
)

// binder holds the state of binding one statement. A view's query is bound by a
// binder of its own text that shares params and deps.
type binder struct {
	p          *Planner
	text       string
	chars      charPlace // of the text, asked for last
	stream     bool
	maintained bool // the query of a materialized view or sink, not of a view
	params     *paramSet
	colAt      map[*expr.Col]colRef
	litAt      map[*expr.Const]int // places of untyped literals
	outAt      map[*expr.Outer]int
	deps       map[uint32]bool
	path       []string // overrides the session's search path inside views
	nodes      int
	depth      int
	views      int
	with       []*Mutation // the data-modifying statements of WITH, in order
	given      uint32      // number of plan.RelGiven relations
	shared     []*plan.Made
	// needWitness: the row of an item was asked for that an outer join can leave
	// out; witness: outer joins are to have columns that tell (expr_row.go).
	needWitness, witness bool
	// recursions numbers the recursive queries.
	recursions int
	// locked are the items of FROM whose rows a locking clause is about; locks is the
	// strength of the first clause.
	locked  map[sql.TableExpr]*lockItem
	locks   string
	pins    *pins                  // noted where a query is stored; else nil
	calling []uint32               // the functions of users whose text is being bound
	asRole  uint32                 // whose privileges the text needs; 0: those of the session
	dmlRef  *sql.TableRef          // the table that the statement changes, as an item of FROM
	dmlItem *rangeItem             // and its names
	domains map[types.T]*expr.Func // that hold values against constraints (domain.go)
	defined map[sql.Node]types.T   // rows of column definition lists, by their calls (from_func.go)
}

// at turns a byte offset into the position of an error; 0 inside views, whose
// text the client does not see.
func (b *binder) at(n sql.Node) int { return b.char(n.Offset()) }

func (b *binder) char(off int32) int {
	if b.text == "" || off < 0 {
		return 0
	}
	return b.chars.at(b.text, min(int(off), len(b.text)))
}

// charPlace is a byte offset of a text with its position in characters. The next
// offset asked for is most often near, so that a statement with very many
// literals is not counted from its start for each.
type charPlace struct {
	text     string
	off, pos int
}

func (p *charPlace) at(text string, off int) int {
	switch {
	case p.text != text:
		p.text, p.off, p.pos = text, off, sql.PosToChar(text, off)
	case off >= p.off:
		p.off, p.pos = off, p.pos+utf8.RuneCountInString(text[p.off:off])
	default:
		p.off, p.pos = off, p.pos-utf8.RuneCountInString(text[off:p.off])
	}
	return p.pos
}

// placed gives an error the position of n unless it has one.
func (b *binder) placed(err error, n sql.Node) error {
	if err == nil || n == nil {
		return err
	}
	return pgerr.From(err).At(b.at(n))
}

func (b *binder) errAt(n sql.Node, code pgerr.Code, format string, args ...any) error {
	return pgerr.New(code, format, args...).At(b.at(n))
}

func (b *binder) unsupported(n sql.Node, what, hint string) error {
	return pgerr.Unsupported(what, hint).At(b.at(n))
}

// enter counts a level of nesting; leave ends it.
func (b *binder) enter(n sql.Node) error {
	b.depth++
	if b.depth > maxDepth {
		return b.errAt(n, pgerr.StatementTooComplex, "stack depth limit exceeded")
	}
	return nil
}

func (b *binder) leave() { b.depth-- }

// grow counts plan nodes.
func (b *binder) grow(n int, at sql.Node) error {
	b.nodes += n
	if b.nodes > maxPlanNodes {
		return pgerr.New(pgerr.StatementTooComplex, "query is too complex").
			WithHint("The plan would have more than %d nodes. Common table expressions and views count at each use.", maxPlanNodes).At(b.at(at))
	}
	return nil
}

func (b *binder) searchPath() []string {
	if b.path != nil {
		return b.path
	}
	if b.p.Session != nil {
		return b.p.Session.SearchPath
	}
	return []string{"public"}
}

// lastingPath is the search path that a new object keeps.
func (b *binder) lastingPath() []string { return catalog.LastingPath(b.searchPath()) }

func (b *binder) dependencies() []uint32 {
	out := make([]uint32, 0, len(b.deps))
	for d := range b.deps {
		out = append(out, d)
	}
	sortOIDs(out)
	return out
}

// withPath is a session with another search path.
func withPath(s *expr.Session, path []string) *expr.Session {
	c := expr.Session{}
	if s != nil {
		c = *s
	}
	if path != nil {
		c.SearchPath = path
	}
	return &c
}
