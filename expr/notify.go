package expr

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// notifyFuncs are those about channels of LISTEN and NOTIFY.
func notifyFuncs() []*Func {
	return []*Func{
		volatile(fnNulls("pg_notify", ts(tText, tText), types.TVoid, func(r *row) error {
			f := r.c.session().Notify
			if f == nil {
				return pgerr.Unsupported("pg_notify in a materialized view or sink", "Call it in a query.")
			}
			channel, payload := "", ""
			if !r.isNull(0) {
				channel = r.s(0)
			}
			if !r.isNull(1) {
				payload = r.s(1)
			}
			if err := f(channel, payload); err != nil {
				return err
			}
			return r.putS("")
		})),
		volatile(safe(fn("pg_notification_queue_usage", nil, tF8, func(r *row) error { return r.putF8(0) }))),
		stable(set("pg_listening_channels", nil, tText, func(r *row, dst vec.Vector) error {
			if f := r.c.session().Channels; f != nil {
				for _, c := range f() {
					dst.AppendDatum(c)
				}
			}
			return nil
		})),
	}
}
