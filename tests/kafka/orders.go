package kafka

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// customers is the number of customers that place the orders.
const customers = 1000

// partitions of the topics.
const partitions = 4

var regions = []string{"north", "east", "south", "west"}
var statuses = []string{"open", "paid", "shipped", "cancelled"}

// Order is a record of the topic orders. Amounts are whole cents, so that the
// truth is computed without rounding.
type Order struct {
	ID, Customer, Cents int64
	Status              string
}

// MakeOrder returns the order of this id, always the same one.
func MakeOrder(id int64) Order {
	r := rand.New(rand.NewPCG(uint64(id), 7))
	return Order{ID: id, Customer: r.Int64N(customers), Cents: r.Int64N(100000), Status: statuses[r.IntN(len(statuses))]}
}

// Amount is the order's amount as it is written, with two decimals.
func (o Order) Amount() string { return fmt.Sprintf("%d.%02d", o.Cents/100, o.Cents%100) }

// Region is where a customer lives.
func Region(customer int64) string { return regions[customer%int64(len(regions))] }

// JSON is the record's value.
func (o Order) JSON() []byte {
	return fmt.Appendf(nil, `{"order_id":%d,"customer_id":%d,"amount":%s,"status":%q,"created_at":"2026-01-01T%02d:%02d:%02dZ"}`,
		o.ID, o.Customer, o.Amount(), o.Status, o.ID/3600%24, o.ID/60%60, o.ID%60)
}

// CreateTopics creates the topics with the test's number of partitions.
func CreateTopics(ctx context.Context, addr string, topics ...string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return err
	}
	defer client.Close()
	answers, err := kadm.NewClient(client).CreateTopics(ctx, partitions, 1, nil, topics...)
	if err != nil {
		return err
	}
	return answers.Error()
}

// Produce writes the customers and then the orders 0..n-1. It reports each
// ten-thousandth order to progress, which may be nil.
func Produce(ctx context.Context, addr string, n int64, progress func(int64)) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.MaxBufferedRecords(20000))
	if err != nil {
		return err
	}
	defer client.Close()
	var mu sync.Mutex
	var first error
	note := func(_ *kgo.Record, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil && first == nil {
			first = err
		}
	}
	send := func(topic string, key int64, value []byte) {
		client.Produce(ctx, &kgo.Record{Topic: topic, Key: strconv.AppendInt(nil, key, 10), Value: value}, note)
	}
	for c := int64(0); c < customers; c++ {
		send("customers", c, fmt.Appendf(nil, `{"customer_id":%d,"region":%q}`, c, Region(c)))
	}
	for id := int64(0); id < n; id++ {
		send("orders", id, MakeOrder(id).JSON())
		if progress != nil && id%10000 == 0 {
			progress(id)
		}
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	return first
}

// ReadCommitted reads a topic from its beginning to the end that it has now,
// as a read_committed consumer, and calls each for every record.
func ReadCommitted(ctx context.Context, addr, topic string, each func(*kgo.Record) error) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.KeepControlRecords())
	if err != nil {
		return err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListCommittedOffsets(ctx, topic)
	if err != nil {
		return err
	}
	open := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			open[o.Partition] = o.Offset
		}
	})
	for len(open) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		var failed error
		fetches.EachRecord(func(r *kgo.Record) {
			// Commit markers take an offset too, and are often the last one.
			if end, ok := open[r.Partition]; ok && r.Offset >= end-1 {
				delete(open, r.Partition)
			}
			if !r.Attrs.IsControl() && failed == nil {
				failed = each(r)
			}
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}

// decode reads a JSON object, keeping the digits of its numbers.
func decode(value []byte) (map[string]json.Number, map[string]string, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(value, &raw); err != nil {
		return nil, nil, err
	}
	numbers, texts := map[string]json.Number{}, map[string]string{}
	for k, v := range raw {
		if len(v) > 0 && v[0] == '"' {
			var s string
			if err := json.Unmarshal(v, &s); err != nil {
				return nil, nil, err
			}
			texts[k] = s
			continue
		}
		numbers[k] = json.Number(v)
	}
	return numbers, texts, nil
}
