package catalog

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// Snapshot is an immutable state of the catalog, safe for concurrent use: of the
// whole server, or as one of its databases sees it (In). The whole has the objects
// of all databases by their OIDs, but names are found only in a database.
type Snapshot struct {
	*content
	db     uint32   // the OID of the database; 0: the whole server
	listed *listing // nil while changes are being made
}

// content is what the whole and its databases have in common.
type content struct {
	// Version grows by one with every Apply.
	Version uint64

	next      uint32 // the lowest OID never given out
	byOID     map[uint32]Object
	relations map[nameSpace]map[string]Object
	others    map[otherKey]Object      // schemas, secrets, connections, types, roles, databases; functions by signature
	functions map[otherKey][]*Function // by name
	users     map[uint32][]uint32      // OID -> OIDs of objects that depend on it
	builtin   map[uint32]bool
	children  map[uint32][]uint32  // OID of a table -> OIDs of tables with foreign keys to it
	views     map[uint32]*Snapshot // by database; nil while changes are being made
}

// nameSpace is a schema of a database; of none (0) are the schemas that all share.
type nameSpace struct {
	db     uint32
	schema string
}

type otherKey struct {
	kind Kind
	nameSpace
	name string
}

func keyOf(o Object) otherKey {
	h := o.Header()
	return otherKey{o.Kind(), nameSpace{h.Database, h.Schema}, keyName(o)}
}

// In is the catalog as a database sees it: its own objects, and what all share.
func (s *Snapshot) In(db uint32) *Snapshot {
	if v := s.views[db]; v != nil {
		return v
	}
	return &Snapshot{content: s.content, db: db}
}

// seal ends the making of a snapshot.
func (s *Snapshot) seal() {
	s.listed = &listing{}
	s.views = map[uint32]*Snapshot{0: {s.content, 0, &listing{}}}
	for k, o := range s.others {
		if k.kind == KindDatabase {
			oid := o.Header().OID
			s.views[oid] = &Snapshot{s.content, oid, &listing{}}
		}
	}
}

// shows reports whether the object belongs to the database, or to all.
func (s *Snapshot) shows(o Object) bool {
	db := o.Header().Database
	return db == 0 || s.db == 0 || db == s.db
}

// relation finds a relation of the database, else one that all share.
func (s *Snapshot) relation(schema, name string) Object {
	if o := s.relations[nameSpace{s.db, schema}][name]; o != nil {
		return o
	}
	return s.relations[nameSpace{0, schema}][name]
}

// other is relation for other objects; name is their keyName.
func (s *Snapshot) other(kind Kind, schema, name string) Object {
	if o := s.others[otherKey{kind, nameSpace{s.db, schema}, name}]; o != nil {
		return o
	}
	return s.others[otherKey{kind, nameSpace{0, schema}, name}]
}

// relationsIn calls f for the relations of a schema, in any order.
func (s *Snapshot) relationsIn(schema string, f func(name string, o Object)) {
	for n, o := range s.relations[nameSpace{s.db, schema}] {
		f(n, o)
	}
	if s.db != 0 {
		for n, o := range s.relations[nameSpace{0, schema}] {
			f(n, o)
		}
	}
}

// New makes the catalog of an empty server: the databases and schemas that always
// exist, and builtin objects (catalog tables and the views over them), which are
// never written to the log.
func New(builtin ...Object) *Snapshot {
	s := &Snapshot{content: &content{next: FirstOID, byOID: map[uint32]Object{}, relations: map[nameSpace]map[string]Object{},
		others: map[otherKey]Object{}, functions: map[otherKey][]*Function{}, users: map[uint32][]uint32{}, builtin: map[uint32]bool{}, children: map[uint32][]uint32{}}}
	base := append(append(initialDatabases(), bootstrapRole()),
		&Schema{Head{OID: PgCatalogOID, Name: "pg_catalog", Owner: BootstrapOID, Comment: "system catalog schema", ACL: SystemSchemaACL()}},
		&Schema{Head{OID: InformationSchemaOID, Name: "information_schema", Owner: BootstrapOID, ACL: SystemSchemaACL()}})
	base = append(base, predefined()...)
	for _, o := range append(base, builtin...) {
		s.add(o)
		s.builtin[o.Header().OID] = true
	}
	s.seal()
	return s
}

// add puts o into the maps of a snapshot that nobody else sees yet.
func (s *Snapshot) add(o Object) {
	h := o.Header()
	s.byOID[h.OID] = o
	if t, ok := o.(*Type); ok {
		t.define()
	}
	if o.Kind().Relation() {
		in := nameSpace{h.Database, h.Schema}
		m := s.relations[in]
		if m == nil {
			m = map[string]Object{}
			s.relations[in] = m
		}
		m[h.Name] = o
	} else {
		s.others[keyOf(o)] = o
	}
	if f, ok := o.(*Function); ok {
		k := otherKey{KindFunction, nameSpace{f.Database, f.Schema}, f.Name}
		s.functions[k] = append(slices.Clip(s.functions[k]), f)
	}
	for _, d := range o.Dependencies() {
		s.users[d] = append(s.users[d], h.OID)
	}
	if t, ok := o.(*Table); ok {
		s.addReferences(t)
	}
	s.next = max(s.next, h.OID+1, StoreID(o)+1)
}

// remove takes o out of the maps of a snapshot that nobody else sees yet.
func (s *Snapshot) remove(o Object) {
	h := o.Header()
	delete(s.byOID, h.OID)
	if o.Kind().Relation() {
		delete(s.relations[nameSpace{h.Database, h.Schema}], h.Name)
	} else {
		delete(s.others, keyOf(o))
	}
	if f, ok := o.(*Function); ok {
		k := otherKey{KindFunction, nameSpace{f.Database, f.Schema}, f.Name}
		s.functions[k] = slices.DeleteFunc(slices.Clone(s.functions[k]), func(g *Function) bool { return g.OID == f.OID })
	}
	for _, d := range o.Dependencies() {
		s.users[d] = without(s.users[d], h.OID)
	}
	if t, ok := o.(*Table); ok {
		s.removeReferences(t)
	}
}

func without(list []uint32, x uint32) []uint32 {
	var out []uint32
	for _, y := range list {
		if y != x {
			out = append(out, y)
		}
	}
	return out
}

// clone copies the maps, not the objects. The copy is to be sealed.
func (s *Snapshot) clone() *Snapshot {
	n := &Snapshot{db: s.db, content: &content{Version: s.Version + 1, next: s.next, builtin: s.builtin,
		byOID: make(map[uint32]Object, len(s.byOID)+1), relations: make(map[nameSpace]map[string]Object, len(s.relations)),
		others: make(map[otherKey]Object, len(s.others)), functions: maps.Clone(s.functions), children: maps.Clone(s.children), users: make(map[uint32][]uint32, len(s.users))}}
	for k, v := range s.byOID {
		n.byOID[k] = v
	}
	for k, m := range s.relations {
		c := make(map[string]Object, len(m)+1)
		for name, o := range m {
			c[name] = o
		}
		n.relations[k] = c
	}
	for k, v := range s.others {
		n.others[k] = v
	}
	for k, v := range s.users {
		n.users[k] = append([]uint32(nil), v...)
	}
	return n
}

// ByOID returns the object with an OID, or nil.
func (s *Snapshot) ByOID(oid uint32) Object {
	if o := s.byOID[oid]; o != nil && s.shows(o) {
		return o
	}
	return nil
}

// NextOID returns the lowest OID that was never given out.
func (s *Snapshot) NextOID() uint32 { return s.next }

// Builtin reports whether the object came with the server, or lies in a schema that
// all databases share, as what comes with each database does.
func (s *Snapshot) Builtin(oid uint32) bool {
	if s.builtin[oid] {
		return true
	}
	o := s.byOID[oid]
	return o != nil && o.Header().Schema != "" && s.others[otherKey{kind: KindSchema, name: o.Header().Schema}] != nil
}

// Schema returns a schema, or nil.
func (s *Snapshot) Schema(name string) *Schema {
	o, _ := s.other(KindSchema, "", name).(*Schema)
	return o
}

// Get returns the relation schema.name, or nil.
func (s *Snapshot) Get(schema, name string) Object { return s.relation(schema, name) }

// Other returns a secret or a connection, or nil. An empty schema searches path.
func (s *Snapshot) Other(kind Kind, schema, name string, path []string) Object {
	if schema != "" {
		return s.other(kind, schema, name)
	}
	for _, p := range path {
		if o := s.other(kind, p, name); o != nil {
			return o
		}
	}
	return nil
}

// EffectivePath puts pg_catalog before a search path that does not name it, as
// PostgreSQL does, and leaves out schemas that do not exist.
func (s *Snapshot) EffectivePath(path []string) []string {
	out := make([]string, 0, len(path)+1)
	named := false
	for _, p := range path {
		named = named || p == "pg_catalog"
	}
	if len(path) > 0 && IsTemp(path[0]) {
		out, path = append(out, path[0]), path[1:]
	}
	if !named {
		out = append(out, "pg_catalog")
	}
	for _, p := range path {
		if s.Schema(p) != nil {
			out = append(out, p)
		}
	}
	return out
}

// Lookup finds a relation by name; an empty schema searches path. It returns nil
// when there is none.
func (s *Snapshot) Lookup(schema, name string, path []string) Object {
	if schema == TempSchema {
		schema = tempIn(path)
		return s.Get(schema, name)
	}
	if schema != "" {
		return s.Get(schema, name)
	}
	for _, p := range s.EffectivePath(path) {
		if o := s.Get(p, name); o != nil {
			return o
		}
	}
	return nil
}

// Resolve is Lookup with PostgreSQL's errors: 3F000 for an unknown schema named
// in a DDL target is the caller's; here an unknown relation is 42P01, with a
// hint when a similar name exists.
func (s *Snapshot) Resolve(schema, name string, path []string) (Object, error) {
	if o := s.Lookup(schema, name, path); o != nil {
		return o, nil
	}
	full := name
	if schema != "" {
		full = schema + "." + name
	}
	err := pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", full)
	if c := s.ClosestRelation(schema, name, path); c != "" {
		err = err.WithHint("Perhaps you meant \"%s\".", c)
	}
	return nil, err
}

// CreationSchema returns the schema in which an unqualified name is created: the
// first of the path that exists, else 3F000.
func (s *Snapshot) CreationSchema(schema string, path []string) (string, error) {
	if schema != "" {
		if s.Schema(schema) == nil {
			return "", pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", schema)
		}
		if schema == "pg_catalog" || schema == "information_schema" {
			return "", pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", schema).
				WithHint("The schemas pg_catalog and information_schema belong to the server. Use another schema.")
		}
		return schema, nil
	}
	for _, p := range path {
		if p != "pg_catalog" && !IsTemp(p) && s.Schema(p) != nil {
			return p, nil
		}
	}
	return "", pgerr.New(pgerr.InvalidSchemaName, "no schema has been selected to create in")
}

// Visible reports whether the relation, or the index of a key, is found by its
// name alone.
func (s *Snapshot) Visible(oid uint32, path []string) bool {
	if o := s.ByOID(oid); o != nil {
		return s.Lookup("", o.Header().Name, path) == o
	}
	_, schema, name, ok := KeyIndex(s, oid, "", "")
	if !ok {
		schema, name, ok = compositeName(s, oid)
	}
	if !ok {
		return false
	}
	for _, p := range path {
		if p == schema {
			return true
		}
		if s.Get(p, name) != nil {
			return false
		}
	}
	return false
}

// Objects calls f for every object in OID order.
func (s *Snapshot) Objects(f func(Object)) {
	for _, o := range s.objects() {
		f(o)
	}
}

// All returns the objects of one type in OID order.
func All[T Object](s *Snapshot) []T {
	var out []T
	s.Objects(func(o Object) {
		if t, ok := o.(T); ok {
			out = append(out, t)
		}
	})
	return out
}

// Dependents returns the objects that directly depend on oid, in OID order.
func (s *Snapshot) Dependents(oid uint32) []Object {
	ids := append([]uint32(nil), s.users[oid]...)
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	var out []Object
	for i, id := range ids {
		if i == 0 || ids[i-1] != id {
			out = append(out, s.byOID[id])
		}
	}
	return out
}

// DropOrder returns everything that depends on the objects, directly or not, and
// the objects themselves, dependents first: the order of DROP CASCADE.
func (s *Snapshot) DropOrder(oids ...uint32) []Object {
	var out []Object
	seen := map[uint32]bool{}
	var visit func(uint32)
	visit = func(oid uint32) {
		if seen[oid] || s.byOID[oid] == nil {
			return
		}
		seen[oid] = true
		for _, d := range s.Dependents(oid) {
			visit(d.Header().OID)
		}
		out = append(out, s.byOID[oid])
	}
	for _, o := range oids {
		visit(o)
	}
	return out
}

// Indexes returns the indexes of a relation in OID order.
func (s *Snapshot) Indexes(oid uint32) []*Index {
	var out []*Index
	for _, d := range s.Dependents(oid) {
		if i, ok := d.(*Index); ok {
			out = append(out, i)
		}
	}
	return out
}

// UniqueIndexes returns the unique indexes of a relation in OID order; nil: none.
func (s *Snapshot) UniqueIndexes(oid uint32) []*Index {
	var out []*Index
	for _, id := range s.users[oid] {
		if i, ok := s.byOID[id].(*Index); ok && i.Unique {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b *Index) int { return cmp.Compare(a.OID, b.OID) })
	return out
}

// QualifiedName returns the relation's name as a user with the given path would
// write it: without schema when visible. Names are not quoted.
func (s *Snapshot) QualifiedName(o Object, path []string) string {
	h := o.Header()
	if h.Schema == "" || s.Visible(h.OID, path) {
		return h.Name
	}
	return h.Schema + "." + h.Name
}

// ClosestRelation returns the readable relation whose name is most like name, as
// the user would write it, or "".
func (s *Snapshot) ClosestRelation(schema, name string, path []string) string {
	best, bestDist := "", maxDistance(name)+1
	schemas := []string{schema}
	if schema == "" {
		schemas = s.EffectivePath(path)
	}
	for _, sc := range schemas {
		if schema == "" && sc == "pg_catalog" {
			continue
		}
		s.relationsIn(sc, func(n string, _ Object) {
			d := Distance(name, n, bestDist)
			if d < bestDist || d == bestDist && d <= maxDistance(name) && n < best {
				best, bestDist = n, d
			}
		})
	}
	if best != "" && schema != "" {
		return schema + "." + best
	}
	if best == "" && schema == "" {
		// The name may exist in a schema that is not in the path.
		var found []string
		for in, m := range s.relations {
			if o := m[name]; o != nil && s.shows(o) {
				found = append(found, in.schema+"."+name)
			}
		}
		sort.Strings(found)
		return strings.Join(found[:min(1, len(found))], "")
	}
	return best
}
