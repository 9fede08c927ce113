package catalog

import (
	"slices"
	"sync"
)

// listing is what is worked out once for each sealed snapshot, when it is first asked
// for.
type listing struct {
	order sync.Once
	all   []Object

	keys    sync.Once
	keyOIDs map[uint32]keyPlace
	keyName map[[2]string]keyPlace // by schema and name
}

// keyPlace is where the index behind a key is.
type keyPlace struct {
	oid          uint32
	schema, name string
}

// objects returns the objects that the snapshot shows, in OID order. It is not to be
// changed.
func (s *Snapshot) objects() []Object {
	if s.listed == nil {
		return s.sorted()
	}
	s.listed.order.Do(func() { s.listed.all = s.sorted() })
	return s.listed.all
}

func (s *Snapshot) sorted() []Object {
	oids := make([]uint32, 0, len(s.byOID))
	for oid, o := range s.byOID {
		if s.shows(o) {
			oids = append(oids, oid)
		}
	}
	slices.Sort(oids)
	out := make([]Object, len(oids))
	for i, oid := range oids {
		out[i] = s.byOID[oid]
	}
	return out
}

// keyPlaces returns the indexes behind the keys by which tables are stored.
func (s *Snapshot) keyPlaces() (map[uint32]keyPlace, map[[2]string]keyPlace) {
	if s.listed == nil {
		return s.findKeys()
	}
	s.listed.keys.Do(func() { s.listed.keyOIDs, s.listed.keyName = s.findKeys() })
	return s.listed.keyOIDs, s.listed.keyName
}

func (s *Snapshot) findKeys() (map[uint32]keyPlace, map[[2]string]keyPlace) {
	oids, names := map[uint32]keyPlace{}, map[[2]string]keyPlace{}
	for _, t := range All[*Table](s) {
		if k := t.PrimaryKey; k != nil {
			p := keyPlace{k.OID, t.Schema, k.Name}
			oids[k.OID], names[[2]string{t.Schema, k.Name}] = p, p
		}
	}
	return oids, names
}

// KeyIndex finds the index behind a key by which rows are stored, which is no
// object of its own: by OID, or by schema and name where oid is 0.
func KeyIndex(s *Snapshot, oid uint32, schema, name string) (found uint32, foundSchema, foundName string, ok bool) {
	oids, names := s.keyPlaces()
	p, ok := oids[oid]
	if oid == 0 {
		p, ok = names[[2]string{schema, name}]
	}
	return p.oid, p.schema, p.name, ok
}
