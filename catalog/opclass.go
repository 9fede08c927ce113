package catalog

import (
	"sync"

	"github.com/streamdb/streamdb/types"
)

// opclass is an operator class of btree. All of them order by bytes here, so which
// one an index has is kept and shown, and changes nothing else.
type opclass struct {
	oid       uint32
	input     uint32 // the type it is for
	byDefault bool
}

var opclasses = sync.OnceValue(func() map[string]opclass {
	out := map[string]opclass{}
	for _, f := range dataLines("opclasses", " ") {
		if f[1] == "btree" {
			out[f[2]] = opclass{uint32(atoi(f[0])), uint32(atoi(f[4])), f[5] == "t"}
		}
	}
	return out
})

// defaultClasses are the classes that types have unless told otherwise.
var defaultClasses = sync.OnceValue(func() map[uint32]uint32 {
	out := map[uint32]uint32{}
	for _, c := range opclasses() {
		if c.byDefault {
			out[c.input] = c.oid
		}
	}
	return out
})

// classInput is the type under which operator classes know a type.
func classInput(t types.T) uint32 {
	t = t.Underlying()
	switch {
	case t.ID == types.Array:
		return 2277
	case t.ID == types.Varchar:
		return types.TText.OID()
	case t.ID == types.Enum:
		return 3500
	case t.IsComposite():
		return 2249
	case t.ID.IsReg():
		return 26
	case t.IsRange():
		return 3831
	case t.IsMultirange():
		return 4537
	}
	return t.OID()
}

// OperatorClass looks up a btree operator class: whether it exists, whether it takes
// values of t, and whether it is the one that t has by default.
func OperatorClass(name string, t types.T) (exists, accepts, byDefault bool) {
	c, ok := opclasses()[name]
	return ok, ok && c.input == classInput(t), ok && c.byDefault && c.input == classInput(t)
}

// opclassOID is the class of an index key of type t: the one named, or t's own.
func opclassOID(name string, t types.T) uint32 {
	if name != "" {
		return opclasses()[name].oid
	}
	return defaultClasses()[classInput(t)]
}
