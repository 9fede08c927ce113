package sqllogic

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// session is one named connection of a file. It remembers the settings that
// were made on it, so that a connection after a restart is in the same state.
type session struct {
	dsn      func() string
	conn     *pgconn.PgConn
	settings []string // statements to repeat after a reconnect
	pending  []string // settings of the open transaction
}

// connectTimeout bounds one attempt to connect, statementTimeout a statement.
const (
	connectTimeout   = 20 * time.Second
	statementTimeout = 60 * time.Second
)

// result is what one record's SQL returned.
type result struct {
	columns int
	rows    [][]string
	count   int64 // rows affected, of the last statement
}

var (
	setPattern   = regexp.MustCompile(`(?is)^\s*(SET|RESET)\s`)
	localPattern = regexp.MustCompile(`(?is)^\s*SET\s+(LOCAL|TRANSACTION|CONSTRAINTS)\s`)
	clearPattern = regexp.MustCompile(`(?is)^\s*(RESET\s+ALL|DISCARD\s+ALL)\b`)
)

// exec runs SQL by the simple protocol, connecting first when necessary.
func (s *session) exec(ctx context.Context, sql string) (*result, error) {
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	res, err := simpleQuery(ctx, s.conn, sql)
	s.note(sql, err)
	return res, err
}

func (s *session) connect(ctx context.Context) error {
	if s.conn != nil && !s.conn.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgconn.Connect(ctx, s.dsn())
	if err != nil {
		return err
	}
	s.conn = conn
	for _, sql := range s.settings {
		if _, err := simpleQuery(ctx, conn, sql); err != nil {
			return errors.Join(errors.New("repeating "+sql+" on the new connection"), err)
		}
	}
	return nil
}

// note keeps the record of settings. Those made inside a transaction count
// only once it commits.
func (s *session) note(sql string, err error) {
	if s.conn.IsClosed() {
		s.pending = nil
		return
	}
	if err == nil {
		switch {
		case clearPattern.MatchString(sql):
			s.settings, s.pending = nil, nil
		case setPattern.MatchString(sql) && !localPattern.MatchString(sql):
			s.pending = append(s.pending, sql)
		case strings.HasPrefix(strings.ToUpper(strings.TrimSpace(sql)), "ROLLBACK") && !s.inTransaction():
			s.pending = nil
		}
	}
	if !s.inTransaction() {
		if err == nil {
			s.settings = append(s.settings, s.pending...)
		}
		s.pending = nil
	}
}

func (s *session) inTransaction() bool {
	return s.conn != nil && !s.conn.IsClosed() && s.conn.TxStatus() != 'I'
}

// drop forgets the connection without a farewell: its server is gone.
func (s *session) drop() {
	if s.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.conn.Close(ctx)
		s.conn = nil
	}
}

// simpleQuery sends sql as one Query message and gathers all rows as text.
func simpleQuery(ctx context.Context, conn *pgconn.PgConn, sql string) (*result, error) {
	out := &result{}
	multi := conn.Exec(ctx, sql)
	for multi.NextResult() {
		reader := multi.ResultReader()
		out.columns = len(reader.FieldDescriptions())
		for reader.NextRow() {
			row := make([]string, 0, out.columns)
			for _, v := range reader.Values() {
				row = append(row, showValue(v))
			}
			out.rows = append(out.rows, row)
		}
		tag, err := reader.Close()
		if err != nil {
			multi.Close()
			return out, err
		}
		out.count = tag.RowsAffected()
	}
	return out, multi.Close()
}

// errorText is the text that error expectations are matched with.
func errorText(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err.Error()
	}
	text := pg.Error()
	if pg.Detail != "" {
		text += "\nDETAIL: " + pg.Detail
	}
	if pg.Hint != "" {
		text += "\nHINT: " + pg.Hint
	}
	return text
}
