package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/define"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
)

// columnSource is where the stored rows have, or get, the values of a column.
type columnSource struct {
	old  int       // the column of the stored rows; -1: none
	expr expr.Expr // over the stored row, unless nil
	fill bool      // a new column: its default, or what it is generated from
}

// reshape prepares for changes of the columns: each keeps its number from now on.
func (a *alteration) reshape() {
	if a.reshaped {
		return
	}
	a.reshaped = true
	for i := range a.t.Columns {
		a.t.Columns[i].Number = catalog.ColumnNumber(a.old.Columns, i)
	}
	if a.t.LastColumn == 0 {
		a.t.LastColumn = len(a.t.Columns)
	}
}

func (a *alteration) addColumn(x *sql.AlterAction) error {
	if catalog.ColumnIndex(a.t.Columns, x.Def.Name) >= 0 && x.IfNotExists {
		a.s.notice("NOTICE", pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists, skipping", x.Def.Name, a.t.Name))
		return nil
	}
	a.reshape()
	checks, keys := len(a.t.Checks), len(a.t.ForeignKeys)
	seqs, made, err := a.pl.AddColumn(a.t, a.existing(), x.Def)
	if err != nil {
		return err
	}
	i := len(a.t.Columns) - 1
	if err := a.notWithin(a.t.Columns[i].Type); err != nil {
		return err
	}
	a.t.LastColumn++
	a.t.Columns[i].Number = a.t.LastColumn
	a.src = append(a.src, columnSource{old: -1, fill: true})
	a.creates = append(a.creates, a.s.ownSequences(a.t, seqs)...)
	for _, q := range seqs {
		a.fills.add(q)
	}
	a.indexes = append(a.indexes, made...)
	if a.t.Columns[i].NotNull {
		a.notNull = append(a.notNull, i)
	}
	a.checks = append(a.checks, a.t.Checks[checks:]...)
	a.noteForeign(keys)
	return nil
}

// readers returns the objects whose queries read a column of the stored table.
func (a *alteration) readers(old int) ([]catalog.Object, error) {
	if old < 0 {
		return nil, nil
	}
	snap := a.s.snapshot()
	var out []catalog.Object
	for _, d := range snap.Dependents(a.t.OID) {
		query, _, path := define.StoredQuery(d)
		if query == nil || a.cascade[d.Header().OID] {
			continue
		}
		used, err := (&planner.Planner{Cat: snap, Session: &a.s.expr, Of: define.FunctionOf(d)}).ColumnsRead(*query, path, a.t.OID)
		if err != nil {
			return nil, err
		}
		if used[old] {
			out = append(out, d)
		}
	}
	return out, nil
}

// generatedFrom returns the generated columns of the table that read column i.
func (a *alteration) generatedFrom(i int) (out []int, err error) {
	for k, c := range a.t.Columns {
		if c.Generated == "" || k == i {
			continue
		}
		used, err := a.pl.TextColumns(a.t, c.Generated)
		if err != nil {
			return nil, err
		}
		if used[i] {
			out = append(out, k)
		}
	}
	return out, nil
}

func (a *alteration) dropColumn(x *sql.AlterAction) error {
	i := catalog.ColumnIndex(a.t.Columns, x.Column)
	if i < 0 && x.IfExists {
		a.s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "column \"%s\" of relation \"%s\" does not exist, skipping", x.Column, a.t.Name))
		return nil
	}
	i, err := a.column(x.Column)
	if err != nil {
		return err
	}
	gen, err := a.generatedFrom(i)
	if err != nil {
		return err
	}
	views, err := a.readers(a.src[i].old)
	if err != nil {
		return err
	}
	snap := a.s.snapshot()
	var oids []uint32
	var lines []string
	what := "column " + x.Column + " of table " + a.t.Name
	for _, k := range gen {
		lines = append(lines, "column "+a.t.Columns[k].Name+" of table "+a.t.Name+" depends on "+what)
	}
	for _, v := range views {
		oids = append(oids, v.Header().OID)
		lines = append(lines, v.Kind().String()+" "+v.Header().Name+" depends on "+what)
	}
	order := snap.DropOrder(oids...)
	byAge := slices.SortedFunc(slices.Values(order), func(a, b catalog.Object) int { return cmp.Compare(a.Header().OID, b.Header().OID) })
	if !x.Cascade && len(lines) > 0 {
		for _, d := range byAge {
			for _, up := range order {
				if up != d && slices.Contains(d.Dependencies(), up.Header().OID) && !slices.Contains(oids, d.Header().OID) {
					lines = append(lines, d.Kind().String()+" "+d.Header().Name+" depends on "+up.Kind().String()+" "+up.Header().Name)
				}
			}
		}
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", what).
			WithDetail("%s", strings.Join(lines, "\n")).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	for _, d := range order {
		if !a.cascade[d.Header().OID] {
			a.cascade[d.Header().OID] = true
			a.gone = append(a.gone, d)
		}
	}
	for _, d := range byAge {
		if line := d.Kind().String() + " " + d.Header().Name; !slices.Contains(a.noticed, line) {
			a.noticed = append(a.noticed, line)
		}
	}
	for _, k := range slices.Backward(gen) {
		name := a.t.Columns[k].Name
		a.noticed = append(a.noticed, "column "+name+" of table "+a.t.Name)
		if err := a.dropColumn(&sql.AlterAction{Column: name, Cascade: true}); err != nil {
			return err
		}
	}
	return a.removeColumn(catalog.ColumnIndex(a.t.Columns, x.Column), x.Cascade)
}

// removeColumn takes a column out of the table, with what is over it.
func (a *alteration) removeColumn(i int, cascade bool) error {
	a.reshape()
	if err := a.neededColumn(i, cascade); err != nil {
		return err
	}
	name := a.t.Columns[i].Name
	checks := a.t.Checks[:0:0]
	for _, k := range a.t.Checks {
		used, err := a.pl.TextColumns(a.t, k.Expr)
		if err != nil {
			return err
		}
		if !used[i] {
			checks = append(checks, k)
		}
	}
	for _, ix := range a.existing() {
		used, err := a.indexReads(ix, i)
		if err != nil {
			return err
		}
		if used {
			a.dropped[ix.OID] = true
			continue
		}
		n := catalog.Clone(ix).(*catalog.Index)
		n.Keys, n.Include = slices.Clone(ix.Keys), slices.Clone(ix.Include)
		for k := range n.Keys {
			n.Keys[k].Column = without(n.Keys[k].Column, i)
		}
		for k := range n.Include {
			n.Include[k] = without(n.Include[k], i)
		}
		a.changed[ix.OID] = n
	}
	if k := a.t.PrimaryKey; k != nil && slices.Contains(k.Columns, i) {
		a.t.PrimaryKey = nil
	} else if k != nil {
		n := *k
		n.Columns = slices.Clone(k.Columns)
		for c := range n.Columns {
			n.Columns[c] = without(n.Columns[c], i)
		}
		a.t.PrimaryKey = &n
	}
	if q := a.s.snapshot().OwnedSequence(a.t.OID, name); q != nil {
		a.gone = append(a.gone, q)
	}
	if old := a.src[i].old; old >= 0 {
		a.lost[old] = true
	}
	a.t.Checks = checks
	a.t.Columns = slices.Delete(a.t.Columns, i, i+1)
	a.src = slices.Delete(a.src, i, i+1)
	return nil
}

// without is column k after column i is gone.
func without(k, i int) int {
	if k > i {
		return k - 1
	}
	return k
}

// indexReads reports whether an index is over column i.
func (a *alteration) indexReads(ix *catalog.Index, i int) (bool, error) {
	if slices.Contains(ix.Include, i) {
		return true, nil
	}
	texts := []string{ix.Where}
	for _, k := range ix.Keys {
		if k.Column == i {
			return true, nil
		}
		texts = append(texts, k.Expr)
	}
	for _, t := range texts {
		if t == "" {
			continue
		}
		used, err := a.pl.TextColumns(a.t, t)
		if err != nil || used[i] {
			return used[i], err
		}
	}
	return false, nil
}

func (a *alteration) columnType(x *sql.AlterAction) error {
	i, err := a.column(x.Column)
	if err != nil {
		return err
	}
	c := &a.t.Columns[i]
	to, e, err := a.pl.ColumnType(a.old, a.t, i, x)
	if err == nil {
		err = a.notWithin(to)
	}
	if err != nil {
		return err
	}
	gen, err := a.generatedFrom(i)
	if err != nil {
		return err
	}
	if len(gen) > 0 {
		return pgerr.New(pgerr.FeatureNotSupported, "cannot alter type of a column used by a generated column").
			WithDetail("Column \"%s\" is used by generated column \"%s\".", c.Name, a.t.Columns[gen[0]].Name)
	}
	views, err := a.readers(a.src[i].old)
	if err != nil {
		return err
	}
	if len(views) > 0 {
		v := views[0]
		return pgerr.New(pgerr.FeatureNotSupported, "cannot alter type of a column used by a view or rule").
			WithDetail("rule _RETURN on %s %s depends on column \"%s\"", v.Kind(), v.Header().Name, c.Name)
	}
	a.reshape()
	c.Type = to
	a.src[i].expr = e
	if c.Generated != "" {
		a.src[i] = columnSource{old: -1, fill: true}
	}
	for _, k := range a.t.Checks {
		used, err := a.pl.TextColumns(a.t, k.Expr)
		if err != nil {
			return err
		}
		if used[i] && !k.NotValid {
			a.checks = append(a.checks, k)
		}
	}
	if err := a.recheckForeign(i); err != nil {
		return err
	}
	return a.retypeIndexes(i)
}

// retypeIndexes gives the expressions of indexes over column i the types that they
// have by now.
func (a *alteration) retypeIndexes(i int) error {
	for _, ix := range a.existing() {
		used, err := a.indexReads(ix, i)
		if err != nil || !used {
			return err
		}
		n := catalog.Clone(ix).(*catalog.Index)
		n.Keys = slices.Clone(ix.Keys)
		for k := range n.Keys {
			if n.Keys[k].Column < 0 {
				t, err := a.pl.TextType(a.t, n.Keys[k].Expr)
				if err != nil {
					return err
				}
				n.Keys[k].As = &catalog.Column{Name: n.Keys[k].As.Name, Type: t}
			}
		}
		a.changed[ix.OID] = n
	}
	return nil
}

// renameColumn gives a column another name, in all that names it.
func (a *alteration) renameColumn(x *sql.AlterAction) (err error) {
	i, err := columnToRename(a.t, x)
	if err != nil {
		return err
	}
	a.t.Columns[i].Name = x.NewName
	text := func(s *string) {
		if err == nil && *s != "" {
			*s, err = planner.TextRenamed(*s, x.Column, x.NewName)
		}
	}
	for k := range a.t.Columns {
		text(&a.t.Columns[k].Generated)
	}
	for k := range a.t.Checks {
		text(&a.t.Checks[k].Expr)
	}
	for _, ix := range a.existing() {
		n := catalog.Clone(ix).(*catalog.Index)
		n.Keys, n.Definition = slices.Clone(ix.Keys), ""
		for k := range n.Keys {
			text(&n.Keys[k].Expr)
		}
		text(&n.Where)
		a.changed[ix.OID] = n
	}
	if q := a.s.snapshot().OwnedSequence(a.t.OID, x.Column); q != nil {
		n := catalog.Clone(q).(*catalog.Sequence)
		n.OwnedColumn = x.NewName
		a.creates = append(a.creates, catalog.Change{Replace: n})
	}
	a.columnRenamed = true
	return err
}

// columnToRename finds the column of RENAME COLUMN, whose new name must be free.
func columnToRename(r catalog.Relation, x *sql.AlterAction) (int, error) {
	i := catalog.ColumnIndex(r.Cols(), x.Column)
	if i < 0 {
		return 0, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", x.Column)
	}
	if catalog.ColumnIndex(r.Cols(), x.NewName) >= 0 {
		return 0, pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", x.NewName, r.Header().Name)
	}
	return i, nil
}

// follow makes the queries that name the table right for its new columns.
func (a *alteration) follow() ([]catalog.Change, error) {
	if !a.columnRenamed && len(a.lost) == 0 {
		return nil, nil
	}
	snap := a.s.snapshot()
	var out []catalog.Change
	for _, d := range snap.Dependents(a.t.OID) {
		if a.cascade[d.Header().OID] {
			continue
		}
		n := catalog.Clone(d)
		changed, err := a.s.followColumns(snap, n, a.t.OID, a.columnRenamed, a.lost)
		if err != nil {
			return nil, err
		}
		if changed {
			out = append(out, catalog.Change{Replace: n})
		}
	}
	return out, nil
}

// followColumns makes an object that reads the relation oid go on to do so after
// some of its columns are renamed and the lost ones, which it does not read, are
// gone.
func (s *Session) followColumns(snap *catalog.Snapshot, d catalog.Object, oid uint32, renamed bool, lost map[int]bool) (changed bool, err error) {
	query, text, path := define.StoredQuery(d)
	if query == nil {
		return false, nil
	}
	pl := &planner.Planner{Cat: snap, Session: &s.expr, Of: define.FunctionOf(d)}
	q := *query
	if renamed {
		q, err = pl.ColumnRenamed(q, path, oid)
	} else {
		q, err = pl.ColumnsDropped(q, path, oid, lost)
	}
	if err != nil {
		return false, pgerr.Unsupported("changing the columns of this relation", d.Kind().String()+" "+d.Header().Name+" reads it in a way that cannot be rewritten.")
	}
	if q == *query {
		return false, nil
	}
	*query, *text = q, ""
	if o, ok := d.(*catalog.Sink); !ok || o.Input == 0 {
		define.Redefine(d, func(st sql.Stmt) { define.SetQuery(st, q, sql.Name{}) })
	}
	return true, nil
}

// renameViewColumn gives a column of a view or materialized view another name.
func (s *Session) renameViewColumn(o catalog.Object, x sql.AlterAction) (catalog.Object, []catalog.Change, error) {
	n, ok := catalog.Clone(o).(catalog.Relation)
	if _, source := o.(*catalog.Source); !ok || source {
		return nil, nil, pgerr.Unsupported("renaming a column of a "+o.Kind().String(), "Rename it in a view.")
	}
	i, err := columnToRename(n, &x)
	if err != nil {
		return nil, nil, err
	}
	n.Cols()[i].Name = x.NewName
	snap := s.snapshot()
	changes := []catalog.Change{{Replace: n}}
	for _, d := range snap.Dependents(o.Header().OID) {
		c := catalog.Clone(d)
		changed, err := s.followColumns(snap, c, o.Header().OID, true, nil)
		if err != nil {
			return nil, nil, err
		}
		if changed {
			changes = append(changes, catalog.Change{Replace: c})
		}
	}
	return n, changes, nil
}

// fills gives the values of sequences that come with new columns, which nobody else
// has seen yet.
type fills struct {
	expr.Sequences
	new map[uint32]*newSequence
}

type newSequence struct {
	def    *catalog.Sequence
	last   int64
	called bool
}

func (f *fills) add(q *catalog.Sequence) {
	if f.new == nil {
		f.new = map[uint32]*newSequence{}
	}
	f.new[q.OID] = &newSequence{def: q, last: q.Start}
}

// NextValue implements expr.Sequences.
func (f *fills) NextValue(oid uint32) (int64, error) {
	q := f.new[oid]
	if q == nil {
		return f.Sequences.NextValue(oid)
	}
	if q.called {
		next, err := following(q.def, q.last)
		if err != nil {
			return 0, err
		}
		q.last = next
	}
	q.called = true
	return q.last, nil
}

// used returns the sequences from which values were taken.
func (f *fills) used() []*newSequence {
	var out []*newSequence
	for _, oid := range slices.Sorted(maps.Keys(f.new)) {
		if f.new[oid].called {
			out = append(out, f.new[oid])
		}
	}
	return out
}
