package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/streamdb/streamdb/connector/registry"
	"github.com/streamdb/streamdb/engine"
	"github.com/streamdb/streamdb/wire"
)

// serve runs the server until SIGTERM or SIGINT.
func serve(args []string) error {
	var c config
	if err := c.load(args); err != nil {
		return err
	}
	log, err := logger(c.LogLevel)
	if err != nil {
		return err
	}
	tuneRuntime()
	wc := wire.Config{MaxConnections: c.MaxConnections, Log: log}
	var users map[string]string
	if c.Users != "" {
		if users, err = readUsers(c.Users); err != nil {
			return err
		}
	}
	if c.TLSCert != "" {
		if wc.TLS, err = wire.LoadTLS(c.TLSCert, c.TLSKey); err != nil {
			return err
		}
	}
	eng, err := openEngine(&c, users, log)
	if err != nil {
		return err
	}
	authenticate(&wc, eng, users)
	srv := wire.NewServer(eng, wc)
	l, err := srv.Listen(c.Listen)
	if err != nil {
		eng.Close()
		return err
	}
	return runServer(eng, srv, l, log)
}

// authenticate says who must prove who it is: with a users file everybody, by the
// password in the file or else that of the role; without one the roles that have a
// password.
func authenticate(wc *wire.Config, eng *engine.Engine, users map[string]string) {
	wc.Secret = func(u string) (string, bool) {
		if p, ok := users[u]; ok {
			return p, true
		}
		return eng.Password(u)
	}
	if users == nil {
		wc.Trust = eng.Trusted
	}
}

func openEngine(c *config, users map[string]string, log *slog.Logger) (*engine.Engine, error) {
	key, err := c.masterKey()
	if err != nil {
		return nil, err
	}
	cache := c.ColumnCacheMB << 20
	if cache <= 0 {
		cache = -1
	}
	var listed func(string) bool
	if users != nil {
		listed = func(u string) bool { _, ok := users[u]; return ok }
	}
	return engine.Open(engine.Config{Users: listed, MasterKey: key, Dir: c.Data, ChunkRows: c.ChunkRows, ColumnCache: cache, BarrierInterval: c.BarrierInterval,
		Parallelism: c.Parallelism, Connectors: registry.All(), Log: log, Version: version})
}

// runServer serves until a signal, then stops cleanly: no new connections, open
// ones ended with 57P01, jobs at their last committed epoch.
func runServer(eng *engine.Engine, srv *wire.Server, l net.Listener, log *slog.Logger) error {
	sig := make(chan os.Signal, 1)
	signal.Notify(sig, syscall.SIGTERM, syscall.SIGINT)
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	log.Info("listening", "address", l.Addr().String(), "connect", connectHint(l.Addr().String()))
	fmt.Println("ready")
	select {
	case err := <-failed:
		eng.Close()
		return err
	case s := <-sig:
		log.Info("stopping", "signal", s.String())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		log.Warn("some connections were cut", "err", err)
	}
	return eng.Close()
}

// tuneRuntime sets what the Go runtime cannot know. The heap may grow to four
// times what is live before a collection: state is kept in few large flat pieces,
// so collecting often buys nothing. And twice as many threads as cores run Go
// code, so that a statement does not wait behind the time slices of saturated
// pipelines. GOGC and GOMAXPROCS in the environment win.
func tuneRuntime() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(2 * runtime.NumCPU())
	}
}

func connectHint(addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	return fmt.Sprintf("psql -h %s -p %s -U streamdb streamdb", host, port)
}

func logger(level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log-level: %w", err)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: l})), nil
}

// readUsers reads "name:password" lines; # begins a comment line.
func readUsers(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	users := map[string]string{}
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, pw, ok := strings.Cut(line, ":")
		if !ok || name == "" || pw == "" {
			return nil, fmt.Errorf("users file, line %d: want name:password", n)
		}
		users[name] = pw
	}
	if len(users) == 0 && sc.Err() == nil {
		return nil, fmt.Errorf("users file %s names no user", path)
	}
	return users, sc.Err()
}
