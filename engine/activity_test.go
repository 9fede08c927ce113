package engine

import "testing"

// After a restart SHOW JOBS knows at once how much state was loaded.
func TestStateBytesAfterRestart(t *testing.T) {
	dir := t.TempDir()
	e := open(t, config(dir))
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int, b text)")
	c.exec("INSERT INTO t SELECT i, 'text ' || i FROM generate_series(1, 5000) i")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n, max(b) AS m FROM t GROUP BY a")
	const q = "SELECT state_bytes > 100000 FROM streamdb_catalog.jobs"
	c.want(q, "t")
	e.Close()
	c = connect(t, open(t, config(dir)))
	c.want(q, "t")
}

func TestClientAddress(t *testing.T) {
	for remote, want := range map[string]struct {
		host string
		port int32
	}{"127.0.0.1:5432": {"127.0.0.1", 5432}, "[::1]:80": {"::1", 80}, "@": {"", -1}, "": {"", -1}} {
		if h, p := clientAddress(remote); h != want.host || p != want.port {
			t.Errorf("%q: %q %d", remote, h, p)
		}
	}
}
