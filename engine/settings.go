package engine

import (
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/settings"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// set changes a parameter of the session and tells the client if it reports it.
func (s *Session) set(name, value string, local bool) error {
	st, err := settings.Lookup(name)
	if err != nil {
		return err
	}
	if st.Context == "internal" {
		return pgerr.New(pgerr.CantChangeRuntimeParam, "parameter \"%s\" cannot be changed", st.Name)
	}
	if st.Name == "DateStyle" {
		if value, err = settings.DateStyleValue(s.values["datestyle"], value); err != nil {
			return err
		}
	}
	if st.Check != nil {
		v, err := st.Check(name, value)
		if err != nil {
			return err
		}
		value = v
	}
	key := strings.ToLower(st.Name)
	if key == "role" || key == "session_authorization" {
		if err := s.checkIdentity(key, value); err != nil {
			return err
		}
	}
	if isMode(key) {
		return s.setMode(key, value)
	}
	s.remember(key)
	if s.tx.open && local {
		s.tx.local = append(s.tx.local, key)
	}
	return s.assign(st, value)
}

// remember keeps the value that a parameter has before the transaction changes it.
func (s *Session) remember(key string) {
	if !s.tx.open {
		return
	}
	if s.tx.saved == nil {
		s.tx.saved = map[string]string{}
	}
	if _, ok := s.tx.saved[key]; !ok {
		s.tx.saved[key] = s.values[key]
	}
	if key == "session_authorization" { // ends SET ROLE
		s.remember("role")
	}
}

func (s *Session) assign(st *settings.Setting, value string) error {
	key := strings.ToLower(st.Name)
	s.values[key] = value
	if key == "application_name" {
		s.doing.app.Store(&value)
	}
	if err := s.refresh(key, value); err != nil {
		return err
	}
	if reported[st.Name] {
		s.client.ParameterStatus(st.Name, value)
	}
	return nil
}

// refresh recomputes what is derived from a parameter.
func (s *Session) refresh(key, value string) error {
	s.planState = nil
	switch key {
	case "timezone":
		z, err := types.LoadSessionZone(value)
		if err != nil {
			return err
		}
		s.expr.Options.Zone = z
	case "extra_float_digits":
		n, _ := strconv.Atoi(value)
		s.expr.Options.ExtraFloatDigits = n - 1
	case "intervalstyle":
		s.expr.Options.IntervalStyle = jobs.IntervalStyle(value)
	case "datestyle":
		jobs.SetDateStyle(&s.expr.Options, value)
	case "bytea_output":
		s.expr.Options.ByteaEscape = value == "escape"
	case "statement_timeout", "lock_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout":
		s.limits.set(key, value)
	case "default_transaction_isolation":
		s.defaults.isolation = isolationOf(value)
	case "default_transaction_read_only":
		s.defaults.readOnly = value == "on"
	case "default_transaction_deferrable":
		s.defaults.deferrable = value == "on"
	case "search_path":
		s.who.seen = nil
		s.sync()
	case "role", "session_authorization":
		s.takeIdentity(key, value)
	}
	return nil
}

func (s *Session) parseSearchPath(v string) []string {
	var out []string
	for _, p := range strings.Split(v, ",") {
		p = strings.TrimSpace(p)
		if u := strings.TrimSuffix(strings.TrimPrefix(p, `"`), `"`); u != p {
			p = strings.ReplaceAll(u, `""`, `"`)
		} else {
			p = strings.ToLower(p)
		}
		if p == "$user" {
			p = s.expr.User
		}
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// show returns a parameter's value.
func (s *Session) show(name string) (string, error) {
	st, err := settings.Lookup(name)
	if err != nil {
		return "", err
	}
	if key := strings.ToLower(st.Name); isMode(key) {
		return s.currentModes().text(key), nil
	}
	v, ok := s.values[strings.ToLower(st.Name)]
	if !ok {
		if strings.Contains(st.Name, ".") {
			return "", pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", name)
		}
		return st.Default, nil
	}
	return v, nil
}

// reset sets a parameter, or with "all" every one, to its value at the start of
// the session.
func (s *Session) reset(name string) error {
	if name != "all" {
		st, err := settings.Lookup(name)
		if err != nil {
			return err
		}
		key := strings.ToLower(st.Name)
		if isMode(key) {
			return s.setMode(key, s.defaults.text(key))
		}
		s.remember(key)
		return s.assign(st, s.initial[key])
	}
	for _, n := range settings.Names() {
		if n == "role" || n == "session_authorization" {
			continue
		}
		if settings.All[n].Context == "user" && s.values[n] != s.initial[n] {
			if err := s.assign(settings.All[n], s.initial[n]); err != nil {
				return err
			}
		}
	}
	return nil
}
