package types

// The polymorphic pseudo types. They stand only in the parameters and results of
// functions; a value never has one, so their IDs lie beyond those of values.
const (
	anyElementID ID = 240 + iota
	anyArrayID
	anyNonArrayID
	anyCompatibleID
	anyCompatibleArrayID
	anyID
	anyEnumID
	anyRangeID
	anyMultirangeID
	anyCompatibleNonArrayID
	anyCompatibleRangeID
	anyCompatibleMultirangeID
	endOfPseudo
)

// Parameter types that match more than one type.
var (
	AnyElement              = T{ID: anyElementID, Mod: -1}
	AnyArray                = T{ID: anyArrayID, Mod: -1}
	AnyNonArray             = T{ID: anyNonArrayID, Mod: -1}
	AnyEnum                 = T{ID: anyEnumID, Mod: -1}
	AnyRange                = T{ID: anyRangeID, Mod: -1}
	AnyMultirange           = T{ID: anyMultirangeID, Mod: -1}
	AnyCompatible           = T{ID: anyCompatibleID, Mod: -1}
	AnyCompatibleArray      = T{ID: anyCompatibleArrayID, Mod: -1}
	AnyCompatibleNonArray   = T{ID: anyCompatibleNonArrayID, Mod: -1}
	AnyCompatibleRange      = T{ID: anyCompatibleRangeID, Mod: -1}
	AnyCompatibleMultirange = T{ID: anyCompatibleMultirangeID, Mod: -1}
	Any                     = T{ID: anyID, Mod: -1}
)

// IsPseudo reports whether t is one of the polymorphic parameter types.
func (t T) IsPseudo() bool { return t.ID >= anyElementID }

// PseudoByName returns the polymorphic parameter type of a name.
func PseudoByName(name string) (T, bool) {
	for id := anyElementID; id < endOfPseudo; id++ {
		if infos[id].typname == name {
			return T{ID: id, Mod: -1}, true
		}
	}
	return T{}, false
}

// PseudoByOID returns the polymorphic parameter type of a number.
func PseudoByOID(oid uint32) (T, bool) {
	for id := anyElementID; id < endOfPseudo; id++ {
		if infos[id].oid == oid {
			return T{ID: id, Mod: -1}, true
		}
	}
	return T{}, false
}

// ElementParam is the parameter type of one element of an array of type t, which may
// be polymorphic.
func (t T) ElementParam() T {
	switch t.ID {
	case anyArrayID:
		return AnyElement
	case anyCompatibleArrayID:
		return AnyCompatible
	}
	return t.ElemType()
}
