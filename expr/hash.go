package expr

import "github.com/streamdb/streamdb/types"

// hashFuncs are the hash functions of PostgreSQL's types, with its values.
func hashFuncs() []*Func {
	var out []*Func
	add := func(name, extended string, t types.T) {
		out = append(out,
			fn(name, ts(t), tI4, func(r *row) error {
				v, err := types.PGHash{}.Value(r.typ(0), r.datum(0))
				if err != nil {
					return err
				}
				return r.putI4(int(int32(v)))
			}),
			fn(name+extended, ts(t, tI8), tI8, func(r *row) error {
				v, err := types.PGHash{Wide: true, Seed: uint64(r.i8(1))}.Value(r.typ(0), r.datum(0))
				if err != nil {
					return err
				}
				return r.putI8(int64(v))
			}))
	}
	for name, t := range map[string]types.T{"hashtext": tText, "hashbpchar": types.TBpchar, "hashname": tName, "hashchar": types.TChar, "hashint2": types.TInt2,
		"hashint4": tI4, "hashint8": tI8, "hashoid": tOid, "hashfloat4": types.TFloat4, "hashfloat8": tF8, "hashenum": AnyEnum,
		"hashinet": types.TInet, "hashmacaddr": types.TMacaddr, "hashmacaddr8": types.TMacaddr8} {
		add(name, "extended", t)
	}
	for name, t := range map[string]types.T{"hash_numeric": tNum, "timestamp_hash": tTS, "time_hash": tTime, "timetz_hash": types.TTimetz, "interval_hash": tIv,
		"uuid_hash": types.TUUID, "pg_lsn_hash": types.TLSN, "jsonb_hash": tJSONB, "hash_array": AnyArray, "hash_range": AnyRange, "hash_multirange": AnyMultirange, "hash_record": types.TRecord} {
		add(name, "_extended", t)
	}
	return out
}
