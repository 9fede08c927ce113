package main

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// Every query as a view over tables that are filled, changed and emptied in commits
// shows what the same query answers at that time.
func TestNexmarkQueriesAsViews(t *testing.T) {
	eng, err := openBench(0, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer eng.close()
	run := func(text string) {
		t.Helper()
		if err := eng.exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	count := func(text string) int64 {
		t.Helper()
		c, err := eng.session.Exec(context.Background(), text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return c.Cols[0].Datum(0).(int64)
	}
	const events = 4000
	run("CREATE SCHEMA feed")
	want := map[string]int64{"person": events / 50, "auction": events * 3 / 50, "bid": events * 46 / 50}
	for name, n := range want {
		run(fmt.Sprintf("CREATE SOURCE feed.%s WITH (connector = 'nexmark', type = '%s', events = '%d')", name, name, events))
		run(fmt.Sprintf("CREATE MATERIALIZED VIEW feed.all_%s AS SELECT * FROM feed.%s", name, name))
		for deadline := time.Now().Add(time.Minute); count("SELECT count(*) FROM feed.all_"+name) < n; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d events of %s", count("SELECT count(*) FROM feed.all_"+name), n, name)
			}
		}
		run(fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM feed.all_%s WHERE false", name, name))
	}
	for _, q := range nexmarkOrder {
		run("CREATE MATERIALIZED VIEW v_" + q + " AS " + nexmarkQueries[q])
	}
	for _, change := range []string{
		"INSERT INTO auction SELECT * FROM feed.all_auction WHERE id % 2 = 0",
		"INSERT INTO bid SELECT * FROM feed.all_bid WHERE bidder % 3 < 2",
		"INSERT INTO person SELECT * FROM feed.all_person",
		"INSERT INTO auction SELECT * FROM feed.all_auction WHERE id % 2 = 1",
		"DELETE FROM bid WHERE auction % 7 = 3",
		"UPDATE auction SET category = category + 1 WHERE id % 3 = 0",
		"UPDATE bid SET price = price * 2 WHERE bidder % 5 = 0",
		"INSERT INTO bid SELECT * FROM feed.all_bid WHERE bidder % 3 = 2",
		"DELETE FROM person WHERE id % 4 = 1",
		"UPDATE bid SET channel = 'Apple', url = replace(url, 'channel_id', 'x') WHERE bidder % 11 = 0",
		"DELETE FROM auction WHERE id % 5 = 2",
		"INSERT INTO person SELECT * FROM feed.all_person WHERE id % 4 = 1",
		"DELETE FROM bid",
		"INSERT INTO bid SELECT * FROM feed.all_bid",
	} {
		run(change)
		for _, q := range nexmarkOrder {
			text := fmt.Sprintf("SELECT (SELECT count(*) FROM (TABLE v_%s EXCEPT ALL (%s)) x) + (SELECT count(*) FROM ((%s) EXCEPT ALL TABLE v_%s) y)", q, nexmarkQueries[q], nexmarkQueries[q], q)
			if n := count(text); n != 0 {
				t.Errorf("after %s: view of %s and query differ in %d rows", change, q, n)
			}
		}
		if t.Failed() {
			return
		}
	}
	if n := count("SELECT count(*) FROM v_q20"); n == 0 {
		t.Error("q20 has no rows")
	}
}
