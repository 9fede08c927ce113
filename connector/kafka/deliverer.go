package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// deliverer writes epochs; it is the only one of its sink once it has fenced the
// others. After a failure it is of no use any more: the client would try to heal
// the transaction by aborting it, though it may be committed.
type deliverer struct {
	*health
	s      *sink
	cl     *kgo.Client
	last   types.Epoch
	begun  time.Time // when the transaction began
	broken bool
}

// fence makes the client the owner of its transactional id: what an earlier owner
// left open is ended, and it can neither write nor commit any more. While an
// earlier commit is being completed the brokers ask to wait.
func fence(ctx context.Context, cl *kgo.Client) error {
	for {
		_, _, err := cl.ProducerID(ctx)
		if !errors.Is(err, kerr.ConcurrentTransactions) {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func (d *deliverer) open(ctx context.Context) error {
	if _, err := d.s.lookup(ctx, d.cl); err != nil {
		return err
	}
	if !d.s.exact {
		return nil
	}
	if err := d.s.ensureMarkers(ctx, d.cl); err != nil {
		return err
	}
	// The order matters: a marker read before the fence could be overtaken.
	if err := fence(ctx, d.cl); err != nil {
		return err
	}
	var err error
	d.last, err = d.s.readMarker(ctx, d.cl)
	return err
}

// Last implements connector.Deliverer.
func (d *deliverer) Last(context.Context) (types.Epoch, bool, error) { return d.last, d.s.exact, nil }

// Deliver implements connector.Deliverer. An epoch without records is not
// written, and leaves no marker.
func (d *deliverer) Deliver(ctx context.Context, e types.Epoch, records []byte) error {
	if d.broken {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the deliverer has failed and must be opened anew")
	}
	if d.s.exact && e <= d.last {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "epoch %d of sink \"%s\" is older than what topic \"%s\" holds: epoch %d", e, d.s.spec.Name, d.s.topic, d.last).
			WithHint("The state is older than what was delivered. Drop the sink and create it again.")
	}
	if len(records) == 0 {
		return nil
	}
	if err := d.write(ctx, e, records); err != nil {
		return d.fail(err)
	}
	if d.s.exact {
		if err := d.commit(ctx); err != nil {
			return d.fail(err)
		}
	}
	d.last = e
	return nil
}

// Ping implements connector.Pinger.
func (d *deliverer) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := d.cl.Ping(ctx); err != nil {
		return d.s.explain(err)
	}
	return nil
}

// fail gives the client up; it holds records that borrow from the caller.
func (d *deliverer) fail(err error) error {
	d.broken = true
	d.cl.Close()
	if d.s.exact && !d.begun.IsZero() && time.Since(d.begun) >= d.s.txnTimeout() {
		d.s.grow()
	}
	return d.s.explain(err)
}

// checkEvery is after how many records a failure of earlier ones is noticed.
const checkEvery = 256

// write sends an epoch's records and its marker and waits for all of them.
func (d *deliverer) write(ctx context.Context, e types.Epoch, records []byte) error {
	if d.s.exact {
		if err := d.cl.BeginTransaction(); err != nil {
			return err
		}
		d.begun = time.Now()
	}
	var failed firstError
	for n := 1; len(records) > 0; n++ {
		key, value, rest, err := nextRecord(records)
		if err != nil {
			return err
		}
		records = rest
		d.cl.Produce(ctx, &kgo.Record{Topic: d.s.topic, Key: key, Value: value}, failed.promise)
		if n%checkEvery == 0 {
			if err := failed.get(); err != nil {
				return err
			}
		}
	}
	if d.s.exact {
		d.cl.Produce(ctx, d.s.marker(e), failed.promise)
	}
	if err := d.cl.Flush(ctx); err != nil {
		return err
	}
	// A commit takes what has arrived, so nothing may be missing.
	return failed.get()
}

// commit ends the transaction. Whatever goes wrong here leaves the outcome open:
// the next deliverer's marker read decides.
func (d *deliverer) commit(ctx context.Context) error {
	return d.cl.EndTransaction(ctx, kgo.TryCommit)
}

// Close implements connector.Deliverer. It ends no transaction: the next Open
// does, after which the marker tells what happened.
func (d *deliverer) Close() error {
	d.broken = true
	d.cl.Close()
	return nil
}
