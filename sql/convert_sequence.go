package sql

import pg "github.com/pganalyze/pg_query_go/v6"

func (c *converter) createSequence(s *pg.CreateSeqStmt, a At) Stmt {
	return &CreateSequence{At: a, Name: c.rangeName(s.Sequence), IfNotExists: s.IfNotExists,
		Temp: s.Sequence.GetRelpersistence() == "t", Options: c.sequenceOptions(s.Options)}
}

func (c *converter) alterSequence(s *pg.AlterSeqStmt, a At) Stmt {
	return &AlterSequence{At: a, Name: c.rangeName(s.Sequence), IfExists: s.MissingOk, Options: c.sequenceOptions(s.Options)}
}

// identityWord is GENERATED's word for the grammar's letter.
func identityWord(when string) string {
	if when == "d" {
		return "BY DEFAULT"
	}
	return "ALWAYS"
}

func (c *converter) sequenceOptions(ns []*pg.Node) []SequenceOption {
	var out []SequenceOption
	for _, n := range ns {
		d := n.GetDefElem()
		o := SequenceOption{At: c.at(d.Location), Name: d.Defname}
		switch v := d.Arg.GetNode().(type) {
		case nil:
		case *pg.Node_TypeName:
			o.Type = c.typeName(v.TypeName)
		case *pg.Node_Boolean:
			o.Off = !v.Boolean.GetBoolval()
		case *pg.Node_List:
			o.Names = nodeStrings(v.List.GetItems())
		default:
			o.Value, _ = numberText(d.Arg)
		}
		if o.Name == "generated" {
			o.Value = identityWord(string(rune(d.Arg.GetInteger().GetIval())))
		}
		out = append(out, o)
	}
	return out
}
