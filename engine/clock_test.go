package engine

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamdb/streamdb/types"
)

// timed are queries over the current time, written NOW, TODAY for its date.
var timed = map[string]string{
	"recent":   "SELECT id, at FROM ev WHERE at > NOW - interval '1 hour' AND at <= NOW + interval '30 minutes'",
	"day":      "SELECT d, count(*) FROM ev WHERE d = TODAY GROUP BY d",
	"computed": "SELECT id, NOW - at AS since, CASE WHEN at < NOW THEN 'past' ELSE 'future' END AS side, d - TODAY AS days FROM ev",
	"outer_":   "SELECT a.id, b.id AS b FROM ev a LEFT JOIN ev b ON b.id = a.id AND b.at > NOW",
	"full_":    "SELECT a.id, b.id AS b FROM ev a FULL JOIN ev b ON b.id = a.id AND b.at > NOW",
	"absent":   "SELECT id FROM ev a WHERE NOT EXISTS (SELECT FROM ev b WHERE b.id > a.id AND b.at < NOW)",
	"notin":    "SELECT id FROM ev WHERE id NOT IN (SELECT id FROM ev WHERE at BETWEEN NOW - interval '2 hours' AND NOW)",
	"grouped":  "SELECT at < NOW AS past, count(*), min(id) FROM ev GROUP BY 1",
	"latest":   "SELECT id, row_number() OVER (ORDER BY at DESC, id) FROM ev WHERE at < NOW",
	"twice":    "SELECT id, 1 AS part FROM ev WHERE at < NOW UNION ALL SELECT id, 2 FROM ev WHERE at >= NOW",
	"hours":    "SELECT h FROM generate_series(TODAY - 1, NOW, interval '6 hours') AS h",
	"alone":    "SELECT NOW AS t, TODAY AS d, extract(hour FROM NOW) AS h",
	"scalar":   "SELECT id, (SELECT count(*) FROM ev b WHERE b.at < NOW AND b.id <= a.id) AS n FROM ev a",
	"having_":  "SELECT d, max(at) FROM ev GROUP BY d HAVING max(at) > NOW - interval '1 day'",
}

// TestClock lets time pass in small and large steps, with and without changes of
// the rows, over restarts: each view is what its query yields at that time.
func TestClock(t *testing.T) {
	for _, rows := range []int{1, 1024} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			var now atomic.Int64
			day := int64(24 * 3600e6)
			now.Store(9000*day + day/2)
			cfg := config(t.TempDir())
			cfg.Now, cfg.ChunkRows = now.Load, rows
			e := open(t, cfg)
			c := connect(t, e)
			c.exec("SET timezone = 'UTC'")
			c.exec("CREATE TABLE ev (id int PRIMARY KEY, at timestamptz, d date)")
			insert := func(from int) {
				for i := range 6 {
					at := timeText(now.Load() + int64(i-3)*int64(25*60e6))
					c.exec("INSERT INTO ev VALUES (%d, '%s', '%s')", from+i, at, at[:10])
				}
				c.exec("INSERT INTO ev VALUES (%d, NULL, NULL)", from+6)
			}
			insert(0)
			for name, q := range timed {
				q = strings.NewReplacer("NOW", "now()", "TODAY", "current_date").Replace(q)
				c.exec("CREATE MATERIALIZED VIEW %s AS %s", name, q)
			}
			for i, step := range []int64{0, 10 * 60e6, 3600e6, 1, day, 0, day / 3, 40 * day} {
				now.Add(step)
				switch i % 4 {
				case 1:
					insert(100 * i)
				case 2:
					c.exec("UPDATE ev SET at = at + interval '1 hour' WHERE id %% 3 = 0")
				case 3:
					c.exec("DELETE FROM ev WHERE id %% 5 = 2")
				}
				if i == 3 || i == 6 {
					e.Close()
					e = open(t, cfg)
					c = connect(t, e)
					c.exec("SET timezone = 'UTC'")
				}
				checkTimed(t, c, timeText(now.Load()))
			}
		})
	}
}

func timeText(micros int64) string {
	return string(types.AppendText(nil, types.TTimestamptz, micros, &types.Options{}))
}

// checkTimed waits until the views tell the time, and compares them.
func checkTimed(t *testing.T, c *client, now string) {
	t.Helper()
	for name, q := range timed {
		q = strings.NewReplacer("NOW", "timestamptz '"+now+"'", "TODAY", "date '"+now[:10]+"'").Replace(q)
		poll(t, func() bool { return strings.HasPrefix(c.one("SELECT t FROM alone"), now) }, func() string { return "the clock stands still" })
		poll(t, func() bool {
			return strings.Join(c.query("SELECT * FROM "+name+" x ORDER BY x"), "\n") == strings.Join(c.query("SELECT * FROM ("+q+") x ORDER BY x"), "\n")
		}, func() string {
			return fmt.Sprintf("%s at %s:\n%s\nwant\n%s", name, now, c.one("SELECT * FROM "+name+" x ORDER BY x"), c.one("SELECT * FROM ("+q+") x ORDER BY x"))
		})
		c.want("CHECK MATERIALIZED VIEW "+name, "")
	}
}
