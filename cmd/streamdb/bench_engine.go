package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/streamdb/streamdb/connector/registry"
	"github.com/streamdb/streamdb/engine"
)

// benchEngine is a server without a network, on a directory that is thrown away.
type benchEngine struct {
	*engine.Engine
	session *engine.Local
	dir     string
}

// openBench opens an engine; par 0 is an instance for each core.
func openBench(par int, interval time.Duration) (*benchEngine, error) {
	dir, err := os.MkdirTemp("", "streamdb-bench-")
	if err != nil {
		return nil, err
	}
	b := &benchEngine{dir: dir}
	b.Engine, err = engine.Open(engine.Config{Dir: dir, Parallelism: par, BarrierInterval: interval, Connectors: registry.All(),
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Version: version})
	if err == nil {
		b.session, err = b.OpenLocal()
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *benchEngine) close() {
	if b.session != nil {
		b.session.Close()
	}
	if b.Engine != nil {
		b.Engine.Close()
	}
	os.RemoveAll(b.dir)
}

// exec runs statements one after another.
func (b *benchEngine) exec(statements ...string) error {
	for _, q := range statements {
		if _, err := b.session.Exec(context.Background(), q); err != nil {
			return err
		}
	}
	return nil
}

// drain runs a query into a blackhole until it has come to an end, and commits.
func (b *benchEngine) drain(name, query string, ended func(engine.JobProgress) bool) error {
	if err := b.exec("CREATE SINK " + name + " AS " + query + " WITH (connector = 'blackhole')"); err != nil {
		return err
	}
	for {
		p := b.Progress(name)
		if p.Err != nil {
			return p.Err
		}
		if ended(p) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	_, _, err := b.SyncJob(name)
	return err
}
