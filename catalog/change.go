package catalog

import (
	"fmt"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// Change is one step of a DDL statement: exactly one field is set.
type Change struct {
	// Create adds an object, whose OIDs are set (see Catalog.Assign).
	Create Object
	// Replace puts the object in the place of the one with its OID; name and
	// schema may differ from the old ones.
	Replace Object
	// Drop removes the object with this OID. What depends on it must be removed
	// earlier in the same Apply.
	Drop uint32
}

// Apply makes the snapshot that follows s and the log entries of the changes.
// Either all changes are applied or none. Errors are those of PostgreSQL: 42P07
// for a name in use, 42P06 for a schema, 2BP01 for dependents, 3F000 for a
// missing schema.
func (s *Snapshot) Apply(changes ...Change) (*Snapshot, []Entry, error) {
	n := s.clone()
	touched := map[uint32]bool{}
	var order []uint32
	for _, c := range changes {
		oid, err := n.applyOne(c)
		if err != nil {
			return nil, nil, err
		}
		if !touched[oid] {
			touched[oid] = true
			order = append(order, oid)
		}
	}
	entries := []Entry{n.stateEntry()}
	for _, oid := range order {
		e, err := n.entry(oid)
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, e)
	}
	n.seal()
	return n, entries, nil
}

func (s *Snapshot) applyOne(c Change) (uint32, error) {
	switch {
	case c.Create != nil:
		h := c.Create.Header()
		if h.OID < FirstOID || s.byOID[h.OID] != nil {
			return 0, fmt.Errorf("catalog: create of %q with OID %d", h.Name, h.OID)
		}
		if err := s.checkNew(c.Create); err != nil {
			return 0, err
		}
		s.add(c.Create)
		for _, oid := range innerOIDs(c.Create) {
			if *oid >= s.next {
				s.next = *oid + 1
			}
		}
		return h.OID, nil
	case c.Replace != nil:
		h := c.Replace.Header()
		old := s.byOID[h.OID]
		if old == nil || s.builtin[h.OID] && !Changeable(h.OID) {
			return 0, fmt.Errorf("catalog: replacement of missing OID %d", h.OID)
		}
		s.remove(old)
		if err := s.checkNew(c.Replace); err != nil {
			return 0, err
		}
		s.add(c.Replace)
		return h.OID, nil
	case c.Drop != 0:
		return c.Drop, s.applyDrop(c.Drop)
	}
	return 0, fmt.Errorf("catalog: empty change")
}

// checkNew tells whether o can be added: its schema and dependencies exist and
// its name is free.
func (s *Snapshot) checkNew(o Object) error {
	h := o.Header()
	if shared := o.Kind() == KindRole || o.Kind() == KindDatabase; shared != (h.Database == 0) {
		return fmt.Errorf("catalog: %s %q in database %d", o.Kind(), h.Name, h.Database)
	}
	s = s.In(h.Database)
	if o.Kind() == KindSchema {
		if s.Schema(h.Name) != nil {
			return pgerr.New(pgerr.DuplicateSchema, "schema \"%s\" already exists", h.Name)
		}
		return nil
	}
	if r, ok := o.(*Role); ok {
		if s.Role(r.Name) != nil {
			return pgerr.New(pgerr.DuplicateObject, "role \"%s\" already exists", r.Name)
		}
		return nil
	}
	if o.Kind() == KindDatabase {
		if s.DatabaseNamed(h.Name) != nil {
			return pgerr.New(pgerr.DuplicateDatabase, "database \"%s\" already exists", h.Name)
		}
		return nil
	}
	if s.Schema(h.Schema) == nil {
		return pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", h.Schema)
	}
	if o.Kind().Relation() {
		if s.Get(h.Schema, h.Name) != nil {
			return pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", h.Name)
		}
		if o.Kind().Readable() && s.other(KindType, h.Schema, h.Name) != nil {
			return pgerr.New(pgerr.DuplicateObject, "type \"%s\" already exists", h.Name).
				WithHint("A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.")
		}
	} else if t, ok := o.(*Type); ok && s.Get(h.Schema, h.Name) != nil {
		if !t.Enum && t.Domain == nil && t.Range == nil {
			return pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", h.Name)
		}
		return pgerr.New(pgerr.DuplicateObject, "type \"%s\" already exists", h.Name)
	} else if f, ok := o.(*Function); ok && s.other(o.Kind(), h.Schema, keyName(f)) != nil {
		return pgerr.New(pgerr.DuplicateFunction, "function \"%s\" already exists with same argument types", h.Name)
	} else if s.other(o.Kind(), h.Schema, h.Name) != nil {
		return pgerr.New(pgerr.DuplicateObject, "%s \"%s\" already exists", o.Kind(), h.Name)
	}
	for _, d := range o.Dependencies() {
		if s.byOID[d] == nil {
			return pgerr.New(pgerr.UndefinedObject, "an object that %s \"%s\" depends on was dropped", o.Kind(), h.Name).
				WithHint("Try again.")
		}
	}
	return nil
}

func (s *Snapshot) applyDrop(oid uint32) error {
	o := s.byOID[oid]
	if o == nil {
		return pgerr.New(pgerr.UndefinedObject, "the object with OID %d was dropped", oid)
	}
	h := o.Header()
	if s.builtin[oid] {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s %s because it is required by the database system", o.Kind(), h.Name)
	}
	if users := s.Dependents(oid); len(users) > 0 {
		lines := make([]string, len(users))
		for i, u := range users {
			lines[i] = strings.Join(dependence(u, o), "\n")
		}
		if t, ok := o.(*Type); ok && t.Range != nil && t.Range.Multi { // it goes away with its range type
			o = s.byOID[t.Range.Pair]
		}
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", Described(o)).
			WithDetail("%s", strings.Join(lines, "\n")).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	if o.Kind() == KindSchema && s.schemaInUse(nameSpace{h.Database, h.Name}) {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop schema %s because other objects depend on it", h.Name).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	s.remove(o)
	return nil
}

// dependence tells in lines why u needs o: through which columns, if o is a type.
func dependence(u, o Object) []string {
	what := Described(o)
	var lines []string
	var cols []Column
	switch x := u.(type) {
	case *Table:
		cols = x.Columns
	case *Source:
		cols = x.Columns
	case *Type:
		cols = x.Fields
	}
	for _, c := range cols {
		for _, oid := range TypeOIDs(c.Type) {
			if oid == o.Header().OID {
				kind := u.Kind().String()
				if u.Kind() == KindType {
					kind = "composite type"
				}
				if o.Kind() != KindType {
					what = "type " + o.Header().Name
				}
				lines = append(lines, fmt.Sprintf("column %s of %s %s depends on %s", c.Name, kind, u.Header().Name, what))
			}
		}
	}
	if lines == nil {
		lines = []string{fmt.Sprintf("%s depends on %s", Described(u), what)}
	}
	return lines
}

func (s *Snapshot) schemaInUse(in nameSpace) bool {
	if len(s.relations[in]) > 0 {
		return true
	}
	for k := range s.others {
		if k.nameSpace == in {
			return true
		}
	}
	return false
}

// innerOIDs returns the places of the OIDs that o holds besides its own.
func innerOIDs(o Object) []*uint32 {
	var out []*uint32
	key := func(k *Key) {
		if k != nil {
			out = append(out, &k.OID)
		}
	}
	switch o := o.(type) {
	case *Table:
		key(o.PrimaryKey)
		for i := range o.Checks {
			out = append(out, &o.Checks[i].OID)
		}
		for i := range o.ForeignKeys {
			out = append(out, &o.ForeignKeys[i].OID)
		}
	case *Source:
		key(o.PrimaryKey)
	case *Type:
		out = append(out, &o.ArrayOID)
		for i := range o.Checks {
			out = append(out, &o.Checks[i].OID)
		}
	case *Role:
		for i := range o.Defaults {
			out = append(out, &o.Defaults[i].OID)
		}
	}
	return out
}
