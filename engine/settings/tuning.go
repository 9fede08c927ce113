package settings

import (
	"strconv"
	"strings"
)

// tuning are the parameters of PostgreSQL's planner, memory, logging and statistics
// that clients set. None of them changes a result, and here none has an effect:
// plans are made without them, and memory is bounded by the server's own limits.
// What would change results (session_replication_role, transform_null_equals, …) is
// not among them.
func tuning() (out []Setting) {
	add := func(name, def string, check func(name, v string) (string, error)) {
		out = append(out, Setting{name, def, "Compatibility; has no effect.", "user", check})
	}
	for _, n := range switchesOn {
		add(n, "on", Bool)
	}
	for _, n := range switchesOff {
		add(n, "off", Bool)
	}
	for _, q := range quantities {
		add(q.name, q.def, quantityValue)
	}
	for _, c := range choices {
		add(c.name, c.def, oneOf(strings.Split(c.values, ",")...))
	}
	for _, n := range texts {
		add(n.name, n.def, nil)
	}
	return out
}

var switchesOn = []string{
	"check_function_bodies", "enable_async_append", "enable_bitmapscan", "enable_gathermerge", "enable_hashagg",
	"enable_hashjoin", "enable_incremental_sort", "enable_indexonlyscan", "enable_indexscan", "enable_material",
	"enable_memoize", "enable_mergejoin", "enable_nestloop", "enable_parallel_append", "enable_parallel_hash",
	"enable_partition_pruning", "enable_seqscan", "enable_sort", "enable_tidscan", "geqo", "jit_expressions",
	"jit_tuple_deforming", "parallel_leader_participation", "synchronize_seqscans", "track_activities", "track_counts",
	"update_process_title",
}

var switchesOff = []string{
	"enable_partitionwise_aggregate", "enable_partitionwise_join", "jit_dump_bitcode", "log_duration",
	"log_executor_stats", "log_lock_waits", "log_parser_stats", "log_planner_stats", "log_replication_commands",
	"log_statement_stats", "track_io_timing", "track_wal_io_timing",
}

// quantities are numbers, some with a unit, and the values they have.
var quantities = []struct{ name, def string }{
	{"backend_flush_after", "0"}, {"commit_delay", "0"}, {"commit_siblings", "5"}, {"cpu_index_tuple_cost", "0.005"},
	{"cpu_operator_cost", "0.0025"}, {"cpu_tuple_cost", "0.01"}, {"cursor_tuple_fraction", "0.1"},
	{"deadlock_timeout", "1s"}, {"default_statistics_target", "100"}, {"effective_cache_size", "4GB"},
	{"effective_io_concurrency", "1"}, {"from_collapse_limit", "8"}, {"geqo_effort", "5"}, {"geqo_generations", "0"},
	{"geqo_pool_size", "0"}, {"geqo_seed", "0"}, {"geqo_selection_bias", "2"}, {"geqo_threshold", "12"},
	{"gin_fuzzy_search_limit", "0"}, {"gin_pending_list_limit", "4MB"}, {"hash_mem_multiplier", "2"},
	{"jit_above_cost", "100000"}, {"jit_inline_above_cost", "500000"}, {"jit_optimize_above_cost", "500000"},
	{"join_collapse_limit", "8"}, {"log_min_duration_sample", "-1"}, {"log_min_duration_statement", "-1"},
	{"log_parameter_max_length", "-1"}, {"log_parameter_max_length_on_error", "0"}, {"log_statement_sample_rate", "1"},
	{"log_temp_files", "-1"}, {"log_transaction_sample_rate", "0"}, {"logical_decoding_work_mem", "64MB"},
	{"maintenance_io_concurrency", "10"}, {"maintenance_work_mem", "64MB"}, {"max_parallel_maintenance_workers", "2"},
	{"max_parallel_workers", "8"}, {"max_parallel_workers_per_gather", "2"}, {"max_stack_depth", "2MB"},
	{"min_parallel_index_scan_size", "512kB"}, {"min_parallel_table_scan_size", "8MB"}, {"parallel_setup_cost", "1000"},
	{"parallel_tuple_cost", "0.1"}, {"random_page_cost", "4"}, {"recursive_worktable_factor", "10"},
	{"seq_page_cost", "1"}, {"tcp_keepalives_count", "9"}, {"tcp_keepalives_idle", "7200"},
	{"tcp_keepalives_interval", "75"}, {"tcp_user_timeout", "0"}, {"temp_buffers", "8MB"}, {"vacuum_cost_delay", "0"},
	{"vacuum_cost_limit", "200"}, {"vacuum_cost_page_dirty", "20"}, {"vacuum_cost_page_hit", "1"},
	{"vacuum_cost_page_miss", "2"}, {"vacuum_failsafe_age", "1600000000"}, {"vacuum_freeze_min_age", "50000000"},
	{"vacuum_freeze_table_age", "150000000"}, {"vacuum_multixact_failsafe_age", "1600000000"},
	{"vacuum_multixact_freeze_min_age", "5000000"}, {"vacuum_multixact_freeze_table_age", "150000000"},
	{"wal_skip_threshold", "2MB"},
}

var choices = []struct{ name, def, values string }{
	{"compute_query_id", "auto", "auto,regress,on,off"},
	{"constraint_exclusion", "partition", "partition,on,off"},
	{"default_toast_compression", "pglz", "pglz,lz4"},
	{"force_parallel_mode", "off", "off,on,regress"},
	{"log_error_verbosity", "default", "terse,default,verbose"},
	{"log_min_error_statement", "error", "debug5,debug4,debug3,debug2,debug1,info,notice,warning,error,log,fatal,panic"},
	{"log_min_messages", "warning", "debug5,debug4,debug3,debug2,debug1,info,notice,warning,error,log,fatal,panic"},
	{"log_statement", "none", "none,ddl,mod,all"},
	{"plan_cache_mode", "auto", "auto,force_generic_plan,force_custom_plan"},
	{"stats_fetch_consistency", "cache", "none,cache,snapshot"},
	{"track_functions", "none", "none,pl,all"},
}

var texts = []struct{ name, def string }{
	{"default_text_search_config", "pg_catalog.english"}, {"temp_tablespaces", ""},
}

// quantityValue takes a number, with or without a unit of memory or time.
func quantityValue(name, v string) (string, error) {
	v = strings.TrimSpace(v)
	n := strings.TrimRight(v, "kMGTBusmsinhd")
	if _, err := strconv.ParseFloat(strings.TrimSpace(n), 64); err != nil {
		return "", badValue(name, v)
	}
	switch unit := v[len(n):]; unit {
	case "", "B", "kB", "MB", "GB", "TB", "us", "ms", "s", "min", "h", "d":
		return v, nil
	}
	return "", badValue(name, v)
}
