package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Partitions change their leaders while they are read: no record is lost, and none
// comes twice, also when every fetch brings the end of one batch only.
func TestReadFollowsLeaders(t *testing.T) {
	c := newCluster(t, 3)
	cl := newClient(t, c)
	f := openFeed(t, newTestSource(t, optionsFor(c), numColumn), nil)
	const each = 50
	for k := range 8 {
		for p := range int32(3) {
			produce(t, cl, p, nums(k*3*each+int(p)*each, k*3*each+int(p)*each+each)...)
			if err := c.MoveTopicPartition("t", p, int32(k)%3); err != nil {
				t.Fatal(err)
			}
		}
		f.until("rows", func() bool { return len(f.rows) >= (k+1)*3*each-each })
	}
	f.until("all rows", func() bool { return len(f.rows) >= 8*3*each })
	f.want(0, 8*3*each)
	if f.next("0")+f.next("1")+f.next("2") != 8*3*each {
		t.Error(f.offsets)
	}
}

// A broker goes away for good, and another takes over.
func TestReadSurvivesBroker(t *testing.T) {
	c := newCluster(t, 2, kfake.NumBrokers(3))
	cl := newClient(t, c)
	produce(t, cl, 0, nums(0, 10)...)
	f := openFeed(t, newTestSource(t, optionsFor(c), numColumn), nil)
	f.until("rows", func() bool { return len(f.rows) == 10 })
	if err := c.RemoveNode(c.LeaderFor("t", 0)); err != nil {
		t.Fatal(err)
	}
	produce(t, cl, 0, nums(10, 20)...)
	f.until("rows", func() bool { return len(f.rows) == 20 })
	f.want(0, 20)
}
