package engine

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/streamdb/streamdb/charset"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/types"
)

// setting is a configuration parameter of sessions.
type setting struct {
	name    string // as SHOW and ParameterStatus spell it
	def     string
	doc     string
	context string // "user", or "internal" for what cannot be set
	// check normalises a value or refuses it; nil: any text. name is as it was
	// given, which PostgreSQL's errors repeat.
	check func(name, v string) (string, error)
}

var messageLevels = oneOf("debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error")

// messageLevel also takes names that PostgreSQL keeps to itself.
func messageLevel(name, v string) (string, error) {
	switch strings.ToLower(v) {
	case "debug":
		v = "debug2"
	case "info", "fatal", "panic":
		v = "error"
	}
	return messageLevels(name, v)
}

func badValue(name, v string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"%s\": \"%s\"", name, v)
}

func oneOf(vs ...string) func(name, v string) (string, error) {
	return func(name, v string) (string, error) {
		for _, x := range vs {
			if strings.EqualFold(x, v) {
				return x, nil
			}
		}
		return "", badValue(name, v).WithHint("Available values: %s.", strings.Join(vs, ", "))
	}
}

// hooked is the check of a parameter whose errors name it as SHOW does.
func hooked(name string, f func(v string) (string, bool)) func(name, v string) (string, error) {
	return func(_, v string) (string, error) {
		x, ok := f(v)
		if !ok {
			return "", badValue(name, v)
		}
		return x, nil
	}
}

func boolValue(name, v string) (string, error) {
	switch strings.ToLower(v) {
	case "on", "true", "yes", "1", "t", "y":
		return "on", nil
	case "off", "false", "no", "0", "f", "n":
		return "off", nil
	}
	return "", pgerr.New(pgerr.InvalidParameterValue, "parameter \"%s\" requires a Boolean value", name)
}

// alwaysOn takes a boolean that must be true.
func alwaysOn(name, v string) (string, error) {
	x, err := boolValue(name, v)
	if err == nil && x == "off" {
		err = pgerr.Unsupported(name+" = off", "Leave it on, and write E'...' for strings with escapes.")
	}
	return x, err
}

func intValue(lo, hi int) func(name, v string) (string, error) {
	return func(name, v string) (string, error) {
		n, err := strconv.Atoi(strings.TrimSpace(v))
		switch {
		case err != nil:
			return "", badValue(name, v)
		case n < lo || n > hi:
			return "", pgerr.New(pgerr.InvalidParameterValue, "%d is outside the valid range for parameter \"%s\" (%d .. %d)", n, name, lo, hi)
		}
		return strconv.Itoa(n), nil
	}
}

// dateStyleValue is a value of DateStyle; what v does not say stays as in now.
func dateStyleValue(now, v string) (string, error) {
	style, order, _ := strings.Cut(now, ", ")
	var newStyle, newOrder string
	conflict := false
	note := func(to *string, x string) {
		conflict = conflict || *to != "" && *to != x
		*to = x
	}
	for _, p := range strings.Split(v, ",") {
		switch w := strings.ToUpper(strings.Trim(strings.TrimSpace(p), "\"")); {
		case w == "":
		case w == "ISO":
			note(&newStyle, "ISO")
		case w == "SQL":
			note(&newStyle, types.DateSQL)
		case strings.HasPrefix(w, "POSTGRES"):
			note(&newStyle, types.DatePostgres)
		case w == "GERMAN":
			note(&newStyle, types.DateGerman)
			if newOrder == "" {
				order = types.OrderDMY
			}
		case w == "YMD":
			note(&newOrder, types.OrderYMD)
		case w == "DMY" || strings.HasPrefix(w, "EURO"):
			note(&newOrder, types.OrderDMY)
		case w == "MDY" || w == "US" || strings.HasPrefix(w, "NONEURO"):
			note(&newOrder, "MDY")
		case w == "DEFAULT":
			style, order = "ISO", "MDY"
		default:
			return "", badValue("DateStyle", v).WithDetail("Unrecognized key word: \"%s\".", strings.ToLower(w))
		}
	}
	if conflict {
		return "", badValue("DateStyle", v).WithDetail("Conflicting \"datestyle\" specifications.")
	}
	if newStyle != "" {
		style = newStyle
	}
	if newOrder != "" {
		order = newOrder
	}
	return style + ", " + order, nil
}

func encodingValue(_, v string) (string, error) {
	s := charset.Find(v)
	switch {
	case s == nil:
		return "", badValue("client_encoding", v)
	case !s.Convertible():
		return "", pgerr.Unsupported("the encoding "+s.Name, "Use UTF8, which has all characters.")
	}
	return s.Name, nil
}

func zoneValue(v string) (string, bool) {
	z, err := types.LoadSessionZone(v)
	if err != nil {
		return v, false
	}
	return z.Name(), true
}

// settings is the table of parameters, by lower-case name.
var settings = makeSettings(append(slices.Concat(tuning(), timeoutSettings()), []setting{
	{"application_name", "", "Sets the application name to be reported in statistics.", "user", nil},
	{"backslash_quote", "safe_encoding", "Compatibility; has no effect.", "user", nil},
	{"bytea_output", "hex", "Sets the output format for bytea.", "user", oneOf("escape", "hex")},
	{"client_encoding", "UTF8", "Sets the client's character set encoding.", "user", encodingValue},
	{"client_min_messages", "notice", "Sets the message levels that are sent to the client.", "user", messageLevel},
	{"DateStyle", "ISO, MDY", "Sets the display format for date and time values.", "user", nil},
	{"default_table_access_method", "heap", "Compatibility; has no effect.", "user", nil},
	{"default_tablespace", "", "Compatibility; has no effect.", "user", nil},
	{"default_transaction_deferrable", "off", "Compatibility; has no effect.", "user", boolValue},
	{"default_transaction_isolation", "read committed", "Sets the transaction isolation level of each new transaction.", "user", oneOf("serializable", "repeatable read", "read committed", "read uncommitted")},
	{"default_transaction_read_only", "off", "Sets the default read-only status of new transactions.", "user", boolValue},
	{"escape_string_warning", "on", "Compatibility; has no effect.", "user", boolValue},
	{"extra_float_digits", "1", "Sets the number of digits displayed for floating-point values.", "user", intValue(-15, 3)},
	{"in_hot_standby", "off", "Shows whether hot standby is currently active.", "internal", nil},
	{"integer_datetimes", "on", "Shows whether datetimes are integer based.", "internal", nil},
	{"IntervalStyle", "postgres", "Sets the display format for interval values.", "user", oneOf("postgres", "postgres_verbose", "sql_standard", "iso_8601")},
	{"is_superuser", "on", "Shows whether the current user is a superuser.", "internal", nil},
	{"jit", "off", "Compatibility; has no effect.", "user", boolValue},
	{"lc_collate", "C", "Shows the collation order locale.", "internal", nil},
	{"lc_ctype", "C.UTF-8", "Shows the character classification locale.", "internal", nil},
	{"lc_messages", "C", "Compatibility; has no effect.", "user", nil},
	{"lc_monetary", "C", "Compatibility; has no effect.", "user", nil},
	{"lc_numeric", "C", "Compatibility; has no effect.", "user", nil},
	{"lc_time", "C", "Compatibility; has no effect.", "user", nil},
	{"max_connections", "1000", "Shows the maximum number of concurrent connections.", "internal", nil},
	{"max_identifier_length", "63", "Shows the maximum identifier length.", "internal", nil},
	{"max_index_keys", "32", "Shows the maximum number of index keys.", "internal", nil},
	{"max_prepared_transactions", "0", "Shows the maximum number of simultaneously prepared transactions.", "internal", nil},
	{"password_encryption", "scram-sha-256", "Chooses the algorithm for encrypting passwords.", "user", oneOf("scram-sha-256")},
	{"read_consistency", "strict", "Sets whether a query sees every earlier committed write in every view.", "user", oneOf("strict", "latest")},
	{"role", "none", "Sets the current role.", "user", nil},
	{"row_security", "on", "Compatibility; has no effect.", "user", boolValue},
	{"search_path", `"$user", public`, "Sets the schema search order for names that are not schema-qualified.", "user", nil},
	{"server_encoding", "UTF8", "Shows the server character set encoding.", "internal", nil},
	{"server_version", expr.ServerVersion, "Shows the server version.", "internal", nil},
	{"server_version_num", "150008", "Shows the server version as an integer.", "internal", nil},
	{"session_authorization", "", "Sets the session user name.", "user", nil},
	{"sql_dialect", "postgres", "Sets the dialect of view bodies.", "user", oneOf("postgres")},
	{"ssl", "off", "Shows whether connections may be encrypted.", "internal", nil},
	{"standard_conforming_strings", "on", "Causes '...' strings to treat backslashes literally.", "user", alwaysOn},
	{"synchronous_commit", "on", "Compatibility; every commit is synchronous.", "user", nil},
	{"TimeZone", "UTC", "Sets the time zone for displaying and interpreting time stamps.", "user", hooked("TimeZone", zoneValue)},
	{"transaction_deferrable", "off", "Shows whether the transaction is deferrable; none has to wait.", "user", boolValue},
	{planner.SettingShared, "auto", "Sets whether joins of new views and sinks read a side from a key or index instead of keeping its rows.", "user", oneOf("auto", "on", "off")},
	{"transaction_isolation", "read committed", "Sets the current transaction's isolation level.", "user", oneOf("serializable", "repeatable read", "read committed", "read uncommitted")},
	{"transaction_read_only", "off", "Sets the current transaction's read-only status.", "user", boolValue},
	{"work_mem", "4MB", "Compatibility; has no effect.", "user", nil},
	{"xmloption", "content", "Compatibility; has no effect.", "user", oneOf("content", "document")},
}...))

func makeSettings(list []setting) map[string]*setting {
	m := map[string]*setting{}
	for i := range list {
		m[strings.ToLower(list[i].name)] = &list[i]
	}
	return m
}

// settingNames returns the lower-case names in order.
var settingNames = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(settings)) })

var settingAliases = map[string]string{"timezone": "timezone", "time zone": "timezone", "transaction isolation level": "transaction_isolation"}

// lookupSetting finds a parameter; names with a dot are custom ones and always
// exist.
func lookupSetting(name string) (*setting, error) {
	n := strings.ToLower(name)
	if a, ok := settingAliases[n]; ok {
		n = a
	}
	if s := settings[n]; s != nil {
		return s, nil
	}
	if strings.Contains(n, ".") {
		return &setting{name: n, context: "user"}, nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", name)
}

// set changes a parameter of the session and tells the client if it reports it.
func (s *Session) set(name, value string, local bool) error {
	st, err := lookupSetting(name)
	if err != nil {
		return err
	}
	if st.context == "internal" {
		return pgerr.New(pgerr.CantChangeRuntimeParam, "parameter \"%s\" cannot be changed", st.name)
	}
	if st.name == "DateStyle" {
		if value, err = dateStyleValue(s.values["datestyle"], value); err != nil {
			return err
		}
	}
	if st.check != nil {
		v, err := st.check(name, value)
		if err != nil {
			return err
		}
		value = v
	}
	key := strings.ToLower(st.name)
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

func (s *Session) assign(st *setting, value string) error {
	key := strings.ToLower(st.name)
	s.values[key] = value
	if key == "application_name" {
		s.doing.app.Store(&value)
	}
	if err := s.refresh(key, value); err != nil {
		return err
	}
	if reported[st.name] {
		s.client.ParameterStatus(st.name, value)
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
	st, err := lookupSetting(name)
	if err != nil {
		return "", err
	}
	if key := strings.ToLower(st.name); isMode(key) {
		return s.currentModes().text(key), nil
	}
	v, ok := s.values[strings.ToLower(st.name)]
	if !ok {
		if strings.Contains(st.name, ".") {
			return "", pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", name)
		}
		return st.def, nil
	}
	return v, nil
}

// reset sets a parameter, or with "all" every one, to its value at the start of
// the session.
func (s *Session) reset(name string) error {
	if name != "all" {
		st, err := lookupSetting(name)
		if err != nil {
			return err
		}
		key := strings.ToLower(st.name)
		if isMode(key) {
			return s.setMode(key, s.defaults.text(key))
		}
		s.remember(key)
		return s.assign(st, s.initial[key])
	}
	for _, n := range settingNames() {
		if n == "role" || n == "session_authorization" {
			continue
		}
		if settings[n].context == "user" && s.values[n] != s.initial[n] {
			if err := s.assign(settings[n], s.initial[n]); err != nil {
				return err
			}
		}
	}
	return nil
}
