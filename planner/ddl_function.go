package planner

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// BindCreateFunction makes the catalog object of CREATE FUNCTION.
func (p *Planner) BindCreateFunction(s *sql.CreateFunction) (*catalog.Function, error) {
	b := p.newBinder(false)
	if s.Procedure {
		return nil, b.unsupported(s, "CREATE PROCEDURE", "Send the statements from the client.")
	}
	if err := b.functionLanguage(s); err != nil {
		return nil, err
	}
	h, err := b.head(s.Name)
	if err != nil {
		return nil, err
	}
	fn := &catalog.Function{Head: h, Strict: s.Strict, Definer: s.Definer, Volatility: "v", SearchPath: b.lastingPath()}
	if s.Volatility != "" {
		fn.Volatility = s.Volatility[:1]
	}
	if s.Body != nil {
		fn.Body = *s.Body
	}
	if err := b.functionParams(s, fn); err != nil {
		return nil, err
	}
	if err := b.functionResult(s, fn); err != nil {
		return nil, err
	}
	if err := checkResultTypes(fn); err != nil {
		return nil, err
	}
	if s.Body == nil && isPolymorphic(fn) {
		return nil, pgerr.New(pgerr.InvalidFunctionDefinition, "SQL function with unquoted function body cannot have polymorphic arguments")
	}
	if s.Body != nil {
		b.text = *s.Body
	}
	q, err := p.functionQuery(s, fn)
	switch {
	case err != nil:
	case isPolymorphic(fn):
		fn.DependsOn, err = p.polyDependencies(q, fn)
	default:
		if err = b.checkFunction(fn, q); err == nil {
			fn.DependsOn = b.dependencies()
		}
	}
	if err != nil {
		return nil, p.bodyError(err, s.Body)
	}
	of := *p
	of.Of = fn
	if fn.Query, err = of.pinned(q, fn.SearchPath, nil); err != nil {
		return nil, err
	}
	fn.DependsOn = slices.DeleteFunc(fn.DependsOn, func(oid uint32) bool { return b.p.Cat.ByOID(oid) == nil })
	return fn, nil
}

func (b *binder) functionLanguage(s *sql.CreateFunction) error {
	switch {
	case s.Body != nil && (s.Return != nil || s.Query != nil):
		return pgerr.New(pgerr.InvalidFunctionDefinition, "duplicate function body specified")
	case s.Body == nil && s.Return == nil && s.Query == nil:
		return pgerr.New(pgerr.InvalidFunctionDefinition, "no function body specified")
	case s.Language == "" && s.Body != nil:
		return pgerr.New(pgerr.InvalidFunctionDefinition, "no language specified")
	case s.Language == "" || s.Language == "sql":
		return nil
	case slices.Contains([]string{"plpgsql", "c", "internal", "python", "javascript", "java", "rust", "wasm"}, s.Language):
		return b.unsupported(s, "LANGUAGE "+s.Language, "Write the function in SQL: LANGUAGE sql.")
	}
	return pgerr.New(pgerr.UndefinedObject, "language \"%s\" does not exist", s.Language)
}

// functionParams binds the parameters; OUT and TABLE ones become columns of the
// result.
func (b *binder) functionParams(s *sql.CreateFunction, fn *catalog.Function) error {
	names := map[string]bool{}
	for _, p := range s.Params {
		t, err := b.functionType(p.Type, "have arguments of")
		if err != nil {
			return err
		}
		out := p.Mode == "out" || p.Mode == "table"
		key := p.Name
		if p.Mode == "table" {
			key = "table " + key // may have the name of a parameter only in error
		}
		if p.Name != "" && (names[p.Name] || names[key]) {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "parameter name \"%s\" used more than once", p.Name)
		}
		names[p.Name] = true
		c := catalog.Column{Name: p.Name, Type: t}
		if p.Default != nil {
			if out {
				return pgerr.New(pgerr.InvalidFunctionDefinition, "only input parameters can have default values")
			}
			if c.Default, err = b.functionDefault(c, p.Default); err != nil {
				return err
			}
		} else if n := len(fn.Params); !out && n > 0 && fn.Params[n-1].Column.Default != "" {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "input parameters after one with a default value must also have defaults")
		}
		if p.Mode == "variadic" && t.ID != types.Array && t != types.AnyArray && t != types.AnyCompatibleArray {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "VARIADIC parameter must be an array")
		}
		if n := len(fn.Params); !out && n > 0 && fn.Params[n-1].Variadic {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "VARIADIC parameter must be the last input parameter")
		}
		if !out {
			fn.Params = append(fn.Params, catalog.Param{Column: c, Out: p.Mode == "inout", Variadic: p.Mode == "variadic"})
		}
		if out || p.Mode == "inout" {
			c.Default = ""
			fn.Columns = append(fn.Columns, c)
		}
		fn.Table = fn.Table || p.Mode == "table"
	}
	if len(fn.Params) > 100 {
		return pgerr.New(pgerr.TooManyArguments, "functions cannot have more than 100 arguments")
	}
	return nil
}

// functionType is the type of a parameter or a result, which have no modifier. use is
// what a function does with it, for the error of types that no function in SQL has.
func (b *binder) functionType(n *sql.TypeName, use string) (types.T, error) {
	c := *n
	c.SetOf = false
	if t, err := ResolveParamType(b.p.Cat, b.searchPath(), &c); err == nil && t.IsPseudo() {
		return t, nil
	}
	t, err := b.typeName(&c)
	if pgerr.CodeOf(err) == pgerr.UndefinedObject {
		if _, known := expr.PseudoType(n.Name); known {
			return t, pgerr.New(pgerr.InvalidFunctionDefinition, "SQL functions cannot %s type %s", use, n.Name)
		}
		err = pgerr.New(pgerr.UndefinedObject, "type %s does not exist", n.Name)
	}
	return t.Base(), err
}

// bodyError moves the position of an error in a function's text to where that text
// stands in the statement.
func (p *Planner) bodyError(err error, body *string) error {
	e := *pgerr.From(err)
	if body == nil || e.Pos == 0 {
		return err
	}
	at, shift := strings.Index(p.Text, *body), 0
	if at < 0 {
		at = strings.Index(p.Text, strings.ReplaceAll(*body, "'", "''"))
		for i, r := range []rune(*body) {
			if r == '\'' && i < e.Pos-1 {
				shift++
			}
		}
	}
	if at < 0 {
		e.Pos = 0
		return &e
	}
	e.Pos += sql.PosToChar(p.Text, at) - 1 + shift
	return &e
}

func (b *binder) functionDefault(c catalog.Column, e sql.Expr) (string, error) {
	x, err := b.expr(&exprContext{sc: &scope{}, clause: "DEFAULT expressions", noSub: "DEFAULT expression"}, e)
	if err != nil {
		if pgerr.CodeOf(err) == pgerr.UndefinedColumn {
			return "", b.errAt(e, pgerr.InvalidColumnReference, "cannot use table references in parameter default value")
		}
		return "", err
	}
	if !c.Type.IsPseudo() {
		if _, err := b.coerce(x, c.Type, expr.Assignment, e); err != nil {
			return "", err
		}
	}
	return sql.FormatExpr(e), nil
}

// functionResult settles what the function returns.
func (b *binder) functionResult(s *sql.CreateFunction, fn *catalog.Function) error {
	var implied types.T // by OUT parameters
	switch n := len(fn.Columns); {
	case n == 1 && !fn.Table:
		implied = fn.Columns[0].Type
	case n > 0:
		names, ts := make([]string, n), make([]types.T, n)
		for i, c := range fn.Columns {
			if names[i], ts[i] = c.Name, c.Type; c.Name == "" {
				names[i] = "column" + itoa(i+1)
				fn.Columns[i].Name = names[i]
			}
		}
		implied = rowType(names, ts)
		if fn.Table && n == 1 {
			implied = ts[0]
		}
	}
	if s.Returns == nil {
		if implied.ID == types.Invalid {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "function result type must be specified")
		}
		fn.Returns = catalog.Column{Type: implied}
		return nil
	}
	fn.Set = s.Returns.SetOf
	t, err := b.functionType(s.Returns, "return")
	if err != nil {
		return err
	}
	switch {
	case t.ID == types.Void && fn.Set:
		return b.unsupported(s, "a function that returns a set of void", "Let it return void.")
	case implied.ID != types.Invalid && t.ID == types.Record && !t.IsComposite() && len(fn.Columns) > 1:
		t = implied
	case implied.ID != types.Invalid && !fn.Table && !t.SameType(implied):
		want := implied.Base().String()
		if len(fn.Columns) > 1 {
			want = "record"
		}
		return pgerr.New(pgerr.InvalidFunctionDefinition, "function result type must be %s because of OUT parameters", want)
	case implied.ID != types.Invalid:
		t = implied
	case t.ID == types.Record && len(t.Fields()) == 0:
		return b.unsupported(s, "a function that returns record without saying its columns", "Name them: RETURNS TABLE (a integer, b text).")
	}
	fn.Returns = catalog.Column{Type: t}
	return nil
}

// functionQuery is the query a function is made of.
func (p *Planner) functionQuery(s *sql.CreateFunction, fn *catalog.Function) (*sql.Select, error) {
	switch {
	case s.Query != nil:
		return s.Query, nil
	case s.Return != nil:
		return &sql.Select{At: s.At, Targets: []sql.Target{{At: s.At, Expr: s.Return}}}, nil
	}
	sts, err := sql.Parse(*s.Body)
	if err != nil {
		return nil, err
	}
	notQuery := func() error {
		return pgerr.New(pgerr.InvalidFunctionDefinition, "return type mismatch in function declared to return %s", fn.ResultText()).
			WithDetail("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.")
	}
	if len(sts) == 0 && fn.Returns.Type.ID == types.Void {
		return ParseQuery("SELECT NULL")
	}
	if len(sts) == 0 {
		return nil, notQuery()
	}
	q, ok := sts[len(sts)-1].Stmt.(*sql.Select)
	switch {
	case len(sts) > 1:
		return nil, pgerr.Unsupported("a function of several statements", "Write one SELECT, with subqueries or WITH.")
	case !ok:
		switch sts[0].Stmt.(type) {
		case *sql.Insert, *sql.Update, *sql.Delete:
			return nil, pgerr.Unsupported("a function that changes data", "Send the statement from the client.")
		}
		return nil, notQuery()
	case Modifies(q):
		return nil, pgerr.Unsupported("a function that changes data", "Send the statement from the client.")
	}
	return q, nil
}

// placeholders are arguments that stand for any.
func placeholders(fn *catalog.Function) []expr.Expr {
	out := make([]expr.Expr, len(fn.Params))
	for i, p := range fn.Params {
		out[i] = &expr.Const{Typ: p.Column.Type.Base()}
	}
	return out
}

// checkFunction binds the query with the parameters in sight.
func (b *binder) checkFunction(fn *catalog.Function, q *sql.Select) error {
	sc, _ := functionScope(fn, placeholders(fn), nil)
	b.stream = true // a view that reads sources may call it
	defer func() { b.stream = false }()
	r, err := b.boundQuery(q, sc, queryMode{order: true})
	if err != nil {
		return pgerr.From(err)
	}
	if fn.Returns.Type.ID == types.Void {
		return nil
	}
	_, _, err = b.functionColumns(r.node, r.cols, fn)
	return err
}
