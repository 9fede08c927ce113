package engine

import (
	"strconv"

	"github.com/streamdb/streamdb/engine/jobs"
)

// freeze returns the settings of the session a new job's meaning depends on.
func (s *Session) freeze(onError string, reads []uint32) map[string]string {
	return map[string]string{
		jobs.SettingSizes:       s.eng.RelationSizes(reads),
		jobs.SettingShared:      s.values[jobs.SettingShared],
		jobs.SettingIndexes:     s.eng.UsableIndexes(reads),
		"timezone":              s.values["timezone"],
		jobs.SettingIntervals:   s.values[jobs.SettingIntervals],
		jobs.SettingDigits:      s.values[jobs.SettingDigits],
		jobs.SettingDates:       s.values[jobs.SettingDates],
		jobs.SettingParallelism: strconv.Itoa(s.eng.Config.Parallelism),
		jobs.SettingOnError:     onError,
		jobs.SettingDatabase:    s.database,
		jobs.SettingNow:         strconv.FormatInt(s.expr.NowMicros, 10),
	}
}
