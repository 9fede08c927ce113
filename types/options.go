package types

// Options are the session's settings that shape text forms. A nil *Options is
// PostgreSQL's defaults in UTC with a clock that stands at 2000-01-01.
type Options struct {
	Zone             *Zone  // nil: UTC
	DateStyle        string // empty: ISO; or one of the styles in datestyle.go
	DateOrder        string // empty: MDY; or OrderDMY, OrderYMD
	IntervalStyle    string // empty: postgres; or one of the styles in style.go
	ExtraFloatDigits int    // as PostgreSQL's less one: 0 is shortest round trip, negative loses digits
	ByteaEscape      bool   // bytea_output = escape instead of hex
	// Now returns the transaction's time as a timestamptz, for 'now' and 'today'.
	Now func() int64
	// Resolve finds the OID of a name cast to regclass, regtype, regproc or
	// regnamespace; nil: only numbers are read.
	Resolve func(t T, name string) (int64, error)
	// Name is Resolve's inverse for output; ok false prints the number.
	Name func(t T, oid int64) (name string, ok bool)
}

func (o *Options) zone() *Zone {
	if o == nil || o.Zone == nil {
		return UTC()
	}
	return o.Zone
}

// today is the day in the session's zone, from 2000-01-01.
func (o *Options) today() int {
	days, _ := splitTS(o.zone().ToLocal(o.now()))
	return days
}

func (o *Options) now() int64 {
	if o == nil || o.Now == nil {
		return 0
	}
	return o.Now()
}
