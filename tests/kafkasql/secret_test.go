package kafkasql

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/streamdb/streamdb/engine"
	"github.com/streamdb/streamdb/pgerr"
)

const password = "tr0ub4dor&3-horse"

// Secrets are in no file, no statement's text, no catalog table and no error; and
// they work, after restarts too.
func TestSecrets(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "me", password), kfake.SeedTopics(1, "in", "out"))
	w.cfg.Log = textLog(&log)
	w.restart()
	login := ", properties.security.protocol = 'SASL_PLAINTEXT', properties.sasl.username = 'me', properties.sasl.password = "
	w.fails(`CREATE SOURCE s (id int)`+w.with("in", login+"SECRET pw")+` FORMAT PLAIN ENCODE JSON`, pgerr.UndefinedObject)
	w.exec(`CREATE SECRET pw AS '` + password + `'`)
	w.fails(`CREATE SECRET pw AS 'other'`, pgerr.DuplicateObject)
	w.exec(`CREATE SECRET IF NOT EXISTS pw AS 'other'`)
	w.exec(`CREATE SECRET wrong AS 'other'`)
	w.fails(`CREATE SECRET x WITH (backend = 'vault') AS 'y'`, pgerr.InvalidParameterValue)
	w.fails(`CREATE SOURCE s (id int)`+w.with("in", login+"SECRET wrong")+` FORMAT PLAIN ENCODE JSON`, pgerr.ConnectionException)
	w.exec(`CREATE SOURCE named (id int)` + w.with("in", login+"SECRET pw") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE SOURCE inline (id int)` + w.with("in", login+"$$"+password+"$$") + ` FORMAT PLAIN ENCODE JSON`)
	w.exec(`CREATE MATERIALIZED VIEW a AS SELECT id FROM named`)
	w.exec(`CREATE SINK k FROM a` + w.with("out", login+"'"+password+"'") + ` FORMAT PLAIN ENCODE JSON`)
	if e := w.fails(`DROP SECRET pw`, pgerr.DependentObjectsStillExist); strings.Contains(e.Error()+e.Detail, password) {
		t.Error(e)
	}
	w.restart()
	w.exec(`CREATE MATERIALIZED VIEW b AS SELECT id FROM inline`)
	w.want(`SELECT name, status FROM streamdb_catalog.jobs`, "a|running", "b|running", "k|running")
	w.want(`SHOW SECRETS`, "pw", "wrong")
	for _, q := range []string{`SHOW CREATE SOURCE named`, `SHOW CREATE SOURCE inline`, `SHOW CREATE SINK k`, `SELECT query FROM pg_stat_activity`,
		`SELECT ftoptions FROM pg_foreign_table`, `SELECT array_agg(x)::text FROM streamdb_catalog.sinks x`} {
		rows, err := w.try(q)
		if err != nil && !strings.HasPrefix(q, "SELECT array_agg") {
			t.Errorf("%s: %v", q, err)
		}
		if strings.Contains(strings.Join(rows, "\n"), password) {
			t.Errorf("%s: %q", q, rows)
		}
	}
	if !strings.Contains(w.query(`SHOW CREATE SOURCE named`)[0], "SECRET pw") || !strings.Contains(w.query(`SHOW CREATE SINK k`)[0], "'***'") {
		t.Error(w.query(`SHOW CREATE SOURCE named`), w.query(`SHOW CREATE SINK k`))
	}
	w.eng.Close()
	if strings.Contains(log.String(), password) {
		t.Error("the password is in the log")
	}
	w.nowhere(password)
	// Another key is refused; so is none, once the file is gone.
	cfg := w.cfg
	cfg.MasterKey = []byte("0123456789abcdef0123456789abcdef")
	if _, err := engine.Open(cfg); pgerr.CodeOf(err) != pgerr.ConfigFileError {
		t.Error(err)
	}
	key, err := os.ReadFile(filepath.Join(w.cfg.Dir, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(w.cfg.Dir, "master.key")); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Open(w.cfg); pgerr.CodeOf(err) != pgerr.ConfigFileError {
		t.Error(err)
	}
	w.cfg.MasterKey = bytes.TrimSpace(key)
	w.open()
	w.exec(`DROP SINK k`)
	w.exec(`DROP SOURCE named CASCADE`)
	w.exec(`DROP SECRET pw`)
	w.fails(`DROP SECRET pw`, pgerr.UndefinedObject)
	w.exec(`DROP SECRET IF EXISTS pw`)
}

// nowhere checks that no file of the data directory holds a text.
func (w *world) nowhere(text string) {
	w.t.Helper()
	files := 0
	err := filepath.WalkDir(w.cfg.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			w.t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil || files < 3 {
		w.t.Fatal(files, err)
	}
}

func TestShortMasterKey(t *testing.T) {
	w := newWorld(t)
	w.eng.Close()
	w.cfg.MasterKey = []byte("short")
	w.open()
	w.fails(`CREATE SECRET pw AS 'x'`, pgerr.ConfigFileError)
}
