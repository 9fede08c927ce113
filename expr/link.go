package expr

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var errIntervalRange = pgerr.New(pgerr.DatetimeFieldOverflow, "interval out of range")
