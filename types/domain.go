package types

// A domain is a type over another one with a default and constraints. Its values
// are the other type's: T.ID and T.Elem of a domain are those of what it is over in
// the end, so that vectors, keys and operators need not know of domains, and T.Ref
// names the domain. It has no modifier of its own.

// DomainOf returns the domain with a reference over a type.
func DomainOf(ref uint64, over T) T { return T{ID: over.ID, Elem: over.Elem, Mod: -1, Ref: ref} }

// IsDomain reports whether t is a domain.
func (t T) IsDomain() bool {
	d := t.Def()
	return d != nil && d.Over != nil && !t.elementsOf(d)
}

// elementsOf reports whether t is the type of arrays of what d describes, and not a
// domain over arrays.
func (t T) elementsOf(d *Def) bool { return t.ID == Array && (d.Over == nil || d.Over.ID != Array) }

// IsArrayOfNamed reports whether t is the type of arrays of a type with a name that a
// user or a relation made.
func (t T) IsArrayOfNamed() bool {
	d := t.Def()
	return d != nil && d.Name != "" && t.elementsOf(d)
}

// Over returns the type that a domain is over, which may be a domain too, with its
// modifier; t itself if it is none.
func (t T) Over() T {
	if t.Ref == 0 {
		return t
	}
	if d := t.Def(); d != nil && d.Over != nil && !t.elementsOf(d) {
		return *d.Over
	}
	return t
}

// Underlying returns the type that a domain is over in the end; t itself if it is
// no domain.
func (t T) Underlying() T {
	for t.Ref != 0 {
		u := t.Over()
		if u == t {
			break
		}
		t = u
	}
	return t
}

// HoldsDomain reports whether values of t are held against the constraints of a
// domain: t itself, its elements, or the fields of a row with a name.
func (t T) HoldsDomain() bool {
	if t.Ref == 0 {
		return false
	}
	switch {
	case t.IsDomain():
		return true
	case t.ID == Array:
		return t.ElemType().HoldsDomain()
	case t.IsComposite():
		for _, f := range t.Fields() {
			if f.Typ.HoldsDomain() {
				return true
			}
		}
	}
	return false
}
