package clients

import (
	bin "encoding/binary"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// raw speaks the protocol message by message.
type raw struct {
	t *testing.T
	*pgproto3.Frontend
}

func dialRaw(t *testing.T, dsn string) *raw {
	t.Helper()
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	r := &raw{t, pgproto3.NewFrontend(conn, conn)}
	r.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": cfg.User, "database": cfg.Database}})
	r.answer()
	return r
}

// answer sends what is buffered and returns the messages up to ReadyForQuery.
func (r *raw) answer() string {
	r.t.Helper()
	if err := r.Flush(); err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for {
		m, err := r.Receive()
		if err != nil {
			r.t.Fatalf("after %q: %v", out, err)
		}
		if s := shown(m); s != "" {
			out = append(out, s)
		}
		if _, ok := m.(*pgproto3.ReadyForQuery); ok {
			return strings.Join(out, " ")
		}
	}
}

func shown(m pgproto3.BackendMessage) string {
	switch m := m.(type) {
	case *pgproto3.ParseComplete:
		return "1"
	case *pgproto3.BindComplete:
		return "2"
	case *pgproto3.NoData:
		return "n"
	case *pgproto3.CommandComplete:
		return "C(" + string(m.CommandTag) + ")"
	case *pgproto3.ReadyForQuery:
		return "Z(" + string(m.TxStatus) + ")"
	case *pgproto3.ErrorResponse:
		return "E(" + m.Code + ")"
	case *pgproto3.ParameterDescription:
		return "t(" + strings.Trim(fmt.Sprint(m.ParameterOIDs), "[]") + ")"
	case *pgproto3.RowDescription:
		var f []string
		for _, d := range m.Fields {
			f = append(f, fmt.Sprintf("%s:%d:%d", d.Name, d.DataTypeOID, d.Format))
		}
		return "T(" + strings.Join(f, ",") + ")"
	case *pgproto3.DataRow:
		var f []string
		for _, v := range m.Values {
			f = append(f, fmt.Sprintf("%q", v))
		}
		return "D(" + strings.Join(f, ",") + ")"
	}
	return ""
}

func (r *raw) expect(want string, ms ...pgproto3.FrontendMessage) {
	r.t.Helper()
	for _, m := range ms {
		r.Send(m)
	}
	if got := r.answer(); got != want {
		r.t.Errorf("got  %s\nwant %s", got, want)
	}
}

func parseBindExecute(text string) []pgproto3.FrontendMessage {
	return []pgproto3.FrontendMessage{&pgproto3.Parse{Query: text}, &pgproto3.Bind{}, &pgproto3.Execute{}}
}

// From one Sync to the next is one transaction, and after an error everything is
// discarded until Sync.
func TestPipelines(t *testing.T) {
	r := dialRaw(t, startServer(t))
	r.expect("C(DROP TABLE) C(CREATE TABLE) Z(I)", &pgproto3.Query{String: "DROP TABLE IF EXISTS jars; CREATE TABLE jars (id int, v text)"})
	var ms []pgproto3.FrontendMessage
	for _, text := range []string{"INSERT INTO jars VALUES (1,'a')", "INSERT INTO jars VALUES (2,'b')", "SELECT 1/0", "INSERT INTO jars VALUES (3,'c')"} {
		ms = append(ms, parseBindExecute(text)...)
	}
	// PostgreSQL computes the constant 1/0 when it binds, we when we execute.
	r.expect("1 2 C(INSERT 0 1) 1 2 C(INSERT 0 1) 1 2 E(22012) Z(I)", append(ms, &pgproto3.Sync{})...)
	r.expect(`T(count:20:0) D("0") C(SELECT 1) Z(I)`, &pgproto3.Query{String: "SELECT count(*) FROM jars"})
	r.expect("E(42703) Z(I)", append(parseBindExecute("SELECT no_such"), &pgproto3.Query{String: "SELECT 42"}, &pgproto3.Sync{})...)
	// The next answer is the next question's, so nothing of the discarded came late.
	r.expect(`T(?column?:23:0) D("7") C(SELECT 1) Z(I)`, &pgproto3.Query{String: "SELECT 7"})
}

// Types of parameters and results, and the formats of each Bind.
func TestTypesAndFormats(t *testing.T) {
	r := dialRaw(t, startServer(t))
	r.expect("C(DROP TABLE) C(CREATE TABLE) Z(I)", &pgproto3.Query{String: "DROP TABLE IF EXISTS jars; CREATE TABLE jars (id int, v text)"})
	be4 := func(n uint32) []byte { return bin.BigEndian.AppendUint32(nil, n) }
	stmt := &pgproto3.Describe{ObjectType: 'S'}
	r.expect("1 t(25) T(x:25:0) Z(I)", &pgproto3.Parse{Query: "SELECT $1 AS x"}, stmt, &pgproto3.Sync{})
	r.expect("1 t(23 25) n 2 C(INSERT 0 1) Z(I)", &pgproto3.Parse{Query: "INSERT INTO jars VALUES ($1,$2)", ParameterOIDs: []uint32{705, 705}}, stmt,
		&pgproto3.Bind{ParameterFormatCodes: []int16{1, 0}, Parameters: [][]byte{be4(77), []byte("txt")}}, &pgproto3.Execute{}, &pgproto3.Sync{})
	r.expect(`T(id:23:0,v:25:0) D("77","txt") C(SELECT 1) Z(I)`, &pgproto3.Query{String: "SELECT * FROM jars"})
	r.expect(`1 2 D("\x00\x00\x00*","q","\x00\x00\x00\x00\x00\x00\x00\x00") C(SELECT 1) Z(I)`,
		&pgproto3.Parse{Query: "SELECT $1::int + 1 AS n, $2::text AS t, $3::timestamptz AS z"},
		&pgproto3.Bind{ParameterFormatCodes: []int16{1, 0, 1}, Parameters: [][]byte{be4(41), []byte("q"), make([]byte, 8)}, ResultFormatCodes: []int16{1}},
		&pgproto3.Execute{}, &pgproto3.Sync{})
	r.expect("1 t(1007) T(id:23:0) Z(I)", &pgproto3.Parse{Query: "SELECT id FROM jars WHERE id = ANY($1)"}, stmt, &pgproto3.Sync{})
	r.expect("1 t(20) T(v:25:0) Z(I)", &pgproto3.Parse{Query: "SELECT v FROM jars LIMIT $1"}, stmt, &pgproto3.Sync{})
	r.expect("E(42725) Z(I)", &pgproto3.Parse{Query: "SELECT $1 + $2"}, stmt, &pgproto3.Sync{})
	ms := []pgproto3.FrontendMessage{&pgproto3.Parse{Name: "rf", Query: "SELECT $1::int AS n, $2::bytea AS b"}}
	for i, formats := range [][]int16{{1}, {0}, {0, 1}} {
		b := [][]byte{{0, 1, 2}, {0}, {1}}[i]
		ms = append(ms, &pgproto3.Bind{PreparedStatement: "rf", ParameterFormatCodes: []int16{1}, Parameters: [][]byte{be4(uint32(7 + i)), b},
			ResultFormatCodes: formats}, &pgproto3.Execute{})
	}
	r.expect(`1 2 D("\x00\x00\x00\a","\x00\x01\x02") C(SELECT 1) 2 D("8","\\x00") C(SELECT 1) 2 D("9","\x01") C(SELECT 1) Z(I)`, append(ms, &pgproto3.Sync{})...)
	r.expect(`T(bytea:17:0) D("\\x000102") C(SELECT 1) Z(I)`, &pgproto3.Query{String: `SELECT '\x000102'::bytea`})
}
