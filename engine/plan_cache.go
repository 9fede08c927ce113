package engine

import (
	"context"
	"crypto/sha256"
	"sync"
	"sync/atomic"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
)

// planCache holds the plans of texts that the simple protocol brings again and
// again with other constants. All sessions share it. It is bounded by two
// generations: when the young one is full, it becomes the old one, whose entries
// are forgotten unless they were used meanwhile.
type planCache struct {
	mu         sync.Mutex
	cat        *catalog.Snapshot // that of all entries
	young, old map[string]*cachedPlan
	bytes      int // of the young generation's keys
}

// The bounds of one generation.
const (
	planCacheEntries = 1024
	planCacheBytes   = 1 << 20
)

// cachedPlan is a template seen before. Only reads of one row by key and changes
// of a table that read no other have a plan; of other templates it remembers that
// they have none.
type cachedPlan struct {
	once  sync.Once
	needs []*planner.Need // of dml
	// What follows is set by once.
	params []types.T
	cols   []wire.Column
	reads  sync.Pool // of *pointRead, each for one execution at a time; nil: no such plan
	cat    *catalog.Snapshot
	dml    *planner.Mutation // nil: no such plan

	changes atomic.Bool // once is done, and has set dml
}

// find returns the entry of a template for a database, whose name is in the key, and
// its catalog; nil if this is the first time that the template is seen: most texts
// come only once, and a plan for them would be made in vain.
func (c *planCache) find(cat *catalog.Catalog, db uint32, key []byte) (*cachedPlan, *catalog.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := cat.Current(); c.cat != now {
		c.cat, c.young, c.old, c.bytes = now, map[string]*cachedPlan{}, nil, 0
	}
	if p := c.young[string(key)]; p != nil {
		return p, c.cat.In(db)
	}
	p := c.old[string(key)]
	found := p != nil
	if !found {
		p = &cachedPlan{}
	}
	if len(c.young) >= planCacheEntries || c.bytes+len(key) > planCacheBytes {
		c.young, c.old, c.bytes = map[string]*cachedPlan{}, c.young, 0
	}
	c.young[string(key)] = p
	c.bytes += len(key)
	if !found {
		return nil, nil
	}
	return p, c.cat.In(db)
}

// changes reports whether a template has a plan that changes a table. It leaves no
// trace of having been asked.
func (c *planCache) changes(cat *catalog.Catalog, key []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cat != cat.Current() {
		return false
	}
	p := c.young[string(key)]
	if p == nil {
		p = c.old[string(key)]
	}
	return p != nil && p.changes.Load()
}

// planKey stands for everything of a session that plans depend on, besides the
// catalog and the text.
func (s *Session) planKey() []byte {
	if len(s.planState) == 0 {
		h := sha256.New()
		for _, v := range append([]string{s.user, s.database, s.temp.schema}, s.planSettings()...) {
			h.Write([]byte(v))
			h.Write([]byte{0})
		}
		s.planState = h.Sum(nil)
	}
	return s.planState
}

// planSettings are the values of the settings that constants are read by and
// names are found by.
func (s *Session) planSettings() (vs []string) {
	for _, n := range []string{"search_path", "timezone", "datestyle", "intervalstyle", "extra_float_digits", "bytea_output", "role",
		"session_authorization", "sql_dialect", "xmloption"} {
		vs = append(vs, s.values[n])
	}
	return vs
}

// Quick implements wire.Quick.
func (s *Session) Quick(text string) wire.Portal {
	t := &s.template
	s.sync()
	if s.tx.failed || s.tx.ddl != nil || !t.Read(text) || len(t.Constants) == 0 || t.Kind == sql.SelectTemplate && !s.readsCommitted() {
		return nil
	}
	t.Key = append(t.Key, s.planKey()...)
	p, cat := s.eng.plans.find(s.eng.Catalog, s.db, t.Key)
	if p == nil {
		return nil
	}
	if !s.tx.open {
		s.setNow()
	}
	p.once.Do(func() { s.planTemplate(p, cat, t) })
	if p.dml != nil {
		if q := s.fromTemplate(p, &statement{Parsed: sql.Parsed{Text: text}, whole: text}); q != nil {
			return &portal{p: q, args: q.taken}
		}
		return nil
	}
	q, _ := p.reads.Get().(*pointRead)
	if q == nil {
		return nil
	}
	o := &s.quick
	*o = quickPortal{s: s, plan: p, read: q, text: text, args: o.args[:0]}
	args, ok := s.templateArgs(p, o.args)
	if !ok {
		o.Close()
		return nil
	}
	o.args = args
	return o
}

// templateArgs appends the constants of the session's template to args, as
// arguments of the plan; false: the text's own plan reports what is wrong.
func (s *Session) templateArgs(p *cachedPlan, args []types.Datum) ([]types.Datum, bool) {
	for i, k := range s.template.Constants {
		d, ok := constantDatum(k, p.params[i], &s.expr.Options)
		if !ok {
			return args, false
		}
		args = append(args, d)
	}
	return args, true
}

// constantDatum returns a constant as an argument of the parameter in its place.
func constantDatum(k sql.Constant, t types.T, o *types.Options) (types.Datum, bool) {
	switch k.Kind {
	case sql.Int4Constant:
		return int32(k.Int), true
	case sql.Int8Constant:
		return k.Int, true
	}
	if types.CheckText(k.Text) != nil {
		return nil, false
	}
	d, err := types.ParseText(t, k.Text, o)
	return d, err == nil
}

// planTemplate plans the text of t with parameters for its constants. Whatever is
// wrong with it leaves p without a plan, so that each text is planned for itself
// and its errors point into it.
func (s *Session) planTemplate(p *cachedPlan, cat *catalog.Snapshot, t *sql.Template) {
	text := t.Text()
	ps, err := sql.Parse(text)
	if err != nil || len(ps) != 1 || ps[0].NumParams != len(t.Constants) {
		return
	}
	declared := make([]types.T, len(t.Constants))
	for i, k := range t.Constants {
		declared[i] = map[sql.ConstantKind]types.T{sql.Int4Constant: types.TInt4, sql.Int8Constant: types.TInt8,
			sql.UnknownConstant: types.TUnknown, sql.NumericConstant: types.TNumeric}[k.Kind]
	}
	s.expr.Catalog = info{cat, s}
	pl := s.planner(&statement{Parsed: ps[0], whole: text}, declared)
	pl.Cat = cat
	if sel, ok := ps[0].Stmt.(*sql.Select); ok {
		q, err := pl.PlanQuery(sel)
		if err != nil || newPointRead(cat, q.Root, q.ParamTypes) == nil || s.permit(cat, pl.Needs) != nil {
			return
		}
		p.params, p.cols = q.ParamTypes, resultColumns(q.Columns)
		p.reads.New = func() any { return newPointRead(cat, q.Root, q.ParamTypes) }
		return
	}
	if d, err := pl.PlanMutation(ps[0].Stmt); err == nil && quickMutation(d) && s.permit(cat, pl.Needs) == nil {
		p.cat, p.params, p.dml, p.needs = cat, d.ParamTypes, d, pl.Needs
		p.changes.Store(true)
	}
}

// quickPortal answers a text from its template's plan. A session has one, since
// the simple protocol runs one statement at a time.
type quickPortal struct {
	s    *Session
	plan *cachedPlan
	read *pointRead // nil when closed
	text string
	args []types.Datum
	done bool
}

// Columns implements wire.Portal.
func (o *quickPortal) Columns() []wire.Column { return o.plan.cols }

// Copy implements wire.Portal.
func (o *quickPortal) Copy() *wire.Copy { return nil }

// Tag implements wire.Portal.
func (o *quickPortal) Tag(n int64) string { return selectTag(n) }

// Next implements wire.Portal.
func (o *quickPortal) Next(ctx context.Context) (*vec.Chunk, error) {
	if o.done {
		return nil, nil
	}
	o.done = true
	text := o.text // others keep reading it when o has another
	o.s.running(&text)
	o.s.expr.Catalog = o.s.catalogInfo()
	o.read.result.Reset()
	err := o.read.run(ctx, o.s, o.args, o.read.result)
	if err == errStalePlan {
		return o.again(ctx)
	}
	if err != nil || o.read.result.Rows == 0 {
		return nil, err
	}
	return o.read.result, nil
}

// again answers the text by a plan of its own, because the catalog has changed
// meanwhile.
func (o *quickPortal) again(ctx context.Context) (*vec.Chunk, error) {
	ps, err := sql.Parse(o.text)
	if err != nil {
		return nil, err
	}
	p, err := o.s.prepare(ctx, &statement{Parsed: ps[0], whole: o.text}, nil)
	if err != nil {
		return nil, err
	}
	if !sameColumns(o.plan.cols, p.cols) {
		return nil, errStalePlan
	}
	c, _, err := drain(ctx, &portal{p: p})
	if err != nil || c.Rows == 0 {
		return nil, err
	}
	return c, nil
}

// Close implements wire.Portal.
func (o *quickPortal) Close() {
	if o.read != nil {
		o.plan.reads.Put(o.read)
		o.read = nil
	}
}
