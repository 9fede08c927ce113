package wire_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
	"github.com/streamdb/streamdb/wire/wiretest"
)

// jars is the table of the tests' backend.
type jars struct {
	mu   sync.Mutex
	rows []string // id:v
}

func (j *jars) add(id int32, v string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rows = append(j.rows, fmt.Sprintf("%d:%s", id, v))
}

func (j *jars) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.rows...)
}

var (
	insertRE = regexp.MustCompile(`^INSERT INTO jars VALUES \((\d+),'(.*)'\)$`)
	seriesRE = regexp.MustCompile(`^SELECT series (\d+)$`)
	copyRE   = regexp.MustCompile(`^COPY jars (FROM STDIN|TO STDOUT)(?: (csv|binary|header))?$`)
)

func col(name string, t types.T) wire.Column { return wire.Column{Name: name, Type: t} }

// oneRow makes a SELECT of one row.
func oneRow(cols []wire.Column, f func(args []types.Datum) []types.Datum, params ...types.T) *wiretest.Stmt {
	return &wiretest.Stmt{Params: params, Columns: cols, Tag: "SELECT",
		Run: func(_ context.Context, _ *wiretest.Session, args []types.Datum) ([]*vec.Chunk, error) {
			c := vec.NewChunk(colTypes(cols), 1)
			c.AppendRow(1, f(args)...)
			return []*vec.Chunk{c}, nil
		}}
}

func colTypes(cols []wire.Column) (ts []types.T) {
	for _, c := range cols {
		ts = append(ts, c.Type)
	}
	return ts
}

func (j *jars) lookup(s *wiretest.Session, text string, _ []uint32) (*wiretest.Stmt, error) {
	if m := insertRE.FindStringSubmatch(text); m != nil {
		id, _ := strconv.Atoi(m[1])
		return j.insert(nil, int32(id), m[2]), nil
	}
	if m := seriesRE.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		return series(n), nil
	}
	if m := copyRE.FindStringSubmatch(text); m != nil {
		return j.copy(m[1] == "FROM STDIN", m[2]), nil
	}
	switch text {
	case "INSERT INTO jars VALUES ($1,$2)":
		return j.insert([]types.T{types.TInt4, types.TText}, 0, ""), nil
	case "SELECT count(*) FROM jars":
		return oneRow([]wire.Column{col("count", types.TInt8)}, func([]types.Datum) []types.Datum {
			return []types.Datum{int64(len(j.all()))}
		}), nil
	case "SELECT 42":
		return oneRow([]wire.Column{col("?column?", types.TInt4)}, func([]types.Datum) []types.Datum {
			return []types.Datum{int32(42)}
		}), nil
	case "SELECT $1 AS x":
		return oneRow([]wire.Column{col("x", types.TText)}, func(a []types.Datum) []types.Datum { return a }, types.TText), nil
	case "SELECT $1::int + 1 AS n, $2::text AS t, $3::timestamptz AS z":
		return oneRow([]wire.Column{col("n", types.TInt4), col("t", types.TText), col("z", types.TTimestamptz)},
			func(a []types.Datum) []types.Datum { return []types.Datum{a[0].(int32) + 1, a[1], a[2]} },
			types.TInt4, types.TText, types.TTimestamptz), nil
	case "SELECT $1::int AS n, $2::bytea AS b":
		return oneRow([]wire.Column{col("n", types.TInt4), col("b", types.TBytea)},
			func(a []types.Datum) []types.Datum { return a }, types.TInt4, types.TBytea), nil
	case `SELECT '\x000102'::bytea`:
		return oneRow([]wire.Column{col("bytea", types.TBytea)}, func([]types.Datum) []types.Datum {
			return []types.Datum{"\x00\x01\x02"}
		}), nil
	case "SELECT 1/0":
		return failing(pgerr.New(pgerr.DivisionByZero, "division by zero")), nil
	case "SELECT no_such":
		return nil, pgerr.New(pgerr.UndefinedColumn, `column "no_such" does not exist`).At(8)
	case "SELECT wait":
		return &wiretest.Stmt{Columns: []wire.Column{col("w", types.TInt4)}, Tag: "SELECT",
			Run: func(context.Context, *wiretest.Session, []types.Datum) ([]*vec.Chunk, error) {
				c := vec.NewChunk([]types.T{types.TInt4}, 1)
				c.AppendRow(1, int32(1))
				return []*vec.Chunk{c, vec.NewChunk([]types.T{types.TInt4}, 1), nil}, nil
			}}, nil
	case "SELECT panic":
		return &wiretest.Stmt{Run: func(context.Context, *wiretest.Session, []types.Datum) ([]*vec.Chunk, error) {
			panic("as asked")
		}}, nil
	case "SELECT notice":
		return &wiretest.Stmt{Tag: "SET", Run: func(_ context.Context, s *wiretest.Session, _ []types.Datum) ([]*vec.Chunk, error) {
			s.Startup.Client.Notice("WARNING", pgerr.New(pgerr.Warning, "careful").WithHint("Look twice."))
			s.Startup.Client.ParameterStatus("TimeZone", "Asia/Tokyo")
			return nil, nil
		}}, nil
	case "SELECT text of p":
		st, err := s.Startup.Client.Statements().Get("p")
		if err != nil {
			return nil, err
		}
		return oneRow([]wire.Column{col("text", types.TText)}, func([]types.Datum) []types.Datum { return []types.Datum{st.Text} }), nil
	case "SELECT weights":
		return &wiretest.Stmt{Columns: []wire.Column{col("w", types.TInt4)}, Tag: "SELECT",
			Run: func(context.Context, *wiretest.Session, []types.Datum) ([]*vec.Chunk, error) {
				c := vec.NewChunk([]types.T{types.TInt4}, 1)
				c.AppendRow(3, int32(7))
				c.AppendRow(1, nil)
				return []*vec.Chunk{c}, nil
			}}, nil
	}
	return nil, pgerr.New(pgerr.SyntaxError, "syntax error at or near \"%s\"", text).At(1)
}

func failing(err error) *wiretest.Stmt {
	return &wiretest.Stmt{Columns: []wire.Column{col("?column?", types.TInt4)}, Tag: "SELECT",
		Run: func(context.Context, *wiretest.Session, []types.Datum) ([]*vec.Chunk, error) { return nil, err }}
}

func (j *jars) insert(params []types.T, id int32, v string) *wiretest.Stmt {
	return &wiretest.Stmt{Params: params, Tag: "INSERT 0 1",
		Run: func(_ context.Context, s *wiretest.Session, args []types.Datum) ([]*vec.Chunk, error) {
			if args != nil {
				id, v = args[0].(int32), args[1].(string)
			}
			s.AtCommit(func() { j.add(id, v) })
			return nil, nil
		}}
}

func series(n int) *wiretest.Stmt {
	cols := []wire.Column{col("g", types.TInt4)}
	return &wiretest.Stmt{Columns: cols, Tag: "SELECT",
		Run: func(context.Context, *wiretest.Session, []types.Datum) (out []*vec.Chunk, _ error) {
			for i := 0; i < n; {
				c := vec.NewChunk(colTypes(cols), 1000)
				for ; i < n && c.Rows < 1000; i++ {
					c.AppendRow(1, int32(i+1))
				}
				out = append(out, c)
			}
			return out, nil
		}}
}

func (j *jars) copy(from bool, option string) *wiretest.Stmt {
	cols := []wire.Column{col("id", types.TInt4), col("v", types.TText)}
	kind := wire.CopyText
	switch option {
	case "csv":
		kind = wire.CopyCSV
	case "binary":
		kind = wire.CopyBinary
	}
	cp := &wire.Copy{Columns: cols, Format: wire.DefaultCopy(kind), Table: "jars"}
	cp.Format.Header = option == "header"
	st := &wiretest.Stmt{Tag: "COPY", Copy: cp}
	if from {
		var got []string
		cp.Write = func(_ context.Context, c *vec.Chunk) error {
			for i := range c.Rows {
				got = append(got, fmt.Sprintf("%v:%v", c.Cols[0].Datum(i), c.Cols[1].Datum(i)))
			}
			return nil
		}
		st.Run = func(_ context.Context, s *wiretest.Session, _ []types.Datum) ([]*vec.Chunk, error) {
			s.AtCommit(func() { j.mu.Lock(); j.rows = append(j.rows, got...); j.mu.Unlock() })
			return nil, nil
		}
		return st
	}
	st.Run = func(context.Context, *wiretest.Session, []types.Datum) ([]*vec.Chunk, error) {
		c := vec.NewChunk(colTypes(cols), 2)
		c.AppendRow(1, int32(1), "a\tb\\\n\"q\",")
		c.AppendRow(2, int32(2), nil)
		return []*vec.Chunk{c}, nil
	}
	return st
}

type server struct {
	*wire.Server
	b    *wiretest.Backend
	jars *jars
	addr string
}

func start(t testing.TB, cfg wire.Config) *server {
	t.Helper()
	j := &jars{}
	b := &wiretest.Backend{Lookup: j.lookup}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s := &server{Server: wire.NewServer(b, cfg), b: b, jars: j}
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

// client is a frontend that reads the server's answers as short text.
type client struct {
	*pgproto3.Frontend
	t    testing.TB
	nc   net.Conn
	pid  uint32
	key  []byte
	pars map[string]string
}

func (s *server) dial(t testing.TB, params ...string) *client {
	t.Helper()
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(20 * time.Second))
	c := &client{Frontend: pgproto3.NewFrontend(nc, nc), t: t, nc: nc, pars: map[string]string{}}
	p := map[string]string{"user": "ann"}
	for i := 0; i+1 < len(params); i += 2 {
		p[params[i]] = params[i+1]
	}
	c.Send(&pgproto3.StartupMessage{ProtocolVersion: 196608, Parameters: p})
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	return c
}

// connect dials and reads up to the first ReadyForQuery.
func (s *server) connect(t testing.TB, params ...string) *client {
	t.Helper()
	c := s.dial(t, params...)
	if got := c.read(); !strings.HasSuffix(got, "Z(I)") {
		t.Fatalf("start-up answered %s", got)
	}
	return c
}

// do sends messages and reads up to the next ReadyForQuery.
func (c *client) do(msgs ...pgproto3.FrontendMessage) string {
	c.t.Helper()
	for _, m := range msgs {
		c.Send(m)
	}
	if err := c.Flush(); err != nil {
		c.t.Fatal(err)
	}
	return c.read()
}

func (c *client) expect(want string, msgs ...pgproto3.FrontendMessage) {
	c.t.Helper()
	if got := c.do(msgs...); got != want {
		c.t.Errorf("got  %s\nwant %s", got, want)
	}
}

func (c *client) read() string {
	c.t.Helper()
	var out []string
	for {
		m, err := c.Receive()
		if err != nil {
			return strings.Join(append(out, "EOF"), " ")
		}
		out = append(out, c.show(m))
		if _, ok := m.(*pgproto3.ReadyForQuery); ok {
			return strings.Join(out, " ")
		}
	}
}

func (c *client) show(m pgproto3.BackendMessage) string {
	switch m := m.(type) {
	case *pgproto3.ParseComplete:
		return "1"
	case *pgproto3.BindComplete:
		return "2"
	case *pgproto3.CloseComplete:
		return "3"
	case *pgproto3.CommandComplete:
		return "C(" + string(m.CommandTag) + ")"
	case *pgproto3.ReadyForQuery:
		return "Z(" + string(m.TxStatus) + ")"
	case *pgproto3.EmptyQueryResponse:
		return "I"
	case *pgproto3.NoData:
		return "n"
	case *pgproto3.PortalSuspended:
		return "s"
	case *pgproto3.ErrorResponse:
		s := m.Code
		if m.Severity != "ERROR" {
			s = m.Severity + " " + s
		}
		if m.Position != 0 {
			s += "@" + strconv.Itoa(int(m.Position))
		}
		return "E(" + s + ")"
	case *pgproto3.NoticeResponse:
		return "N(" + m.Severity + " " + m.Message + " " + m.Hint + ")"
	case *pgproto3.ParameterStatus:
		c.pars[m.Name] = m.Value
		return "S(" + m.Name + ")"
	case *pgproto3.BackendKeyData:
		c.pid, c.key = m.ProcessID, append([]byte(nil), m.SecretKey...)
		return "K"
	case *pgproto3.RowDescription:
		var f []string
		for _, d := range m.Fields {
			f = append(f, fmt.Sprintf("%s:%d:%d", d.Name, d.DataTypeOID, d.Format))
		}
		return "T(" + strings.Join(f, ",") + ")"
	case *pgproto3.ParameterDescription:
		return "t(" + strings.Trim(fmt.Sprint(m.ParameterOIDs), "[]") + ")"
	case *pgproto3.DataRow:
		var f []string
		for _, v := range m.Values {
			if v == nil {
				f = append(f, "NULL")
			} else {
				f = append(f, fmt.Sprintf("%q", v))
			}
		}
		return "D(" + strings.Join(f, ",") + ")"
	case *pgproto3.CopyInResponse:
		return fmt.Sprintf("G(%d:%d)", m.OverallFormat, len(m.ColumnFormatCodes))
	case *pgproto3.CopyOutResponse:
		return fmt.Sprintf("H(%d:%d)", m.OverallFormat, len(m.ColumnFormatCodes))
	case *pgproto3.CopyData:
		return fmt.Sprintf("d(%q)", m.Data)
	case *pgproto3.CopyDone:
		return "c"
	}
	return fmt.Sprintf("%T", m)
}

func query(s string) *pgproto3.Query { return &pgproto3.Query{String: s} }

// pbe is Parse, Bind and Execute of the unnamed statement.
func pbe(text string) []pgproto3.FrontendMessage {
	return []pgproto3.FrontendMessage{&pgproto3.Parse{Query: text}, &pgproto3.Bind{}, &pgproto3.Execute{}}
}

func msgs(parts ...any) (out []pgproto3.FrontendMessage) {
	for _, p := range parts {
		switch p := p.(type) {
		case []pgproto3.FrontendMessage:
			out = append(out, p...)
		case pgproto3.FrontendMessage:
			out = append(out, p)
		}
	}
	return out
}

func be4(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
func be8(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// eventually polls until f holds.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}
