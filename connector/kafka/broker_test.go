//go:build kafka

package kafka

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/streamdb/streamdb/pgerr"
	broker "github.com/streamdb/streamdb/tests/kafka"
)

type realBroker struct{ b *broker.Broker }

func (r realBroker) ListenAddrs() []string { return []string{r.b.Addr()} }

// remake makes the topic "t" anew.
func (r realBroker) remake(t *testing.T, partitions int32) {
	t.Helper()
	ctx := testContext(t)
	adm := kadm.NewClient(newClient(t, r))
	adm.DeleteTopic(ctx, "t") // it may not exist
	made := false
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, err := adm.CreateTopic(ctx, partitions, 1, nil, "t")
		if made = made || err == nil; made { // others hear of it a little later
			var ends kadm.ListedOffsets
			if ends, err = adm.ListEndOffsets(ctx, "t"); err == nil && ends.Error() == nil && len(ends["t"]) == int(partitions) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// What the fake brokers cannot vouch for is repeated with a real one.
func TestRealBroker(t *testing.T) {
	b, err := broker.StartBroker()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Stop()
	r := realBroker{b}
	for step := range losses {
		t.Run(fmt.Sprint("lost deliverer, step ", step), func(t *testing.T) {
			r.remake(t, 2)
			loseAt(t, r, step)
		})
	}
	t.Run("foreign transaction", func(t *testing.T) {
		r.remake(t, 2)
		hideMarker(t, r)
	})
	t.Run("transaction markers", func(t *testing.T) {
		r.remake(t, 1)
		transactionMarkers(t, r)
	})
	t.Run("check", func(t *testing.T) {
		if err := newTestSink(t, optionsFor(r), 1).Check(testContext(t)); err != nil {
			t.Error(err)
		}
		err := newTestSink(t, optionsFor(r, optTxTimeout, "3600000"), 1).Check(testContext(t))
		if pgerr.CodeOf(err) != pgerr.InvalidParameterValue {
			t.Error(err)
		}
	})
	t.Run("out of range", func(t *testing.T) {
		r.remake(t, 1)
		cl := newClient(t, r)
		produce(t, cl, 0, nums(0, 10)...)
		offsets := kadm.Offsets{}
		offsets.AddOffset("t", 0, 5, -1)
		if _, err := kadm.NewClient(cl).DeleteRecords(testContext(t), offsets); err != nil {
			t.Fatal(err)
		}
		s := newTestSource(t, optionsFor(r), numColumn)
		f := openFeed(t, s, nil)
		f.until("rows", func() bool { return len(f.rows) == 5 })
		o, err := parseOffset(f.offsets["0"])
		if err != nil {
			t.Fatal(err)
		}
		for _, next := range []int64{2, 100} {
			o.next, o.epoch = next, -1
			g := openFeed(t, s, map[string]string{"0": o.String()})
			if err := g.fails(); pgerr.CodeOf(err) != pgerr.ObjectNotInPrerequisiteState {
				t.Error(next, err)
			}
		}
		r.remake(t, 1)
		if _, err := s.Open(testContext(t), []int{0}, 0, 1, f.offsets); pgerr.CodeOf(err) != pgerr.ObjectNotInPrerequisiteState {
			t.Error(err)
		}
	})
}
