package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/pgerr"
)

// checkSourcePolicy checks the option.
func checkSourcePolicy(o *catalog.Source) error {
	switch v := jobs.SourcePolicy(o); v {
	case "dead_letter", "null", "skip", "fail":
		return nil
	default:
		return pgerr.New(pgerr.InvalidParameterValue, "invalid value for option \"on_error\": \"%s\"", v).
			WithHint("Available values: dead_letter, null, skip, fail.")
	}
}
