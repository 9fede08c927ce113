package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// config is the configuration of serve.
type config struct {
	Data            string
	Listen          string
	Parallelism     int
	ChunkRows       int
	ColumnCacheMB   int64
	BarrierInterval time.Duration
	LogLevel        string
	Users           string
	TLSCert, TLSKey string
	MasterKeyFile   string
	MaxConnections  int
}

// flags declares every setting once; the file and the environment use the same
// names.
func (c *config) flags() (*flag.FlagSet, *string) {
	f := flag.NewFlagSet("streamdb serve", flag.ContinueOnError)
	f.StringVar(&c.Data, "data", "./data", "data `directory`")
	f.StringVar(&c.Listen, "listen", "127.0.0.1:4566", "`address` to listen on; beyond loopback only with --users")
	f.IntVar(&c.Parallelism, "parallelism", 0, "instances of each dataflow fragment of new jobs; 0: the number of cores")
	f.IntVar(&c.ChunkRows, "chunk-rows", 0, "rows of a full chunk; 0: the default of 1024")
	f.Int64Var(&c.ColumnCacheMB, "column-cache", 512, "`MiB` of memory for decoded columns of tables and views, which one-off queries read; 0: none")
	f.DurationVar(&c.BarrierInterval, "barrier-interval", 200*time.Millisecond, "least time between epochs of a graph with sources")
	f.StringVar(&c.LogLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&c.Users, "users", "", "`file` of users, a line \"name:password\" each; empty: no authentication, loopback only")
	f.StringVar(&c.TLSCert, "tls-cert", "", "certificate `file` for TLS")
	f.StringVar(&c.TLSKey, "tls-key", "", "key `file` for TLS")
	f.StringVar(&c.MasterKeyFile, "master-key-file", "", "`file` of the key that secrets are encrypted with; empty: STREAMDB_MASTER_KEY, else a key kept in the data directory")
	f.IntVar(&c.MaxConnections, "max-connections", 1000, "most client connections at a time")
	file := f.String("config", "", "configuration `file`")
	return f, file
}

// load reads the flags, then for what they leave open the environment, then the
// file.
func (c *config) load(args []string) error {
	f, file := c.flags()
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			os.Exit(0)
		}
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	given := map[string]bool{}
	f.Visit(func(x *flag.Flag) { given[x.Name] = true })
	var err error
	f.VisitAll(func(x *flag.Flag) {
		v, ok := os.LookupEnv("STREAMDB_" + strings.ToUpper(strings.ReplaceAll(x.Name, "-", "_")))
		if !ok || given[x.Name] || err != nil {
			return
		}
		given[x.Name] = true
		if e := f.Set(x.Name, v); e != nil {
			err = fmt.Errorf("environment: %s: %w", x.Name, e)
		}
	})
	if err != nil || *file == "" {
		return err
	}
	r, err := os.Open(*file)
	if err != nil {
		return err
	}
	defer r.Close()
	return readConfigFile(f, r, given)
}

func readConfigFile(f *flag.FlagSet, r io.Reader, given map[string]bool) error {
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		line, _, _ := strings.Cut(sc.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		k, v, ok := strings.Cut(line, "=")
		k, v = strings.TrimSpace(k), strings.Trim(strings.TrimSpace(v), `"'`)
		if !ok || f.Lookup(k) == nil {
			return fmt.Errorf("configuration file, line %d: unknown setting %q", n, k)
		}
		if given[k] {
			continue
		}
		if err := f.Set(k, v); err != nil {
			return fmt.Errorf("configuration file, line %d: %s: %w", n, k, err)
		}
	}
	return sc.Err()
}

// masterKey reads the key that secrets are encrypted with; nil: none is given.
func (c *config) masterKey() ([]byte, error) {
	if c.MasterKeyFile == "" {
		if k := os.Getenv("STREAMDB_MASTER_KEY"); k != "" {
			return []byte(k), nil
		}
		return nil, nil
	}
	b, err := os.ReadFile(c.MasterKeyFile)
	if err != nil {
		return nil, fmt.Errorf("master-key-file: %w", err)
	}
	return []byte(strings.TrimSpace(string(b))), nil
}
