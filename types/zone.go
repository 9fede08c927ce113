package types

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // zones must not depend on the machine

	"github.com/streamdb/streamdb/pgerr"
)

// Zone is a time zone. It caches the span of the last lookup, so that rows near
// each other in time cost a compare. Safe for concurrent use. The zero Zone is UTC.
type Zone struct {
	name    string
	loc     *time.Location
	last    atomic.Pointer[zoneSpan]
	meaning string // an abbreviation, whose offset counts instead of the zone's
}

type zoneSpan struct {
	from, to int64 // unix seconds, [from, to)
	off      int   // seconds east of UTC
	abbrev   string
}

// UTC returns the zone UTC.
func UTC() *Zone { return &Zone{name: "UTC", loc: time.UTC} }

// FixedZone returns a zone secs seconds east of UTC.
func FixedZone(name string, secs int) *Zone {
	return &Zone{name: name, loc: time.FixedZone(name, secs)}
}

// Name returns the name as it was loaded, in its canonical spelling.
func (z *Zone) Name() string {
	if z.loc == nil {
		return "UTC"
	}
	return z.name
}

// Location returns the zone for package time.
func (z *Zone) Location() *time.Location {
	if z.loc == nil {
		return time.UTC
	}
	return z.loc
}

func (z *Zone) span(sec int64) *zoneSpan {
	if s := z.last.Load(); s != nil && sec >= s.from && sec < s.to {
		return s
	}
	if z.loc == nil {
		return &zoneSpan{from: -1 << 62, to: 1 << 62, abbrev: "UTC"}
	}
	t := time.Unix(sec, 0).In(z.loc)
	s := &zoneSpan{from: -1 << 62, to: 1 << 62}
	s.abbrev, s.off = t.Zone()
	from, to := t.ZoneBounds()
	if !from.IsZero() {
		s.from = from.Unix()
	}
	if !to.IsZero() {
		s.to = to.Unix()
	}
	z.last.Store(s)
	return s
}

// Offset returns the seconds east of UTC at a timestamptz.
func (z *Zone) Offset(us int64) int {
	sec := floorDiv(us, usPerSec) + unixToPG
	if z.meaning != "" {
		return z.meant(sec)
	}
	return z.span(sec).off
}

// Plain is the zone without regard to the abbreviation it was found by.
func (z *Zone) Plain() *Zone {
	if z.meaning == "" {
		return z
	}
	return &Zone{name: z.name, loc: z.loc}
}

// Abbrev returns the zone's abbreviation at a timestamptz: CET, CEST, UTC.
func (z *Zone) Abbrev(us int64) string { return z.span(floorDiv(us, usPerSec) + unixToPG).abbrev }

// ToLocal returns the wall clock of a timestamptz; infinities stay.
func (z *Zone) ToLocal(us int64) int64 {
	if us == TimestampInfinity || us == TimestampNegInfinity {
		return us
	}
	return us + int64(z.Offset(us))*usPerSec
}

// ToUTC returns the timestamptz of a wall clock time. A time that a forward
// change skips is read with the offset before the change, a time that happens
// twice is the second one: in both cases the later instant, as in PostgreSQL.
func (z *Zone) ToUTC(local int64) int64 {
	if local == TimestampInfinity || local == TimestampNegInfinity {
		return local
	}
	return local - int64(z.localOffset(local))*usPerSec
}

// fixed reports whether the zone has one offset at all times.
func (z *Zone) fixed() bool {
	if z.loc == nil {
		return true
	}
	from, to := time.Unix(0, 0).In(z.loc).ZoneBounds()
	return from.IsZero() && to.IsZero()
}

func (z *Zone) localOffset(local int64) int {
	sec := floorDiv(local, usPerSec) + unixToPG
	off := z.wallOffset(sec)
	if z.meaning != "" {
		return z.meant(sec - int64(off))
	}
	return off
}

// wallOffset is the offset at a wall clock time, in seconds as of 1970.
func (z *Zone) wallOffset(sec int64) int {
	if s := z.last.Load(); s != nil && sec-86400 >= s.from && sec+86400 < s.to {
		return s.off
	}
	a, b := z.span(sec-86400).off, z.span(sec+86400).off
	if a == b {
		return a
	}
	va := z.span(sec-int64(a)).off == a
	vb := z.span(sec-int64(b)).off == b
	switch {
	case va && !vb:
		return a
	case vb && !va:
		return b
	}
	return min(a, b)
}

// LoadZone finds the zone of AT TIME ZONE, date_trunc and the like: an IANA
// name in any case, an abbreviation, or a POSIX form such as UTC-3, whose sign
// counts west of Greenwich. 22023 when unknown.
func LoadZone(name string) (*Zone, error) {
	if z := findZone(trimSpace(name), true); z != nil {
		return z, nil
	}
	return nil, errZone(name)
}

func errZone(name string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, "time zone \"%s\" not recognized", name)
}

func findZone(n string, abbrevs bool) *Zone {
	if l := strings.ToLower(n); abbrevs && l != "utc" {
		if z := abbrevZone(l); z != nil {
			return z
		}
	}
	if z := loadNamed(n); z != nil {
		return z
	}
	return posixZone(n)
}

// LoadSessionZone finds the zone of SET TIME ZONE, where a bare number counts
// hours east of Greenwich.
func LoadSessionZone(name string) (*Zone, error) {
	n := trimSpace(name)
	if hours, err := strconv.ParseFloat(n, 64); err == nil && math.Abs(hours) < 168 {
		off := int(hours * 3600)
		return FixedZone(fixedName(off), off), nil
	}
	if z := findZone(n, false); z != nil {
		return z, nil
	}
	return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"TimeZone\": \"%s\"", name)
}

// SaneZone finds the zone of make_timestamptz, where a signed number counts
// hours east of Greenwich.
func SaneZone(name string) (*Zone, error) {
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid input syntax for type numeric time zone: \"%s\"", name).
			WithHint("Numeric time zones must have \"-\" or \"+\" as first character.")
	}
	switch off, e := decodeOffset(name); e {
	case dtOK:
		return FixedZone(fixedName(off), off), nil
	case dtZone:
		return nil, pgerr.New(pgerr.InvalidParameterValue, "numeric time zone \"%s\" out of range", name)
	}
	return LoadZone(name)
}

// fixedName is the POSIX name PostgreSQL shows for an offset: <+02>-02.
func fixedName(off int) string {
	iso, inv := appendOffset(nil, off), appendOffset(nil, -off)
	return "<" + string(iso) + ">" + string(inv)
}

func isAlpha(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

func loadNamed(n string) *Zone {
	if n == "" || strings.EqualFold(n, "local") || strings.ContainsAny(n, "\\.") || n[0] == '/' {
		return nil
	}
	if strings.EqualFold(n, "utc") {
		return UTC()
	}
	for _, try := range []string{n, titleZone(n), strings.ToUpper(n)} {
		if loc, err := time.LoadLocation(try); err == nil {
			return &Zone{name: try, loc: loc}
		}
	}
	return nil
}

// titleZone spells europe/berlin as the database of zones does.
func titleZone(n string) string {
	b := []byte(strings.ToLower(n))
	start := true
	for i, c := range b {
		if start && c >= 'a' && c <= 'z' {
			b[i] = c - 32
		}
		start = c == '/' || c == '_' || c == '-'
	}
	s := string(b)
	if strings.HasPrefix(s, "Us/") {
		return "US/" + s[3:]
	}
	for _, w := range []string{"_Of_", "-Of-"} {
		s = strings.ReplaceAll(s, w, strings.ToLower(w))
	}
	return s
}

// ZoneCache keeps loaded zones by name; the zero value is ready. Keep one per
// session or process: loading a zone parses its rules.
type ZoneCache struct{ m sync.Map }

// Load returns the zone of LoadZone, loading it at most once.
func (c *ZoneCache) Load(name string) (*Zone, error) {
	if z, ok := c.m.Load(name); ok {
		return z.(*Zone), nil
	}
	z, err := LoadZone(name)
	if err == nil {
		c.m.Store(name, z)
	}
	return z, err
}

// atoiSmall reads up to nine digits.
func atoiSmall(s string) (int, bool) {
	if s == "" || len(s) > 9 {
		return 0, false
	}
	v := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		v = v*10 + int(s[i]-'0')
	}
	return v, true
}
