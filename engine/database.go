package engine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/wire"
)

// A server has several databases over one store: an object belongs to one of them
// by its head, a session sees the catalog of one, and jobs, graphs and epochs know
// nothing of databases.

// snapshot is the catalog as the session's database sees it now.
func (s *Session) snapshot() *catalog.Snapshot { return s.catalog().In(s.db) }

// catalog is snapshot for all databases.
func (s *Session) catalog() *catalog.Snapshot {
	now := s.eng.Catalog.Current()
	if t := s.tx.ddl; t != nil {
		return t.current(now)
	}
	return now
}

// number gives a new object its OIDs, and its database.
func (s *Session) number(o catalog.Object) {
	db := s.db
	if k := o.Kind(); k == catalog.KindRole || k == catalog.KindDatabase {
		db = 0
	}
	s.eng.Catalog.Assign(o, db)
}

func noDatabase(name string) error {
	return pgerr.New(pgerr.InvalidCatalogName, "database \"%s\" does not exist", name)
}

// databaseNamed finds a database.
func databaseNamed(snap *catalog.Snapshot, name string) (*catalog.Database, error) {
	if d := snap.DatabaseNamed(name); d != nil {
		return d, nil
	}
	return nil, noDatabase(name)
}

// object is a database as an object.
func object(d *catalog.Database, err error) (catalog.Object, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// chooseDatabase returns the database that a client gets to. One that names none
// has its user's name for it: if there is no such database, it is the main one.
func chooseDatabase(snap *catalog.Snapshot, st wire.Startup) (*catalog.Database, error) {
	d := snap.DatabaseNamed(st.Database)
	if d == nil && st.Database == st.User {
		d = snap.MainDatabase()
	}
	if d == nil {
		return nil, noDatabase(st.Database)
	}
	return d, nil
}

// mayConnect refuses a role that has no right to connect to a database.
func mayConnect(snap *catalog.Snapshot, role *catalog.Role, d *catalog.Database) error {
	if d.NoConnect {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "database \"%s\" is not currently accepting connections", d.Name)
	}
	if !snap.In(d.OID).Can(role.OID, d, catalog.Connect) {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for database \"%s\"", d.Name).
			WithDetail("User does not have CONNECT privilege.")
	}
	return nil
}

// within refuses names of other databases.
func (s *Session) within(st *statement) error {
	for _, n := range st.Far {
		if n.Parts[0] == s.database {
			continue
		}
		text := strings.Join(n.Parts, ".")
		if n.Of == sql.FarObject {
			text = "\"" + text + "\""
		}
		err := catalog.CrossDatabase(text)
		if n.Of != sql.FarType && placed(st.Stmt, n) {
			err = err.At(sql.PosToChar(st.whole, int(n.Pos)))
		}
		return err
	}
	return nil
}

// placed reports whether PostgreSQL says where in a statement such a name is: not of
// the object that a statement makes, changes or drops, but for tables.
func placed(st sql.Stmt, n sql.FarName) bool {
	switch st := st.(type) {
	case *sql.CreateView:
		return n.Pos != st.Name.Pos
	case *sql.CreateMaterializedView:
		return n.Pos != st.Name.Pos
	case *sql.Select, *sql.Insert, *sql.Update, *sql.Delete, *sql.Merge, *sql.CreateTable:
		return true
	}
	return n.Of != sql.FarObject
}

// sessionsIn are the sessions of a database. Engine.sessionsMu is held.
func (e *Engine) sessionsIn(db uint32) (out []*Session) {
	for _, x := range e.sessions {
		if x.db == db {
			out = append(out, x)
		}
	}
	return out
}

// databaseStmt is CREATE, ALTER (with options) and DROP DATABASE.
func (s *Session) databaseStmt(ctx context.Context, src *statement, st *sql.DatabaseStmt) error {
	switch st.Verb {
	case "CREATE":
		return s.createDatabase(src.whole, st)
	case "DROP":
		return s.dropDatabase(ctx, src.whole, st)
	}
	return s.alterDatabase(src.whole, st)
}

// databaseOptions are the options of a statement by name.
func databaseOptions(text string, os []sql.Option, known ...string) (map[string]*sql.Option, error) {
	given := map[string]*sql.Option{}
	for i := range os {
		o := &os[i]
		at := sql.PosToChar(text, int(o.Pos))
		ok := false
		for _, k := range known {
			ok = ok || k == o.Name
		}
		if !ok {
			return nil, pgerr.New(pgerr.SyntaxError, "option \"%s\" not recognized", o.Name).At(at)
		}
		if given[o.Name] != nil {
			return nil, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(at)
		}
		given[o.Name] = o
	}
	for k, o := range given {
		if o.Kind == sql.OptNone { // = DEFAULT
			delete(given, k)
		}
	}
	return given, nil
}

// optionText is an option's value, or what it is without one.
func optionText(o *sql.Option, otherwise string) string {
	if o == nil {
		return otherwise
	}
	return o.Value
}

// setDatabaseOptions puts the options that CREATE and ALTER DATABASE share into d.
func setDatabaseOptions(d *catalog.Database, given map[string]*sql.Option) error {
	if o := given["connection_limit"]; o != nil {
		n, err := strconv.Atoi(o.Value)
		if err != nil {
			return pgerr.New(pgerr.SyntaxError, "connection_limit requires an integer value")
		}
		if n < -1 {
			return pgerr.New(pgerr.InvalidParameterValue, "invalid connection limit: %d", n)
		}
		d.Limit = n + 1
	}
	for name, place := range map[string]*bool{"is_template": &d.Template, "allow_connections": &d.NoConnect} {
		o := given[name]
		if o == nil {
			continue
		}
		on, ok := boolWord(o.Value)
		if !ok {
			return pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", name)
		}
		*place = on == (name == "is_template")
	}
	return nil
}

// boolWord reads a Boolean option as defGetBoolean does.
func boolWord(v string) (on, ok bool) {
	switch strings.ToLower(v) {
	case "true", "on", "1":
		return true, true
	case "false", "off", "0":
		return false, true
	}
	return false, false
}

func (s *Session) createDatabase(text string, st *sql.DatabaseStmt) error {
	given, err := databaseOptions(text, st.Options, "tablespace", "owner", "template", "encoding", "locale", "lc_collate", "lc_ctype", "icu_locale",
		"locale_provider", "is_template", "allow_connections", "connection_limit", "collation_version", "location", "oid", "strategy")
	if err != nil {
		return err
	}
	snap := s.snapshot()
	d := &catalog.Database{Head: catalog.Head{Name: st.Name, Owner: s.who.current}}
	if o := given["owner"]; o != nil {
		r, err := s.roleNamed(snap, o.Value)
		if err != nil {
			return err
		}
		d.Owner = r.OID
	}
	if err := setDatabaseOptions(d, given); err != nil {
		return err
	}
	me := snap.RoleByOID(s.who.current)
	if me == nil || !me.Super && !me.CreateDB {
		return forbidden("permission denied to create database")
	}
	if err := s.mustBeMember(d.Owner); err != nil {
		return err
	}
	from, err := s.templateDatabase(snap, optionText(given["template"], "template1"))
	if err != nil {
		return err
	}
	if err := databaseForm(text, d, from, given); err != nil {
		return err
	}
	if snap.DatabaseNamed(st.Name) != nil {
		return pgerr.New(pgerr.DuplicateDatabase, "database \"%s\" already exists", st.Name)
	}
	d.Settings = nil
	s.number(d)
	changes := []catalog.Change{{Create: d}}
	public := catalog.Object(catalog.PublicSchema(d.OID))
	if was := snap.In(from.OID).Schema("public"); was != nil {
		public = catalog.Clone(was)
		public.Header().OID = 0
	}
	for _, o := range append([]catalog.Object{public}, jobs.ErrorRelationsOf(d.OID)...) {
		s.eng.Catalog.Assign(o, d.OID)
		changes = append(changes, catalog.Change{Create: o})
	}
	return s.changeCatalog(changes...)
}

// templateDatabase finds the database that a new one is to be like. Nothing is copied, so
// it must be empty.
func (s *Session) templateDatabase(snap *catalog.Snapshot, name string) (*catalog.Database, error) {
	from := snap.DatabaseNamed(name)
	if from == nil {
		return nil, pgerr.New(pgerr.InvalidCatalogName, "template database \"%s\" does not exist", name)
	}
	if !from.Template && !snap.Owns(s.who.current, from) {
		return nil, forbidden("permission denied to copy database \"%s\"", name)
	}
	for _, o := range s.eng.Catalog.Current().Contents(from.OID) {
		if h := o.Header(); snap.In(from.OID).Builtin(h.OID) || o.Kind() == catalog.KindSchema && (h.Name == "public" || catalog.IsTemp(h.Name)) || catalog.IsTemp(h.Schema) {
			continue
		}
		return nil, pgerr.Unsupported("CREATE DATABASE with a template that has objects", "Use template0, and create the objects in the new database.")
	}
	return from, nil
}

func (s *Session) alterDatabase(text string, st *sql.DatabaseStmt) error {
	given, err := databaseOptions(text, st.Options, "is_template", "allow_connections", "connection_limit", "tablespace")
	if err != nil {
		return err
	}
	if o := given["tablespace"]; o != nil {
		if len(st.Options) > 1 {
			return pgerr.New(pgerr.FeatureNotSupported, "option \"tablespace\" cannot be specified with other options").At(sql.PosToChar(text, int(o.Pos)))
		}
		if err := defaultTablespace(o.Value); err != nil {
			return err
		}
	}
	snap := s.snapshot()
	old, err := databaseNamed(snap, st.Name)
	if err != nil {
		return err
	}
	if err := s.mustOwn(old); err != nil {
		return err
	}
	d := catalog.Clone(old).(*catalog.Database)
	if err := setDatabaseOptions(d, given); err != nil {
		return err
	}
	if d.NoConnect && d.OID == s.db {
		return pgerr.New(pgerr.InvalidParameterValue, "cannot disallow connections for current database")
	}
	return s.changeCatalog(catalog.Change{Replace: d})
}

func (s *Session) renameDatabase(ctx context.Context, d *catalog.Database, name string) error {
	snap := s.snapshot()
	if err := s.mustOwn(d); err != nil {
		return err
	}
	if me := snap.RoleByOID(s.who.current); me == nil || !me.Super && !me.CreateDB {
		return forbidden("permission denied to rename database")
	}
	if snap.DatabaseNamed(name) != nil {
		return pgerr.New(pgerr.DuplicateDatabase, "database \"%s\" already exists", name)
	}
	if d.OID == s.db {
		return pgerr.New(pgerr.FeatureNotSupported, "current database cannot be renamed")
	}
	return s.closed(ctx, d, false, func() error {
		n, err := databaseNamed(s.snapshot(), d.Name)
		if err != nil || n.OID != d.OID {
			return noDatabase(d.Name)
		}
		n = catalog.Clone(n).(*catalog.Database)
		n.Name = name
		return s.changeCatalog(catalog.Change{Replace: n})
	})
}

func (s *Session) dropDatabase(ctx context.Context, text string, st *sql.DatabaseStmt) error {
	force := false
	for _, o := range st.Options {
		if o.Name != "force" {
			return pgerr.New(pgerr.SyntaxError, "unrecognized DROP DATABASE option \"%s\"", o.Name).At(sql.PosToChar(text, int(o.Pos)))
		}
		force = true
	}
	snap := s.snapshot()
	d := snap.DatabaseNamed(st.Name)
	switch {
	case d == nil && st.IfExists:
		s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "database \"%s\" does not exist, skipping", st.Name))
		return nil
	case d == nil:
		return noDatabase(st.Name)
	}
	if err := s.mustOwn(d); err != nil {
		return err
	}
	switch {
	case d.Template:
		return pgerr.New(pgerr.WrongObjectType, "cannot drop a template database")
	case d.OID == s.db:
		return pgerr.New(pgerr.ObjectInUse, "cannot drop the currently open database")
	case snap.Builtin(d.OID):
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop database %s because it is required by the database system", d.Name)
	}
	return s.closed(ctx, d, force, func() error {
		if now := s.snapshot().DatabaseNamed(d.Name); now == nil || now.OID != d.OID {
			return noDatabase(d.Name)
		}
		return s.eng.RemoveDatabase(d.OID)
	})
}

// leaveTime is how long a statement that needs a database without sessions waits
// for those that are about to end.
const leaveTime = time.Second

// closed calls f while nobody is, or gets, connected to a database. With force it
// ends the sessions that are there. Runner.DDL is held, but let go while it waits,
// since sessions that end need it.
func (s *Session) closed(ctx context.Context, d *catalog.Database, force bool, f func() error) error {
	e := s.eng
	e.sessionsMu.Lock()
	if e.closing[d.OID] {
		e.sessionsMu.Unlock()
		return pgerr.New(pgerr.ObjectInUse, "database \"%s\" is being accessed by other users", d.Name).
			WithDetail("Another session is renaming or dropping it.")
	}
	e.closing[d.OID] = true
	e.sessionsMu.Unlock()
	defer func() {
		e.sessionsMu.Lock()
		delete(e.closing, d.OID)
		e.sessionsMu.Unlock()
	}()
	wait := leaveTime
	if force {
		if err := s.endSessions(d); err != nil {
			return err
		}
		wait = 5 * leaveTime
	}
	if err := s.untilLeft(ctx, d, wait); err != nil {
		return err
	}
	return f()
}

// untilLeft waits until nobody is connected to a database.
func (s *Session) untilLeft(ctx context.Context, d *catalog.Database, wait time.Duration) error {
	e := s.eng
	count := func() int {
		e.sessionsMu.RLock()
		defer e.sessionsMu.RUnlock()
		return len(e.sessionsIn(d.OID))
	}
	for deadline := time.Now().Add(wait); count() > 0; {
		if time.Now().After(deadline) {
			break
		}
		e.DDL.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
		e.DDL.Lock()
		if ctx.Err() != nil {
			return jobs.Canceled(ctx)
		}
		if e.Ctx.Err() != nil {
			return jobs.ShuttingDown()
		}
	}
	n := count()
	if n == 0 {
		return nil
	}
	detail := "There is 1 other session using the database."
	if n > 1 {
		detail = "There are " + strconv.Itoa(n) + " other sessions using the database."
	}
	return pgerr.New(pgerr.ObjectInUse, "database \"%s\" is being accessed by other users", d.Name).WithDetail("%s", detail)
}

// endSessions ends all sessions of a database, if the session may end each.
func (s *Session) endSessions(d *catalog.Database) error {
	e, snap := s.eng, s.snapshot()
	e.sessionsMu.RLock()
	xs := e.sessionsIn(d.OID)
	e.sessionsMu.RUnlock()
	for _, x := range xs {
		whose := x.who.authenticated
		if snap.Superuser(whose) && !snap.Superuser(s.who.current) {
			return forbidden("must be a superuser to terminate superuser process")
		}
		if !snap.HasPrivsOf(s.who.current, whose) && !snap.HasPrivsOf(s.who.current, catalog.RoleSignalBackend) {
			return forbidden("must be a member of the role whose process is being terminated or member of pg_signal_backend")
		}
	}
	for _, x := range xs {
		x.client.Terminate()
	}
	return nil
}

// commentShared is COMMENT ON DATABASE and ON ROLE.
func (s *Session) commentShared(snap *catalog.Snapshot, st *sql.Comment, text string) error {
	var o catalog.Object
	if st.Kind == "database" {
		d, err := databaseNamed(snap, st.Name.Name)
		if err != nil { // as a dump may be restored under another name
			s.notice("WARNING", pgerr.From(err))
			return nil
		}
		if err := s.mustOwn(d); err != nil {
			return err
		}
		o = d
	} else {
		r, err := s.roleNamed(snap, st.Name.Name)
		switch {
		case err != nil:
			return err
		case r.Super && !snap.Superuser(s.who.current):
			return forbidden("must be superuser")
		case !s.mayManage(snap):
			return forbidden("must have CREATEROLE privilege")
		case snap.Builtin(r.OID) && !catalog.Changeable(r.OID):
			return pgerr.Unsupported("a comment on a role that came with the server", "Make a role that is a member of it.")
		}
		o = r
	}
	n := catalog.Clone(o)
	n.Header().Comment = text
	return s.changeCatalog(catalog.Change{Replace: n})
}
