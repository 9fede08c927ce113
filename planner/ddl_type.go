package planner

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// BindCreateType makes the catalog object of CREATE TYPE; its reference is the
// caller's to set.
func (p *Planner) BindCreateType(s *sql.CreateType) (*catalog.Type, error) {
	b := p.newBinder(false)
	h, err := b.head(s.Name)
	if err != nil {
		return nil, err
	}
	t := &catalog.Type{Head: h, Enum: s.Enum}
	for i, l := range s.Labels {
		if err := checkLabel(l); err != nil {
			return nil, err
		}
		for _, o := range s.Labels[:i] {
			if o == l {
				return nil, pgerr.New(pgerr.UniqueViolation, "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"").
					WithDetail("The label \"%s\" is given twice.", l)
			}
		}
		t.Labels = append(t.Labels, types.Label{Code: int64(i+1) * types.EnumStep, Name: l})
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		if catalog.ColumnIndex(t.Fields, f.Name) >= 0 {
			return nil, pgerr.New(pgerr.DuplicateColumn, "column \"%s\" specified more than once", f.Name)
		}
		ft, err := b.typeName(f.Type)
		if err == nil {
			err = b.placed(CheckColumn(f.Name, ft), f)
		}
		if err != nil {
			return nil, err
		}
		t.Fields = append(t.Fields, catalog.Column{Name: f.Name, Type: ft})
	}
	return t, nil
}

func checkLabel(l string) error {
	if len(l) > 63 {
		return pgerr.New(pgerr.InvalidName, "invalid enum label \"%s\"", l).WithDetail("Labels must be 63 bytes or less.")
	}
	return nil
}

// AlterEnum returns the enum with a label added or renamed; nil when the label is
// there already and that is to be no error.
func AlterEnum(old *catalog.Type, s *sql.AlterEnum) (*catalog.Type, error) {
	if !old.Enum {
		return nil, pgerr.New(pgerr.WrongObjectType, "%s is not an enum", old.T())
	}
	t := catalog.Clone(old).(*catalog.Type)
	at := func(name string) int {
		for i := range t.Labels {
			if t.Labels[i].Name == name {
				return i
			}
		}
		return -1
	}
	if err := checkLabel(s.New); err != nil {
		return nil, err
	}
	i := len(t.Labels)
	if from := s.Old + s.Neighbour; from != "" {
		if i = at(from); i < 0 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "\"%s\" is not an existing enum label", from)
		}
	}
	if at(s.New) >= 0 {
		if s.IfNotExists {
			return nil, nil
		}
		return nil, pgerr.New(pgerr.DuplicateObject, "enum label \"%s\" already exists", s.New)
	}
	if s.Old != "" {
		t.Labels[i].Name = s.New
		return t, nil
	}
	if s.After && s.Neighbour != "" {
		i++
	}
	var before, after *types.Label
	if i > 0 {
		before = &t.Labels[i-1]
	}
	if i < len(t.Labels) {
		after = &t.Labels[i]
	}
	code, ok := types.EnumCodeBetween(before, after)
	if !ok {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "too many values were added to enum %s at the same place", old.T())
	}
	t.Labels = append(t.Labels[:i:i], append([]types.Label{{Code: code, Name: s.New}}, t.Labels[i:]...)...)
	return t, nil
}
