package kafka

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

func nums(from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf(`{"n":%d}`, i))
	}
	return out
}

// want compares the rows without regard to order with the numbers given.
func (f *feed) want(from, to int) {
	f.t.Helper()
	var got []int
	for _, r := range f.rows {
		n, err := strconv.Atoi(r)
		if err != nil {
			f.t.Fatal(err)
		}
		got = append(got, n)
	}
	slices.Sort(got)
	for i := from; i < to; i++ {
		if i-from >= len(got) || got[i-from] != i {
			f.t.Fatalf("%d rows, want %d; first difference at %d: %v", len(got), to-from, i-from, got[max(0, i-from-2):min(len(got), i-from+3)])
		}
	}
	if len(got) != to-from {
		f.t.Fatalf("%d rows, want %d", len(got), to-from)
	}
}

func TestReadPartitionsAndRestart(t *testing.T) {
	c := newCluster(t, 3)
	cl := newClient(t, c)
	for p := range 3 {
		produce(t, cl, int32(p), nums(p*2000, p*2000+2000)...)
	}
	s := newTestSource(t, optionsFor(c), numColumn)
	f := openFeed(t, s, nil)
	f.until("half of the rows", func() bool { return len(f.rows) >= 3000 })
	f.r.Close()
	g := openFeed(t, s, f.offsets)
	g.rows = f.rows
	g.until("all rows", func() bool { return len(g.rows) >= 6000 })
	g.want(0, 6000)
	for _, p := range []string{"0", "1", "2"} {
		if g.next(p) != 2000 && f.next(p) != 2000 {
			t.Errorf("partition %s ends at %d", p, g.next(p))
		}
	}
	// The leaders move, and reading goes on.
	c.ShufflePartitionLeaders()
	produce(t, cl, 1, nums(6000, 6010)...)
	g.until("rows from the new leader", func() bool { return len(g.rows) >= 6010 })
	g.want(0, 6010)
}

func TestInstancesShareSplits(t *testing.T) {
	c := newCluster(t, 3)
	cl := newClient(t, c)
	for p := range 3 {
		produce(t, cl, int32(p), nums(p*10, p*10+10)...)
	}
	s := newTestSource(t, optionsFor(c), numColumn)
	for instance, want := range []int{20, 10} {
		r, err := s.Open(testContext(t), []int{0}, instance, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := &feed{t: t, r: r, offsets: map[string]string{}}
		f.until("rows", func() bool { return len(f.rows) >= want })
		if _, ok := f.offsets["1"]; ok != (instance == 1) || len(f.rows) != want {
			t.Errorf("instance %d: %d rows, %v", instance, len(f.rows), f.offsets)
		}
		r.Close()
	}
}

func TestMetadataColumns(t *testing.T) {
	c := newCluster(t, 2)
	cl := newClient(t, c)
	at := time.UnixMilli(1735689600123)
	err := cl.ProduceSync(testContext(t), &kgo.Record{Topic: "t", Partition: 1, Key: []byte("k"), Value: []byte(`{"n":1}`), Timestamp: at,
		Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("old")}, {Key: "h", Value: []byte("new")}}}).FirstErr()
	if err != nil {
		t.Fatal(err)
	}
	cols := []connector.Column{numColumn,
		{Name: "key", Typ: types.TText, Include: "KEY"}, {Name: "part", Typ: types.TInt4, Include: "PARTITION"},
		{Name: "off", Typ: types.TInt8, Include: "OFFSET"}, {Name: "ts", Typ: types.TTimestamptz, Include: "TIMESTAMP"},
		{Name: "h", Typ: types.TText, Include: "HEADER", Header: "h"}, {Name: "no", Typ: types.TBytea, Include: "HEADER", Header: "no"},
		{Name: "raw", Typ: types.TJSONB, Include: "PAYLOAD"}}
	f := openFeed(t, newTestSource(t, optionsFor(c), cols...), nil, 1, 2, 3, 4, 5, 6, 7, 0)
	f.until("row", func() bool { return len(f.rows) == 1 })
	us := (at.UnixMilli() - unixTo2000) * 1000
	// Sprint puts a space only between values of which neither is a string.
	if want := fmt.Sprintf(`k1 0 %dnew<nil>{"n": 1}1`, us); f.rows[0] != want {
		t.Errorf("%q, want %q", f.rows[0], want)
	}
}

func TestPoisonRecords(t *testing.T) {
	c := newCluster(t, 1)
	cl := newClient(t, c)
	produce(t, cl, 0, `{"n":1,"c":1.5}`, `{"n":2,"c":`, ``, `{"n":"three","c":1}`, `[1,2]`, `{"n":7,"c":"2.25"}`, `{"n":8,"c":4}`)
	if err := cl.ProduceSync(testContext(t), &kgo.Record{Topic: "t", Value: nil}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s := newTestSource(t, optionsFor(c), numColumn, connector.Column{Name: "c", Typ: types.TNumeric})
	// Whichever columns are asked for, the same records are bad.
	for _, cols := range [][]int{{0, 1}, {1}, {}} {
		f := openFeed(t, s, nil, cols...)
		f.until("end", func() bool { return f.next("0") == 8 })
		var bad []string
		for _, b := range f.bad {
			bad = append(bad, b.Offset)
		}
		if len(f.rows) != 3 || strings.Join(bad, " ") != "1 2 3 4 7" {
			t.Fatalf("columns %v: rows %v, bad %v", cols, f.rows, bad)
		}
		if b := f.bad[2]; b.Split != "t/0" || string(b.Value) != `{"n":"three","c":1}` || pgerr.CodeOf(b.Reason) != pgerr.InvalidTextRepresentation {
			t.Errorf("%+v", b)
		}
	}
}

// Transaction markers and aborted records move the offset and make no rows; an
// open transaction holds committed readers back.
func transactionMarkers(t *testing.T, c brokers) {
	t.Helper()
	cl := newClient(t, c, kgo.TransactionalID("writer"))
	ctx := testContext(t)
	txn := func(v string, end kgo.TransactionEndTry) {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		produce(t, cl, 0, v)
		if err := cl.EndTransaction(ctx, end); err != nil {
			t.Fatal(err)
		}
	}
	txn(`{"n":1}`, kgo.TryCommit)
	txn(`{"n":2}`, kgo.TryAbort)
	f := openFeed(t, newTestSource(t, optionsFor(c), numColumn), nil)
	f.until("end past the markers", func() bool { return f.next("0") == 4 })
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produce(t, cl, 0, `{"n":3}`)
	dirty := openFeed(t, newTestSource(t, optionsFor(c, optIsolation, "read_uncommitted"), numColumn), nil)
	dirty.until("uncommitted rows", func() bool { return dirty.next("0") == 5 })
	dirty.want(1, 4)
	if ok, err := f.step(300 * time.Millisecond); ok || err != nil {
		t.Fatal(ok, err, f.rows)
	}
	if err := cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	f.until("end", func() bool { return f.next("0") == 6 })
	if !slices.Equal(f.rows, []string{"1", "3"}) || len(f.bad) != 0 {
		t.Fatal(f.rows, f.bad)
	}
}

func TestTransactionMarkers(t *testing.T) { transactionMarkers(t, newCluster(t, 1)) }

func TestStartLatestAndTimestamp(t *testing.T) {
	base := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	millis := strconv.FormatInt(base.Add(2*time.Second).UnixMilli(), 10)
	future := strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
	for _, tc := range []struct {
		opts []string
		next int64
	}{
		{[]string{optStart, "latest"}, 5},
		{[]string{optStart, "timestamp", optStartTime, millis}, 2},
		{[]string{optStart, "timestamp", optStartTime, future}, 5},
	} {
		c := newCluster(t, 1)
		cl := newClient(t, c)
		for i, v := range nums(0, 5) {
			r := &kgo.Record{Topic: "t", Value: []byte(v), Timestamp: base.Add(time.Duration(i) * time.Second)}
			if err := cl.ProduceSync(testContext(t), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		s := newTestSource(t, optionsFor(c, tc.opts...), numColumn)
		f := openFeed(t, s, nil)
		// The first batch tells where the reader starts, without a record.
		if ok, err := f.step(5 * time.Second); !ok || err != nil || f.next("0") != tc.next || len(f.rows) != 0 {
			t.Fatal(tc.opts, ok, err, f.offsets, f.rows)
		}
		f.r.Close()
		produce(t, cl, 0, nums(5, 6)...)
		g := openFeed(t, s, f.offsets)
		g.until("rows", func() bool { return g.next("0") == 6 })
		g.want(int(tc.next), 6)
	}
}

func TestDiscoveredPartitions(t *testing.T) {
	c := newCluster(t, 1)
	cl := newClient(t, c)
	produce(t, cl, 0, nums(900, 901)...)
	s := newTestSource(t, optionsFor(c, optStart, "latest", optDiscovery, "100"), numColumn)
	f := openFeed(t, s, nil)
	if ok, err := f.step(5 * time.Second); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, err := kadm.NewClient(cl).CreatePartitions(testContext(t), 1, "t"); err != nil {
		t.Fatal(err)
	}
	// A client of its own sees the new partition at once.
	produce(t, newClient(t, c), 1, nums(0, 3)...)
	f.until("rows of the new partition", func() bool { return f.next("1") == 3 })
	f.want(0, 3)
	f.r.Close()
	produce(t, newClient(t, c), 1, nums(3, 5)...)
	g := openFeed(t, s, f.offsets)
	g.until("rows after the restart", func() bool { return g.next("1") == 5 })
	g.want(3, 5)
}

func TestRecreatedTopic(t *testing.T) {
	c := newCluster(t, 1)
	produce(t, newClient(t, c), 0, nums(0, 3)...)
	s := newTestSource(t, optionsFor(c, optDiscovery, "100"), numColumn)
	f := openFeed(t, s, nil)
	f.until("rows", func() bool { return len(f.rows) == 3 })
	if err := c.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopic("t", 1, nil); err != nil {
		t.Fatal(err)
	}
	want := `topic "t" has been deleted and created again`
	if err := f.fails(); pgerr.From(err).Msg != want {
		t.Error(err)
	}
	if _, err := s.Open(testContext(t), []int{0}, 0, 1, f.offsets); err == nil || pgerr.From(err).Msg != want {
		t.Error(err)
	}
	if err := c.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(testContext(t), []int{0}, 0, 1, nil); err == nil || pgerr.From(err).Msg != `topic "t" does not exist` {
		t.Error(err)
	}
}

// An offset that is not in the log is an error, below its start and above its end.
func TestOffsetOutOfRange(t *testing.T) {
	c := newCluster(t, 1)
	produce(t, newClient(t, c), 0, nums(0, 10)...)
	s := newTestSource(t, optionsFor(c), numColumn)
	if err := c.DeleteRecords("t", 0, 5); err != nil {
		t.Fatal(err)
	}
	id := [16]byte(c.TopicInfo("t").TopicID)
	for _, next := range []int64{2, 100} {
		f := openFeed(t, s, map[string]string{"0": offset{next, -1, id}.String()})
		err := f.fails()
		if e := pgerr.From(err); e.Code != pgerr.ObjectNotInPrerequisiteState || e.Msg != fmt.Sprintf(`offset %d of partition 0 of topic "t" is not in the log any more`, next) {
			t.Error(err)
		}
		if len(f.rows) != 0 {
			t.Error(f.rows)
		}
	}
	// From the beginning means from what the log still holds.
	f := openFeed(t, s, nil)
	f.until("rows", func() bool { return len(f.rows) == 5 })
	f.want(5, 10)
}

// The brokers have lost records that were read: a later leader's log is shorter.
func TestLostRecords(t *testing.T) {
	c := newCluster(t, 1)
	produce(t, newClient(t, c), 0, nums(0, 10)...)
	c.ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(k kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req := k.(*kmsg.OffsetForLeaderEpochRequest)
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
		p.LeaderEpoch, p.EndOffset = 0, 7
		resp.Topics = []kmsg.OffsetForLeaderEpochResponseTopic{{Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{p}}}
		return resp, nil, true
	})
	id := [16]byte(c.TopicInfo("t").TopicID)
	f := openFeed(t, newTestSource(t, optionsFor(c), numColumn), map[string]string{"0": offset{10, 0, id}.String()})
	if err := f.fails(); pgerr.From(err).Msg != `offset 10 of partition 0 of topic "t" is not in the log any more` {
		t.Error(err)
	}
}

func TestReadEndsWithContext(t *testing.T) {
	c := newCluster(t, 1)
	f := openFeed(t, newTestSource(t, optionsFor(c), numColumn), nil)
	if ok, err := f.step(time.Second); !ok || err != nil {
		t.Fatal(ok, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := f.r.Read(ctx); err != context.DeadlineExceeded {
		t.Error(err)
	}
}

func TestCheckErrors(t *testing.T) {
	c := newCluster(t, 1, kfake.EnableSASL(), kfake.Superuser("PLAIN", "me", "secret"))
	login := []string{optProtocol, "SASL_PLAINTEXT", optUser, "me", optPassword}
	for _, tc := range []struct {
		opts map[string]string
		code pgerr.Code
		msg  string
	}{
		{optionsFor(c, append(login, "secret")...), "00000", ""},
		{optionsFor(c, append(login, "wrong")...), pgerr.ConnectionException, "closed the connection"},
		{optionsFor(c, append(login, "secret", optTopic, "none")...), pgerr.UndefinedObject, `topic "none" does not exist`},
		{optionsFor(c, optBrokers, "127.0.0.1:1"), pgerr.ConnectionException, "could not reach the Kafka brokers at 127.0.0.1:1"},
	} {
		err := newTestSource(t, tc.opts, numColumn).Check(testContext(t))
		if pgerr.CodeOf(err) != tc.code || err != nil && !strings.Contains(err.Error(), tc.msg) {
			t.Errorf("%v: %v %s", tc.opts, err, pgerr.From(err).Detail)
		}
	}
	// Real brokers answer before they close.
	c.ControlKey(int16(kmsg.SASLAuthenticate), func(k kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := k.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		return resp, nil, true
	})
	err := newTestSource(t, optionsFor(c, append(login, "wrong")...), numColumn).Check(testContext(t))
	if pgerr.CodeOf(err) != pgerr.InvalidAuthorization || !strings.Contains(err.Error(), "refused the login") {
		t.Error(err)
	}
}

func TestSourceDefinition(t *testing.T) {
	good := connector.SourceSpec{Name: "s", Options: map[string]string{optTopic: "t", optBrokers: "b:1"}, Format: "PLAIN", Encode: "JSON", Columns: []connector.Column{numColumn}}
	if _, err := newSource(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*connector.SourceSpec){
		`option "topic" is missing`:                       func(s *connector.SourceSpec) { delete(s.Options, optTopic) },
		`option "properties.bootstrap.server" is missing`: func(s *connector.SourceSpec) { s.Options[optBrokers] = " ," },
		`invalid value for option "scan.startup.mode"`:    func(s *connector.SourceSpec) { s.Options[optStart] = "sometime" },
		`option "scan.startup.timestamp.millis" is miss`:  func(s *connector.SourceSpec) { s.Options[optStart] = "timestamp" },
		`invalid value for option "isolation"`:            func(s *connector.SourceSpec) { s.Options[optIsolation] = "x" },
		`invalid value for option "scan.discovery`:        func(s *connector.SourceSpec) { s.Options[optDiscovery] = "-1" },
		`invalid value for option "properties.security`:   func(s *connector.SourceSpec) { s.Options[optProtocol] = "TELNET" },
		`FORMAT UPSERT needs a primary key`:               func(s *connector.SourceSpec) { s.Format = "UPSERT" },
		`FORMAT CANAL in a Kafka source is not supp`:      func(s *connector.SourceSpec) { s.Format = "CANAL" },
		`ENCODE AVRO in a Kafka source is not supp`:       func(s *connector.SourceSpec) { s.Encode = "AVRO" },
		`source "s" needs a column list`:                  func(s *connector.SourceSpec) { s.Columns = nil },
		`INCLUDE X is not supported`: func(s *connector.SourceSpec) {
			s.Columns = []connector.Column{{Name: "x", Typ: types.TText, Include: "X"}}
		},
		`column "x" of INCLUDE HEADERS cannot be of type`: func(s *connector.SourceSpec) {
			s.Columns = []connector.Column{{Name: "x", Typ: types.TText, Include: "HEADERS"}}
		},
		`invalid path "user.name"`: func(s *connector.SourceSpec) {
			s.Columns = []connector.Column{{Name: "x", Typ: types.TText, Path: "user.name"}}
		},
		`column "x" of INCLUDE OFFSET cannot be of type`: func(s *connector.SourceSpec) {
			s.Columns = []connector.Column{{Name: "x", Typ: types.TText, Include: "OFFSET"}}
		},
		`unrecognized format option "y"`: func(s *connector.SourceSpec) { s.FormatOptions = map[string]string{"y": "1"} },
	} {
		s := good
		s.Options = map[string]string{optTopic: "t", optBrokers: "b:1"}
		change(&s)
		if _, err := newSource(s); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseOffset(f *testing.F) {
	f.Add("5/3/000102030405060708090a0b0c0d0e0f")
	f.Add("-1//")
	f.Fuzz(func(t *testing.T, s string) {
		o, err := parseOffset(s)
		if err != nil {
			return
		}
		if again, err := parseOffset(o.String()); err != nil || again != o {
			t.Fatal(s, o, again, err)
		}
	})
}

// A retriable error of a fetch passes by itself.
func TestTransientFetchError(t *testing.T) {
	c := newCluster(t, 1)
	cl := newClient(t, c)
	s := newTestSource(t, optionsFor(c), numColumn)
	f := openFeed(t, s, nil)
	h := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: 2})
	produce(t, cl, 0, nums(0, 5)...)
	f.until("rows", func() bool { return len(f.rows) == 5 })
	f.want(0, 5)
	h.Remove()
}
