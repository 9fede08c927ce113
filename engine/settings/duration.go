package settings

import (
	"math"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// TimeoutSettings are the parameters that limit how long a session waits.
func TimeoutSettings() []Setting {
	return []Setting{
		{"idle_in_transaction_session_timeout", "0", "Sets the maximum allowed idle time between queries, when in a transaction.", "user", durationValue},
		{"idle_session_timeout", "0", "Sets the maximum allowed idle time between queries, when not in a transaction.", "user", durationValue},
		{"lock_timeout", "0", "Sets the maximum allowed duration of any wait for a lock.", "user", durationValue},
		{"statement_timeout", "0", "Sets the maximum allowed duration of any statement.", "user", durationValue},
	}
}

// timeUnits are the units of settings that are times, the greatest first.
var timeUnits = []struct {
	name string
	ms   float64
}{{"d", 86400000}, {"h", 3600000}, {"min", 60000}, {"s", 1000}, {"ms", 1}, {"us", 0.001}}

// durationValue takes PostgreSQL's times (500, 500ms, 5s, 2 min; a plain number is
// milliseconds) and gives them as PostgreSQL shows them, in the greatest unit of
// which they are whole.
func durationValue(name, v string) (string, error) {
	ms, bad := ParseMillis(v)
	switch {
	case bad == badUnit:
		return "", badValue(name, v).WithHint(`Valid units for this parameter are "us", "ms", "s", "min", "h", and "d".`)
	case bad == badRange:
		return "", badValue(name, v).WithHint("Value exceeds integer range.")
	case bad == badNumber:
		return "", badValue(name, v)
	case ms < 0:
		return "", pgerr.New(pgerr.InvalidParameterValue, "%d ms is outside the valid range for parameter \"%s\" (0 .. 2147483647)", ms, name)
	case ms == 0:
		return "0", nil
	}
	for _, u := range timeUnits {
		if n := ms / int64(u.ms); n*int64(u.ms) == ms {
			return strconv.FormatInt(n, 10) + u.name, nil
		}
	}
	return strconv.FormatInt(ms, 10), nil
}

// What can be wrong with a time.
const (
	badNumber = iota + 1
	badUnit
	badRange
)

// ParseMillis reads a time as whole milliseconds; bad is 0 if it is one.
func ParseMillis(v string) (ms int64, bad int) {
	v = strings.Trim(v, " \t\n\v\f\r")
	n := numberLength(v)
	unit := strings.TrimLeft(v[n:], " \t\n\v\f\r")
	var f float64
	if i, err := strconv.ParseInt(v[:n], 0, 64); err == nil {
		f = float64(i)
	} else if f, err = strconv.ParseFloat(v[:n], 64); err != nil && !math.IsInf(f, 0) {
		return 0, badNumber
	}
	if unit != "" {
		bad = badUnit
		for i, u := range timeUnits {
			if u.name == unit {
				f, bad = f*u.ms, 0
				if i+1 < len(timeUnits) { // a part of a unit is rounded to the next smaller one
					f = math.RoundToEven(f/timeUnits[i+1].ms) * timeUnits[i+1].ms
				}
			}
		}
	}
	if bad != 0 {
		return 0, bad
	}
	f = math.RoundToEven(f)
	if f > math.MaxInt32 || f < math.MinInt32 {
		return 0, badRange
	}
	return int64(f), 0
}

// numberLength is how many bytes at the start of s are a number.
func numberLength(s string) int {
	i := 0
	digits := func(set string) {
		for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
			i++
		}
	}
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	if strings.HasPrefix(s[i:], "0x") || strings.HasPrefix(s[i:], "0X") {
		i += 2
		digits("0123456789abcdefABCDEF")
		return i
	}
	digits("0123456789")
	if i < len(s) && s[i] == '.' {
		i++
		digits("0123456789")
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		was := i
		if i++; i < len(s) && (s[i] == '-' || s[i] == '+') {
			i++
		}
		at := i
		if digits("0123456789"); i == at {
			i = was
		}
	}
	return i
}
