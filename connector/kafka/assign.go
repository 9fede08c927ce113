package kafka

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/streamdb/streamdb/pgerr"
)

// partition is a split.
type partition struct {
	num   int32
	name  string // num, as a split is named
	at    offset // of the next record to return
	moved bool   // at is to be reported
	cursor
}

func (r *reader) mine(p int32) bool { return int(p)%r.instances == r.instance }

var noTopicID [16]byte // what brokers without topic ids send

func (r *reader) errRecreated() error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "topic \"%s\" has been deleted and created again", r.s.topic).
		WithDetail("The offsets read so far belong to the old topic.").
		WithHint("Drop what reads the source and create it again to read the new topic.")
}

// open fixes where every partition of the instance starts: where it was, or where
// the options say, resolved to a number once so that it is stored with the first
// epoch.
func (r *reader) open(ctx context.Context, stored map[string]string) error {
	t, err := r.s.lookup(ctx, r.cl)
	if err != nil {
		return err
	}
	r.topicID = t.ID
	var have []*partition
	for k, v := range stored {
		n, err := strconv.ParseInt(k, 10, 32)
		if err != nil || n < 0 {
			return pgerr.New(pgerr.DataCorrupted, "invalid Kafka partition \"%s\" in the state", k)
		}
		o, err := parseOffset(v)
		if err != nil {
			return err
		}
		if o.topic != t.ID && o.topic != noTopicID && t.ID != noTopicID {
			return r.errRecreated()
		}
		if _, ok := t.Partitions[int32(n)]; !ok {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "topic \"%s\" has no partition %d any more", r.s.topic, n)
		}
		if r.mine(int32(n)) {
			o.topic = t.ID
			have = append(have, &partition{num: int32(n), name: k, at: o})
		}
	}
	r.consume(have)
	return r.assign(ctx, t, len(stored) == 0)
}

// discover looks for new partitions and for the leaders of all, and whether the
// topic is still the same.
func (r *reader) discover(ctx context.Context) error {
	t, err := r.s.lookup(ctx, r.cl)
	if err != nil {
		return err
	}
	if t.ID != r.topicID {
		return r.errRecreated()
	}
	if err := r.assign(ctx, t, false); err != nil {
		return err
	}
	return r.lead(ctx, t)
}

// assign takes up the partitions that fall to the instance and are not read yet.
// At the first start of a job the options say where; a partition found later is
// read from its beginning, since all its records are new.
func (r *reader) assign(ctx context.Context, t kadm.TopicDetail, first bool) error {
	r.discovered = time.Now()
	var fresh []int32
	for p := range t.Partitions {
		if r.mine(p) && r.parts[p] == nil {
			fresh = append(fresh, p)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	los, err := r.list(ctx, first)
	if err != nil {
		return r.s.explain(err)
	}
	var add []*partition
	for _, p := range fresh {
		lo, ok := los.Lookup(r.s.topic, p)
		if !first && (!ok || kerr.IsRetriable(lo.Err)) {
			continue // it has no leader yet; the next look will find it
		}
		if !ok || lo.Err != nil {
			return r.s.explain(fmt.Errorf("partition %d of topic %s has no offset: %w", p, r.s.topic, lo.Err))
		}
		add = append(add, &partition{num: p, name: strconv.Itoa(int(p)), moved: true,
			at: offset{next: lo.Offset, epoch: -1, topic: r.topicID}})
	}
	r.consume(add)
	return nil
}

// list asks the brokers for the offsets to start at.
func (r *reader) list(ctx context.Context, first bool) (kadm.ListedOffsets, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	adm := kadm.NewClient(r.cl)
	switch {
	case !first || r.s.start == "earliest":
		return adm.ListStartOffsets(ctx, r.s.topic)
	case r.s.start == "latest":
		return adm.ListEndOffsets(ctx, r.s.topic)
	}
	return adm.ListOffsetsAfterMilli(ctx, r.s.startTime, r.s.topic)
}

// consume adds partitions to those that are fetched.
func (r *reader) consume(ps []*partition) {
	for _, p := range ps {
		p.cursor = cursor{from: p.at.next, read: p.at.epoch, leader: nobody, leaderEpoch: -1}
		r.parts[p.num] = p
		r.next(p, p.at.next)
		if p.moved {
			r.moved = append(r.moved, p)
		}
	}
}
