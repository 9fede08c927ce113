package wire

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/streamdb/streamdb/pgerr"
)

// Config is a server's configuration. The zero value listens nowhere; fields
// left zero get the defaults named.
type Config struct {
	// Secret returns a user's password, in clear or as PostgreSQL's
	// SCRAM-SHA-256$iterations:salt$storedkey:serverkey. nil: everyone is
	// trusted, which Listen allows on loopback addresses only.
	Secret func(user string) (secret string, ok bool)
	// Trust tells who is asked for nothing in spite of Secret; nil: nobody. Listen
	// allows it on loopback addresses only.
	Trust func(user string) bool
	// Password asks for the password in clear instead of by SCRAM-SHA-256. It
	// is refused on connections without TLS.
	Password bool
	// TLS is offered to clients that ask; nil: not offered.
	TLS *tls.Config
	// RequireTLS refuses clients without TLS.
	RequireTLS bool
	// MaxConnections is the number of clients served at once; 100.
	MaxConnections int
	// MaxMessage is the largest message accepted, in bytes; 1 GiB - 1, as
	// PostgreSQL.
	MaxMessage int
	// StartupTimeout ends a connection that is not authenticated in time; 60 s.
	StartupTimeout time.Duration
	// Log gets lost connections and panics; slog.Default().
	Log *slog.Logger
}

// LoadTLS reads a server certificate and its key from PEM files.
func LoadTLS(certFile, keyFile string) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, pgerr.Wrap(err, pgerr.ConfigFileError, "could not load server certificate file \"%s\": %v", certFile, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

// Server accepts clients for a Backend.
type Server struct {
	cfg     Config
	backend Backend
	mock    [32]byte // derives salts of users that don't exist

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[int32]*conn // every accepted connection, by pid
	served    int             // those past start-up
	nextPID   int32
	closed    bool
	wg        sync.WaitGroup
}

// NewServer makes a server that serves nobody yet.
func NewServer(b Backend, cfg Config) *Server {
	if cfg.MaxConnections == 0 {
		cfg.MaxConnections = 100
	}
	if cfg.MaxMessage == 0 {
		cfg.MaxMessage = 1<<30 - 1
	}
	if cfg.StartupTimeout == 0 {
		cfg.StartupTimeout = time.Minute
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	s := &Server{cfg: cfg, backend: b, listeners: map[net.Listener]struct{}{}, conns: map[int32]*conn{}}
	rand.Read(s.mock[:])
	return s
}

// Listen opens a TCP listener at addr (host:port; port 0: any free one). It
// refuses an address that other machines can reach while no users are
// configured.
func (s *Server) Listen(addr string) (net.Listener, error) {
	if s.cfg.Secret == nil || s.cfg.Trust != nil {
		if err := loopbackOnly(addr); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, pgerr.Wrap(err, pgerr.ObjectInUse, "could not listen on \"%s\": %v", addr, err).
			WithHint("Is another server already running on that port?")
	}
	return l, nil
}

func loopbackOnly(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return pgerr.New(pgerr.ConfigFileError, "invalid listen address \"%s\": %v", addr, err)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() || host == "localhost" {
		return nil
	}
	return pgerr.New(pgerr.ConfigFileError, "refusing to listen on \"%s\" without authentication", addr).
		WithDetail("The address can be reached from other machines, and no users are configured.").
		WithHint("Configure users with passwords, or listen on 127.0.0.1.")
}

// Serve accepts clients from l until Shutdown or an error of l. It closes l.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		l.Close()
		return net.ErrClosed
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		l.Close()
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
	}()
	for {
		nc, err := l.Accept()
		if err != nil {
			if s.isClosed() {
				return nil
			}
			var ne net.Error
			if errors.As(err, &ne) && ne.Timeout() || isTooManyFiles(err) {
				s.cfg.Log.Warn("could not accept a connection", "error", err)
				time.Sleep(50 * time.Millisecond) // Descriptors come back as clients leave.
				continue
			}
			return fmt.Errorf("accept: %w", err)
		}
		s.ServeConn(nc)
	}
}

// ServeConn serves one accepted connection in a goroutine of its own and owns
// it from now on.
func (s *Server) ServeConn(nc net.Conn) {
	c := newConn(s, nc)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		nc.Close()
		return
	}
	s.nextPID++
	for s.conns[s.nextPID] != nil || s.nextPID <= 0 {
		if s.nextPID++; s.nextPID <= 0 {
			s.nextPID = 1
		}
	}
	c.pid = s.nextPID
	s.conns[c.pid] = c
	s.wg.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.wg.Done()
		defer s.forget(c)
		c.serve()
	}()
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c.pid)
	if c.admitted {
		s.served--
	}
}

// admit counts c as a served client; 53300 if there are too many.
func (s *Server) admit(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return pgerr.New(pgerr.CannotConnectNow, "the database system is shutting down")
	}
	if s.served >= s.cfg.MaxConnections {
		return pgerr.New(pgerr.TooManyConnections, "sorry, too many clients already")
	}
	s.served++
	c.admitted = true
	return nil
}

// cancel handles a CancelRequest: an unknown key is ignored silently, so that
// it tells nothing.
func (s *Server) cancel(pid int32, key []byte) {
	s.mu.Lock()
	c := s.conns[pid]
	s.mu.Unlock()
	if c != nil && len(key) == 4 && binary.BigEndian.Uint32(key) == c.key {
		c.Cancel()
	}
}

// Connections returns the number of clients past start-up.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Shutdown stops accepting, cancels what runs and tells every client 57P01. It
// returns when all sessions are closed; when ctx is done first, the remaining
// connections are cut and its error is returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	for l := range s.listeners {
		l.Close()
	}
	conns := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.Terminate()
	}
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	for _, c := range conns {
		c.nc.Close()
	}
	return ctx.Err()
}
