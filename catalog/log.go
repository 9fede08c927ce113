package catalog

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// Entry is one durable record of the catalog: Val nil deletes Key. Keys are
// short and unique among the catalog's entries; the engine prefixes them.
type Entry struct {
	Key, Val []byte
}

// logVersion is the version of the encoding of entries. A change that an older
// reader would misread raises it; newer readers read all older versions.
const logVersion = 2

type stateJSON struct {
	Version int    `json:"v"`
	Next    uint32 `json:"next_oid"`
}

type entryJSON struct {
	Version int             `json:"v"`
	Kind    Kind            `json:"kind"`
	Object  json.RawMessage `json:"object"`
}

var stateKey = []byte("state")

func objectKey(oid uint32) []byte { return binary.BigEndian.AppendUint32([]byte("o"), oid) }

func (s *Snapshot) stateEntry() Entry {
	v, _ := json.Marshal(stateJSON{logVersion, s.next}) // two numbers cannot fail to encode
	return Entry{stateKey, v}
}

// entry encodes the present state of an object, or its absence.
func (s *Snapshot) entry(oid uint32) (Entry, error) {
	o := s.byOID[oid]
	if o == nil {
		return Entry{Key: objectKey(oid)}, nil
	}
	body, err := json.Marshal(o)
	if err != nil {
		return Entry{}, fmt.Errorf("catalog: encode %q: %w", o.Header().Name, err)
	}
	val, err := json.Marshal(entryJSON{logVersion, o.Kind(), body})
	return Entry{objectKey(oid), val}, err
}

// Encode returns the entries of the whole snapshot, for a checkpoint.
func (s *Snapshot) Encode() ([]Entry, error) {
	out := []Entry{s.stateEntry()}
	var first error
	s.Objects(func(o Object) {
		if s.builtin[o.Header().OID] && !Changeable(o.Header().OID) {
			return
		}
		e, err := s.entry(o.Header().OID)
		if err != nil && first == nil {
			first = err
		}
		out = append(out, e)
	})
	return out, first
}

// Load adds the objects of log entries (the newest of each key, in any order) to
// base, which is a snapshot made by New.
func Load(base *Snapshot, entries []Entry) (*Snapshot, error) {
	s := base.clone()
	var objects []Object
	for _, e := range entries {
		if e.Val == nil {
			continue
		}
		if string(e.Key) == string(stateKey) {
			var st stateJSON
			if err := json.Unmarshal(e.Val, &st); err != nil {
				return nil, fmt.Errorf("catalog: state entry: %w", err)
			}
			if st.Version > logVersion {
				return nil, fmt.Errorf("catalog: written by a newer version (format %d, this server reads up to %d)", st.Version, logVersion)
			}
			s.next = max(s.next, st.Next)
			continue
		}
		o, err := decodeObject(e.Val)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
		if t, ok := o.(*Type); ok {
			t.define() // before what uses it tells what it depends on
		}
	}
	for _, o := range objects {
		h := o.Header()
		if h.Owner == 0 && o.Kind() != KindRole { // of a version before there were roles
			h.Owner = BootstrapOID
		}
		ofOneDatabase(o)
		if was := s.byOID[h.OID]; was != nil && Changeable(h.OID) {
			s.remove(was)
		}
		s.add(o)
		for _, oid := range innerOIDs(o) {
			s.next = max(s.next, *oid+1)
		}
	}
	s.seal()
	return s, nil
}

func decodeObject(val []byte) (Object, error) {
	var e entryJSON
	if err := json.Unmarshal(val, &e); err != nil {
		return nil, fmt.Errorf("catalog: entry: %w", err)
	}
	if e.Version > logVersion {
		return nil, fmt.Errorf("catalog: entry of a newer version (format %d)", e.Version)
	}
	o := newObject(e.Kind)
	if o == nil {
		return nil, fmt.Errorf("catalog: entry of unknown kind %d", e.Kind)
	}
	if err := json.Unmarshal(e.Object, o); err != nil {
		return nil, fmt.Errorf("catalog: %s entry: %w", e.Kind, err)
	}
	return o, nil
}

func newObject(k Kind) Object {
	switch k {
	case KindSchema:
		return &Schema{}
	case KindTable:
		return &Table{}
	case KindSource:
		return &Source{}
	case KindMatView:
		return &MatView{}
	case KindView:
		return &View{}
	case KindSink:
		return &Sink{}
	case KindIndex:
		return &Index{}
	case KindSecret:
		return &Secret{}
	case KindSequence:
		return &Sequence{}
	case KindConnection:
		return &Connection{}
	case KindType:
		return &Type{}
	case KindFunction:
		return &Function{}
	case KindRole:
		return &Role{}
	case KindDatabase:
		return &Database{}
	}
	return nil
}
