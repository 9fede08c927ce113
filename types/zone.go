package types

import (
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
	name string
	loc  *time.Location
	last atomic.Pointer[zoneSpan]
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
func (z *Zone) Offset(us int64) int { return z.span(floorDiv(us, usPerSec) + unixToPG).off }

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

// zoneAbbrevs are the abbreviations read in timestamps, in seconds east.
var zoneAbbrevs = map[string]int{
	"utc": 0, "gmt": 0, "z": 0, "zulu": 0, "ut": 0, "uct": 0, "wet": 0,
	"est": -5 * 3600, "edt": -4 * 3600, "cst": -6 * 3600, "cdt": -5 * 3600,
	"mst": -7 * 3600, "mdt": -6 * 3600, "pst": -8 * 3600, "pdt": -7 * 3600,
	"akst": -9 * 3600, "akdt": -8 * 3600, "hst": -10 * 3600, "ast": -4 * 3600, "adt": -3 * 3600,
	"cet": 3600, "cest": 7200, "met": 3600, "mest": 7200, "eet": 7200, "eest": 10800, "west": 3600,
	"bst": 3600, "ist": 7200, "msk": 10800, "jst": 32400, "kst": 32400, "hkt": 28800, "sgt": 28800,
	"aest": 36000, "aedt": 39600, "acst": 34200, "acdt": 37800, "awst": 28800,
	"nzst": 43200, "nzdt": 46800, "brt": -10800, "art": -10800, "sast": 7200, "pkt": 18000,
}

// LoadZone finds the zone of AT TIME ZONE, date_trunc and the like: an IANA
// name in any case, an abbreviation, or a POSIX form such as UTC-3, whose sign
// counts west of Greenwich. 22023 when unknown.
func LoadZone(name string) (*Zone, error) {
	n := trimSpace(name)
	if off, ok := zoneAbbrevs[strings.ToLower(n)]; ok && !strings.EqualFold(n, "utc") {
		return FixedZone(strings.ToUpper(n), off), nil
	}
	if z := loadNamed(n); z != nil {
		return z, nil
	}
	i := strings.IndexAny(n, "+-0123456789")
	posix := i >= 0 && isAlpha(n[:i])
	if end := strings.IndexByte(n, '>'); end > 1 && n[0] == '<' && end+1 < len(n) {
		i, posix = end+1, true // the name stands in <>: <+02>-02
	}
	if posix {
		rest := n[i:]
		if rest[0] != '+' && rest[0] != '-' {
			rest = "+" + rest
		}
		if off, ok := parseOffset(rest); ok {
			return FixedZone(n, -off), nil
		}
	}
	return nil, pgerr.New(pgerr.InvalidParameterValue, "time zone \"%s\" not recognized", name)
}

// LoadSessionZone finds the zone of SET TIME ZONE, where a bare number counts
// hours east of Greenwich.
func LoadSessionZone(name string) (*Zone, error) {
	n := trimSpace(name)
	if n != "" && strings.IndexByte("+-0123456789", n[0]) >= 0 {
		t := n
		if n[0] != '+' && n[0] != '-' {
			t = "+" + n
		}
		if off, ok := parseOffset(t); ok {
			return FixedZone(fixedName(off), off), nil
		}
	}
	z, err := LoadZone(n)
	if err != nil {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"TimeZone\": \"%s\"", name)
	}
	return z, nil
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

// parseOffset reads +HH, +HHMM, +HH:MM or +HH:MM:SS into seconds east.
func parseOffset(s string) (int, bool) {
	if len(s) < 2 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	neg, s := s[0] == '-', s[1:]
	var p [3]int
	if strings.IndexByte(s, ':') >= 0 {
		fs := strings.Split(s, ":")
		if len(fs) > 3 {
			return 0, false
		}
		for i, f := range fs {
			v, ok := atoiSmall(f)
			if !ok || len(f) > 2 {
				return 0, false
			}
			p[i] = v
		}
	} else {
		v, ok := atoiSmall(s)
		if !ok {
			return 0, false
		}
		switch {
		case len(s) <= 2:
			p[0] = v
		case len(s) <= 4:
			p[0], p[1] = v/100, v%100
		case len(s) <= 6:
			p[0], p[1], p[2] = v/10000, v/100%100, v%100
		default:
			return 0, false
		}
	}
	if p[0] > 15 || p[1] > 59 || p[2] > 59 {
		return 0, false
	}
	off := p[0]*3600 + p[1]*60 + p[2]
	if neg {
		off = -off
	}
	return off, true
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
