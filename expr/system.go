package expr

import (
	"crypto/rand"
	"strings"

	"github.com/streamdb/streamdb/charset"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// ServerVersion is the version of PostgreSQL whose behaviour is offered.
const ServerVersion = "15.8"

var (
	tOid, tName = types.TOid, types.TName
	tNames      = types.ArrayOf(types.Name)
)

// systemFuncs are the functions that clients and psql's backslash commands ask
// about sessions and catalogs.
func systemFuncs() []*Func {
	sess := func(name string, f func(s *Session) string) *Func {
		return stable(safe(fn(name, nil, tName, func(r *row) error { return r.putS(f(r.c.session())) })))
	}
	user := func(s *Session) string { return s.User }
	out := []*Func{
		stable(safe(fn("version", nil, tText, func(r *row) error {
			return r.putS("PostgreSQL " + ServerVersion + " (StreamDB) on x86_64-pc-linux-gnu, compiled by go, 64-bit")
		}))),
		sess("current_database", func(s *Session) string { return s.Database }),
		sess("current_catalog", func(s *Session) string { return s.Database }),
		sess("current_user", user), sess("session_user", func(s *Session) string {
			if s.Login == "" {
				return s.User
			}
			return s.Login
		}), sess("current_role", user), sess("user", user),
		stable(safe(fn("current_schema", nil, tName, func(r *row) error {
			if p := searchPath(r.c.session(), false); len(p) > 0 {
				return r.putS(p[0])
			}
			return r.null()
		}))),
		stable(safe(fn("current_schemas", ts(tBool), tNames, func(r *row) error {
			return r.put(types.ArrayDatum(strDatums(searchPath(r.c.session(), r.bool(0)))))
		}))),
		stable(safe(fn("pg_backend_pid", nil, tI4, func(r *row) error { return r.putI4(int(r.c.session().BackendPID)) }))),
		safe(&Func{Name: "pg_typeof", Args: ts(Any), Ret: types.TRegtype, NotStrict: true, Volatility: Stable,
			Eval: rowsNulls(func(r *row) error { return r.putI8(int64(r.typ(0).OID())) })}),
		stable(safe(fnNulls("format_type", ts(tOid, tI4), tText, formatType))),
		stable(fn("current_setting", ts(tText), tText, func(r *row) error { return currentSetting(r, false) })),
		stable(fn("current_setting", ts(tText, tBool), tText, func(r *row) error { return currentSetting(r, r.bool(1)) })),
		volatile(fnNulls("set_config", ts(tText, tText, tBool), tText, setConfig)),
		volatile(safe(fn("gen_random_uuid", nil, types.TUUID, func(r *row) error { return r.put(newUUID()) }))),
		volatile(safe(fn("uuid_generate_v4", nil, types.TUUID, func(r *row) error { return r.put(newUUID()) }))),
		stable(safe(fn("pg_encoding_to_char", ts(tI4), tName, func(r *row) error {
			if s := charset.ByID(int32(r.i4(0))); s != nil {
				return r.putS(s.Name)
			}
			return r.putS("")
		}))),
		stable(safe(fn("pg_char_to_encoding", ts(tName), tI4, func(r *row) error {
			if s := charset.Find(r.s(0)); s != nil {
				return r.putI4(int(s.ID))
			}
			return r.putI4(-1)
		}))),
		stable(safe(fn("getdatabaseencoding", nil, tName, func(r *row) error { return r.putS("UTF8") }))),
	}
	out = append(out, identFuncs()...)
	out = append(out, sleepFuncs()...)
	out = append(out, advisoryFuncs()...)
	out = append(out, notifyFuncs()...)
	out = append(out, sizeFuncs()...)
	out = append(out, fixedFuncs()...)
	out = append(out, serverFuncs()...)
	out = append(out, privilegeFuncs()...)
	out = append(out, sequenceFuncs()...)
	return append(out, catalogFuncs()...)
}

func strDatums(ss []string) []types.Datum {
	out := make([]types.Datum, len(ss))
	for i, s := range ss {
		out[i] = s
	}
	return out
}

func searchPath(s *Session, implicit bool) []string {
	var out []string
	path := s.SearchPath
	if len(path) > 0 && strings.HasPrefix(path[0], "pg_temp_") { // of temporary objects
		if implicit {
			out = append(out, path[0])
		}
		path = path[1:]
	}
	if implicit {
		out = append(out, "pg_catalog")
	}
	for _, p := range path {
		if p == "$user" || p == `"$user"` {
			continue
		}
		if s.Catalog != nil {
			if _, ok := s.Catalog.NamespaceOID(p); !ok {
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

func formatType(r *row) error {
	if r.isNull(0) {
		return r.null()
	}
	t, ok := types.ByOID(uint32(r.i8(0)))
	if c := r.c.session().Catalog; !ok && c != nil {
		t, ok = c.TypeByOID(uint32(r.i8(0)))
	}
	if !ok {
		if r.i8(0) == 0 {
			return r.putS("-")
		}
		if name, ok := pseudoName(uint32(r.i8(0))); ok {
			return r.putS(name)
		}
		return r.putS("???")
	}
	if !r.isNull(1) {
		t.Mod = int32(r.i4(1))
	}
	if t.ID == types.Bpchar && t.Mod < 0 && !r.isNull(1) {
		return r.putS("bpchar")
	}
	return r.putS(t.String())
}

func pseudoName(oid uint32) (string, bool) {
	if t, ok := types.PseudoByOID(oid); ok {
		return t.String(), true
	}
	for name, o := range pseudoTypes {
		if o == oid {
			return name, true
		}
	}
	return "", false
}

// pseudoTypes are types of PostgreSQL that no value has here, but that clients
// compare the types of functions with.
var pseudoTypes = map[string]uint32{"any": 2276, "cstring": 2275, "event_trigger": 3838, "fdw_handler": 3115, "internal": 2281,
	"language_handler": 2280, "trigger": 2279, "void": 2278}

func currentSetting(r *row, missingOK bool) error {
	s := r.c.session()
	name := strings.Clone(r.s(0))
	if s.Setting != nil {
		if v, ok := s.Setting(strings.ToLower(name)); ok {
			return r.putS(v)
		}
	}
	if missingOK {
		return r.null()
	}
	return pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", name)
}

func setConfig(r *row) error {
	if r.isNull(0) {
		return pgerr.New(pgerr.NullValueNotAllowed, "SET requires parameter name")
	}
	v := ""
	if !r.isNull(1) {
		v = strings.Clone(r.s(1))
	}
	if f := r.c.session().SetSetting; f != nil {
		if err := f(strings.ToLower(strings.Clone(r.s(0))), v, !r.isNull(2) && r.bool(2)); err != nil {
			return err
		}
		return currentSetting(r, true) // which may look different
	}
	return r.putS(v)
}

func newUUID() types.UUIDValue {
	var u types.UUIDValue
	rand.Read(u[:]) // never fails: the runtime ends the process instead
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return u
}

// numericSizePretty shows small sizes with their fraction.
