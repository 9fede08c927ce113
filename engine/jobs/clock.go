package jobs

import (
	"time"
)

// NowMicros is the time in µs since 2000-01-01 UTC.
func NowMicros() int64 { return time.Now().UnixMicro() - EpochUnixMicros }

// EpochUnixMicros is 2000-01-01 00:00 UTC in µs since 1970.
const EpochUnixMicros = 946684800 * 1000000
