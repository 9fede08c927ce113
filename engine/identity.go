package engine

import (
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// identity is whom a session acts for: the role that logged in, that of SET SESSION
// AUTHORIZATION, and that of SET ROLE. Each is the one before unless it was set.
type identity struct {
	authenticated, login, current uint32
	// seen is the catalog that the rest is of: names, whether the current role is a
	// superuser, and where its names are looked up.
	seen  *catalog.Snapshot
	super bool
}

// become makes another role the current one.
func (s *Session) become(login, current uint32) {
	s.who.login, s.who.current, s.who.seen = login, current, nil
	s.planState = nil
	s.sync()
}

// sync takes over what the catalog says now of the session's roles. It costs a
// comparison as long as the catalog stays.
func (s *Session) sync() {
	snap := s.snapshot()
	if s.who.seen == snap {
		return
	}
	s.who.seen = snap
	s.who.super = snap.Superuser(s.who.current)
	s.expr.UserOID = s.who.current
	s.expr.User, s.expr.Login = snap.RoleName(s.who.current), snap.RoleName(s.who.login)
	s.expr.SearchPath = snap.Usable(s.who.current, s.parseSearchPath(s.values["search_path"]))
	s.findTemporary()
	is := "off"
	if s.who.super {
		is = "on"
	}
	if s.values["is_superuser"] != is {
		s.values["is_superuser"] = is
		s.client.ParameterStatus("is_superuser", is)
	}
}

// checkIdentity refuses values of role and session_authorization that the session
// may not take.
func (s *Session) checkIdentity(key, value string) error {
	snap := s.snapshot()
	if key == "role" && value == "none" {
		return nil
	}
	r := snap.Role(value)
	if r == nil {
		return pgerr.New(pgerr.InvalidParameterValue, "role \"%s\" does not exist", value)
	}
	if key == "role" {
		if !snap.MemberOf(s.who.login, r.OID) {
			return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set role \"%s\"", value)
		}
		return nil
	}
	if r.OID != s.who.authenticated && !snap.Superuser(s.who.authenticated) {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set session authorization")
	}
	return nil
}

// takeIdentity acts on values of role and session_authorization that were set, or
// that a transaction's end brings back. A role that is gone gives no rights.
func (s *Session) takeIdentity(key, value string) {
	r := s.snapshot().Role(value)
	switch {
	case key == "role" && r != nil:
		s.become(s.who.login, r.OID)
	case key == "role":
		s.become(s.who.login, s.who.login)
	case r != nil:
		s.values["role"] = "none"
		s.become(r.OID, r.OID)
	default:
		s.values["role"] = "none"
		s.become(s.who.authenticated, s.who.authenticated)
	}
}

// applySettings gives the session what ALTER DATABASE SET and ALTER ROLE SET say.
// What is not valid any more is passed over with a warning.
func (s *Session) applySettings(list []catalog.RoleSetting) {
	for _, x := range list {
		if k := strings.ToLower(x.Name); k == "role" || k == "session_authorization" {
			continue
		}
		if err := s.set(x.Name, x.Value, false); err != nil {
			s.client.Notice("WARNING", pgerr.From(err))
		}
	}
}

// roleOf finds the role that a name stands for.
func (s *Session) roleNamed(snap *catalog.Snapshot, name string) (*catalog.Role, error) {
	if r := snap.Role(name); r != nil {
		return r, nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", name)
}

// expired reports whether a role's password has ended.
func expired(r *catalog.Role) bool {
	return r.ValidUntil != nil && *r.ValidUntil != types.TimestampInfinity && *r.ValidUntil < jobs.NowMicros()
}
