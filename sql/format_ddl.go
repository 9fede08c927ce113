package sql

import "strings"

// ddl writes data definition; false for other statements.
func (f *formatter) ddl(s Stmt) bool {
	switch v := s.(type) {
	case *CreateTable:
		f.createTable(v)
	case *CreateMaterializedView:
		f.w("CREATE ", not(v.OrReplace, "", "OR REPLACE "), "MATERIALIZED VIEW ", not(v.IfNotExists, "", "IF NOT EXISTS "), QuoteName(v.Name))
		f.identList(v.Columns)
		f.withOptions(v.Options)
		f.w(" AS ")
		f.query(v.Query)
		f.w(not(v.NoData, "", " WITH NO DATA"), not(v.EmitOnWindowClose, "", " EMIT ON WINDOW CLOSE"))
	case *CreateView:
		f.w("CREATE ", not(v.OrReplace, "", "OR REPLACE "), not(v.Temp, "", "TEMPORARY "), "VIEW ", QuoteName(v.Name))
		f.identList(v.Columns)
		f.withOptions(v.Options)
		f.w(" AS ")
		f.query(v.Query)
		f.wIf(v.CheckOption != "", " WITH "+v.CheckOption+" CHECK OPTION")
	case *CreateIndex:
		f.createIndex(v)
	case *CreateSchema:
		f.w("CREATE SCHEMA ", not(v.IfNotExists, "", "IF NOT EXISTS "))
		f.wIf(v.Name != "", QuoteIdent(v.Name)+" ")
		if v.Authorization != nil {
			f.w("AUTHORIZATION ")
			f.role(*v.Authorization)
		}
		for _, e := range v.Elements {
			f.w(" ")
			f.stmt(e)
		}
	case *CreateSequence:
		f.w("CREATE ", not(v.Temp, "", "TEMPORARY "), "SEQUENCE ", not(v.IfNotExists, "", "IF NOT EXISTS "), QuoteName(v.Name))
		f.sequenceOptions(v.Options)
	case *AlterSequence:
		f.w("ALTER SEQUENCE ", not(v.IfExists, "", "IF EXISTS "), QuoteName(v.Name))
		f.sequenceOptions(v.Options)
	case *CreateFunction:
		f.createFunction(v)
	case *CreateType:
		f.createType(v)
	case *AlterEnum:
		f.alterEnum(v)
	case *Drop:
		f.drop(v)
	case *Alter:
		f.w("ALTER ", strings.ToUpper(v.Kind), " ", not(v.IfExists, "", "IF EXISTS "))
		f.target(DropTarget{Name: v.Name, HasArgs: v.Target.HasArgs, Args: v.Target.Args})
		for i := range v.Actions {
			f.w(not(i > 0, " ", ", "))
			if v.Kind != "domain" || !f.domainAction(&v.Actions[i]) {
				f.alterAction(v.Kind, &v.Actions[i])
			}
		}
	case *CreateDomain:
		f.createDomain(v)
	default:
		return false
	}
	return true
}

func (f *formatter) createType(s *CreateType) {
	if s.Range {
		f.w("CREATE TYPE ", QuoteName(s.Name), " AS RANGE (")
		for i, a := range s.Attributes {
			f.w(not(i > 0, "", ", "), QuoteIdent(a.Name), " = ")
			if a.Value != nil {
				f.typeName(a.Value)
			}
		}
		f.w(")")
		return
	}
	f.w("CREATE TYPE ", QuoteName(s.Name), not(s.Enum, " AS (", " AS ENUM ("))
	for i, l := range s.Labels {
		f.w(not(i > 0, "", ", "), QuoteLiteral(l))
	}
	for i := range s.Fields {
		f.w(not(i > 0, "", ", "))
		f.columnDef(&s.Fields[i])
	}
	f.w(")")
}

func (f *formatter) alterEnum(s *AlterEnum) {
	f.w("ALTER TYPE ", QuoteName(s.Name))
	if s.Old != "" {
		f.w(" RENAME VALUE ", QuoteLiteral(s.Old), " TO ", QuoteLiteral(s.New))
		return
	}
	f.w(" ADD VALUE ", not(s.IfNotExists, "", "IF NOT EXISTS "), QuoteLiteral(s.New))
	if s.Neighbour != "" {
		f.w(not(s.After, " BEFORE ", " AFTER "), QuoteLiteral(s.Neighbour))
	}
}

func (f *formatter) createTable(s *CreateTable) {
	f.w("CREATE ", not(s.OrReplace, "", "OR REPLACE "), not(s.Temp, "", "TEMPORARY "), not(s.Unlogged, "", "UNLOGGED "),
		"TABLE ", not(s.IfNotExists, "", "IF NOT EXISTS "), QuoteName(s.Name))
	if s.Query == nil && s.Execute == nil || len(s.Columns) > 0 {
		f.elements(&s.RelationDef, s.Like, s.FromSource != nil)
	}
	f.identList(s.ColumnNames)
	f.relationTail(&s.RelationDef)
	f.wIf(s.OnCommit != "", " ON COMMIT "+s.OnCommit)
	if s.Query != nil || s.Execute != nil {
		f.w(" AS ")
		if s.Execute != nil {
			f.stmt(s.Execute)
		} else {
			f.query(s.Query)
		}
		f.wIf(s.NoData, " WITH NO DATA")
	}
}

// elements writes the list of columns, constraints and watermarks; with optional
// an empty list is left out.
func (f *formatter) elements(d *RelationDef, like []LikeTable, optional bool) {
	n := 0
	next := func() {
		f.w(not(n > 0, " (", ", "))
		n++
	}
	for i := range d.Columns {
		next()
		f.columnDef(&d.Columns[i])
	}
	if d.Wildcard {
		next()
		f.w("*")
	}
	for _, l := range like {
		next()
		f.w("LIKE ", QuoteName(l.Table))
		f.likeOptions(l.Options)
	}
	for _, w := range d.Watermarks {
		next()
		f.w("WATERMARK FOR ", QuoteIdent(w.Column))
		f.clause(" AS ", w.Expr)
	}
	for i := range d.Constraints {
		next()
		f.constraint(&d.Constraints[i])
	}
	switch {
	case n > 0:
		f.w(")")
	case !optional:
		f.w(" ()")
	}
}

// likeNames are the clauses of LIKE by PostgreSQL's bits.
var likeNames = [...]string{"COMMENTS", "COMPRESSION", "CONSTRAINTS", "DEFAULTS", "GENERATED", "IDENTITY", "INDEXES", "STATISTICS", "STORAGE"}

func (f *formatter) likeOptions(bits uint32) {
	if bits == 0x7fffffff {
		f.w(" INCLUDING ALL")
		return
	}
	all := bits > 0x3fffffff
	f.wIf(all, " INCLUDING ALL")
	for i, n := range likeNames {
		if on := bits&(1<<i) != 0; on != all {
			f.w(not(on, " EXCLUDING ", " INCLUDING "), n)
		}
	}
}

// relationTail writes what follows the column list of a table or source.
func (f *formatter) relationTail(d *RelationDef) {
	f.wIf(d.AppendOnly, " APPEND ONLY")
	f.wIf(d.OnConflict != "", " ON CONFLICT "+strings.ToUpper(d.OnConflict))
	for _, i := range d.Includes {
		f.w(" INCLUDE ", strings.ToUpper(i.What))
		f.wIf(i.Inner != "", " "+QuoteLiteral(i.Inner))
		if i.Type != nil {
			f.w(" ")
			f.typeName(i.Type)
		}
		f.wIf(i.As != "", " AS "+QuoteIdent(i.As))
	}
	f.withOptions(d.Options)
	if d.FromSource != nil {
		f.w(" FROM ", QuoteName(*d.FromSource))
		f.wIf(d.FromTable != "", " TABLE "+QuoteLiteral(d.FromTable))
	}
	f.formatSpec(d.Format)
}

func (f *formatter) formatSpec(s *FormatSpec) {
	if s == nil {
		return
	}
	part := func(word, name string, opts []Option) {
		if name == "" {
			return
		}
		f.w(word, strings.ToUpper(name))
		if len(opts) > 0 {
			f.w(" ")
			f.options(opts, " = ")
		}
	}
	part(" FORMAT ", s.Format, s.FormatOptions)
	part(" ENCODE ", s.Encode, s.EncodeOptions)
	part(" KEY ENCODE ", s.KeyEncode, s.KeyOptions)
}

func (f *formatter) columnDefs(cs []ColumnDef) {
	for i := range cs {
		f.wIf(i > 0, ", ")
		f.columnDef(&cs[i])
	}
}

func (f *formatter) columnDef(c *ColumnDef) {
	f.w(QuoteIdent(c.Name))
	if c.Type != nil {
		f.w(" ")
		f.typeName(c.Type)
	}
	if c.Path != nil {
		f.w(" PATH ", QuoteLiteral(c.Path.Text))
	}
	if c.Collation != nil {
		f.w(" COLLATE ", QuoteName(*c.Collation))
	}
	if c.Generated != nil {
		f.w(not(c.Type == nil, " GENERATED ALWAYS AS (", " AS ("))
		f.expr(c.Generated)
		f.w(not(c.Type == nil, ") STORED", ")"))
	}
	if c.Identity != "" {
		f.identity(c.Identity, c.Sequence)
	}
	f.w(not(c.NotNull, "", " NOT NULL"), not(c.Null, "", " NULL"))
	for i := range c.Keys {
		f.w(" ")
		f.constraint(&c.Keys[i])
	}
	if c.Default != nil {
		f.w(" DEFAULT ")
		f.operand(c.Default)
	}
	for i := range c.Checks {
		f.w(" ")
		f.constraint(&c.Checks[i])
	}
	for i := range c.References {
		r := &c.References[i]
		f.w(" ")
		f.wIf(r.Name != "", "CONSTRAINT "+QuoteIdent(r.Name)+" ")
		f.references(r)
	}
}

func (f *formatter) constraint(c *Constraint) {
	f.wIf(c.Name != "", "CONSTRAINT "+QuoteIdent(c.Name)+" ")
	switch c.Kind {
	case ConPrimaryKey, ConUnique:
		f.w(not(c.Kind == ConUnique, "PRIMARY KEY", "UNIQUE"), not(c.NullsNotDistinct, "", " NULLS NOT DISTINCT"))
		f.identList(c.Columns)
		f.wIf(c.Index != "", " USING INDEX "+QuoteIdent(c.Index))
		if len(c.Include) > 0 {
			f.w(" INCLUDE")
			f.identList(c.Include)
		}
	case ConCheck:
		f.w("CHECK (")
		f.expr(c.Check)
		f.w(")")
	case ConForeignKey:
		f.w("FOREIGN KEY")
		f.identList(c.Columns)
		f.w(" ")
		f.references(c)
	}
	f.wIf(c.Deferrable && c.Kind != ConForeignKey, " DEFERRABLE"+not(c.Deferred, "", " INITIALLY DEFERRED"))
	f.wIf(c.NotValid, " NOT VALID")
}

func (f *formatter) references(c *Constraint) {
	f.w("REFERENCES ", QuoteName(c.RefTable))
	f.identList(c.RefColumns)
	f.wIf(c.MatchFull, " MATCH FULL")
	f.wIf(c.OnDelete != "", " ON DELETE "+c.OnDelete)
	if len(c.SetColumns) > 0 {
		f.identList(c.SetColumns)
	}
	f.wIf(c.OnUpdate != "", " ON UPDATE "+c.OnUpdate)
	f.wIf(c.Deferrable, " DEFERRABLE")
	f.wIf(c.Deferred, " INITIALLY DEFERRED")
}

// indexKey writes a key of an index: a column, or an expression in brackets.
func (f *formatter) indexKey(s SortItem) {
	if c, ok := s.Expr.(*ColumnRef); ok {
		f.columnRef(c)
	} else {
		f.w("(")
		f.expr(s.Expr)
		f.w(")")
	}
}

func (f *formatter) createIndex(s *CreateIndex) {
	f.w("CREATE ", not(s.Unique, "", "UNIQUE "), "INDEX ", not(s.Concurrently, "", "CONCURRENTLY "), not(s.IfNotExists, "", "IF NOT EXISTS "))
	f.wIf(s.Name != "", QuoteIdent(s.Name)+" ")
	f.w("ON ", QuoteName(s.Table), " USING ", QuoteIdent(s.Method), " (")
	for i, c := range s.Columns {
		f.wIf(i > 0, ", ")
		f.indexKey(c.Sort)
		if c.Collation != nil {
			f.w(" COLLATE ", QuoteName(*c.Collation))
		}
		if c.OpClass != nil {
			f.w(" ", QuoteName(*c.OpClass))
		}
		f.sortTail(c.Sort)
	}
	f.w(")")
	if len(s.Include) > 0 {
		f.w(" INCLUDE")
		f.identList(s.Include)
	}
	f.wIf(s.NullsNotDistinct, " NULLS NOT DISTINCT")
	f.withOptions(s.Options)
	f.clause(" WHERE ", s.Where)
}

func (f *formatter) createFunction(s *CreateFunction) {
	f.w("CREATE ", not(s.OrReplace, "", "OR REPLACE "), not(s.Procedure, "FUNCTION ", "PROCEDURE "), QuoteName(s.Name), "(")
	n := 0
	var table []FuncParam
	for _, p := range s.Params {
		if p.Mode == "table" {
			table = append(table, p)
			continue
		}
		f.wIf(n > 0, ", ")
		f.param(p)
		n++
	}
	f.w(")")
	switch {
	case len(table) > 0:
		f.w(" RETURNS TABLE(")
		for i, p := range table {
			f.wIf(i > 0, ", ")
			f.param(p)
		}
		f.w(")")
	case s.Returns != nil:
		f.w(" RETURNS ")
		f.typeName(s.Returns)
	}
	f.wIf(s.Language != "", " LANGUAGE "+QuoteIdent(s.Language))
	f.wIf(s.Volatility != "", " "+strings.ToUpper(s.Volatility))
	f.wIf(s.Strict, " STRICT")
	f.wIf(s.Definer, " SECURITY DEFINER")
	switch {
	case s.Return != nil:
		f.clause(" RETURN ", s.Return)
	case s.Query != nil:
		f.w(" BEGIN ATOMIC ")
		f.stmt(s.Query)
		f.w("; END")
	case s.Body != nil:
		f.w(" AS ", QuoteLiteral(*s.Body))
	}
}

func (f *formatter) param(p FuncParam) {
	f.wIf(p.Mode != "in" && p.Mode != "table", strings.ToUpper(p.Mode)+" ")
	f.wIf(p.Name != "", QuoteIdent(p.Name)+" ")
	f.typeName(p.Type)
	f.clause(" DEFAULT ", p.Default)
}

func (f *formatter) drop(s *Drop) {
	f.w("DROP ", strings.ToUpper(s.Kind), " ", not(s.Concurrently, "", "CONCURRENTLY "), not(s.IfExists, "", "IF EXISTS "))
	f.objects(s.Targets)
	f.wIf(s.Cascade, " CASCADE")
}

// objects writes objects as DROP and GRANT name them.
func (f *formatter) objects(ts []DropTarget) {
	for i, t := range ts {
		f.wIf(i > 0, ", ")
		f.target(t)
	}
}

func (f *formatter) target(t DropTarget) {
	f.w(QuoteName(t.Name))
	if !t.HasArgs {
		return
	}
	f.w("(")
	for k, a := range t.Args {
		f.wIf(k > 0, ", ")
		f.typeName(a)
	}
	f.w(")")
}

func (f *formatter) alterAction(kind string, a *AlterAction) {
	col, word := QuoteIdent(a.Column), not(kind == "type", "COLUMN ", "ATTRIBUTE ")
	switch a.Kind {
	case AlterRename:
		f.w("RENAME TO ", QuoteIdent(a.NewName))
	case AlterRenameColumn:
		f.w("RENAME ", word, col, " TO ", QuoteIdent(a.NewName))
	case AlterRenameConstraint:
		f.w("RENAME CONSTRAINT ", col, " TO ", QuoteIdent(a.NewName))
	case AlterSetSchema:
		f.w("SET SCHEMA ", QuoteIdent(a.NewName))
	case AlterOwner:
		f.w("OWNER TO ")
		f.role(*a.Role)
	case AlterAddColumn:
		f.w("ADD ", word, not(a.IfNotExists, "", "IF NOT EXISTS "))
		f.columnDef(a.Def)
	case AlterDropColumn:
		f.w("DROP ", word, not(a.IfExists, "", "IF EXISTS "), col, not(a.Cascade, "", " CASCADE"))
	case AlterColumnType:
		f.w("ALTER ", word, col, " TYPE ")
		f.typeName(a.Type)
		f.clause(" USING ", a.Expr)
	case AlterSetDefault:
		f.w("ALTER COLUMN ", col)
		f.clause(" SET DEFAULT ", a.Expr)
	case AlterDropDefault:
		f.w("ALTER COLUMN ", col, " DROP DEFAULT")
	case AlterSetNotNull:
		f.w("ALTER COLUMN ", col, " SET NOT NULL")
	case AlterDropNotNull:
		f.w("ALTER COLUMN ", col, " DROP NOT NULL")
	case AlterSetOptions, AlterResetOptions:
		f.w(not(a.Kind == AlterResetOptions, "SET ", "RESET "))
		f.options(a.Options, " = ")
	case AlterAddConstraint:
		f.w("ADD ")
		f.constraint(a.Constraint)
	case AlterConstraint:
		f.w("ALTER CONSTRAINT ", col, not(!a.Constraint.Deferrable, " DEFERRABLE", " NOT DEFERRABLE"), not(a.Constraint.Deferred, "", " INITIALLY DEFERRED"))
	case AlterValidateConstraint:
		f.w("VALIDATE CONSTRAINT ", col)
	case AlterDropConstraint:
		f.w("DROP CONSTRAINT ", not(a.IfExists, "", "IF EXISTS "), col, not(a.Cascade, "", " CASCADE"))
	case AlterAddIdentity:
		f.w("ALTER COLUMN ", col, " ADD")
		f.identity(a.NewName, a.Sequence)
	case AlterSetIdentity:
		f.w("ALTER COLUMN ", col)
		for i := range a.Sequence {
			f.w(not(a.Sequence[i].Name == "generated" || a.Sequence[i].Name == "restart", " SET", ""))
			f.sequenceOption(&a.Sequence[i])
		}
	case AlterDropIdentity:
		f.w("ALTER COLUMN ", col, " DROP IDENTITY", not(a.IfExists, "", " IF EXISTS"))
	case AlterPhysical:
		f.physicalAction(a)
	case AlterOther:
		f.w(a.Text)
	}
}

func (f *formatter) physicalAction(a *AlterAction) {
	col := "ALTER COLUMN " + QuoteIdent(a.Column) + " "
	if n := strings.TrimLeft(a.Column, "0123456789"); n == "" {
		col = "ALTER COLUMN " + a.Column + " "
	}
	switch a.What {
	case "statistics":
		f.w(col, "SET STATISTICS ", a.NewName)
	case "storage", "compression":
		f.w(col, "SET ", strings.ToUpper(a.What), " ", QuoteIdent(a.NewName))
	case "set", "reset":
		f.w(col, strings.ToUpper(a.What), " ")
		f.options(a.Options, " = ")
	case "cluster":
		f.w(not(a.NewName == "", "CLUSTER ON "+QuoteIdent(a.NewName), "SET WITHOUT CLUSTER"))
	case "logged", "unlogged":
		f.w("SET ", strings.ToUpper(a.What))
	case "identity":
		f.w("REPLICA IDENTITY ", a.Text)
		f.wIf(a.NewName != "", " "+QuoteIdent(a.NewName))
	default:
		f.w("NO FORCE ROW LEVEL SECURITY")
	}
}
