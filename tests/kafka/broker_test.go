//go:build kafka

package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestKafkaBroker checks the harness itself: every order that is produced is
// consumed once.
func TestKafkaBroker(t *testing.T) {
	b, err := StartBroker()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Stop()
	if err := CreateTopics(t.Context(), b.Addr(), "orders", "customers"); err != nil {
		t.Fatal(err)
	}
	const n = 20000
	if err := Produce(t.Context(), b.Addr(), n, nil); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	err = ReadCommitted(t.Context(), b.Addr(), "orders", func(r *kgo.Record) error {
		numbers, _, err := decode(r.Value)
		seen[numbers["order_id"].String()]++
		return err
	})
	if err != nil || len(seen) != n {
		t.Fatalf("%d distinct orders, %v", len(seen), err)
	}
	for id, times := range seen {
		if times != 1 {
			t.Fatalf("order %s was read %d times", id, times)
		}
	}
}
