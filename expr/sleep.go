package expr

import (
	"math"
	"time"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// sleepFuncs wait. A materialized view cannot: its graph would wait with it.
func sleepFuncs() []*Func {
	sleep := func(r *row, seconds float64) error {
		f := r.c.session().Sleep
		if f == nil {
			return pgerr.Unsupported("waiting in a materialized view or sink", "Call pg_sleep in a query.")
		}
		if seconds > 0 {
			if err := f(time.Duration(math.Min(seconds*1e9, math.MaxInt64/2))); err != nil {
				return err
			}
		}
		return r.putS("")
	}
	return []*Func{
		volatile(fn("pg_sleep", ts(tF8), types.TVoid, func(r *row) error { return sleep(r, r.f8(0)) })),
		volatile(fn("pg_sleep_for", ts(tIv), types.TVoid, func(r *row) error {
			v := r.iv(0)
			return sleep(r, float64(v.Micros)/1e6+float64(v.Days)*86400+float64(v.Months)*30*86400)
		})),
		volatile(fn("pg_sleep_until", ts(tTSTZ), types.TVoid, func(r *row) error { return sleep(r, float64(r.i8(0)-clock())/1e6) })),
		volatile(safe(fn("timeofday", nil, tText, func(r *row) error {
			return r.putS(time.Now().UTC().Format("Mon Jan 02 15:04:05.000000 2006") + " UTC")
		}))),
	}
}
