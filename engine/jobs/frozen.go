package jobs

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/types"
)

// Frozen settings of jobs, besides those of the session.
const (
	SettingParallelism = "parallelism"
	SettingOnError     = "on_error"
	SettingNow         = "now"
	SettingDatabase    = "database" // its name
	SettingSizes       = planner.SettingSizes
	SettingShared      = planner.SettingShared
	SettingIndexes     = planner.SettingIndexes
	SettingIntervals   = "intervalstyle"
	SettingDigits      = "extra_float_digits"
	SettingDates       = "datestyle"
)

func parallelism(m map[string]string) int {
	n, err := strconv.Atoi(m[SettingParallelism])
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// Policy is what frozen settings say of rows that cannot be computed.
func Policy(m map[string]string) ErrorPolicy {
	if m[SettingOnError] == "fail" {
		return OnErrorFail
	}
	return onErrorDeadLetter
}

// FrozenSession is the evaluation session of a job.
func (e *Runner) FrozenSession(path []string, m map[string]string) *expr.Session {
	now, _ := strconv.ParseInt(m[SettingNow], 10, 64)
	s := &expr.Session{User: catalog.Owner, Database: cmp.Or(m[SettingDatabase], catalog.Owner), SearchPath: path, NowMicros: now}
	s.Options.Now = func() int64 { return now }
	if z, err := types.LoadSessionZone(m["timezone"]); err == nil {
		s.Options.Zone = z
	}
	s.Options.IntervalStyle = IntervalStyle(m[SettingIntervals])
	SetDateStyle(&s.Options, m[SettingDates])
	if n, err := strconv.Atoi(m[SettingDigits]); err == nil {
		s.Options.ExtraFloatDigits = n - 1
	}
	s.Setting = func(n string) (string, bool) { v, ok := m[n]; return v, ok }
	return s
}

// SetDateStyle puts a value of DateStyle into the options.
func SetDateStyle(o *types.Options, v string) {
	o.DateStyle, o.DateOrder, _ = strings.Cut(v, ", ")
	if o.DateStyle == "ISO" {
		o.DateStyle = ""
	}
	if o.DateOrder == "MDY" {
		o.DateOrder = ""
	}
}

// IntervalStyle is a value of IntervalStyle as types.Options has it.
func IntervalStyle(v string) string {
	if v == "postgres" {
		return ""
	}
	return v
}
