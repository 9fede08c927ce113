package settings

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/streamdb/streamdb/charset"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/types"
)

// Setting is a configuration parameter of sessions.
type Setting struct {
	Name    string // as SHOW and ParameterStatus spell it
	Default string
	Doc     string
	Context string // "user", or "internal" for what cannot be set
	// Check normalises a value or refuses it; nil: any text. name is as it was
	// given, which PostgreSQL's errors repeat.
	Check func(name, v string) (string, error)
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

// Bool is the check of an on-off parameter.
func Bool(name, v string) (string, error) {
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
	x, err := Bool(name, v)
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

// DateStyleValue is a value of DateStyle; what v does not say stays as in now.
func DateStyleValue(now, v string) (string, error) {
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

// EncodingValue is the check of client_encoding.
func EncodingValue(_, v string) (string, error) {
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

// All is the table of parameters, by lower-case name.
var All = makeSettings(append(slices.Concat(tuning(), TimeoutSettings()), []Setting{
	{"application_name", "", "Sets the application name to be reported in statistics.", "user", nil},
	{"backslash_quote", "safe_encoding", "Compatibility; has no effect.", "user", nil},
	{"bytea_output", "hex", "Sets the output format for bytea.", "user", oneOf("escape", "hex")},
	{"client_encoding", "UTF8", "Sets the client's character set encoding.", "user", EncodingValue},
	{"client_min_messages", "notice", "Sets the message levels that are sent to the client.", "user", messageLevel},
	{"DateStyle", "ISO, MDY", "Sets the display format for date and time values.", "user", nil},
	{"default_table_access_method", "heap", "Compatibility; has no effect.", "user", nil},
	{"default_tablespace", "", "Compatibility; has no effect.", "user", nil},
	{"default_transaction_deferrable", "off", "Compatibility; has no effect.", "user", Bool},
	{"default_transaction_isolation", "read committed", "Sets the transaction isolation level of each new transaction.", "user", oneOf("serializable", "repeatable read", "read committed", "read uncommitted")},
	{"default_transaction_read_only", "off", "Sets the default read-only status of new transactions.", "user", Bool},
	{"escape_string_warning", "on", "Compatibility; has no effect.", "user", Bool},
	{"extra_float_digits", "1", "Sets the number of digits displayed for floating-point values.", "user", intValue(-15, 3)},
	{"in_hot_standby", "off", "Shows whether hot standby is currently active.", "internal", nil},
	{"integer_datetimes", "on", "Shows whether datetimes are integer based.", "internal", nil},
	{"IntervalStyle", "postgres", "Sets the display format for interval values.", "user", oneOf("postgres", "postgres_verbose", "sql_standard", "iso_8601")},
	{"is_superuser", "on", "Shows whether the current user is a superuser.", "internal", nil},
	{"jit", "off", "Compatibility; has no effect.", "user", Bool},
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
	{"row_security", "on", "Compatibility; has no effect.", "user", Bool},
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
	{"transaction_deferrable", "off", "Shows whether the transaction is deferrable; none has to wait.", "user", Bool},
	{planner.SettingShared, "auto", "Sets whether joins of new views and sinks read a side from a key or index instead of keeping its rows.", "user", oneOf("auto", "on", "off")},
	{"transaction_isolation", "read committed", "Sets the current transaction's isolation level.", "user", oneOf("serializable", "repeatable read", "read committed", "read uncommitted")},
	{"transaction_read_only", "off", "Sets the current transaction's read-only status.", "user", Bool},
	{"work_mem", "4MB", "Compatibility; has no effect.", "user", nil},
	{"xmloption", "content", "Compatibility; has no effect.", "user", oneOf("content", "document")},
}...))

func makeSettings(list []Setting) map[string]*Setting {
	m := map[string]*Setting{}
	for i := range list {
		m[strings.ToLower(list[i].Name)] = &list[i]
	}
	return m
}

// Names returns the lower-case names in order.
var Names = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(All)) })

var settingAliases = map[string]string{"timezone": "timezone", "time zone": "timezone", "transaction isolation level": "transaction_isolation"}

// Lookup finds a parameter; names with a dot are custom ones and always
// exist.
func Lookup(name string) (*Setting, error) {
	n := strings.ToLower(name)
	if a, ok := settingAliases[n]; ok {
		n = a
	}
	if s := All[n]; s != nil {
		return s, nil
	}
	if strings.Contains(n, ".") {
		return &Setting{Name: n, Context: "user"}, nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", name)
}
