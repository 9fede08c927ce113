package engine

import (
	"strings"

	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/wire"
)

// quickMutation reports whether a plan is worth keeping for other constants: it
// depends neither on sizes of relations nor on anything that a statement makes.
func quickMutation(d *planner.Mutation) bool {
	if d.Returns() || len(d.With) > 0 || d.Current != nil || d.ReadsGiven() {
		return false
	}
	for _, t := range d.ParamTypes {
		if t == types.TUnknown {
			return false
		}
	}
	return readsOneRelation(d.Source)
}

// readsOneRelation reports whether a plan is a chain over one relation or over
// rows of constants.
func readsOneRelation(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Values:
		return true
	case *plan.Scan:
		return n.Kind == plan.RelTable
	case *plan.Project, *plan.Filter:
		return readsOneRelation(n.Children()[0])
	}
	return false
}

// knownParts returns the statements of a text of several without parsing it, if each
// is one whose template has a plan, or begins or ends a transaction block; else nil.
func (s *Session) knownParts(text string) []wire.Statement {
	var out []wire.Statement
	for at := 0; ; {
		p, next, ok := sql.NextPart(text, at)
		if !ok {
			return nil
		}
		if p.Start == p.End {
			break
		}
		st := &statement{Parsed: sql.Parsed{Text: text[p.Start:p.End], Start: p.Start, End: p.End}, whole: text, part: true, index: len(out)}
		if !s.knownPart(st) {
			return nil
		}
		out, at = append(out, st), next
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// knownPart reports whether the statement need not be parsed.
func (s *Session) knownPart(st *statement) bool {
	switch strings.ToLower(st.Text) {
	case "begin", "commit", "end", "rollback": // as cheap to parse as to know
		ps, err := sql.Parse(st.Text)
		if err != nil {
			return false
		}
		st.Stmt = ps[0].Stmt
		return true
	}
	t := &s.template
	if !t.Read(st.Text) || t.Kind == sql.SelectTemplate || len(t.Constants) == 0 {
		return false
	}
	t.Key = append(t.Key, s.planKey()...)
	return s.eng.plans.changes(s.eng.Catalog, t.Key)
}

// templated returns a statement of a text of several as planned for its template;
// nil: there is no such plan.
func (s *Session) templated(st *statement) *prepared {
	t := &s.template
	if s.tx.ddl != nil || !t.Read(st.Text) || t.Kind == sql.SelectTemplate || len(t.Constants) == 0 {
		return nil
	}
	t.Key = append(t.Key, s.planKey()...)
	p, cat := s.eng.plans.find(s.eng.Catalog, s.db, t.Key)
	if p == nil {
		return nil
	}
	p.once.Do(func() { s.planTemplate(p, cat, t) })
	if p.dml == nil {
		return nil
	}
	return s.fromTemplate(p, st)
}

// fromTemplate returns the statement that the session's template was read from, with
// its constants as arguments of the template's plan; nil: the text's own plan reports
// what is wrong with them.
func (s *Session) fromTemplate(p *cachedPlan, st *statement) *prepared {
	args, ok := s.templateArgs(p, make([]types.Datum, 0, len(s.template.Constants)))
	if !ok {
		return nil
	}
	// The plan's key has the role in it: who finds the plan may run it.
	return &prepared{s: s, st: st, cat: p.cat, dml: p.dml, taken: args, takenAs: p.params, needs: p.needs, allowed: s.who.current, allowedBy: p.cat}
}
