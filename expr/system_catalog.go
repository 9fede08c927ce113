package expr

import (
	"strings"

	"github.com/streamdb/streamdb/charset"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// fixed makes a function whose answer never varies, NULL arguments or not.
func fixed(name string, args []types.T, ret types.T, v types.Datum) *Func {
	return stable(safe(fnNulls(name, args, ret, func(r *row) error { return r.put(v) })))
}

// fixedFuncs answer for what this server does not have: replication, statistics.
func fixedFuncs() []*Func {
	var out []*Func
	yes := func(name string, lists ...[]types.T) {
		for _, a := range lists {
			out = append(out, stable(safe(fn(name, a, tBool, func(r *row) error { return r.putBool(true) }))))
		}
	}
	for _, what := range []string{"type", "function", "operator", "opclass", "opfamily", "collation", "conversion", "statistics_obj", "ts_config", "ts_dict", "ts_parser", "ts_template"} {
		yes("pg_"+what+"_is_visible", ts(tOid))
	}
	null := func(name string, ret types.T, lists ...[]types.T) {
		for _, a := range lists {
			out = append(out, fixed(name, a, ret, nil))
		}
	}
	null("inet_server_addr", tText, nil)
	null("inet_client_addr", tInet, nil)
	null("inet_server_port", tI4, nil)
	null("inet_client_port", tI4, nil)
	null("pg_get_partkeydef", tText, ts(tOid))
	null("pg_get_ruledef", tText, ts(tOid), ts(tOid, tBool))
	null("pg_get_triggerdef", tText, ts(tOid), ts(tOid, tBool))
	null("pg_get_statisticsobjdef_columns", tText, ts(tOid))
	null("pg_get_statisticsobjdef", tText, ts(tOid))
	null("pg_describe_object", tText, ts(tOid, tOid, tI4))
	null("pg_tablespace_location", tText, ts(tOid))
	null("pg_last_wal_receive_lsn", types.TLSN, nil)
	null("pg_last_wal_replay_lsn", types.TLSN, nil)
	null("txid_current_if_assigned", tI8, nil)
	null("pg_current_xact_id_if_assigned", types.TXid8, nil)
	no := func(name string, args []types.T) { out = append(out, fixed(name, args, tBool, false)) }
	no("pg_relation_is_publishable", ts(types.TRegclass))
	no("pg_is_in_recovery", nil)
	out = append(out, fixed("pg_trigger_depth", nil, tI4, int32(0)))
	no("pg_is_wal_replay_paused", nil)
	for _, name := range []string{"pg_stat_get_numscans", "pg_stat_get_tuples_inserted", "pg_stat_get_live_tuples"} {
		out = append(out, fixed(name, ts(tOid), tI8, int64(0)))
	}
	out = append(out,
		stable(fn("pg_client_encoding", nil, tName, func(r *row) error {
			if setting := r.c.session().Setting; setting != nil {
				if v, ok := setting("client_encoding"); ok {
					return r.putS(v)
				}
			}
			return r.putS(charset.UTF8.Name)
		})),
		safe(fn("pg_encoding_max_length", ts(tI4), tI4, func(r *row) error {
			if s := charset.ByID(int32(r.i4(0))); s != nil {
				return r.putI4(s.MaxLen)
			}
			return r.null()
		})),
		stable(safe(fn("pg_my_temp_schema", nil, tOid, func(r *row) error { return r.putI8(int64(tempSchema(r.c.session()))) }))),
		stable(safe(fn("pg_is_other_temp_schema", ts(tOid), tBool, func(r *row) error {
			s := r.c.session()
			if s.Catalog == nil || uint32(r.i8(0)) == tempSchema(s) {
				return r.putBool(false)
			}
			name, ok := s.Catalog.NamespaceName(uint32(r.i8(0)))
			return r.putBool(ok && strings.HasPrefix(name, "pg_temp_"))
		}))), fixed("pg_jit_available", nil, tBool, false))
	return out
}

// withCatalog makes a function that is NULL without a catalog.
func withCatalog(name string, args []types.T, ret types.T, f func(r *row, c CatalogInfo) error) *Func {
	return readsCatalog(fn(name, args, ret, func(r *row) error {
		c := r.c.session().Catalog
		if c == nil {
			return r.null()
		}
		return f(r, c)
	}))
}

// readsCatalog marks a function whose answer changes with the catalog.
func readsCatalog(f *Func) *Func {
	f.Catalog = true
	return stable(f)
}

// found ends with a text, or NULL.
func (r *row) found(s string, ok bool) error {
	if !ok {
		return r.null()
	}
	return r.putS(s)
}

func (r *row) boolOr(k int, def bool) bool {
	if k < len(r.args) {
		return r.bool(k)
	}
	return def
}

func catalogFuncs() []*Func {
	oid := func(r *row) uint32 { return uint32(r.i8(0)) }
	out := []*Func{
		withCatalog("pg_relation_is_updatable", ts(types.TRegclass, tBool), tI4, func(r *row, c CatalogInfo) error {
			return r.putI4(int(c.Updatable(oid(r)).Events()))
		}),
		withCatalog("pg_column_is_updatable", ts(types.TRegclass, types.TInt2, tBool), tBool, func(r *row, c CatalogInfo) error {
			return r.putBool(c.Updatable(oid(r)).Column(int(r.args[1].(*vec.Col[int16]).Vals[r.i])))
		}),
		withCatalog("pg_table_is_visible", ts(tOid), tBool, func(r *row, c CatalogInfo) error { return r.putBool(c.TableVisible(oid(r))) }),
		withCatalog("obj_description", ts(tOid, tName), tText, func(r *row, c CatalogInfo) error {
			return r.found(c.Description(oid(r), r.s(1), 0))
		}),
		withCatalog("shobj_description", ts(tOid, tName), tText, func(r *row, c CatalogInfo) error {
			return r.found(c.Description(oid(r), r.s(1), 0))
		}),
		withCatalog("obj_description", ts(tOid), tText, func(r *row, c CatalogInfo) error {
			return r.found(c.Description(oid(r), "", 0))
		}),
		withCatalog("col_description", ts(tOid, tI4), tText, func(r *row, c CatalogInfo) error {
			return r.found(c.Description(oid(r), "pg_class", r.i4(1)))
		}),
		// pg_get_expr(adbin, adrelid): the catalog stores expressions as their text.
		stable(safe(fn("pg_get_expr", ts(tText, tOid), tText, func(r *row) error { return r.putB(r.b(0)) }))),
		stable(safe(fn("pg_get_expr", ts(tText, tOid, tBool), tText, func(r *row) error { return r.putB(r.b(0)) }))),
	}
	out = append(out, toRegFuncs()...)
	for name, part := range map[string]string{"pg_get_functiondef": "definition", "pg_get_function_result": "result",
		"pg_get_function_arguments": "arguments", "pg_get_function_identity_arguments": "identity", "pg_get_function_sqlbody": "body"} {
		out = append(out, withCatalog(name, ts(tOid), tText, func(r *row, c CatalogInfo) error { return r.found(c.FunctionText(oid(r), part)) }))
	}
	for _, pretty := range [][]types.T{nil, ts(tBool)} {
		at := 1
		out = append(out,
			withCatalog("pg_get_viewdef", append(ts(tOid), pretty...), tText, func(r *row, c CatalogInfo) error {
				return r.found(c.ViewDef(oid(r), r.boolOr(at, false)))
			}),
			withCatalog("pg_get_constraintdef", append(ts(tOid), pretty...), tText, func(r *row, c CatalogInfo) error {
				return r.found(c.ConstraintDef(oid(r), r.boolOr(at, false)))
			}))
	}
	viewByName := func(r *row, c CatalogInfo) error {
		resolve := r.c.options().Resolve
		if resolve == nil {
			return r.null()
		}
		o, err := resolve(types.T{ID: types.Regclass, Mod: -1}, strings.Clone(r.s(0)))
		if err != nil {
			return err
		}
		return r.found(c.ViewDef(uint32(o), r.boolOr(1, false)))
	}
	out = append(out, withCatalog("pg_get_viewdef", ts(tText), tText, viewByName), withCatalog("pg_get_viewdef", ts(tText, tBool), tText, viewByName),
		withCatalog("pg_get_viewdef", ts(tOid, tI4), tText, func(r *row, c CatalogInfo) error { return r.found(c.ViewDef(oid(r), true)) }),
		withCatalog("pg_get_indexdef", ts(tOid), tText, func(r *row, c CatalogInfo) error { return r.found(c.IndexDef(oid(r), 0, false)) }),
		withCatalog("pg_get_indexdef", ts(tOid, tI4, tBool), tText, func(r *row, c CatalogInfo) error {
			return r.found(c.IndexDef(oid(r), r.i4(1), r.bool(2)))
		}))
	for name, of := range map[string]func(CatalogInfo, uint32) int64{
		"pg_relation_size": CatalogInfo.RelationSize, "pg_table_size": CatalogInfo.RelationSize, "pg_indexes_size": CatalogInfo.IndexesSize,
		"pg_total_relation_size": func(c CatalogInfo, oid uint32) int64 { return c.RelationSize(oid) + c.IndexesSize(oid) },
	} {
		out = append(out, withCatalog(name, ts(types.TRegclass), tI8, func(r *row, c CatalogInfo) error { return r.putI8(of(c, oid(r))) }))
	}
	out = append(out, withCatalog("pg_relation_size", ts(types.TRegclass, tText), tI8, func(r *row, c CatalogInfo) error {
		switch r.s(1) {
		case "main":
			return r.putI8(c.RelationSize(oid(r)))
		case "fsm", "vm", "init":
			return r.putI8(0)
		}
		return pgerr.New(pgerr.InvalidParameterValue, "invalid fork name").WithHint("Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\".")
	}))
	return out
}

// tempSchema is the OID of the schema of the session's temporary objects; 0: it has
// none.
func tempSchema(s *Session) uint32 {
	if s.Catalog == nil || len(s.SearchPath) == 0 || !strings.HasPrefix(s.SearchPath[0], "pg_temp_") {
		return 0
	}
	oid, _ := s.Catalog.NamespaceOID(s.SearchPath[0])
	return oid
}
