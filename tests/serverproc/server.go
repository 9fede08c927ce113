package serverproc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// readyTimeout bounds a start, recovery of the data directory included. It is
// generous because test machines are small and shared.
const readyTimeout = 90 * time.Second

// Options say how to start a server. The zero value of every field but Bin and
// Data is usable.
type Options struct {
	Bin  string   // path of the binary
	Data string   // data directory, created by the server
	Addr string   // host:port; empty picks a free loopback port
	Env  []string // extra NAME=value pairs
}

// Server is a running child process. Its methods are safe for one goroutine.
type Server struct {
	opts  Options
	cmd   *exec.Cmd
	log   *tail
	done  chan struct{} // closed when the process has ended and was waited for
	state error         // result of Wait, valid after done is closed
}

// Start runs `BIN serve --data DATA --listen ADDR` and returns when the server
// has printed "ready". The error of a failed start carries the server's output.
func Start(opts Options) (*Server, error) {
	if opts.Addr == "" {
		addr, err := FreeAddr()
		if err != nil {
			return nil, err
		}
		opts.Addr = addr
	}
	s := &Server{opts: opts, log: &tail{}}
	if err := s.launch(); err != nil {
		return nil, err
	}
	return s, nil
}

// Addr is the host:port that the server listens on; a restart keeps it.
func (s *Server) Addr() string { return s.opts.Addr }

// DSN is a connection string for the server's default database.
func (s *Server) DSN() string {
	return "postgres://streamdb@" + s.opts.Addr + "/streamdb?sslmode=disable"
}

// Pid is the process id, for tests that look at the process from outside.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// Log returns the last part of what the server wrote, over all its restarts.
func (s *Server) Log() string { return s.log.String() }

// Alive tells whether the process is still running.
func (s *Server) Alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// Dump ends a server that hangs with the stacks of its goroutines in its log.
func (s *Server) Dump() error { return s.end(syscall.SIGQUIT) }

// Kill sends SIGKILL and waits for the process to be gone: the crash of the
// tests. Killing a process that has ended already is no error.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

// Stop asks the server to shut down in order (SIGTERM) and waits; a server
// that does not obey within half a minute is killed and reported.
func (s *Server) Stop() error {
	if err := s.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-s.done:
		return nil
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("server ignored SIGTERM for 30s"), s.Kill())
	}
}

// Restart starts the server again on the same data directory and port, after
// killing it when it still runs.
func (s *Server) Restart() error {
	if err := s.Kill(); err != nil {
		return err
	}
	return s.launch()
}

func (s *Server) end(sig syscall.Signal) error {
	if err := s.signal(sig); err != nil {
		return err
	}
	<-s.done
	return nil
}

func (s *Server) signal(sig syscall.Signal) error {
	if !s.Alive() {
		return nil
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (s *Server) launch() error {
	cmd := exec.Command(s.opts.Bin, "serve", "--data", s.opts.Data, "--listen", s.opts.Addr)
	cmd.Env = append(os.Environ(), s.opts.Env...)
	cmd.Stderr = s.log
	// A process whose test died must not live on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	s.done = make(chan struct{})
	ready := make(chan struct{})
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.watch(out, ready)
	}()
	done := s.done
	go func() {
		<-drained // Wait closes the pipe, so the reader goes first
		s.state = cmd.Wait()
		close(done)
	}()
	return s.awaitReady(ready)
}

func (s *Server) awaitReady(ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case <-s.done:
		return fmt.Errorf("server ended before it was ready: %v\n%s", s.state, s.Log())
	case <-time.After(readyTimeout):
		return errors.Join(fmt.Errorf("server not ready after %s\n%s", readyTimeout, s.Log()), s.Kill())
	}
}

// watch copies standard output to the log and closes ready at the line "ready".
func (s *Server) watch(out io.Reader, ready chan struct{}) {
	sc := bufio.NewScanner(out)
	sc.Buffer(make([]byte, 64<<10), 1<<20)
	seen := false
	for sc.Scan() {
		line := sc.Text()
		if !seen && strings.HasPrefix(strings.TrimSpace(line), "ready") {
			seen = true
			close(ready)
		}
		fmt.Fprintln(s.log, line)
	}
}

// tail is a writer that remembers the last part of what it was given.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// tailLimit is how many bytes of a server's output a failure report shows.
const tailLimit = 256 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	if extra := t.buf.Len() - tailLimit; extra > 0 {
		t.buf.Next(extra)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
