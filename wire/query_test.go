package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamdb/streamdb/wire"
)

var syncMsg = &pgproto3.Sync{}

func TestStartup(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t, "database", "shop", "client_encoding", "'utf-8'", "application_name", "dash board",
		"options", `-c search_path=a,b --lock-timeout=5 -cx=a\ b`)
	if c.pars["server_version"] != "15.8" || c.pars["application_name"] != "dash board" || len(c.pars) != len(wire.ReportedParams) {
		t.Errorf("parameters %v", c.pars)
	}
	st := s.b.Last().Startup
	if st.User != "ann" || st.Database != "shop" {
		t.Errorf("user %q, database %q", st.User, st.Database)
	}
	got := map[string]string{}
	for _, p := range st.Params {
		got[p.Name] = p.Value
	}
	want := map[string]string{"search_path": "a,b", "lock_timeout": "5", "x": "a b", "client_encoding": "utf-8", "application_name": "dash board"}
	if fmt.Sprint(got) != fmt.Sprint(want) || st.Params[0].Name != "search_path" {
		t.Errorf("settings %v", st.Params)
	}
}

func TestStartupRefusals(t *testing.T) {
	s := start(t, wire.Config{})
	for _, tc := range [][]string{
		{"E(FATAL 28000) EOF", "user", ""},
		{"E(FATAL 0A000) EOF", "replication", "database"},
		{"E(FATAL 42601) EOF", "options", "-x 1"},
	} {
		if got := s.dial(t, tc[1:]...).read(); got != tc[0] {
			t.Errorf("%v: %s", tc[1:], got)
		}
	}
}

func TestSimpleQuery(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	c.expect(`T(?column?:23:0) D("42") C(SELECT 1) Z(I)`, query("SELECT 42"))
	c.expect("I Z(I)", query(""))
	c.expect("I Z(I)", query("-- ping"))
	c.expect(`E(42703@8) Z(I)`, query("SELECT no_such"))
	c.expect("E(22021) Z(I)", query("SELECT '\xff'"))
	c.expect(`T(w:23:0) D("7") D("7") D("7") D(NULL) C(SELECT 4) Z(I)`, query("SELECT weights"))
	c.expect("N(WARNING careful Look twice.) S(TimeZone) C(SET) Z(I)", query("SELECT notice"))
	c.expect("E(42P02) Z(I)", query("SELECT $1 AS x"))
	c.expect(`T(bytea:17:0) D("\\x000102") C(SELECT 1) Z(I)`, query(`SELECT '\x000102'::bytea`))
}

func TestSimpleQueryIsOneTransaction(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	c.expect("C(INSERT 0 1) T(?column?:23:0) E(22012) Z(I)",
		query("INSERT INTO jars VALUES (1,'a'); SELECT 1/0; INSERT INTO jars VALUES (2,'b')"))
	c.expect(`T(count:20:0) D("0") C(SELECT 1) Z(I)`, query("SELECT count(*) FROM jars"))
	c.expect("C(INSERT 0 1) C(INSERT 0 1) Z(I)", query("INSERT INTO jars VALUES (1,'a'); INSERT INTO jars VALUES (2,'b')"))
	c.expect("C(BEGIN) C(INSERT 0 1) Z(T)", query("BEGIN; INSERT INTO jars VALUES (3,'c')"))
	c.expect("E(42703@8) Z(E)", query("SELECT no_such"))
	c.expect("E(25P02) Z(E)", query("SELECT 42"))
	c.expect("C(ROLLBACK) Z(I)", query("COMMIT"))
	c.expect(`T(count:20:0) D("2") C(SELECT 1) Z(I)`, query("SELECT count(*) FROM jars"))
}

func TestPipelineIsOneTransaction(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	c.expect("1 2 C(INSERT 0 1) 1 2 C(INSERT 0 1) 1 2 E(22012) Z(I)", msgs(
		pbe("INSERT INTO jars VALUES (1,'a')"), pbe("INSERT INTO jars VALUES (2,'b')"), pbe("SELECT 1/0"),
		pbe("INSERT INTO jars VALUES (3,'c')"), syncMsg)...)
	c.expect(`T(count:20:0) D("0") C(SELECT 1) Z(I)`, query("SELECT count(*) FROM jars"))
	c.expect("E(42703@8) Z(I)", msgs(pbe("SELECT no_such"), query("SELECT 42"), syncMsg)...)
	c.expect("Z(I)", syncMsg)
	c.expect("1 2 C(BEGIN) 1 2 C(INSERT 0 1) Z(T)", msgs(pbe("BEGIN"), pbe("INSERT INTO jars VALUES (1,'a')"), syncMsg)...)
	c.expect("1 2 C(COMMIT) Z(I)", msgs(pbe("COMMIT"), syncMsg)...)
	if got := s.jars.all(); len(got) != 1 {
		t.Errorf("rows %v", got)
	}
}

func TestParameterAndResultFormats(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	c.expect("1 t(25) T(x:25:0) Z(I)", &pgproto3.Parse{Query: "SELECT $1 AS x"}, &pgproto3.Describe{ObjectType: 'S'}, syncMsg)
	c.expect("1 t(23 25) n 2 C(INSERT 0 1) Z(I)",
		&pgproto3.Parse{Query: "INSERT INTO jars VALUES ($1,$2)", ParameterOIDs: []uint32{705, 705}},
		&pgproto3.Describe{ObjectType: 'S'},
		&pgproto3.Bind{ParameterFormatCodes: []int16{1, 0}, Parameters: [][]byte{be4(77), []byte("txt")}},
		&pgproto3.Execute{}, syncMsg)
	if got := s.jars.all(); fmt.Sprint(got) != "[77:txt]" {
		t.Errorf("rows %v", got)
	}
	c.expect(`1 2 D("\x00\x00\x00*","q","\x00\x00\x00\x00\x00\x00\x00\x00") C(SELECT 1) Z(I)`,
		&pgproto3.Parse{Query: "SELECT $1::int + 1 AS n, $2::text AS t, $3::timestamptz AS z"},
		&pgproto3.Bind{ParameterFormatCodes: []int16{1, 0, 1}, Parameters: [][]byte{be4(41), []byte("q"), be8(0)}, ResultFormatCodes: []int16{1}},
		&pgproto3.Execute{}, syncMsg)
	bind := func(n int32, b byte, formats ...int16) []pgproto3.FrontendMessage {
		return msgs(&pgproto3.Bind{PreparedStatement: "rf", ParameterFormatCodes: []int16{1},
			Parameters: [][]byte{be4(n), {0, b, 2}}, ResultFormatCodes: formats}, &pgproto3.Execute{})
	}
	c.expect(`1 2 D("\x00\x00\x00\a","\x00\x01\x02") C(SELECT 1) 2 D("8","\\x000102") C(SELECT 1) 2 D("9","\x00\x01\x02") C(SELECT 1) Z(I)`, msgs(
		&pgproto3.Parse{Name: "rf", Query: "SELECT $1::int AS n, $2::bytea AS b"},
		bind(7, 1, 1), bind(8, 1, 0), bind(9, 1, 0, 1), syncMsg)...)
}

func TestBindErrors(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	parse := &pgproto3.Parse{Query: "SELECT $1::int AS n, $2::bytea AS b"}
	one := [][]byte{be4(1), {1}}
	for _, tc := range []struct {
		want string
		bind *pgproto3.Bind
	}{
		{"08P01", &pgproto3.Bind{}},
		{"08P01", &pgproto3.Bind{Parameters: one, ParameterFormatCodes: []int16{1, 1, 1}}},
		{"08P01", &pgproto3.Bind{Parameters: [][]byte{{1}, {1}}, ParameterFormatCodes: []int16{1}}},
		{"22P03", &pgproto3.Bind{Parameters: [][]byte{be8(1), {1}}, ParameterFormatCodes: []int16{1}}},
		{"22P02", &pgproto3.Bind{Parameters: [][]byte{[]byte("x"), []byte("y")}}},
		{"22023", &pgproto3.Bind{Parameters: one, ParameterFormatCodes: []int16{2}}},
		{"08P01", &pgproto3.Bind{Parameters: one, ParameterFormatCodes: []int16{1}, ResultFormatCodes: []int16{0, 0, 0}}},
		{"22023", &pgproto3.Bind{Parameters: one, ParameterFormatCodes: []int16{1}, ResultFormatCodes: []int16{3}}},
		{"26000", &pgproto3.Bind{PreparedStatement: "nope"}},
	} {
		c.expect("1 E("+tc.want+") Z(I)", parse, tc.bind, syncMsg)
	}
}

func TestNames(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	p := &pgproto3.Parse{Name: "p", Query: "SELECT 42"}
	c.expect("1 Z(I)", p, syncMsg)
	c.expect("E(42P05) Z(I)", p, syncMsg)
	c.expect("2 E(42P03) Z(I)", &pgproto3.Bind{PreparedStatement: "p", DestinationPortal: "c"},
		&pgproto3.Bind{PreparedStatement: "p", DestinationPortal: "c"}, syncMsg)
	c.expect("E(34000) Z(I)", &pgproto3.Execute{Portal: "c"}, syncMsg)
	c.expect("3 3 3 1 Z(I)", &pgproto3.Close{ObjectType: 'S', Name: "p"}, &pgproto3.Close{ObjectType: 'S', Name: "p"},
		&pgproto3.Close{ObjectType: 'P', Name: "p"}, p, syncMsg)
	c.expect("E(42601) Z(I)", &pgproto3.Parse{Query: "SELECT 42; SELECT 42"}, syncMsg)
	c.expect("1 2 I Z(I)", msgs(pbe(""), syncMsg)...)
	c.expect("1 t() n 2 n Z(I)", &pgproto3.Parse{}, &pgproto3.Describe{ObjectType: 'S'}, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, syncMsg)
	c.expect("E(26000) Z(I)", &pgproto3.Describe{ObjectType: 'S', Name: "nope"}, syncMsg)
	c.expect("E(34000) Z(I)", &pgproto3.Describe{ObjectType: 'P', Name: "nope"}, syncMsg)
	c.expect("T(g:23:0) Z(I)", &pgproto3.Describe{ObjectType: 'P', Name: "cur"}, syncMsg) // a cursor of DECLARE
	c.expect(`T(?column?:23:0) D("42") C(SELECT 1) Z(I)`, query("SELECT 42"))             // drops the unnamed statement
	c.expect("E(26000) Z(I)", &pgproto3.Bind{}, syncMsg)
	c.expect(`T(text:25:0) D("SELECT 42") C(SELECT 1) Z(I)`, query("SELECT text of p"))
}

func TestPortalSuspends(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	exec := &pgproto3.Execute{Portal: "c", MaxRows: 2}
	c.expect(`1 2 T(g:23:0) D("1") D("2") s D("3") D("4") s D("5") C(SELECT 1) C(SELECT 0) Z(I)`,
		&pgproto3.Parse{Query: "SELECT series 5"}, &pgproto3.Bind{DestinationPortal: "c"},
		&pgproto3.Describe{ObjectType: 'P', Name: "c"}, exec, exec, exec, exec, syncMsg)
	c.expect("E(34000) Z(I)", exec, syncMsg) // the transaction took it away
	// A limit that meets the end exactly suspends: nobody looked further.
	c.expect(`C(BEGIN) Z(T)`, query("BEGIN"))
	c.expect(`1 2 D("1") D("2") s Z(T)`, &pgproto3.Parse{Query: "SELECT series 2"}, &pgproto3.Bind{DestinationPortal: "c"}, exec, syncMsg)
	c.expect(`T(?column?:23:0) D("42") C(SELECT 1) Z(T)`, query("SELECT 42"))
	c.expect(`C(SELECT 0) Z(T)`, exec, syncMsg)
	c.expect(`1 2 D("7") D("7") s D("7") D(NULL) s C(SELECT 0) Z(T)`, &pgproto3.Parse{Query: "SELECT weights"},
		&pgproto3.Bind{DestinationPortal: "w"}, &pgproto3.Execute{Portal: "w", MaxRows: 2},
		&pgproto3.Execute{Portal: "w", MaxRows: 2}, &pgproto3.Execute{Portal: "w", MaxRows: 2}, syncMsg)
	c.expect("1 2 C(INSERT 0 1) E(55000) Z(E)", msgs(pbe("INSERT INTO jars VALUES (1,'a')"), &pgproto3.Execute{}, syncMsg)...)
}

// TestFailedBlock holds what a failed transaction block answers, message by
// message.
func TestFailedBlock(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	c.expect("C(BEGIN) Z(T)", query("BEGIN"))
	c.expect(`1 2 D("1") s Z(T)`, &pgproto3.Parse{Name: "p", Query: "SELECT series 2"},
		&pgproto3.Bind{PreparedStatement: "p", DestinationPortal: "c"}, &pgproto3.Execute{Portal: "c", MaxRows: 1}, syncMsg)
	c.expect(`D("2") C(SELECT 1) Z(T)`, &pgproto3.Execute{Portal: "c"}, syncMsg)
	c.expect("E(42703@8) Z(E)", query("SELECT no_such"))
	for _, m := range []pgproto3.FrontendMessage{&pgproto3.Parse{Query: "SELECT 42"}, &pgproto3.Bind{PreparedStatement: "p"},
		&pgproto3.Describe{ObjectType: 'S', Name: "p"}, &pgproto3.Execute{Portal: "c"}} {
		c.expect("E(25P02) Z(E)", m, syncMsg)
	}
	c.expect("I Z(E)", query(""))
	c.expect("1 E(25P02) Z(E)", &pgproto3.Parse{}, &pgproto3.Bind{}, syncMsg)
	c.expect("3 Z(E)", &pgproto3.Close{ObjectType: 'S', Name: "nope"}, syncMsg)
	c.expect("1 2 C(ROLLBACK) Z(I)", msgs(pbe("COMMIT"), syncMsg)...)
}

// TestQueryInsidePipeline holds that a Query ends the implicit transaction of
// the messages before it.
func TestQueryInsidePipeline(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	c.expect(`1 2 C(INSERT 0 1) T(?column?:23:0) D("42") C(SELECT 1) Z(I)`, msgs(pbe("INSERT INTO jars VALUES (1,'a')"), query("SELECT 42"))...)
	c.expect(`T(count:20:0) D("1") C(SELECT 1) Z(I)`, query("SELECT count(*) FROM jars"))
	c.expect("1 2 C(INSERT 0 1) 1 2 C(BEGIN) Z(T)", msgs(pbe("INSERT INTO jars VALUES (2,'b')"), pbe("BEGIN"), syncMsg)...)
	c.expect("C(ROLLBACK) Z(I)", query("ROLLBACK")) // with what came before BEGIN
	c.expect(`T(count:20:0) D("1") C(SELECT 1) Z(I)`, query("SELECT count(*) FROM jars"))
}

func TestFlushWithoutSync(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	c.Send(&pgproto3.Parse{Name: "f", Query: "SELECT 42"})
	c.Send(&pgproto3.Describe{ObjectType: 'S', Name: "f"})
	c.Send(&pgproto3.Flush{})
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1", "t()", "T(?column?:23:0)"} {
		m, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if got := c.show(m); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	c.expect(`2 D("42") C(SELECT 1) Z(I)`, &pgproto3.Bind{PreparedStatement: "f"}, &pgproto3.Execute{}, syncMsg)
	// An error arrives although the Flush behind it is discarded.
	c.Send(&pgproto3.Parse{Query: "SELECT no_such"})
	c.Send(&pgproto3.Flush{})
	c.Frontend.Flush()
	if m, err := c.Receive(); err != nil || c.show(m) != "E(42703@8)" {
		t.Fatalf("got %v, %v", m, err)
	}
	c.expect("Z(I)", syncMsg)
}

func TestManyRows(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	got := c.do(query("SELECT series 50000"))
	if strings.Count(got, "D(") != 50000 || !strings.HasSuffix(got, `D("50000") C(SELECT 50000) Z(I)`) {
		t.Errorf("%d rows, end %q", strings.Count(got, "D("), got[max(0, len(got)-60):])
	}
}

func TestBigValue(t *testing.T) {
	s := start(t, wire.Config{MaxMessage: 8 << 20})
	c := s.connect(t)
	big := strings.Repeat("x", 5<<20)
	got := c.do(&pgproto3.Parse{Query: "SELECT $1 AS x"}, &pgproto3.Bind{Parameters: [][]byte{[]byte(big)}}, &pgproto3.Execute{}, syncMsg)
	if !strings.Contains(got, big) || !strings.HasSuffix(got, "C(SELECT 1) Z(I)") {
		t.Errorf("%d bytes came back", len(got))
	}
	go func() { // The server may hang up before it has read everything.
		b, _ := query(strings.Repeat("y", 9<<20)).Encode(nil)
		c.nc.Write(b)
	}()
	if got := c.read(); got != "E(FATAL 08P01) EOF" && got != "EOF" {
		t.Errorf("too big a message: %.100s", got)
	}
}

func TestFunctionCallIsRefused(t *testing.T) {
	c := start(t, wire.Config{}).connect(t)
	c.expect("E(0A000) Z(I)", &pgproto3.FunctionCall{Function: 1})
}
