package engine

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
)

// A full disk, noticed beforehand or by a write that fails, fails the statement
// that writes. Reads go on, views stay right, objects can be dropped, and the
// same statement works once there is space.
func TestDiskFullFailsTheStatement(t *testing.T) {
	for _, how := range []string{"known", "found"} {
		mem := vfs.NewMem()
		var full atomic.Bool
		fs := vfs.WithFaults(mem, func(op vfs.Op) error {
			write := op.Kind == vfs.OpFileWrite || op.Kind == vfs.OpFileWriteAt || op.Kind == vfs.OpCreate
			if full.Load() && how == "found" && write && (strings.HasSuffix(op.Path, ".sst") || strings.HasSuffix(op.Path, ".seg")) {
				return syscall.ENOSPC
			}
			return nil
		})
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 30, TotalBytes: 1 << 30})
		cfg := config("data")
		cfg.Fs = fs
		e := open(t, cfg)
		c := connect(t, e)
		c.exec("CREATE TABLE t (k int PRIMARY KEY, v text)")
		c.exec("CREATE TABLE spare (k int)")
		c.exec("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n, sum(k) AS s FROM t")
		c.exec("INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 100) g")
		insert := "INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(101, 10000) g"
		full.Store(true)
		if how == "known" {
			mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 32 << 20, TotalBytes: 1 << 30})
		}
		for range 2 {
			err := c.try("%s", insert)
			if pe := pgerr.From(err); pe == nil || pe.Code != pgerr.DiskFull || !strings.Contains(pe.Msg, "No space left on device") || pe.Hint == "" {
				t.Fatalf("%s: %v, hint %q", how, err, pe.Hint)
			}
			c.want("SELECT n, s FROM m", "100|5050")
			c.want("SELECT count(*) FROM t", "100")
		}
		c.exec("DROP TABLE spare")
		full.Store(false)
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 30, TotalBytes: 1 << 30})
		c.exec("%s", insert)
		c.want("SELECT n, s FROM m", "10000|50005000")
		c.exec("DELETE FROM t WHERE k > 50")
		c.want("SELECT n, s FROM m", "50|1275")
	}
}
