package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/streamdb/streamdb/pgerr"
)

// version is set by the build (-ldflags "-X main.version=...").
var version = "devel"

const usage = `StreamDB keeps the answers to SQL queries up to date.

Usage:
  streamdb serve [--data DIR] [--listen HOST:PORT] [flags]   start the server
  streamdb demo  [--listen HOST:PORT]                        a self-contained pipeline to look at
  streamdb bench nexmark --query q0[,q1...|all] [flags]      measure Nexmark queries
  streamdb bench kafka [--query q0,q1,q2] [flags]            measure queries over bids from a real Kafka
  streamdb bench latency [flags]                             measure INSERT to SELECT on a view of a view
  streamdb bench sql [flags]                                 measure TPC-H queries and views beside PostgreSQL
  streamdb version                                           print the version
  streamdb help                                              print this text

"streamdb serve --help" lists the flags. Each flag can also be given in the
configuration file (--config FILE, lines "name = value") or as an environment
variable STREAMDB_NAME; a flag wins over the environment, the environment over
the file.
`

func main() {
	args := os.Args[1:]
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	var err error
	switch args[0] {
	case "serve":
		err = serve(args[1:])
	case "demo":
		err = demo(args[1:])
	case "bench":
		err = benchmark(args[1:])
	case "version", "--version", "-v":
		fmt.Println("streamdb", version)
	case "help", "--help", "-h":
		fmt.Print(usage)
	default:
		err = fmt.Errorf("unknown command %q; streamdb help lists the commands", args[0])
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) { // --help has printed its text
		fmt.Fprintln(os.Stderr, "streamdb:", err)
		var e *pgerr.Error
		if errors.As(err, &e) && e.Detail != "" {
			fmt.Fprintln(os.Stderr, "DETAIL:", e.Detail)
		}
		if errors.As(err, &e) && e.Hint != "" {
			fmt.Fprintln(os.Stderr, "HINT:", e.Hint)
		}
		os.Exit(1)
	}
}
