package expr

import "github.com/streamdb/streamdb/types"

// castDatum converts one value that is not NULL. The planner has checked that
// the cast exists.
func castDatum(v types.Datum, from, to types.T, explicit bool, opt *types.Options) (types.Datum, error) {
	return types.CastDatum(v, from, to, explicit, opt)
}

func zoneOf(opt *types.Options) *types.Zone {
	if opt == nil || opt.Zone == nil {
		return types.UTC()
	}
	return opt.Zone
}

func infiniteTS(us int64) bool {
	return us == types.TimestampInfinity || us == types.TimestampNegInfinity
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
