//go:build kafka

package kafka

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/tests/serverproc"
)

// bigCents is the least amount that the view big_orders shows.
const bigCents = 50000

// catchUp bounds the wait for the last order after the last restart.
const catchUp = 15 * time.Minute

// TestKafkaExactlyOnce kills the server KILLS times while ORDERS orders flow
// through it, and then checks every result.
func TestKafkaExactlyOnce(t *testing.T) {
	kills, orders := number(t, "KILLS", 50), number(t, "ORDERS", 1000000)
	bin, err := serverproc.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	broker, err := StartBroker()
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Stop()
	ctx := t.Context()
	if err := CreateTopics(ctx, broker.Addr(), "orders", "customers", "big_orders", "paid_orders", "totals"); err != nil {
		t.Fatal(err)
	}
	server, err := serverproc.Start(serverproc.Options{Bin: bin, Data: filepath.Join(t.TempDir(), "data")})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	defer func() {
		if t.Failed() {
			t.Logf("output of the server:\n%s", server.Log())
		}
	}()
	createAll(t, server, broker.Addr())

	produced := make(chan error, 1)
	// Production is spread over the kills, so that each of them hits a server
	// at work.
	pause := time.Duration(kills) * 700 * time.Millisecond / time.Duration(orders/10000+1)
	go func() { produced <- Produce(ctx, broker.Addr(), orders, func(int64) { time.Sleep(pause) }) }()
	killLoop(t, server, kills)
	if err := <-produced; err != nil {
		t.Fatal(err)
	}

	want := computeTruth(orders)
	checkViews(t, server, want)
	checkSink(t, broker.Addr(), "big_orders", want.big, appendLine("order_id", "amount"))
	checkSink(t, broker.Addr(), "paid_orders", want.paid, appendLine("order_id", "region"))
	checkUpsert(t, broker.Addr(), "totals", want.totals)
	t.Logf("%d orders, %d kills: %d big and %d paid orders exactly once, %d totals, views equal the truth",
		orders, kills, len(want.big), len(want.paid), len(want.totals))
}

func number(t *testing.T, name string, fallback int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		t.Fatalf("%s=%q is no positive number", name, text)
	}
	return n
}

func createAll(t *testing.T, server *serverproc.Server, addr string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	source := func(topic string) string {
		return fmt.Sprintf(` WITH (connector='kafka', topic='%s', "properties.bootstrap.server"='%s', "scan.startup.mode"='earliest') FORMAT PLAIN ENCODE JSON`, topic, addr)
	}
	sink := func(topic, options, format string) string {
		return fmt.Sprintf(` WITH (connector='kafka', topic='%s', "properties.bootstrap.server"='%s', delivery='exactly_once'%s) FORMAT %s ENCODE JSON`, topic, addr, options, format)
	}
	for _, sql := range []string{
		"CREATE SOURCE orders (order_id bigint, customer_id bigint, amount numeric, status text, created_at timestamptz)" + source("orders"),
		"CREATE SOURCE customers (customer_id bigint, region text)" + source("customers"),
		"CREATE MATERIALIZED VIEW big_orders AS SELECT order_id, customer_id, amount FROM orders WHERE amount >= 500",
		"CREATE MATERIALIZED VIEW paid_orders AS SELECT o.order_id, c.region, o.amount FROM orders o JOIN customers c ON c.customer_id = o.customer_id WHERE o.status = 'paid'",
		"CREATE MATERIALIZED VIEW totals AS SELECT customer_id, count(*) AS n, sum(amount) AS total FROM orders GROUP BY customer_id",
		"CREATE MATERIALIZED VIEW regions AS SELECT region, count(*) AS n, sum(amount) AS total FROM paid_orders GROUP BY region",
		"CREATE SINK big_out FROM big_orders" + sink("big_orders", "", "PLAIN"),
		"CREATE SINK paid_out FROM paid_orders" + sink("paid_orders", "", "PLAIN"),
		"CREATE SINK totals_out FROM totals" + sink("totals", ", primary_key='customer_id'", "UPSERT"),
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// killLoop crashes and restarts the server at random moments.
func killLoop(t *testing.T, server *serverproc.Server, kills int64) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(number(t, "SEED", 1)), 0))
	for i := int64(1); i <= kills; i++ {
		time.Sleep(time.Duration(20+r.IntN(900)) * time.Millisecond)
		if !server.Alive() {
			t.Fatalf("the server died by itself before kill %d", i)
		}
		if err := server.Restart(); err != nil {
			t.Fatalf("restart %d: %v", i, err)
		}
		if i%10 == 0 || i == kills {
			t.Logf("%d of %d kills", i, kills)
		}
	}
}

// truth is what the orders must lead to: lines of the sinks with how often
// each must occur, and rows of the views.
type truth struct {
	big, paid map[string]int
	totals    map[string]string
	views     map[string]string
}

func computeTruth(orders int64) truth {
	w := truth{big: map[string]int{}, paid: map[string]int{}, totals: map[string]string{}, views: map[string]string{}}
	type sum struct{ n, cents int64 }
	perCustomer, perRegion := map[int64]sum{}, map[string]sum{}
	var all, big sum
	for id := int64(0); id < orders; id++ {
		o := MakeOrder(id)
		perCustomer[o.Customer] = sum{perCustomer[o.Customer].n + 1, perCustomer[o.Customer].cents + o.Cents}
		all = sum{all.n + 1, all.cents + o.Cents}
		if o.Cents >= bigCents {
			big = sum{big.n + 1, big.cents + o.Cents}
			w.big[fmt.Sprintf("%d %s", id, o.Amount())]++
		}
		if o.Status == "paid" {
			region := Region(o.Customer)
			perRegion[region] = sum{perRegion[region].n + 1, perRegion[region].cents + o.Cents}
			w.paid[fmt.Sprintf("%d %s", id, region)]++
		}
	}
	cents := func(c int64) string { return fmt.Sprintf("%d.%02d", c/100, c%100) }
	for c, s := range perCustomer {
		w.totals[strconv.FormatInt(c, 10)] = fmt.Sprintf("%d %s", s.n, cents(s.cents))
	}
	var rows []string
	for _, region := range []string{"east", "north", "south", "west"} {
		if s := perRegion[region]; s.n > 0 {
			rows = append(rows, fmt.Sprintf("%s %d %s", region, s.n, cents(s.cents)))
		}
	}
	w.views["SELECT region || ' ' || n || ' ' || total FROM regions ORDER BY region"] = strings.Join(rows, "|")
	w.views["SELECT count(*) || ' ' || sum(amount) FROM big_orders"] = fmt.Sprintf("%d %s", big.n, cents(big.cents))
	w.views["SELECT sum(n) || ' ' || sum(total) FROM totals"] = fmt.Sprintf("%d %s", all.n, cents(all.cents))
	w.views["SELECT count(*) || '' FROM paid_orders"] = strconv.Itoa(len(w.paid))
	return w
}

// checkViews waits until every query answers with the truth.
func checkViews(t *testing.T, server *serverproc.Server, want truth) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for sql, expected := range want.views {
		var got string
		poll(func() bool {
			rows, err := conn.Query(t.Context(), sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			got = strings.Join(lines, "|")
			return got == expected
		})
		if got != expected {
			t.Errorf("%s:\n got %s\nwant %s", sql, got, expected)
		}
	}
}

// poll calls done until it says so, or catchUp is over.
func poll(done func() bool) {
	for deadline := time.Now().Add(catchUp); !done() && time.Now().Before(deadline); {
		time.Sleep(500 * time.Millisecond)
	}
}

// appendLine makes the line of a record from two of its fields.
func appendLine(fields ...string) func(*kgo.Record) (string, error) {
	return func(r *kgo.Record) (string, error) {
		numbers, texts, err := decode(r.Value)
		var parts []string
		for _, f := range fields {
			if n, ok := numbers[f]; ok {
				parts = append(parts, n.String())
			} else {
				parts = append(parts, texts[f])
			}
		}
		return strings.Join(parts, " "), err
	}
}

// checkSink compares the whole topic with the lines that must occur, once the
// topic holds as many records as there must be, and once more a little later:
// a record that is delivered twice may come late.
func checkSink(t *testing.T, addr, topic string, want map[string]int, line func(*kgo.Record) (string, error)) {
	t.Helper()
	read := func() (map[string]int, int) {
		got, n := map[string]int{}, 0
		err := ReadCommitted(t.Context(), addr, topic, func(r *kgo.Record) error {
			l, err := line(r)
			got[l]++
			n++
			return err
		})
		if err != nil {
			t.Fatalf("topic %s: %v", topic, err)
		}
		return got, n
	}
	expected := 0
	for _, n := range want {
		expected += n
	}
	poll(func() bool { _, n := read(); return n >= expected })
	time.Sleep(3 * time.Second)
	got, n := read()
	lost, doubled, foreign := 0, 0, 0
	for l, times := range want {
		switch {
		case got[l] < times:
			lost++
		case got[l] > times:
			doubled++
		}
	}
	for l := range got {
		if want[l] == 0 {
			foreign++
		}
	}
	t.Logf("topic %s: %d records, %d expected, %d lost, %d doubled, %d foreign", topic, n, expected, lost, doubled, foreign)
	if lost+doubled+foreign > 0 {
		t.Errorf("topic %s is not exactly once", topic)
	}
}

// checkUpsert compares the last value of every key with the truth.
func checkUpsert(t *testing.T, addr, topic string, want map[string]string) {
	t.Helper()
	wrong := 0
	poll(func() bool {
		got := map[string]string{}
		err := ReadCommitted(t.Context(), addr, topic, func(r *kgo.Record) error {
			key, _, err := decode(r.Key)
			if err != nil {
				return fmt.Errorf("key %q: %w", r.Key, err)
			}
			id := key["customer_id"].String()
			if r.Value == nil {
				delete(got, id)
				return nil
			}
			got[id], err = appendLine("n", "total")(r)
			return err
		})
		if err != nil {
			t.Fatalf("topic %s: %v", topic, err)
		}
		wrong = len(got) - len(want)
		if wrong < 0 {
			wrong = -wrong
		}
		for id, line := range want {
			if got[id] != line {
				wrong++
			}
		}
		return wrong == 0
	})
	if wrong > 0 {
		t.Errorf("topic %s: %d of %d keys end with a wrong value", topic, wrong, len(want))
	}
}
