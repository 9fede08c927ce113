package kafka

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/types"
)

// visible counts the records of the topic that a reader sees, uncommitted ones
// too or not.
func visible(t *testing.T, c brokers, level kgo.IsolationLevel) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(testContext(t), 20*time.Second)
	defer cancel()
	cl := newClient(t, c, kgo.FetchIsolationLevel(level), kgo.KeepControlRecords(), kgo.ConsumeTopics("t"), kgo.FetchMaxWait(50*time.Millisecond))
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, "t")
	if level == kgo.ReadCommitted() {
		ends, err = kadm.NewClient(cl).ListCommittedOffsets(ctx, "t")
	}
	if err != nil {
		t.Fatal(err)
	}
	left, n := 0, 0
	ends.Each(func(o kadm.ListedOffset) { left += int(o.Offset) })
	at := map[int32]int64{}
	for {
		done := 0
		for _, o := range at {
			done += int(o)
		}
		if done >= left {
			return n
		}
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			at[r.Partition] = r.Offset + 1
			if !r.Attrs.IsControl() {
				n++
			}
		})
	}
}

// What is written and not committed is there, and only readers of uncommitted
// records see it: proof that there are transactions.
func TestUncommittedIsInvisible(t *testing.T) {
	c := newCluster(t, 2)
	g := &engine{t: t, s: newTestSink(t, optionsFor(c), 1)}
	g.deliverTo(1)
	d, _ := g.open()
	defer d.Close()
	if err := writeOnly(testContext(t), d, 2, epochLog(t, g.s, 2)); err != nil {
		t.Fatal(err)
	}
	if n := visible(t, c, kgo.ReadUncommitted()); n != 2*rowsPerEpoch {
		t.Errorf("%d records are there", n)
	}
	if n := visible(t, c, kgo.ReadCommitted()); n != rowsPerEpoch {
		t.Errorf("%d records are committed", n)
	}
	g.deliverTo(2)
	exactlyOnce(t, c, 2)
}

// recoveries are the steps of taking over after which the next deliverer
// vanishes too; those from reopened on redeliver first what is missing.
var recoveries = []string{"client made", "fenced", "reopened", "begun again", "part written again", "written again", "committed again"}

const reopened = 2

// A deliverer vanishes during epoch 3, and the one that takes over vanishes at
// each of its steps, twice.
func TestLostDuringRecovery(t *testing.T) {
	for level, opts := range levels {
		for first := 2; first < len(losses); first++ {
			for step, name := range recoveries {
				t.Run(fmt.Sprintf("%s, loss %d, %s", level, first, name), func(t *testing.T) {
					c := newCluster(t, 2, opts...)
					g := &engine{t: t, s: newTestSink(t, optionsFor(c), 1)}
					ctx := testContext(t)
					g.deliverTo(2)
					lost, _ := g.open()
					defer lost.Close()
					if err := losses[first](ctx, lost, 3, epochLog(t, g.s, 3)); err != nil {
						t.Fatal(err)
					}
					for range 2 {
						defer g.loseRecovering(ctx, step).Close()
					}
					g.deliverTo(5)
					exactlyOnce(t, c, 5)
				})
			}
		}
	}
}

func (g *engine) loseRecovering(ctx context.Context, step int) *deliverer {
	g.t.Helper()
	if step < reopened {
		d, err := g.s.deliverer()
		if err == nil && step > 0 {
			err = fence(ctx, d.cl)
		}
		if err != nil {
			g.t.Fatal(err)
		}
		return d
	}
	d, last := g.open()
	if err := losses[step-reopened](ctx, d, last+1, epochLog(g.t, g.s, last+1)); err != nil {
		g.t.Fatal(err)
	}
	return d
}

// The sink is away for longer than its transactions may take, before and after
// the commit succeeded.
func TestAwayLongerThanTheTimeout(t *testing.T) {
	for level, opts := range levels {
		for first := 2; first < len(losses); first++ {
			t.Run(fmt.Sprintf("%s, loss %d", level, first), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, 2, opts...)
				g := &engine{t: t, s: newTestSink(t, optionsFor(c, optTxTimeout, "1000"), 1)}
				g.deliverTo(2)
				lost, _ := g.open()
				defer lost.Close()
				if err := losses[first](testContext(t), lost, 3, epochLog(t, g.s, 3)); err != nil {
					t.Fatal(err)
				}
				awaitStable(t, c)
				g.deliverTo(5)
				exactlyOnce(t, c, 5)
			})
		}
	}
}

// awaitStable waits until the brokers have ended the topic's transactions.
func awaitStable(t *testing.T, c brokers) {
	t.Helper()
	ctx := testContext(t)
	adm := kadm.NewClient(newClient(t, c))
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		stable, err1 := adm.ListCommittedOffsets(ctx, "t")
		end, err2 := adm.ListEndOffsets(ctx, "t")
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		same := true
		end.Each(func(o kadm.ListedOffset) {
			s, _ := stable.Lookup(o.Topic, o.Partition)
			same = same && s.Offset == o.Offset
		})
		if same {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the transaction does not time out")
		}
	}
}

// The brokers have forgotten the transactional id, as they do after a week
// without use: of a sink between two epochs, and of one whose deliverer is gone.
func TestExpiredID(t *testing.T) {
	c := newCluster(t, 1, kfake.BrokerConfigs(map[string]string{"transactional.id.expiration.ms": "100"}))
	g := &engine{t: t, s: newTestSink(t, optionsFor(c), 1)}
	d, _ := g.open()
	ctx := testContext(t)
	for e := types.Epoch(1); e <= 2; e++ {
		if err := d.Deliver(ctx, e, epochLog(t, g.s, e)); err != nil {
			g.errs = append(g.errs, err)
			break
		}
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			ids, err := kadm.NewClient(newClient(t, c)).ListTransactions(ctx, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(ids) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the id does not expire:", ids)
			}
		}
	}
	d.Close()
	g.deliverTo(4)
	exactlyOnce(t, c, 4)
}
