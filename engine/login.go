package engine

import (
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/wire"
)

// Password returns the SCRAM verifier of a role; ok is false if it cannot log in
// with a password.
func (e *Engine) Password(user string) (secret string, ok bool) {
	r := e.Catalog.Current().Role(user)
	if r == nil || !strings.HasPrefix(r.Password, "SCRAM-SHA-256$") || expired(r) {
		return "", false
	}
	return r.Password, true
}

// Trusted reports whether a user is let in without being asked for a password, where
// no authentication is configured: who has none.
func (e *Engine) Trusted(user string) bool {
	r := e.Catalog.Current().Role(user)
	return r == nil || r.Password == ""
}

// admit returns the role of a client who is known to be who it says, and the
// database that it may connect to. An unknown one
// becomes a superuser if it is in the users file, or if there is no such file and
// nobody has used CREATE ROLE yet.
func (e *Engine) admit(st wire.Startup) (*catalog.Role, *catalog.Database, error) {
	role := e.Catalog.Current().Role(st.User)
	if role == nil {
		var err error
		if role, err = e.firstLogin(st.User); err != nil {
			return nil, nil, err
		}
	}
	if !role.Login {
		return nil, nil, pgerr.New(pgerr.InvalidAuthorization, "role \"%s\" is not permitted to log in", role.Name)
	}
	snap := e.Catalog.Current()
	d, err := chooseDatabase(snap, st)
	if err != nil {
		return nil, nil, err
	}
	return role, d, mayConnect(snap, role, d)
}

// firstLogin makes the role of somebody who is not known yet.
func (e *Engine) firstLogin(user string) (*catalog.Role, error) {
	e.DDL.Lock()
	defer e.DDL.Unlock()
	snap := e.Catalog.Current()
	if r := snap.Role(user); r != nil {
		return r, nil
	}
	listed := e.Config.Users != nil && e.Config.Users(user)
	if !listed && (e.Config.Users != nil || snap.MainDatabase().RolesMade) || strings.HasPrefix(user, "pg_") {
		return nil, pgerr.New(pgerr.InvalidAuthorization, "role \"%s\" does not exist", user)
	}
	r := &catalog.Role{Head: catalog.Head{Name: user}, Super: true, CreateDB: true, CreateRole: true, Login: true, Replication: true,
		BypassRLS: true, AtLogin: true}
	e.Catalog.Assign(r, 0)
	return r, e.ChangeCatalog(&state.Commit{}, catalog.Change{Create: r})
}

// enter counts a session in, unless its database is going, or it or the role have as
// many as they may.
func (e *Engine) enter(s *Session, role *catalog.Role) error {
	e.sessionsMu.Lock()
	defer e.sessionsMu.Unlock()
	d := s.snapshot().Database()
	if d == nil || e.closing[s.db] {
		return noDatabase(s.database)
	}
	if limit := d.ConnLimit(); limit >= 0 && !role.Super && len(e.sessionsIn(s.db)) >= limit {
		return pgerr.New(pgerr.TooManyConnections, "too many connections for database \"%s\"", d.Name)
	}
	if limit := role.ConnLimit(); limit >= 0 && !role.Super {
		n := 0
		for _, x := range e.sessions {
			if x.who.authenticated == role.OID {
				n++
			}
		}
		if n >= limit {
			return pgerr.New(pgerr.TooManyConnections, "too many connections for role \"%s\"", role.Name)
		}
	}
	e.sessions[s.expr.BackendPID] = s
	return nil
}
