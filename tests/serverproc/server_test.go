package serverproc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// standIn writes a program that takes the place of the server.
func standIn(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServerLife(t *testing.T) {
	s, err := Start(Options{Bin: standIn(t, `echo "got $*"; echo ready; exec sleep 300`), Data: "/d"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	first := s.Pid()
	if want := "got serve --data /d --listen " + s.Addr(); !s.Alive() || !strings.Contains(s.Log(), want) {
		t.Errorf("log %q lacks %q", s.Log(), want)
	}
	if err := s.Restart(); err != nil || s.Pid() == first || !s.Alive() {
		t.Errorf("restart: %v, pid %d after %d", err, s.Pid(), first)
	}
	if err := s.Stop(); err != nil || s.Alive() {
		t.Errorf("stop: %v", err)
	}
	if err := s.Kill(); err != nil {
		t.Errorf("kill after stop: %v", err)
	}
}

func TestFailedStartTellsWhy(t *testing.T) {
	_, err := Start(Options{Bin: standIn(t, "echo the disk is full >&2; exit 3"), Data: "/d"})
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v", err)
	}
}
