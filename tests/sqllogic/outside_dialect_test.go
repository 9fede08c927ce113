package sqllogic

import "regexp"

// outsideDialect changes the suite's SQL where that is harmless.
type outsideDialect struct {
	labels []string
	// rewrite returns the SQL to run; "" stands for nothing to do.
	rewrite func(sql string) string
}

var (
	// foreignSetting matches parameters that steer how RisingWave computes,
	// never what.
	foreignSetting = regexp.MustCompile(`(?is)^\s*(SET|RESET)\s+(SESSION\s+)?"?(rw_|streaming_|batch_|enable_|disable_|query_mode|implicit_flush|background_ddl|upsert_dml|visibility_mode|query_epoch|backfill_|sink_|source_|dml_|iceberg_|bypass_|max_split_|cdc_|unsafe_|create_compaction|insert_)\S*.*$`)
	waiting        = regexp.MustCompile(`(?is)^\s*(FLUSH|WAIT|RECOVER)\s*;?\s*$`)
	appendOnly     = regexp.MustCompile(`(?is)^(\s*CREATE\s+TABLE\b.*\))\s*APPEND\s+ONLY\s*;?\s*$`)
)

var streamdbDialect = outsideDialect{
	labels: []string{"streamdb", "serial"},
	rewrite: func(sql string) string {
		if foreignSetting.MatchString(sql) || waiting.MatchString(sql) {
			return ""
		}
		return sql
	},
}

// postgresDialect makes PostgreSQL follow further: materialized views are plain
// ones, and a table that only grows is a table.
var postgresDialect = outsideDialect{
	labels: streamdbDialect.labels,
	rewrite: func(sql string) string {
		if sql = streamdbDialect.rewrite(sql); sql == "" {
			return ""
		}
		return appendOnly.ReplaceAllString(plainViews(sql), "$1")
	},
}
