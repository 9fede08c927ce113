package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/streamdb/streamdb/pgerr"
)

// ddl converts data definition; nil for other statements.
func (c *converter) ddl(n *pg.Node, a At) Stmt {
	switch v := n.GetNode().(type) {
	case *pg.Node_CreateStmt:
		return c.createTable(v.CreateStmt, a)
	case *pg.Node_CreateTableAsStmt:
		return c.createTableAs(v.CreateTableAsStmt, a)
	case *pg.Node_ViewStmt:
		return c.createView(v.ViewStmt, a)
	case *pg.Node_IndexStmt:
		return c.createIndex(v.IndexStmt, a)
	case *pg.Node_CreateSchemaStmt:
		k := v.CreateSchemaStmt
		out := &CreateSchema{At: a, Name: k.Schemaname, IfNotExists: k.IfNotExists}
		for _, e := range k.SchemaElts {
			out.Elements = append(out.Elements, c.stmt(e, a))
		}
		if k.Authrole != nil {
			r := c.roleSpec(k.Authrole)
			out.Authorization = &r
		}
		return out
	case *pg.Node_CreateSeqStmt:
		return c.createSequence(v.CreateSeqStmt, a)
	case *pg.Node_AlterSeqStmt:
		return c.alterSequence(v.AlterSeqStmt, a)
	case *pg.Node_CreateEnumStmt:
		k := v.CreateEnumStmt
		return &CreateType{At: a, Name: c.name(nodeStrings(k.TypeName), a), Enum: true, Labels: nodeStrings(k.Vals)}
	case *pg.Node_CreateRangeStmt:
		return c.createRange(v.CreateRangeStmt, a)
	case *pg.Node_CompositeTypeStmt:
		k := v.CompositeTypeStmt
		return &CreateType{At: a, Name: c.rangeName(k.Typevar), Fields: c.columnDefs(k.Coldeflist)}
	case *pg.Node_AlterEnumStmt:
		k := v.AlterEnumStmt
		return &AlterEnum{At: a, Name: c.name(nodeStrings(k.TypeName), a), Old: k.OldVal, New: k.NewVal,
			Neighbour: k.NewValNeighbor, After: k.NewValIsAfter, IfNotExists: k.SkipIfNewValExists}
	case *pg.Node_CreateDomainStmt:
		return c.createDomain(v.CreateDomainStmt, a)
	case *pg.Node_AlterDomainStmt:
		return c.alterDomain(v.AlterDomainStmt, a)
	case *pg.Node_CreateFunctionStmt:
		return c.createFunction(v.CreateFunctionStmt, a)
	case *pg.Node_DropStmt:
		return c.drop(v.DropStmt, a)
	case *pg.Node_AlterTableStmt:
		return c.alterTable(v.AlterTableStmt, a)
	case *pg.Node_RenameStmt:
		return c.rename(v.RenameStmt, a)
	case *pg.Node_AlterObjectSchemaStmt:
		k := v.AlterObjectSchemaStmt
		return c.alterObject(a, k.ObjectType, k.Relation, k.Object, k.MissingOk, AlterAction{At: a, Kind: AlterSetSchema, NewName: k.Newschema})
	case *pg.Node_AlterOwnerStmt:
		k := v.AlterOwnerStmt
		return c.alterObject(a, k.ObjectType, k.Relation, k.Object, false, AlterAction{At: a, Kind: AlterOwner, Role: c.optionalRole(k.Newowner)})
	}
	return nil
}

// objectKind is an object type in words.
func objectKind(o pg.ObjectType) string {
	switch o {
	case pg.ObjectType_OBJECT_MATVIEW:
		return "materialized view"
	case pg.ObjectType_OBJECT_TABCONSTRAINT:
		return "constraint"
	case pg.ObjectType_OBJECT_FOREIGN_TABLE:
		return "foreign table"
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(o.String(), "OBJECT_")), "_", " ")
}

// objectName converts the several shapes in which the grammar names an object.
func (c *converter) objectName(n *pg.Node) Name {
	none := At{NoPos}
	switch v := n.GetNode().(type) {
	case *pg.Node_String_:
		return Name{At: none, Name: v.String_.GetSval()}
	case *pg.Node_List:
		return c.name(nodeStrings(v.List.GetItems()), none)
	case *pg.Node_RangeVar:
		return c.rangeName(v.RangeVar)
	case *pg.Node_TypeName:
		return c.name(nodeStrings(v.TypeName.Names), c.at(v.TypeName.Location))
	case *pg.Node_ObjectWithArgs:
		return c.name(nodeStrings(v.ObjectWithArgs.Objname), none)
	}
	return Name{At: none}
}

func (c *converter) columnDefs(ns []*pg.Node) []ColumnDef {
	var out []ColumnDef
	for _, n := range ns {
		if d := n.GetColumnDef(); d != nil {
			out = append(out, c.columnDef(d))
		}
	}
	return out
}

func (c *converter) columnDef(d *pg.ColumnDef) ColumnDef {
	out := ColumnDef{At: c.at(d.Location), Name: d.Colname, Type: c.typeName(d.TypeName)}
	if d.CollClause != nil {
		n := c.name(nodeStrings(d.CollClause.Collname), c.at(d.CollClause.Location))
		out.Collation = &n
	}
	var attrs constraintAttrs
	for _, n := range d.Constraints {
		k := n.GetConstraint()
		if what := out.clash(k.Contype); what != "" && out.Clash == nil {
			out.Clash = &ColumnClash{c.at(k.Location), what}
		}
		switch k.Contype {
		case pg.ConstrType_CONSTR_NULL:
			out.Null = true
		case pg.ConstrType_CONSTR_NOTNULL:
			out.NotNull = true
		case pg.ConstrType_CONSTR_DEFAULT:
			out.Default = c.expr(k.RawExpr)
		case pg.ConstrType_CONSTR_GENERATED:
			out.Generated = c.expr(k.RawExpr)
		case pg.ConstrType_CONSTR_IDENTITY:
			out.Identity, out.Sequence = identityWord(k.GeneratedWhen), c.sequenceOptions(k.Options)
		case pg.ConstrType_CONSTR_PRIMARY, pg.ConstrType_CONSTR_UNIQUE:
			out.Keys = append(out.Keys, c.constraint(k))
			attrs = constraintAttrs{of: &out.Keys[len(out.Keys)-1]}
		case pg.ConstrType_CONSTR_ATTR_DEFERRABLE, pg.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE:
			attrs.deferrable(c, k, k.Contype == pg.ConstrType_CONSTR_ATTR_DEFERRABLE)
		case pg.ConstrType_CONSTR_ATTR_DEFERRED, pg.ConstrType_CONSTR_ATTR_IMMEDIATE:
			attrs.initially(c, k, k.Contype == pg.ConstrType_CONSTR_ATTR_DEFERRED)
		case pg.ConstrType_CONSTR_CHECK:
			out.Checks = append(out.Checks, c.constraint(k))
			attrs = constraintAttrs{}
		case pg.ConstrType_CONSTR_FOREIGN:
			out.References = append(out.References, c.constraint(k))
			attrs = constraintAttrs{of: &out.References[len(out.References)-1]}
		}
	}
	return out
}

// clash tells what is wrong with a constraint after those that the column has by now;
// empty: nothing.
func (d *ColumnDef) clash(k pg.ConstrType) string {
	nulls := "conflicting NULL/NOT NULL declarations"
	switch k {
	case pg.ConstrType_CONSTR_NULL:
		if d.NotNull || d.Identity != "" {
			return nulls
		}
	case pg.ConstrType_CONSTR_NOTNULL:
		if d.Null {
			return nulls
		}
	case pg.ConstrType_CONSTR_DEFAULT:
		switch {
		case d.Default != nil:
			return "multiple default values specified"
		case d.Identity != "":
			return "both default and identity specified"
		case d.Generated != nil:
			return "both default and generation expression specified"
		}
	case pg.ConstrType_CONSTR_IDENTITY:
		switch {
		case d.Identity != "":
			return "multiple identity specifications"
		case d.Null:
			return nulls
		case d.Default != nil:
			return "both default and identity specified"
		case d.Generated != nil:
			return "both identity and generation expression specified"
		}
	case pg.ConstrType_CONSTR_GENERATED:
		switch {
		case d.Generated != nil:
			return "multiple generation clauses specified"
		case d.Default != nil:
			return "both default and generation expression specified"
		case d.Identity != "":
			return "both identity and generation expression specified"
		}
	}
	return ""
}

// constraintAttrs are what follows a constraint of a column.
type constraintAttrs struct {
	of                        *Constraint // nil: one that takes none, or there is none
	sawDeferrable, sawInitial bool
}

func (a *constraintAttrs) deferrable(c *converter, k *pg.Constraint, on bool) {
	word := "DEFERRABLE"
	if !on {
		word = "NOT DEFERRABLE"
	}
	at := c.at(k.Location)
	switch {
	case a.of == nil:
		c.syntax(at, pgerr.SyntaxError, "misplaced %s clause", word)
	case a.sawDeferrable:
		c.syntax(at, pgerr.SyntaxError, "multiple DEFERRABLE/NOT DEFERRABLE clauses not allowed")
	case !on && a.sawInitial && a.of.Deferred:
		c.syntax(at, pgerr.SyntaxError, "constraint declared INITIALLY DEFERRED must be DEFERRABLE")
	default:
		a.sawDeferrable, a.of.Deferrable = true, on
	}
}

func (a *constraintAttrs) initially(c *converter, k *pg.Constraint, deferred bool) {
	word := "INITIALLY IMMEDIATE"
	if deferred {
		word = "INITIALLY DEFERRED"
	}
	at := c.at(k.Location)
	switch {
	case a.of == nil:
		c.syntax(at, pgerr.SyntaxError, "misplaced %s clause", word)
	case a.sawInitial:
		c.syntax(at, pgerr.SyntaxError, "multiple INITIALLY IMMEDIATE/DEFERRED clauses not allowed")
	case deferred && a.sawDeferrable && !a.of.Deferrable:
		c.syntax(at, pgerr.SyntaxError, "constraint declared INITIALLY DEFERRED must be DEFERRABLE")
	default:
		a.sawInitial, a.of.Deferred = true, deferred
		a.of.Deferrable = a.of.Deferrable || deferred
	}
}

var foreignActions = map[string]string{"r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}

func (c *converter) constraint(k *pg.Constraint) Constraint {
	out := Constraint{At: c.at(k.Location), Name: k.Conname, Columns: nodeStrings(k.Keys),
		Deferrable: k.Deferrable, Deferred: k.Initdeferred, NullsNotDistinct: k.NullsNotDistinct, Include: nodeStrings(k.Including), NotValid: k.SkipValidation}
	switch k.Contype {
	case pg.ConstrType_CONSTR_PRIMARY:
		out.Kind = ConPrimaryKey
	case pg.ConstrType_CONSTR_UNIQUE:
		out.Kind = ConUnique
	case pg.ConstrType_CONSTR_CHECK:
		out.Kind, out.Check = ConCheck, c.expr(k.RawExpr)
	case pg.ConstrType_CONSTR_FOREIGN:
		out.Kind, out.Columns = ConForeignKey, nodeStrings(k.FkAttrs)
		out.RefTable, out.RefColumns = c.rangeName(k.Pktable), nodeStrings(k.PkAttrs)
		out.OnDelete, out.OnUpdate = foreignActions[k.FkDelAction], foreignActions[k.FkUpdAction]
		out.SetColumns, out.MatchFull = nodeStrings(k.FkDelSetCols), k.FkMatchtype == "f"
		if k.FkMatchtype == "p" {
			c.unsupported(out.At, "MATCH PARTIAL", "Use MATCH FULL or MATCH SIMPLE.")
		}
	default:
		c.unsupported(out.At, "an EXCLUDE constraint", "Use UNIQUE.")
	}
	out.Index = k.Indexname
	return out
}

var onCommit = map[pg.OnCommitAction]string{
	pg.OnCommitAction_ONCOMMIT_PRESERVE_ROWS: "PRESERVE ROWS",
	pg.OnCommitAction_ONCOMMIT_DELETE_ROWS:   "DELETE ROWS",
	pg.OnCommitAction_ONCOMMIT_DROP:          "DROP",
}

func (c *converter) createTable(s *pg.CreateStmt, a At) *CreateTable {
	out := &CreateTable{At: a, Name: c.rangeName(s.Relation), IfNotExists: s.IfNotExists,
		Temp: s.Relation.GetRelpersistence() == "t", Unlogged: s.Relation.GetRelpersistence() == "u", OnCommit: onCommit[s.Oncommit]}
	switch {
	case s.Partspec != nil || s.Partbound != nil:
		c.unsupported(out.Name.At, "a partitioned table", "Create one table; StreamDB spreads it over all cores by itself.")
	case len(s.InhRelations) > 0:
		c.unsupported(out.Name.At, "INHERITS", "Write the columns out, or use LIKE.")
	case s.OfTypename != nil:
		c.unsupported(out.Name.At, "CREATE TABLE OF type", "Write the columns out.")
	case s.Tablespacename != "":
		c.unsupported(out.Name.At, "TABLESPACE", "Leave it out; all data lives in the data directory.")
	}
	out.Options = c.options(s.Options)
	for _, n := range s.TableElts {
		switch v := n.Node.(type) {
		case *pg.Node_ColumnDef:
			out.Columns = append(out.Columns, c.columnDef(v.ColumnDef))
		case *pg.Node_Constraint:
			out.Constraints = append(out.Constraints, c.constraint(v.Constraint))
		case *pg.Node_TableLikeClause:
			name := c.rangeName(v.TableLikeClause.Relation)
			out.Like = append(out.Like, LikeTable{name.At, name, v.TableLikeClause.Options})
		}
	}
	return out
}

func (c *converter) createTableAs(s *pg.CreateTableAsStmt, a At) Stmt {
	if e := s.Query.GetExecuteStmt(); e != nil {
		out := c.tableOf(nil, s.Into, a)
		out.Execute, out.IfNotExists = &Execute{a, e.Name, c.exprs(e.Params)}, s.IfNotExists
		return out
	}
	q, into := c.query(s.Query, a), s.Into
	if s.Objtype != pg.ObjectType_OBJECT_MATVIEW {
		out := c.tableOf(q, into, a)
		out.IfNotExists = s.IfNotExists
		return out
	}
	name, columns, options := c.rangeName(into.Rel), nodeStrings(into.ColNames), c.options(into.Options)
	return &CreateMaterializedView{At: a, Name: name, IfNotExists: s.IfNotExists, Columns: columns, Options: options, Query: q, NoData: into.SkipData}
}

// tableOf makes CREATE TABLE AS.
func (c *converter) tableOf(q *Select, into *pg.IntoClause, a At) *CreateTable {
	out := &CreateTable{At: a, Name: c.rangeName(into.Rel), Temp: into.Rel.Relpersistence == "t", Unlogged: into.Rel.Relpersistence == "u",
		OnCommit: onCommit[into.OnCommit], Query: q, ColumnNames: nodeStrings(into.ColNames), NoData: into.SkipData}
	out.Options = c.options(into.Options)
	return out
}

// takeInto takes INTO out of a query, where it stands in the first SELECT.
func takeInto(s *pg.SelectStmt) *pg.IntoClause {
	for s.Larg != nil {
		s = s.Larg
	}
	into := s.IntoClause
	s.IntoClause = nil
	return into
}

// selectInto makes SELECT INTO, which is CREATE TABLE AS.
func (c *converter) selectInto(s *pg.SelectStmt, into *pg.IntoClause, a At) Stmt {
	return c.tableOf(c.selectStmt(s, a), into, a)
}

func (c *converter) createView(s *pg.ViewStmt, a At) Stmt {
	out := &CreateView{At: a, Name: c.rangeName(s.View), OrReplace: s.Replace, Temp: s.View.GetRelpersistence() == "t",
		Columns: nodeStrings(s.Aliases), Options: c.options(s.Options), Query: c.query(s.Query, a)}
	switch s.WithCheckOption {
	case pg.ViewCheckOption_LOCAL_CHECK_OPTION:
		out.CheckOption = "LOCAL"
	case pg.ViewCheckOption_CASCADED_CHECK_OPTION:
		out.CheckOption = "CASCADED"
	}
	return out
}

func (c *converter) indexColumn(e *pg.IndexElem, a At) IndexColumn {
	out := IndexColumn{Sort: SortItem{At: a, Nulls: nullsOf(e.NullsOrdering), Expr: c.expr(e.Expr)}}
	if e.Name != "" {
		out.Sort.Expr = &ColumnRef{At: a, Parts: []string{e.Name}}
	}
	out.Sort.Desc = e.Ordering == pg.SortByDir_SORTBY_DESC
	out.Sort.Asc = e.Ordering == pg.SortByDir_SORTBY_ASC
	if len(e.Collation) > 0 {
		n := c.name(nodeStrings(e.Collation), a)
		out.Collation = &n
	}
	if len(e.Opclass) > 0 {
		n := c.name(nodeStrings(e.Opclass), a)
		out.OpClass = &n
	}
	return out
}

func (c *converter) createIndex(s *pg.IndexStmt, a At) Stmt {
	out := &CreateIndex{At: a, Name: s.Idxname, IfNotExists: s.IfNotExists, Unique: s.Unique, Concurrently: s.Concurrent,
		Table: c.rangeName(s.Relation), Method: s.AccessMethod, Where: c.expr(s.WhereClause), Options: c.options(s.Options),
		NullsNotDistinct: s.NullsNotDistinct}
	for _, n := range s.IndexParams {
		out.Columns = append(out.Columns, c.indexColumn(n.GetIndexElem(), out.Table.At))
	}
	for _, n := range s.IndexIncludingParams {
		out.Include = append(out.Include, n.GetIndexElem().GetName())
	}
	return out
}

var paramModes = map[pg.FunctionParameterMode]string{
	pg.FunctionParameterMode_FUNC_PARAM_OUT:      "out",
	pg.FunctionParameterMode_FUNC_PARAM_INOUT:    "inout",
	pg.FunctionParameterMode_FUNC_PARAM_VARIADIC: "variadic",
	pg.FunctionParameterMode_FUNC_PARAM_TABLE:    "table",
}

func (c *converter) createFunction(s *pg.CreateFunctionStmt, a At) Stmt {
	out := &CreateFunction{At: a, Name: c.name(nodeStrings(s.Funcname), a), OrReplace: s.Replace, Procedure: s.IsProcedure,
		Returns: c.typeName(s.ReturnType)}
	for _, n := range s.Parameters {
		p := n.GetFunctionParameter()
		mode := paramModes[p.Mode]
		if mode == "" {
			mode = "in"
		}
		out.Params = append(out.Params, FuncParam{p.Name, mode, c.typeName(p.ArgType), c.expr(p.Defexpr)})
	}
	for _, n := range s.Options {
		d := n.GetDefElem()
		switch d.GetDefname() {
		case "as":
			body := strings.Join(nodeStrings(d.Arg.GetList().GetItems()), "\n")
			out.Body = &body
		case "language":
			out.Language = strings.ToLower(nodeString(d.Arg))
		case "volatility":
			out.Volatility = nodeString(d.Arg)
		case "strict":
			out.Strict = d.Arg.GetBoolean().GetBoolval()
		case "security":
			out.Definer = d.Arg.GetBoolean().GetBoolval()
		case "parallel", "cost", "rows", "leakproof", "window":
		default:
			c.unsupported(a, "the function option "+strings.ToUpper(d.GetDefname()), "Leave the option out.")
		}
	}
	switch body := s.SqlBody; {
	case body == nil:
	case body.GetReturnStmt() != nil:
		out.Return = c.expr(body.GetReturnStmt().Returnval)
	default:
		var list []*pg.Node
		for _, n := range body.GetList().GetItems() {
			list = append(list, n.GetList().GetItems()...)
		}
		if len(list) == 1 {
			out.Query, _ = c.stmt(list[0], a).(*Select)
		}
		if out.Query == nil {
			c.unsupported(a, "a function body that is not a single SELECT", "Write one SELECT, with subqueries or WITH.")
		}
	}
	return out
}

// namedKinds has the kinds of objects that a name alone, or a name with argument
// types, identifies.
var namedKinds = map[string]bool{
	"table": true, "view": true, "materialized view": true, "index": true, "schema": true, "sequence": true,
	"type": true, "domain": true, "function": true, "procedure": true, "routine": true, "aggregate": true,
	"foreign table": true, "extension": true, "collation": true, "database": true, "role": true, "column": true,
	"constraint": true,
}

func (c *converter) drop(s *pg.DropStmt, a At) Stmt {
	out := &Drop{At: a, Kind: objectKind(s.RemoveType), IfExists: s.MissingOk,
		Cascade: s.Behavior == pg.DropBehavior_DROP_CASCADE, Concurrently: s.Concurrent}
	if !namedKinds[out.Kind] {
		c.unsupported(a, "DROP "+strings.ToUpper(out.Kind), statementHint("DROP "+strings.ToUpper(out.Kind)))
	}
	for _, n := range s.Objects {
		out.Targets = append(out.Targets, c.target(n))
	}
	return out
}

// target is an object as DROP and GRANT name it.
func (c *converter) target(n *pg.Node) DropTarget {
	t := DropTarget{Name: c.objectName(n)}
	if f := n.GetObjectWithArgs(); f != nil {
		t.HasArgs = !f.ArgsUnspecified
		for _, arg := range f.Objargs {
			t.Args = append(t.Args, c.typeName(arg.GetTypeName()))
		}
	}
	return t
}
