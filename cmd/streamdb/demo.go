package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/streamdb/streamdb/engine"
	"github.com/streamdb/streamdb/wire"
)

// demoScript builds the pipeline of the demo; the first argument is the broker.
var demoScript = []string{
	`CREATE SOURCE auction WITH (connector = 'nexmark', type = 'auction', rate = '5000')`,
	`CREATE SOURCE bid WITH (connector = 'nexmark', type = 'bid', rate = '5000')`,
	`CREATE MATERIALIZED VIEW bids_per_auction AS SELECT auction, count(*) AS bids, max(price) AS top FROM bid GROUP BY auction`,
	`CREATE MATERIALIZED VIEW price_per_category AS SELECT a.category, count(*) AS bids, avg(b.price) AS average
		FROM auction a JOIN bid b ON a.id = b.auction GROUP BY a.category`,
	`CREATE MATERIALIZED VIEW busiest AS SELECT auction, bids, top FROM bids_per_auction ORDER BY bids DESC, auction LIMIT 10`,
	`CREATE SINK busiest_to_kafka FROM busiest WITH (connector = 'kafka', topic = 'busiest', "properties.bootstrap.server" = '%s', primary_key = 'auction')
		FORMAT UPSERT ENCODE JSON`,
	`CREATE SOURCE delivered (auction bigint, bids bigint) WITH (connector = 'kafka', topic = 'busiest', "properties.bootstrap.server" = '%s')
		FORMAT PLAIN ENCODE JSON`,
	`CREATE MATERIALIZED VIEW deliveries AS SELECT count(*) AS records FROM delivered`,
}

// demo starts an embedded broker and a server with a pipeline to look at, on a
// throw-away data directory.
func demo(args []string) error {
	f := flag.NewFlagSet("streamdb demo", flag.ContinueOnError)
	listen := f.String("listen", "127.0.0.1:4566", "`address` to listen on")
	if err := f.Parse(args); err != nil {
		return err
	}
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "busiest"))
	if err != nil {
		return err
	}
	defer broker.Close()
	dir, err := os.MkdirTemp("", "streamdb-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log, err := logger("warn")
	if err != nil {
		return err
	}
	eng, err := openEngine(&config{Data: dir}, nil, log)
	if err != nil {
		return err
	}
	if err := buildDemo(eng, broker.ListenAddrs()[0]); err != nil {
		eng.Close()
		return err
	}
	srv := wire.NewServer(eng, wire.Config{Log: log})
	l, err := srv.Listen(*listen)
	if err != nil {
		eng.Close()
		return err
	}
	fmt.Print(demoText(l.Addr().String()))
	return runServer(eng, srv, l, log)
}

func buildDemo(eng *engine.Engine, broker string) error {
	s, err := eng.OpenLocal()
	if err != nil {
		return err
	}
	defer s.Close()
	for _, st := range demoScript {
		if n := countVerbs(st); n > 0 {
			st = fmt.Sprintf(st, broker)
		}
		if _, err := s.Exec(context.Background(), st); err != nil {
			return fmt.Errorf("%w\nin: %s", err, st)
		}
	}
	return nil
}

func countVerbs(s string) (n int) {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '%' && s[i+1] == 's' {
			n++
		}
	}
	return n
}

func demoText(addr string) string {
	return `The demo runs an auction house: 5,000 events a second from the Nexmark
generator, three materialized views, and a sink that writes the ten busiest
auctions to Kafka (an embedded broker) exactly once. Connect with

  ` + connectHint(addr) + `

and try (Ctrl-C ends a \watch):

  SHOW MATERIALIZED VIEWS;
  SELECT * FROM busiest ORDER BY bids DESC \watch 1
  SELECT * FROM price_per_category ORDER BY category;
  SHOW SINKS;
  SELECT * FROM deliveries;           -- what a reader of the Kafka topic sees

Ctrl-C ends the demo and removes its data.
`
}
