package wire_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/wire"
)

func (s *server) cancelRequest(t *testing.T, pid uint32, key []byte) {
	t.Helper()
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	b, err := (&pgproto3.CancelRequest{ProcessID: pid, SecretKey: key}).Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	nc.Write(b)
	nc.SetDeadline(time.Now().Add(10 * time.Second))
	nc.Read(b) // the server closes when it is done
}

// waiting sends "SELECT wait" and reads what comes before it waits.
func (c *client) waiting() {
	c.t.Helper()
	c.Send(query("SELECT wait"))
	c.Flush()
	for _, want := range []string{"T(w:23:0)", `D("1")`} {
		m, err := c.Receive()
		if err != nil || c.show(m) != want {
			c.t.Fatalf("got %v, %v; want %s", m, err, want)
		}
	}
}

func TestCancel(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	s.cancelRequest(t, c.pid, c.key) // idle: nothing to cancel
	c.waiting()
	s.cancelRequest(t, c.pid, be4(1))
	s.cancelRequest(t, c.pid+7, c.key)
	s.cancelRequest(t, c.pid, c.key)
	if got := c.read(); got != "E(57014) Z(I)" {
		t.Errorf("canceled: %s", got)
	}
	c.expect(`T(?column?:23:0) D("42") C(SELECT 1) Z(I)`, query("SELECT 42"))
}

func TestLostClientEndsItsStatement(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	c.waiting()
	c.nc.Close()
	eventually(t, "the session is closed", s.b.Last().IsClosed)
}

func TestPanicEndsOneConnection(t *testing.T) {
	s := start(t, wire.Config{})
	other := s.connect(t)
	c := s.connect(t)
	if got := c.do(query("SELECT panic")); got != "E(FATAL XX000) EOF" {
		t.Errorf("panic: %s", got)
	}
	eventually(t, "the session is closed", s.b.Last().IsClosed)
	other.expect(`T(?column?:23:0) D("42") C(SELECT 1) Z(I)`, query("SELECT 42"))
}

func TestShutdown(t *testing.T) {
	s := start(t, wire.Config{})
	idle, busy := s.connect(t), s.connect(t)
	busy.waiting()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if got := idle.read(); got != "E(FATAL 57P01) EOF" {
		t.Errorf("idle: %s", got)
	}
	if got := busy.read(); !strings.HasSuffix(got, "E(FATAL 57P01) EOF") {
		t.Errorf("busy: %s", got)
	}
	if nc, err := net.Dial("tcp", s.addr); err == nil {
		nc.Close()
		t.Error("still listening")
	}
}

func TestIdleLimits(t *testing.T) {
	s := start(t, wire.Config{})
	s.b.Idle.Store(int64(30 * time.Millisecond))
	if got := s.connect(t).read(); got != "E(FATAL 57P05) EOF" {
		t.Errorf("idle: %s", got)
	}
	s.b.Idle.Store(0)
	c := s.connect(t)
	s.b.Idle.Store(int64(30 * time.Millisecond))
	if got := c.do(query("BEGIN")) + " " + c.read(); got != "C(BEGIN) Z(T) E(FATAL 25P03) EOF" {
		t.Errorf("idle in a transaction: %s", got)
	}
}

// A notification, which a transaction does not send, leaves the limit as it was.
func TestNotificationDoesNotLiftIdleLimit(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	s.b.Idle.Store(int64(100 * time.Millisecond))
	if got := c.do(query("BEGIN")); got != "C(BEGIN) Z(T)" {
		t.Fatal(got)
	}
	s.b.Last().Startup.Client.Notification(1, "a", "b")
	if got := c.read(); got != "E(FATAL 25P03) EOF" {
		t.Errorf("idle in a transaction: %s", got)
	}
}

// Within a COPY, and between the messages of a sequence, no client is idle.
func TestIdleLimitsEndWithTheSilence(t *testing.T) {
	s := start(t, wire.Config{})
	copying, extended := s.connect(t), s.connect(t)
	const limit = time.Second
	for _, c := range []*client{copying, extended} {
		s.b.Idle.Store(int64(limit))
		c.expect(`T(?column?:23:0) D("42") C(SELECT 1) Z(I)`, query("SELECT 42"))
	}
	copying.Send(query("COPY jars FROM STDIN"))
	extended.Send(&pgproto3.Parse{Query: "SELECT 42"})
	extended.Send(&pgproto3.Flush{})
	copying.Flush()
	extended.Flush()
	time.Sleep(limit + limit/5)
	if got := copying.do(&pgproto3.CopyData{Data: []byte("1\tx\n")}, &pgproto3.CopyDone{}); got != "G(0:2) C(COPY 1) Z(I)" {
		t.Errorf("COPY: %s", got)
	}
	if got := extended.do(&pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{}); got != `1 2 D("42") C(SELECT 1) Z(I)` {
		t.Errorf("sequence: %s", got)
	}
	if got := copying.read() + " " + extended.read(); got != "E(FATAL 57P05) EOF E(FATAL 57P05) EOF" {
		t.Errorf("idle: %s", got)
	}
}

// A statement that takes too long is canceled, and the next one has its own time.
func TestStatementLimit(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	s.b.Limit.Store(int64(20 * time.Millisecond))
	for range 2 {
		c.expect(`T(w:23:0) D("1") E(57014) Z(I)`, query("SELECT wait"))
		c.expect(`1 2 D("1") E(57014) Z(I)`, &pgproto3.Parse{Query: "SELECT wait"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{})
	}
	s.b.Limit.Store(int64(time.Hour))
	c.waiting()
	s.cancelRequest(t, c.pid, c.key)
	if got := c.read(); got != "E(57014) Z(I)" {
		t.Errorf("canceled: %s", got)
	}
	s.b.Limit.Store(0)
	c.expect(`T(?column?:23:0) D("42") C(SELECT 1) Z(I)`, query("SELECT 42"))
}

func TestTerminateOfOneClient(t *testing.T) {
	s := start(t, wire.Config{})
	c := s.connect(t)
	s.b.Last().Startup.Client.Terminate()
	if got := c.read(); got != "E(FATAL 57P01) EOF" {
		t.Errorf("terminated: %s", got)
	}
}

func TestTooManyConnections(t *testing.T) {
	s := start(t, wire.Config{MaxConnections: 1})
	c := s.connect(t)
	if got := s.dial(t).read(); got != "E(FATAL 53300) EOF" {
		t.Errorf("second: %s", got)
	}
	c.Send(&pgproto3.Terminate{})
	c.Flush()
	eventually(t, "the place is free", func() bool { return s.Connections() == 0 })
	s.connect(t)
}

func TestStartupTimeout(t *testing.T) {
	s := start(t, wire.Config{StartupTimeout: 50 * time.Millisecond})
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := nc.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("a silent client was kept: %v", err)
	}
}

func TestListenWithoutUsers(t *testing.T) {
	s := wire.NewServer(nil, wire.Config{})
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:5432"} {
		if l, err := s.Listen(addr); pgerr.CodeOf(err) != pgerr.ConfigFileError {
			if l != nil {
				l.Close()
			}
			t.Errorf("%s: %v", addr, err)
		}
	}
	s = wire.NewServer(nil, wire.Config{Secret: func(string) (string, bool) { return "", false }})
	l, err := s.Listen("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func pgxConnect(t *testing.T, s *server, user, password, more string) (*pgx.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	host, port, _ := net.SplitHostPort(s.addr)
	c, err := pgx.Connect(ctx, "host="+host+" port="+port+" user="+user+" password="+password+" dbname=shop "+more)
	if err == nil {
		t.Cleanup(func() { c.Close(ctx) })
	}
	return c, err
}

func codeOf(err error) string {
	for err != nil {
		if e, ok := err.(*pgconn.PgError); ok {
			return e.Code
		}
		switch u := err.(type) {
		case interface{ Unwrap() error }:
			err = u.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range u.Unwrap() {
				if c := codeOf(e); c != "" {
					return c
				}
			}
			return ""
		default:
			return ""
		}
	}
	return ""
}

func TestScram(t *testing.T) {
	stored, err := wire.ScramSecret("geheim", []byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]string{"ann": "secret", "bob": stored}
	s := start(t, wire.Config{Secret: func(u string) (string, bool) { p, ok := users[u]; return p, ok }})
	for u, p := range map[string]string{"ann": "secret", "bob": "geheim"} {
		c, err := pgxConnect(t, s, u, p, "sslmode=disable")
		if err != nil {
			t.Fatalf("%s: %v", u, err)
		}
		var n int
		if err := c.QueryRow(context.Background(), "SELECT 42").Scan(&n); err != nil || n != 42 {
			t.Errorf("%s: %d, %v", u, n, err)
		}
	}
	for u, p := range map[string]string{"ann": "wrong", "nobody": "secret", "bob": stored} {
		if _, err := pgxConnect(t, s, u, "'"+p+"'", "sslmode=disable"); codeOf(err) != "28P01" {
			t.Errorf("%s with %s: %v", u, p, err)
		}
	}
}

// certificate writes a self-signed certificate and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	kb, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
	os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: kb}), 0o600)
	return cert, key
}

func TestTLS(t *testing.T) {
	tc, err := wire.LoadTLS(certificate(t))
	if err != nil {
		t.Fatal(err)
	}
	secret := func(string) (string, bool) { return "secret", true }
	s := start(t, wire.Config{TLS: tc, RequireTLS: true, Password: true, Secret: secret})
	c, err := pgxConnect(t, s, "ann", "secret", "sslmode=require")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := c.QueryRow(context.Background(), "SELECT 42").Scan(&n); err != nil || n != 42 {
		t.Errorf("%d, %v", n, err)
	}
	if !s.b.Last().Startup.TLS {
		t.Error("the session was not told of TLS")
	}
	if _, err := pgxConnect(t, s, "ann", "wrong", "sslmode=require"); codeOf(err) != "28P01" {
		t.Errorf("wrong password: %v", err)
	}
	if _, err := pgxConnect(t, s, "ann", "secret", "sslmode=disable"); codeOf(err) != "28000" {
		t.Errorf("without TLS: %v", err)
	}
}

func TestPasswordInClearNeedsTLS(t *testing.T) {
	s := start(t, wire.Config{Password: true, Secret: func(string) (string, bool) { return "secret", true }})
	if _, err := pgxConnect(t, s, "ann", "secret", "sslmode=disable"); codeOf(err) != "28000" {
		t.Errorf("got %v", err)
	}
}

func TestPlainBytesBeforeTLSAreRefused(t *testing.T) {
	tc, err := wire.LoadTLS(certificate(t))
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, wire.Config{TLS: tc})
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(10 * time.Second))
	nc.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47, 'Q', 'x'})
	b := make([]byte, 1)
	if _, err := nc.Read(b); err == nil && b[0] == 'S' {
		if err := tls.Client(nc, &tls.Config{InsecureSkipVerify: true}).Handshake(); err == nil {
			t.Error("handshake after injected bytes")
		}
	}
}

func TestEncryptionRequests(t *testing.T) {
	s := start(t, wire.Config{})
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(10 * time.Second))
	for _, code := range []byte{47, 48} { // SSLRequest, GSSENCRequest
		nc.Write([]byte{0, 0, 0, 8, 4, 210, 22, code})
		b := make([]byte, 1)
		if _, err := nc.Read(b); err != nil || b[0] != 'N' {
			t.Fatalf("code %d: %q, %v", code, b, err)
		}
	}
	b, _ := (&pgproto3.StartupMessage{ProtocolVersion: 3<<16 | 2, Parameters: map[string]string{"user": "ann", "_pq_.x": "1"}}).Encode(nil)
	nc.Write(b)
	fe := pgproto3.NewFrontend(nc, nc)
	m, err := fe.Receive()
	if n, ok := m.(*pgproto3.NegotiateProtocolVersion); err != nil || !ok || len(n.UnrecognizedOptions) != 1 {
		t.Errorf("got %T %v", m, err)
	}
}
