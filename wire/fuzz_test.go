package wire_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamdb/streamdb/wire"
	"github.com/streamdb/streamdb/wire/wiretest"
)

func encode(ms ...pgproto3.FrontendMessage) (b []byte) {
	for _, m := range ms {
		b, _ = m.Encode(b)
	}
	return b
}

// ended waits until the server writes no more to its log.
func ended(t *testing.T, s *wire.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
}

// FuzzConn feeds a connection arbitrary bytes after a good start-up. The
// session must be closed afterwards, whatever they were.
func FuzzConn(f *testing.F) {
	f.Add(encode(query("SELECT 42"), query("BEGIN; SELECT no_such")))
	f.Add(encode(append(pbe("SELECT series 5"), syncMsg)...))
	f.Add(encode(query("COPY jars FROM STDIN"), &pgproto3.CopyData{Data: []byte("1\ta\n")}, &pgproto3.CopyDone{}))
	f.Add(encode(query("COPY jars FROM STDIN csv"), &pgproto3.CopyData{Data: []byte("1,\"a")}, &pgproto3.CopyFail{}))
	f.Add(encode(&pgproto3.Parse{Name: "a", Query: "SELECT $1 AS x"}, &pgproto3.Bind{PreparedStatement: "a", Parameters: [][]byte{{1}}}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Close{ObjectType: 'S', Name: "a"}, syncMsg))
	f.Add([]byte("B\x00\x00\x00\x05\x00"))
	f.Add([]byte("?\x00\x00\x00\x04"))
	f.Add([]byte("Q\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		j := &jars{}
		b := &wiretest.Backend{Lookup: j.lookup}
		panicked := &bytes.Buffer{}
		s := wire.NewServer(b, wire.Config{MaxMessage: 1 << 20, Log: slog.New(slog.NewTextHandler(panicked, nil))})
		client, srv := net.Pipe()
		client.SetDeadline(time.Now().Add(10 * time.Second))
		s.ServeConn(srv)
		go io.Copy(io.Discard, client)
		client.Write(encode(&pgproto3.StartupMessage{ProtocolVersion: 196608, Parameters: map[string]string{"user": "u"}}))
		client.Write(in)
		client.Close()
		eventually(t, "the session is closed", func() bool { return len(b.Sessions) == 0 || b.Last().IsClosed() })
		ended(t, s)
		if bytes.Contains(panicked.Bytes(), []byte("panic")) && !bytes.Contains(in, []byte("panic")) {
			t.Fatalf("panic:\n%s", panicked)
		}
	})
}

// FuzzStartup feeds a connection arbitrary bytes from the start.
func FuzzStartup(f *testing.F) {
	f.Add([]byte{0, 0, 0, 8, 4, 210, 22, 47})
	f.Add(encode(&pgproto3.StartupMessage{ProtocolVersion: 196608, Parameters: map[string]string{"user": "u", "options": `-c a=b\ c`}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		b := &wiretest.Backend{Lookup: (&jars{}).lookup}
		logged := &bytes.Buffer{}
		s := wire.NewServer(b, wire.Config{Log: slog.New(slog.NewTextHandler(logged, nil)), StartupTimeout: time.Second})
		client, srv := net.Pipe()
		client.SetDeadline(time.Now().Add(10 * time.Second))
		s.ServeConn(srv)
		go io.Copy(io.Discard, client)
		client.Write(in)
		client.Close()
		eventually(t, "the connection is over", func() bool { return s.Connections() == 0 })
		ended(t, s)
		if bytes.Contains(logged.Bytes(), []byte("panic")) {
			t.Fatalf("panic:\n%s", logged)
		}
	})
}
