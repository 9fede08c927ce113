package catalog

import "slices"

// Clone returns a copy of an object to change and Replace it by. Columns are
// copied; what else slices hold is shared and must not be changed in place.
func Clone(o Object) Object {
	switch o := o.(type) {
	case *Schema:
		c := *o
		return &c
	case *Table:
		c := *o
		c.Columns = slices.Clone(o.Columns)
		return &c
	case *Source:
		c := *o
		c.Columns = slices.Clone(o.Columns)
		return &c
	case *MatView:
		c := *o
		c.Columns = slices.Clone(o.Columns)
		return &c
	case *View:
		c := *o
		c.Columns = slices.Clone(o.Columns)
		return &c
	case *Sink:
		c := *o
		c.Columns = slices.Clone(o.Columns)
		return &c
	case *Index:
		c := *o
		return &c
	case *Type:
		c := *o
		c.Fields, c.Labels, c.Checks = slices.Clone(o.Fields), slices.Clone(o.Labels), slices.Clone(o.Checks)
		if o.Domain != nil {
			d := *o.Domain
			c.Domain = &d
		}
		if o.Range != nil {
			r := *o.Range
			c.Range = &r
		}
		return &c
	case *Secret:
		c := *o
		return &c
	case *Sequence:
		c := *o
		return &c
	case *Function:
		c := *o
		return &c
	case *Role:
		c := *o
		c.Settings, c.MemberOf, c.Defaults = slices.Clone(o.Settings), slices.Clone(o.MemberOf), slices.Clone(o.Defaults)
		return &c
	case *Database:
		c := *o
		c.Settings = slices.Clone(o.Settings)
		return &c
	case *Connection:
		c := *o
		return &c
	}
	return o
}
