package sql

import (
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// alterObject makes an ALTER with one action of the object that a statement
// names either by relation or by object.
func (c *converter) alterObject(a At, kind pg.ObjectType, r *pg.RangeVar, object *pg.Node, ifExists bool, act AlterAction) Stmt {
	out := &Alter{At: a, Kind: objectKind(kind), IfExists: ifExists, Actions: []AlterAction{act}}
	if f := object.GetObjectWithArgs(); r == nil && (!namedKinds[out.Kind] || f != nil && out.Kind != "function" && out.Kind != "routine") {
		c.unsupported(a, "ALTER "+strings.ToUpper(out.Kind), "Drop the object and create it again.")
	}
	if r != nil {
		out.Name = c.rangeName(r)
	} else {
		t := c.target(object)
		out.Name, out.Target = t.Name, t
	}
	return out
}

func (c *converter) rename(s *pg.RenameStmt, a At) Stmt {
	act := AlterAction{At: a, Kind: AlterRename, NewName: s.Newname}
	kind := s.RenameType
	object := s.Object
	switch s.RenameType {
	case pg.ObjectType_OBJECT_COLUMN:
		act.Kind, act.Column, kind = AlterRenameColumn, s.Subname, s.RelationType
	case pg.ObjectType_OBJECT_ATTRIBUTE:
		act.Kind, act.Column, kind = AlterRenameColumn, s.Subname, pg.ObjectType_OBJECT_TYPE
	case pg.ObjectType_OBJECT_TABCONSTRAINT:
		act.Kind, act.Column, kind = AlterRenameConstraint, s.Subname, pg.ObjectType_OBJECT_TABLE
	case pg.ObjectType_OBJECT_DOMCONSTRAINT:
		act.Kind, act.Column, kind = AlterRenameConstraint, s.Subname, pg.ObjectType_OBJECT_DOMAIN
	case pg.ObjectType_OBJECT_SCHEMA, pg.ObjectType_OBJECT_DATABASE, pg.ObjectType_OBJECT_ROLE:
		object = pg.MakeStrNode(s.Subname)
	}
	return c.alterObject(a, kind, s.Relation, object, s.MissingOk, act)
}

func (c *converter) alterTable(s *pg.AlterTableStmt, a At) Stmt {
	out := &Alter{At: a, Kind: objectKind(s.Objtype), Name: c.rangeName(s.Relation), IfExists: s.MissingOk}
	for _, n := range s.Cmds {
		out.Actions = append(out.Actions, c.alterAction(n.GetAlterTableCmd(), a))
	}
	return out
}

func (c *converter) alterAction(k *pg.AlterTableCmd, a At) AlterAction {
	act := AlterAction{At: a, Column: k.Name, Cascade: k.Behavior == pg.DropBehavior_DROP_CASCADE}
	switch k.Subtype {
	case pg.AlterTableType_AT_AddColumn:
		d := c.columnDef(k.Def.GetColumnDef())
		act.Kind, act.Def, act.IfNotExists, act.At, act.Column = AlterAddColumn, &d, k.MissingOk, d.At, d.Name
	case pg.AlterTableType_AT_DropColumn:
		act.Kind, act.IfExists = AlterDropColumn, k.MissingOk
	case pg.AlterTableType_AT_AlterColumnType:
		d := k.Def.GetColumnDef()
		act.Kind, act.Type, act.Expr = AlterColumnType, c.typeName(d.GetTypeName()), c.expr(d.GetRawDefault())
	case pg.AlterTableType_AT_ColumnDefault:
		act.Kind, act.Expr = AlterSetDefault, c.expr(k.Def)
		if k.Def == nil {
			act.Kind = AlterDropDefault
		}
	case pg.AlterTableType_AT_SetNotNull:
		act.Kind = AlterSetNotNull
	case pg.AlterTableType_AT_DropNotNull:
		act.Kind = AlterDropNotNull
	case pg.AlterTableType_AT_SetRelOptions:
		act.Kind, act.Options = AlterSetOptions, c.options(k.Def.GetList().GetItems())
	case pg.AlterTableType_AT_ResetRelOptions:
		act.Kind, act.Options = AlterResetOptions, c.options(k.Def.GetList().GetItems())
	case pg.AlterTableType_AT_AddConstraint:
		con := c.constraint(k.Def.GetConstraint())
		act.Kind, act.Constraint, act.At = AlterAddConstraint, &con, con.At
	case pg.AlterTableType_AT_AlterConstraint:
		k := k.Def.GetConstraint()
		act.Kind, act.Column, act.Constraint = AlterConstraint, k.Conname, &Constraint{At: a, Kind: ConForeignKey, Deferrable: k.Deferrable, Deferred: k.Initdeferred}
	case pg.AlterTableType_AT_ValidateConstraint:
		act.Kind = AlterValidateConstraint
	case pg.AlterTableType_AT_DropConstraint:
		act.Kind, act.IfExists = AlterDropConstraint, k.MissingOk
	case pg.AlterTableType_AT_AddIdentity:
		k := k.Def.GetConstraint()
		act.Kind, act.NewName, act.Sequence = AlterAddIdentity, identityWord(k.GetGeneratedWhen()), c.sequenceOptions(k.GetOptions())
	case pg.AlterTableType_AT_SetIdentity:
		act.Kind, act.Sequence = AlterSetIdentity, c.sequenceOptions(k.Def.GetList().GetItems())
	case pg.AlterTableType_AT_DropIdentity:
		act.Kind, act.IfExists = AlterDropIdentity, k.MissingOk
	case pg.AlterTableType_AT_ChangeOwner:
		act.Kind, act.Role = AlterOwner, c.optionalRole(k.Newowner)
	case pg.AlterTableType_AT_EnableRowSecurity, pg.AlterTableType_AT_ForceRowSecurity:
		c.unsupported(a, "row-level security", "Give roles views of the rows that they may see.")
	case pg.AlterTableType_AT_DisableRowSecurity, pg.AlterTableType_AT_NoForceRowSecurity, pg.AlterTableType_AT_DropOids,
		pg.AlterTableType_AT_EnableTrigUser, pg.AlterTableType_AT_DisableTrigUser:
		act.Kind, act.What = AlterPhysical, "nothing"
	case pg.AlterTableType_AT_SetStatistics, pg.AlterTableType_AT_SetStorage, pg.AlterTableType_AT_SetCompression, pg.AlterTableType_AT_SetOptions,
		pg.AlterTableType_AT_ResetOptions, pg.AlterTableType_AT_ClusterOn, pg.AlterTableType_AT_DropCluster, pg.AlterTableType_AT_SetLogged,
		pg.AlterTableType_AT_SetUnLogged, pg.AlterTableType_AT_ReplicaIdentity:
		c.physicalAction(&act, k)
	default:
		c.unsupported(a, "this action of ALTER TABLE", "Create a new table, INSERT the rows into it and drop the old one.")
	}
	return act
}

// physicalAction converts an action about how rows are stored.
func (c *converter) physicalAction(act *AlterAction, k *pg.AlterTableCmd) {
	act.Kind, act.NewName = AlterPhysical, k.Def.GetString_().GetSval()
	if k.Num > 0 {
		act.Column = strconv.Itoa(int(k.Num))
	}
	switch k.Subtype {
	case pg.AlterTableType_AT_SetStatistics:
		act.What, act.NewName = "statistics", "-1"
		if n := k.Def.GetInteger(); n != nil {
			act.NewName = strconv.Itoa(int(n.Ival))
		}
	case pg.AlterTableType_AT_SetStorage:
		act.What = "storage"
	case pg.AlterTableType_AT_SetCompression:
		act.What = "compression"
	case pg.AlterTableType_AT_SetOptions:
		act.What, act.Options = "set", c.options(k.Def.GetList().GetItems())
	case pg.AlterTableType_AT_ResetOptions:
		act.What, act.Options = "reset", c.options(k.Def.GetList().GetItems())
	case pg.AlterTableType_AT_ClusterOn:
		act.What, act.NewName, act.Column = "cluster", k.Name, ""
	case pg.AlterTableType_AT_DropCluster:
		act.What = "cluster"
	case pg.AlterTableType_AT_SetLogged:
		act.What = "logged"
	case pg.AlterTableType_AT_SetUnLogged:
		act.What = "unlogged"
	case pg.AlterTableType_AT_ReplicaIdentity:
		r := k.Def.GetReplicaIdentityStmt()
		act.What, act.NewName = "identity", r.GetName()
		act.Text = map[string]string{"d": "DEFAULT", "f": "FULL", "n": "NOTHING", "i": "USING INDEX"}[r.GetIdentityType()]
	}
}
