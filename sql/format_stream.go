package sql

import (
	"strconv"
	"strings"
)

// streamStmt writes the statements of our own; false for others.
func (f *formatter) streamStmt(s Stmt) bool {
	switch v := s.(type) {
	case *CreateSource:
		f.w("CREATE ", not(v.OrReplace, "", "OR REPLACE "), not(v.Temp, "", "TEMPORARY "), "SOURCE ", not(v.IfNotExists, "", "IF NOT EXISTS "), QuoteName(v.Name))
		f.elements(&v.RelationDef, nil, true)
		f.relationTail(&v.RelationDef)
	case *CreateSink:
		f.createSink(v)
	case *CreateSecret:
		f.w("CREATE SECRET ", not(v.IfNotExists, "", "IF NOT EXISTS "), QuoteName(v.Name))
		f.withOptions(v.Options)
		f.w(" AS ", QuoteLiteral(v.Value))
	case *CreateConnection:
		f.w("CREATE CONNECTION ", not(v.IfNotExists, "", "IF NOT EXISTS "), QuoteName(v.Name), " WITH ")
		f.options(v.Options, " = ")
	case *Show:
		f.show(v)
	case *Describe:
		f.w("DESCRIBE ", QuoteName(v.Name))
	case *RunningView:
		f.w("MATERIALIZED VIEW ", QuoteName(v.Name))
	case *Check:
		f.w("CHECK MATERIALIZED VIEW ", QuoteName(v.Name))
		if v.Limit >= 0 {
			f.w(" LIMIT ", strconv.FormatInt(v.Limit, 10))
		}
	case *Flush:
		f.w("FLUSH")
	case *Subscribe:
		f.w("SUBSCRIBE TO ")
		if v.Relation != nil {
			f.w(QuoteName(*v.Relation))
		} else {
			f.brackets(v.Query)
		}
		f.withOptions(v.Options)
		f.clause(" AS OF ", v.AsOf)
		f.clause(" UP TO ", v.UpTo)
	case *Cancel:
		f.w("CANCEL JOBS ")
		for i, j := range v.Jobs {
			f.wIf(i > 0, ", ")
			f.w(QuoteLiteral(j))
		}
	default:
		return false
	}
	return true
}

func (f *formatter) createSink(s *CreateSink) {
	f.w("CREATE ", not(s.OrReplace, "", "OR REPLACE "), "SINK ", not(s.IfNotExists, "", "IF NOT EXISTS "), QuoteName(s.Name))
	if s.Into != nil {
		f.w(" INTO ", QuoteName(*s.Into))
	}
	f.identList(s.Columns)
	if s.From != nil {
		f.w(" FROM ", QuoteName(*s.From))
	} else {
		f.w(" AS ")
		f.query(s.Query)
	}
	f.withOptions(s.Options)
	f.formatSpec(s.Format)
}

func (f *formatter) show(s *Show) {
	f.w("SHOW ")
	if s.What == "" {
		f.w(not(s.Name == "all", settingName(s.Name), "ALL"))
		return
	}
	f.w(strings.ToUpper(s.What))
	switch {
	case s.Kind != "":
		f.w(" ", strings.ToUpper(s.Kind), " ", QuoteName(*s.From))
	case s.From != nil:
		f.w(" FROM ", QuoteName(*s.From))
	}
	f.wIf(s.HasLike, " LIKE "+QuoteLiteral(s.Like))
}
