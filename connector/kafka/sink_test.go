package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

func newTestSink(t *testing.T, opts map[string]string, id uint32) *sink {
	t.Helper()
	s, err := newSink(connector.SinkSpec{ID: id, Name: "k", Instance: "db", Options: opts, Format: "PLAIN", Encode: "JSON", Columns: []connector.Column{numColumn}})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*sink)
}

// rowsPerEpoch is the number of rows of a test epoch: epoch e has the numbers
// from e*rowsPerEpoch on.
const rowsPerEpoch = 25

func epochLog(t *testing.T, s *sink, e types.Epoch) []byte {
	t.Helper()
	c := vec.NewChunk([]types.T{types.TInt8}, rowsPerEpoch)
	for i := range rowsPerEpoch {
		c.AppendRow(1, int64(e)*rowsPerEpoch+int64(i))
	}
	log, n, err := s.Encoder().Encode(nil, c)
	if err != nil || n != rowsPerEpoch {
		t.Fatal(n, err)
	}
	return log
}

// engine plays the part of what drives a sink: it opens deliverers until every
// epoch up to the last is delivered.
type engine struct {
	t     *testing.T
	s     *sink
	opens int
	errs  []error
}

func (g *engine) open() (*deliverer, types.Epoch) {
	g.t.Helper()
	ctx := testContext(g.t)
	for range 20 {
		g.opens++
		d, err := g.s.Open(ctx)
		if err == nil {
			last, _, err := d.Last(ctx)
			if err != nil {
				g.t.Fatal(err)
			}
			return d.(*deliverer), last
		}
		g.errs = append(g.errs, err)
	}
	g.t.Fatal("the sink cannot be opened:", g.errs)
	return nil, 0
}

// deliverTo delivers epochs from 1 to the last that are not delivered yet.
func (g *engine) deliverTo(last types.Epoch) {
	g.t.Helper()
	ctx := testContext(g.t)
	d, done := g.open()
	for e := done + 1; e <= last; e++ {
		if err := d.Deliver(ctx, e, epochLog(g.t, g.s, e)); err != nil {
			g.errs = append(g.errs, err)
			d.Close()
			d, done = g.open()
			e = done
		}
	}
	d.Close()
}

// committed reads what a reader of committed records sees, up to the end that
// the log has now.
func committed(t *testing.T, c brokers) map[string]int {
	t.Helper()
	ctx := testContext(t)
	cl := newClient(t, c, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.ConsumeTopics("t"), kgo.FetchMaxWait(50*time.Millisecond))
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	seen := map[string]int{}
	for len(left) > 0 {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatal(err, left)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				seen[string(r.Value)]++
			}
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return seen
}

// exactlyOnce checks that every record of epochs 1 to last is there once.
func exactlyOnce(t *testing.T, c brokers, last int) {
	t.Helper()
	seen := committed(t, c)
	for i := rowsPerEpoch; i < (last+1)*rowsPerEpoch; i++ {
		if n := seen[fmt.Sprintf(`{"n":%d}`, i)]; n != 1 {
			t.Fatalf("record %d is there %d times", i, n)
		}
	}
	if len(seen) != last*rowsPerEpoch {
		t.Fatalf("%d records, want %d", len(seen), last*rowsPerEpoch)
	}
}

// levels are brokers with and without the newer transaction protocol, under
// which every transaction has an epoch of its own.
var levels = map[string][]kfake.Opt{"level 2": nil, "level 0": {kfake.MaxVersions(kversion.V3_9_0())}}

// losses are the steps of delivering an epoch after which a deliverer vanishes.
var losses = []func(ctx context.Context, d *deliverer, e types.Epoch, log []byte) error{
	func(context.Context, *deliverer, types.Epoch, []byte) error { return nil },
	func(_ context.Context, d *deliverer, _ types.Epoch, _ []byte) error { return d.cl.BeginTransaction() },
	func(ctx context.Context, d *deliverer, _ types.Epoch, log []byte) error { // part of the records
		if err := d.cl.BeginTransaction(); err != nil {
			return err
		}
		_, v, _, _ := nextRecord(log)
		return d.cl.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: v}).FirstErr()
	},
	writeOnly,
	func(ctx context.Context, d *deliverer, e types.Epoch, log []byte) error {
		return errors.Join(d.write(ctx, e, log), d.commit(ctx))
	},
}

// writeOnly writes an epoch, which is acknowledged and not committed.
func writeOnly(ctx context.Context, d *deliverer, e types.Epoch, log []byte) error {
	return d.write(ctx, e, log)
}

// loseAt delivers epochs 1 to 5 while a deliverer vanishes during epoch 3.
func loseAt(t *testing.T, c brokers, step int) {
	t.Helper()
	g := &engine{t: t, s: newTestSink(t, optionsFor(c), uint32(step)+1)}
	g.deliverTo(2)
	lost, last := g.open()
	defer lost.Close()
	if last != 2 {
		t.Fatal(last)
	}
	ctx := testContext(t)
	if err := losses[step](ctx, lost, 3, epochLog(t, g.s, 3)); err != nil {
		t.Fatal(err)
	}
	g.deliverTo(5)
	// The lost one comes back and can do nothing.
	if err := lost.Deliver(ctx, 6, epochLog(t, g.s, 6)); err == nil {
		t.Error("a fenced deliverer delivers")
	}
	g.deliverTo(5)
	exactlyOnce(t, c, 5)
}

// A deliverer vanishes at each step of epoch 3.
func TestLostDeliverer(t *testing.T) {
	for level, opts := range levels {
		for step := range losses {
			t.Run(fmt.Sprintf("%s, step %d", level, step), func(t *testing.T) { loseAt(t, newCluster(t, 2, opts...), step) })
		}
	}
}

// A commit is answered with an error, or not at all, after it was applied or
// without being applied.
func TestAmbiguousCommit(t *testing.T) {
	for level, opts := range levels {
		for _, code := range []*kerr.Error{nil, kerr.ConcurrentTransactions, kerr.NotCoordinator, kerr.CoordinatorLoadInProgress,
			kerr.ProducerFenced, kerr.InvalidTxnState, kerr.InvalidProducerIDMapping, kerr.UnknownServerError, kerr.TransactionAbortable} {
			for _, applied := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %v, applied %v", level, code, applied), func(t *testing.T) {
					c := newCluster(t, 2, opts...)
					g := &engine{t: t, s: newTestSink(t, optionsFor(c), 1)}
					g.deliverTo(1)
					times := 1
					if code != nil && kerr.IsRetriable(code) {
						times = 3
					}
					spoilCommits(c, code, applied, times)
					g.deliverTo(4)
					exactlyOnce(t, c, 4)
					if code == kerr.ProducerFenced && len(g.errs) == 0 {
						t.Error("the error was not injected")
					}
				})
			}
		}
	}
}

// spoilCommits answers that many EndTxn requests with an error code, or closes
// the connection when there is none. An applied commit is sent again by a client
// of its own before.
func spoilCommits(c *kfake.Cluster, code *kerr.Error, applied bool, left int) {
	passing := false
	c.ControlKey(int16(kmsg.EndTxn), func(k kmsg.Request) (kmsg.Response, error, bool) {
		if left == 0 {
			c.DropControl()
			return nil, nil, false
		}
		c.KeepControl()
		if passing {
			return nil, nil, false
		}
		req := k.(*kmsg.EndTxnRequest)
		if applied {
			done := make(chan struct{})
			passing = true
			again := *req
			go func() {
				defer close(done)
				cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
				if err != nil {
					return
				}
				defer cl.Close()
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				again.RequestWith(ctx, cl)
			}()
			c.SleepControl(func() { <-done })
			passing = false
		}
		left--
		if code == nil {
			return nil, errors.New("connection lost"), true
		}
		resp := req.ResponseKind().(*kmsg.EndTxnResponse)
		resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = code.Code, -1, -1
		return resp, nil, true
	})
}

// Errors while writing or opening lead to another try.
func TestProduceAndOpenFaults(t *testing.T) {
	for name, f := range map[string]kfake.Fault{
		"not leader":     {Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotLeaderForPartition, Count: 2},
		"after append":   {Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicasAfterAppend, Count: 1},
		"too large":      {Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.MessageTooLarge, Count: 1},
		"producer epoch": {Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.InvalidProducerEpoch, Count: 1},
		"out of order":   {Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.OutOfOrderSequenceNumber, Count: 1},
		"init busy":      {Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.ConcurrentTransactions, Count: 3},
		"init moved":     {Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.NotCoordinator, Count: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2)
			g := &engine{t: t, s: newTestSink(t, optionsFor(c), 1)}
			g.deliverTo(1)
			h := c.Fault(f)
			g.deliverTo(3)
			if h.Hits() == 0 {
				t.Error("the fault was not met")
			}
			exactlyOnce(t, c, 3)
		})
	}
}

// The transactional id expires or times out while the deliverer is away, and
// coordinators and leaders move.
func TestMovingCluster(t *testing.T) {
	c := newCluster(t, 3)
	g := &engine{t: t, s: newTestSink(t, optionsFor(c), 1)}
	for e := types.Epoch(1); e <= 6; e++ {
		g.deliverTo(e)
		c.ShufflePartitionLeaders()
		c.RehashCoordinators()
	}
	exactlyOnce(t, c, 6)
}

// hideMarker delivers an epoch while another sink's transaction is open on the
// marker partition, which must not hide the marker.
func hideMarker(t *testing.T, c brokers) {
	t.Helper()
	ctx := testContext(t)
	other, _ := (&engine{t: t, s: newTestSink(t, optionsFor(c), 102)}).open()
	defer other.Close()
	g := &engine{t: t, s: newTestSink(t, optionsFor(c), 101)}
	d, _ := g.open()
	if err := other.write(ctx, 1, epochLog(t, other.s, 100)); err != nil {
		t.Fatal(err)
	}
	if err := d.Deliver(ctx, 1, epochLog(t, g.s, 1)); err != nil {
		t.Fatal(err)
	}
	if _, last := g.open(); last != 1 {
		t.Fatalf("last is %d", last)
	}
	if err := other.commit(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(committed(t, c)); n != 2*rowsPerEpoch {
		t.Fatal(n)
	}
}

func TestForeignTransactionHidesNoMarker(t *testing.T) { hideMarker(t, newCluster(t, 2)) }

func TestTransactionTimesOut(t *testing.T) {
	c := newCluster(t, 1)
	s := newTestSink(t, optionsFor(c, optTxTimeout, "1000"), 1)
	g := &engine{t: t, s: s}
	d, _ := g.open()
	ctx := testContext(t)
	if err := d.write(ctx, 1, epochLog(t, s, 1)); err != nil {
		t.Fatal(err)
	}
	awaitStable(t, c) // the brokers abort it
	if err := d.commit(ctx); err == nil || d.fail(err) == nil {
		t.Error("a transaction that timed out was committed")
	}
	if s.txnTimeout() != 2*time.Second {
		t.Errorf("the next transaction has %v", s.txnTimeout())
	}
	g.deliverTo(3)
	exactlyOnce(t, c, 3)
}

func TestEmptyAndOldEpochs(t *testing.T) {
	c := newCluster(t, 1)
	ctx := testContext(t)
	g := &engine{t: t, s: newTestSink(t, optionsFor(c), 1)}
	d, _ := g.open()
	if err := d.Deliver(ctx, 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.Deliver(ctx, 2, epochLog(t, g.s, 1)); err != nil {
		t.Fatal(err)
	}
	if err := d.Deliver(ctx, 2, epochLog(t, g.s, 1)); pgerr.CodeOf(err) != pgerr.ObjectNotInPrerequisiteState {
		t.Error(err)
	}
	if err := d.Deliver(ctx, 3, []byte{9}); pgerr.CodeOf(err) != pgerr.DataCorrupted {
		t.Error(err)
	}
	if err := d.Deliver(ctx, 3, nil); err == nil {
		t.Error("a failed deliverer goes on")
	}
	if _, last := g.open(); last != 2 {
		t.Error(last)
	}
	exactlyOnce(t, c, 1)
}

func TestLargeEpoch(t *testing.T) {
	c := newCluster(t, 2, kfake.BlackholeProduce())
	s := newTestSink(t, optionsFor(c, optDelivery, "at_least_once"), 1)
	d, err := s.Open(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	value := []byte(strings.Repeat("x", 1000))
	var log []byte
	for range 100_000 {
		log = appendRecord(log, nil, value, false, false)
	}
	if err := d.Deliver(testContext(t), 1, log); err != nil {
		t.Fatal(err)
	}
	if n := c.PartitionInfo("t", 0).HighWatermark + c.PartitionInfo("t", 1).HighWatermark; n != 100_000 {
		t.Error(n)
	}
}

func TestLargeTransaction(t *testing.T) {
	c := newCluster(t, 2)
	s := newTestSink(t, optionsFor(c), 1)
	g := &engine{t: t, s: s}
	d, _ := g.open()
	defer d.Close()
	var log []byte
	for i := range 150_000 { // more than the client buffers
		log = appendRecord(log, nil, fmt.Appendf(nil, `{"n":%d}`, i), false, false)
	}
	if err := d.Deliver(testContext(t), 1, log); err != nil {
		t.Fatal(err)
	}
	if n := len(committed(t, c)); n != 150_000 {
		t.Error(n)
	}
}

func TestUpsertSink(t *testing.T) {
	c := newCluster(t, 2)
	cols := []connector.Column{numColumn, {Name: "s", Typ: types.TText}}
	k, err := newSink(connector.SinkSpec{ID: 1, Name: "k", Options: optionsFor(c), Format: "UPSERT", Encode: "JSON", Columns: cols, Key: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := testContext(t)
	d, err := k.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	enc := k.Encoder()
	for e, rows := range [][]int64{{1, 2, 3}, {2, -3}} {
		ch := vec.NewChunk([]types.T{types.TInt8, types.TText}, 4)
		for _, n := range rows {
			w := int64(1)
			if n < 0 {
				n, w = -n, -1
			}
			ch.AppendRow(w, n, fmt.Sprint("epoch ", e))
		}
		log, n, err := enc.Encode(nil, ch)
		if err != nil || n != len(rows) {
			t.Fatal(n, err)
		}
		if err := d.Deliver(ctx, types.Epoch(e+1), log); err != nil {
			t.Fatal(err)
		}
	}
	table := map[string]string{}
	cl := newClient(t, c, kgo.ConsumeTopics("t"))
	for n := 0; n < 5; {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if table[string(r.Key)] = string(r.Value); r.Value == nil {
				delete(table, string(r.Key))
			}
			n++
		})
	}
	if want := map[string]string{`{"n":1}`: `{"n":1,"s":"epoch 0"}`, `{"n":2}`: `{"n":2,"s":"epoch 1"}`}; !maps.Equal(table, want) {
		t.Error(table)
	}
}

func TestAppendOnlyRefusesRemovals(t *testing.T) {
	s := newTestSink(t, map[string]string{optTopic: "t", optBrokers: "b:1"}, 1)
	ch := vec.NewChunk([]types.T{types.TInt8}, 1)
	ch.AppendRow(-1, int64(1))
	if _, _, err := s.Encoder().Encode(nil, ch); pgerr.CodeOf(err) != pgerr.ObjectNotInPrerequisiteState {
		t.Error(err)
	}
}

func TestSinkCheck(t *testing.T) {
	c := newCluster(t, 1)
	ctx := testContext(t)
	if err := newTestSink(t, optionsFor(c), 1).Check(ctx); err != nil {
		t.Error(err)
	}
	if got := c.TopicInfo(defaultMarkers); got == nil {
		t.Error("the marker topic was not made")
	}
	err := newTestSink(t, optionsFor(c, optTxTimeout, "3600000"), 1).Check(ctx)
	if e := pgerr.From(err); e == nil || e.Code != pgerr.InvalidParameterValue || !strings.HasPrefix(e.Msg, "the transaction timeout is above the maximum") {
		t.Error(err)
	}
	if err := c.CreateTopic("keeps", 1, map[string]string{"cleanup.policy": "delete"}); err != nil {
		t.Fatal(err)
	}
	err = newTestSink(t, optionsFor(c, optMarkers, "keeps"), 1).Check(ctx)
	if e := pgerr.From(err); e == nil || e.Msg != `the marker topic "keeps" must be compacted only` {
		t.Error(err)
	}
	err = newTestSink(t, optionsFor(c, optTopic, "none"), 1).Check(ctx)
	if pgerr.CodeOf(err) != pgerr.UndefinedObject {
		t.Error(err)
	}
}

// Compaction may have dropped the end of the newest marker's transaction.
func TestMarkerScan(t *testing.T) {
	data := func(pid, off int64, e byte) *kgo.Record {
		return &kgo.Record{ProducerID: pid, Offset: off, Key: []byte("a"), Value: []byte{0, 0, 0, 0, 0, 0, 0, e}}
	}
	m := markerScan{key: "a", open: map[int64]openMarker{}}
	m.add(data(1, 0, 1))
	m.add(&kgo.Record{ProducerID: 2, Offset: 1, Key: []byte("b"), Value: make([]byte, 8)})
	m.add(data(3, 2, 2))
	if err := m.settle(2); pgerr.CodeOf(err) != pgerr.ObjectInUse {
		t.Error(err)
	}
	if err := m.settle(3); err != nil || m.last != 2 || !m.found {
		t.Error(m.last, m.found, err)
	}
}

func FuzzNextRecord(f *testing.F) {
	f.Add(appendRecord(nil, []byte("k"), []byte("v"), true, false))
	f.Add(appendRecord(nil, []byte("k"), nil, true, true))
	f.Add([]byte{3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		key, value, rest, err := nextRecord(b)
		if err != nil {
			return
		}
		again := appendRecord(nil, key, value, key != nil, value == nil)
		k, v, r, err := nextRecord(again)
		if err != nil || !slices.Equal(k, key) || !slices.Equal(v, value) || len(r) != 0 || len(rest) >= len(b) {
			t.Fatalf("%x: %x %x %x %v", b, k, v, r, err)
		}
		if (k == nil) != (key == nil) || (v == nil) != (value == nil) {
			t.Fatal("absent and empty are confused")
		}
	})
}
