package engine

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

func (s *Session) createFunction(pl *planner.Planner, src *statement, st *sql.CreateFunction) error {
	fn, err := pl.BindCreateFunction(st)
	if err != nil {
		return err
	}
	fn.Definition = src.Text
	if _, err := s.place(&fn.Head, false); err != nil {
		return err
	}
	ts := []types.T{fn.Returns.Type}
	for _, p := range fn.Params {
		ts = append(ts, p.Column.Type)
	}
	for _, c := range fn.Columns {
		ts = append(ts, c.Type)
	}
	if err := s.mayUseTypes(ts...); err != nil {
		return err
	}
	snap := s.snapshot()
	old := snap.Function(fn.Schema, fn.Name, fn.ParamTypes(), nil)
	if old == nil || !st.OrReplace {
		s.furnish(fn)
		s.number(fn)
		return s.changeCatalog(catalog.Change{Create: fn})
	}
	if err := s.mustOwn(old); err != nil {
		return err
	}
	if err := replaceable(snap, old, fn); err != nil {
		return err
	}
	fn.OID, fn.Owner, fn.Comment, fn.ACL = old.OID, old.Owner, old.Comment, old.ACL
	return s.changeCatalog(catalog.Change{Replace: fn})
}

// replaceable checks that calls of old are calls of fn too, and that no running job
// was planned with old.
func replaceable(snap *catalog.Snapshot, old, fn *catalog.Function) error {
	hint := func(e *pgerr.Error) error { return e.WithHint("Use DROP FUNCTION %s first.", old.Signature()) }
	switch {
	case old.Set != fn.Set || !old.Returns.Type.SameType(fn.Returns.Type):
		e := pgerr.New(pgerr.InvalidFunctionDefinition, "cannot change return type of existing function")
		if old.Returns.Type.ID == types.Record && fn.Returns.Type.ID == types.Record {
			e = e.WithDetail("Row type defined by OUT parameters is different.")
		}
		return hint(e)
	case slices.Contains(fn.DependsOn, old.OID):
		return pgerr.Unsupported("a function that calls itself", "Use WITH RECURSIVE.")
	}
	for i, p := range old.Params {
		n := fn.Params[i].Column
		if p.Column.Name != "" && p.Column.Name != n.Name {
			return hint(pgerr.New(pgerr.InvalidFunctionDefinition, "cannot change name of input parameter \"%s\"", p.Column.Name))
		}
		if p.Column.Default != "" && n.Default == "" {
			return hint(pgerr.New(pgerr.InvalidFunctionDefinition, "cannot remove parameter defaults from existing function"))
		}
	}
	for _, d := range snap.DropOrder(old.OID) {
		if k := d.Kind(); k == catalog.KindMatView || k == catalog.KindSink {
			return pgerr.Unsupported("replacing a function that a "+k.String()+" calls", k.String()+" "+d.Header().Name+" was created with its present query.")
		}
	}
	return nil
}

// functionTarget finds the function that DROP names.
func (s *Session) functionTarget(snap *catalog.Snapshot, t sql.DropTarget) (catalog.Object, error) {
	full := t.Name.Name
	if t.Name.Schema != "" {
		full = t.Name.Schema + "." + full
	}
	if !t.HasArgs {
		switch fs := snap.FunctionsNamed(t.Name.Schema, t.Name.Name, s.expr.SearchPath); len(fs) {
		case 0:
			return nil, pgerr.New(pgerr.UndefinedFunction, "could not find a function named \"%s\"", full)
		case 1:
			return fs[0], nil
		}
		return nil, pgerr.New(pgerr.AmbiguousFunction, "function name \"%s\" is not unique", full).
			WithHint("Specify the argument list to select the function unambiguously.")
	}
	ts := make([]types.T, len(t.Args))
	for i, a := range t.Args {
		var err error
		if ts[i], err = planner.ResolveParamType(snap, s.expr.SearchPath, a); err != nil {
			return nil, err
		}
		ts[i] = ts[i].Base()
	}
	if f := snap.Function(t.Name.Schema, t.Name.Name, ts, s.expr.SearchPath); f != nil {
		return f, nil
	}
	return nil, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", strings.ReplaceAll(catalog.FunctionSignature(full, ts), ",", ", "))
}

// noFunctionNotice is what DROP FUNCTION IF EXISTS says.
func noFunctionNotice(err error) *pgerr.Error {
	msg := pgerr.From(err).Msg
	if name, ok := strings.CutPrefix(msg, "could not find a function named "); ok {
		return pgerr.New(pgerr.SuccessfulCompletion, "function %s() does not exist, skipping", strings.Trim(name, "\""))
	}
	return pgerr.New(pgerr.SuccessfulCompletion, "%s, skipping", strings.ReplaceAll(msg, ", ", ","))
}
