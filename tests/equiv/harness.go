package equiv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamdb/streamdb/tests/serverproc"
)

// queryTimeout turns a hanging statement into a failure.
const queryTimeout = 20 * time.Second

// harness holds the two servers and a connection to each.
type harness struct {
	bin, dir string
	env      []string
	starts   int
	server   *serverproc.Server
	postgres *serverproc.Postgres
	sdb, pg  *pgconn.PgConn
	made     []string // statements that drop what the current case made
}

func newHarness(bin, dir string, env []string) (*harness, error) {
	h := &harness{bin: bin, dir: dir, env: env}
	var err error
	if h.postgres, err = serverproc.StartPostgres(); err != nil {
		return nil, err
	}
	if h.pg, err = connect(h.postgres.DSN("postgres")); err != nil {
		return nil, err
	}
	return h, h.fresh()
}

// fresh starts a StreamDB without data, ending the one before.
func (h *harness) fresh() error {
	if h.server != nil {
		h.server.Kill()
		os.RemoveAll(h.data())
	}
	h.starts++
	h.made = nil
	var err error
	if h.server, err = serverproc.Start(serverproc.Options{Bin: h.bin, Data: h.data(), Env: h.env}); err != nil {
		return err
	}
	h.sdb, err = connect(h.server.DSN())
	return err
}

func (h *harness) data() string { return filepath.Join(h.dir, fmt.Sprintf("data%d", h.starts)) }

// restart kills StreamDB and starts it on the same data.
func (h *harness) restart() error {
	if err := h.server.Restart(); err != nil {
		return err
	}
	var err error
	h.sdb, err = connect(h.server.DSN())
	return err
}

func (h *harness) close() {
	if h.server != nil {
		h.server.Kill()
	}
	h.postgres.Stop()
}

// clear drops everything on both servers. A statement that took PostgreSQL too long
// has cost the connection.
func (h *harness) clear() error {
	if h.pg.IsClosed() {
		var err error
		if h.pg, err = connect(h.postgres.DSN("postgres")); err != nil {
			return err
		}
	}
	if _, err := query(h.pg, "ROLLBACK; DROP SCHEMA public CASCADE; CREATE SCHEMA public; SET client_min_messages = error; SET jit = off"); err != nil {
		return err
	}
	if !h.server.Alive() || h.sdb.IsClosed() {
		return h.fresh()
	}
	for i := len(h.made) - 1; i >= 0; i-- {
		if _, err := query(h.sdb, h.made[i]); err != nil {
			return h.fresh()
		}
	}
	h.made = nil
	return nil
}

func connect(dsn string) (*pgconn.PgConn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	return pgconn.Connect(ctx, dsn)
}

// answer is what a statement returned.
type answer struct {
	header []string // name and type of each column
	types  []uint32
	rows   [][]string
	count  int64 // rows affected
}

func query(conn *pgconn.PgConn, sql string) (*answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	out := &answer{}
	results := conn.Exec(ctx, sql)
	for results.NextResult() {
		reader := results.ResultReader()
		for _, f := range reader.FieldDescriptions() {
			out.header = append(out.header, fmt.Sprintf("%s:%d", f.Name, f.DataTypeOID))
			out.types = append(out.types, f.DataTypeOID)
		}
		for reader.NextRow() {
			row := make([]string, 0, len(out.header))
			for _, v := range reader.Values() {
				row = append(row, showValue(v))
			}
			out.rows = append(out.rows, row)
		}
		tag, err := reader.Close()
		if err != nil {
			results.Close()
			return out, err
		}
		out.count += tag.RowsAffected()
	}
	return out, results.Close()
}

// showValue is the text of a value as files of package sqllogic write it.
func showValue(v []byte) string {
	switch {
	case v == nil:
		return "NULL"
	case len(v) == 0:
		return "(empty)"
	}
	return string(v)
}

// sqlState is the code of a server's error, empty for a lost connection.
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

var details = regexp.MustCompile(`"[^"]*"|[0-9]+`)

// reason is an error's code and message without names and numbers, by which
// errors of one cause are gathered.
func reason(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return details.ReplaceAllString(err.Error(), "…")
	}
	return pg.Code + " " + details.ReplaceAllString(pg.Message, "…")
}
