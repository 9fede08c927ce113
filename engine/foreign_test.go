package engine

import (
	"testing"
	"time"
)

// Sessions that insert rows and sessions that delete what these reference never leave
// a row that references nothing.
func TestForeignKeysUnderConcurrency(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE u (id int UNIQUE)")
	c.exec("CREATE TABLE ch (id int PRIMARY KEY, p int REFERENCES p, u int REFERENCES u (id) ON DELETE CASCADE); CREATE INDEX ON ch (u)")
	c.exec("CREATE MATERIALIZED VIEW lost AS SELECT ch.id FROM ch LEFT JOIN p ON p.id = ch.p LEFT JOIN u ON u.id = ch.u WHERE p.id IS NULL OR u.id IS NULL")
	c.exec("INSERT INTO p SELECT generate_series(0, 9); INSERT INTO u SELECT generate_series(0, 9)")
	done := make(chan error, 4)
	work := func(w int) {
		l, err := e.OpenLocal()
		if err != nil {
			done <- err
			return
		}
		defer l.Close()
		s := &client{t, l}
		for i := range 60 {
			k := (i*7 + w*3) % 10
			if w < 2 {
				_ = s.try("INSERT INTO ch VALUES (%d, %d, %d)", w*1000+i, k, (k+i)%10)
				continue
			}
			_ = s.try("BEGIN")
			_ = s.try("DELETE FROM p WHERE id = %d", k)
			_ = s.try("DELETE FROM u WHERE id = %d", k)
			if s.try("COMMIT") != nil {
				_ = s.try("ROLLBACK")
			}
			_ = s.try("INSERT INTO p VALUES (%d)", k)
			_ = s.try("INSERT INTO u VALUES (%d)", k)
		}
		done <- nil
	}
	for w := range 4 {
		go work(w)
	}
	for range 4 {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatal("the sessions do not end")
		}
	}
	c.want("SELECT * FROM lost", "")
	c.want("SELECT count(*) FROM ch WHERE p NOT IN (SELECT id FROM p) OR u NOT IN (SELECT id FROM u)", "0")
	if c.one("SELECT count(*) > 0 FROM ch") != "t" {
		t.Fatal("no row was kept")
	}
}
