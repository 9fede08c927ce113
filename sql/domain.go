package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/streamdb/streamdb/pgerr"
)

// CreateDomain is CREATE DOMAIN. Def has the type, and the name, default, NOT NULL
// and checks as of a column.
type CreateDomain struct {
	At
	Name Name
	Def  ColumnDef
}

func (*CreateDomain) stmtNode() {}

func (c *converter) createDomain(s *pg.CreateDomainStmt, a At) Stmt {
	out := &CreateDomain{At: a, Name: nameOf(nodeStrings(s.Domainname), a)}
	for _, n := range s.Constraints {
		switch k := n.GetConstraint(); k.Contype {
		case pg.ConstrType_CONSTR_CHECK, pg.ConstrType_CONSTR_DEFAULT, pg.ConstrType_CONSTR_NULL, pg.ConstrType_CONSTR_NOTNULL:
		default:
			c.domainConstraint(k)
			return out
		}
	}
	out.Def = c.columnDef(&pg.ColumnDef{Colname: out.Name.Name, TypeName: s.TypeName, CollClause: s.CollClause, Constraints: s.Constraints})
	if out.Def.Null && out.Def.NotNull {
		c.syntax(a, pgerr.SyntaxError, "conflicting NULL/NOT NULL constraints")
	}
	for i := range out.Def.Checks {
		nameValue(out.Def.Checks[i].Check)
	}
	return out
}

// domainConstraint refuses a constraint that domains do not have.
func (c *converter) domainConstraint(k *pg.Constraint) {
	what := map[pg.ConstrType]string{pg.ConstrType_CONSTR_UNIQUE: "unique", pg.ConstrType_CONSTR_PRIMARY: "primary key",
		pg.ConstrType_CONSTR_EXCLUSION: "exclusion", pg.ConstrType_CONSTR_FOREIGN: "foreign key"}[k.Contype]
	if what == "" {
		c.syntax(At{NoPos}, pgerr.FeatureNotSupported, "specifying constraint deferrability not supported for domains")
		return
	}
	c.syntax(At{NoPos}, pgerr.SyntaxError, "%s constraints not possible for domains", what)
}

// nameValue marks the places of a check where the value of the domain stands.
func nameValue(e Expr) {
	var walk func(n Node)
	walk = func(n Node) {
		if ref, ok := n.(*ColumnRef); ok && len(ref.Parts) == 1 && ref.Parts[0] == "value" && !ref.Star {
			ref.Value = true
		}
		for _, c := range Children(n) {
			walk(c)
		}
	}
	if e != nil {
		walk(e)
	}
}

// domainActions are the letters of AlterDomainStmt.
var domainActions = map[string]AlterKind{"T": AlterSetDefault, "N": AlterDropNotNull, "O": AlterSetNotNull, "C": AlterAddConstraint,
	"X": AlterDropConstraint, "V": AlterValidateConstraint}

func (c *converter) alterDomain(s *pg.AlterDomainStmt, a At) Stmt {
	act := AlterAction{At: a, Kind: domainActions[s.Subtype], Column: s.Name, IfExists: s.MissingOk, Cascade: s.Behavior == pg.DropBehavior_DROP_CASCADE}
	switch act.Kind {
	case AlterSetDefault:
		if act.Expr = c.expr(s.Def); act.Expr == nil {
			act.Kind = AlterDropDefault
		}
	case AlterAddConstraint:
		k := s.Def.GetConstraint()
		if k.Contype != pg.ConstrType_CONSTR_CHECK {
			c.domainConstraint(k)
			return &Unsupported{At: a}
		}
		con := c.constraint(k)
		nameValue(con.Check)
		act.Constraint = &con
	}
	n := nameOf(nodeStrings(s.TypeName), a)
	return &Alter{At: a, Kind: "domain", Name: n, Target: DropTarget{Name: n}, Actions: []AlterAction{act}}
}

func (f *formatter) createDomain(s *CreateDomain) {
	f.w("CREATE DOMAIN ", QuoteName(s.Name), " AS ")
	f.typeName(s.Def.Type)
	if s.Def.Collation != nil {
		f.w(" COLLATE ", QuoteName(*s.Def.Collation))
	}
	f.clause(" DEFAULT ", s.Def.Default)
	f.wIf(s.Def.NotNull, " NOT NULL")
	for i := range s.Def.Checks {
		f.w(" ")
		f.constraint(&s.Def.Checks[i])
	}
}

// domainAction writes an action of ALTER DOMAIN that is not written as one of ALTER
// TABLE.
func (f *formatter) domainAction(a *AlterAction) bool {
	switch a.Kind {
	case AlterSetDefault:
		f.clause("SET DEFAULT ", a.Expr)
	case AlterDropDefault:
		f.w("DROP DEFAULT")
	case AlterSetNotNull:
		f.w("SET NOT NULL")
	case AlterDropNotNull:
		f.w("DROP NOT NULL")
	default:
		return false
	}
	return true
}
