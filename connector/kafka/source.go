package kafka

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/connector/format/json"
	"github.com/streamdb/streamdb/pgerr"
)

type source struct {
	*options
	spec  connector.SourceSpec
	start string
	at    int64
}

func newSource(spec connector.SourceSpec) (connector.Source, error) {
	o, err := parseOptions(spec.Options)
	if err != nil {
		return nil, err
	}
	s := &source{options: o, spec: spec, start: o.get(optStart, "earliest")}
	switch s.start {
	case "earliest", "latest":
	case "timestamp":
		if o.get(optStartTime, "") == "" {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "option \"%s\" is missing", optStartTime)
		}
		if s.at, err = o.millis(optStartTime, 0); err != nil {
			return nil, err
		}
	default:
		return nil, badValue(optStart, s.start, "earliest, latest, timestamp")
	}
	switch v := o.get(optIsolation, "read_committed"); v {
	case "read_committed", "read_uncommitted":
	default:
		return nil, badValue(optIsolation, v, "read_committed, read_uncommitted")
	}
	if spec.Format != "PLAIN" {
		return nil, pgerr.Unsupported(fmt.Sprintf("FORMAT %s in a Kafka source", spec.Format), "Write FORMAT PLAIN ENCODE JSON.")
	}
	if spec.Encode != "JSON" {
		return nil, pgerr.Unsupported(fmt.Sprintf("ENCODE %s in a Kafka source", spec.Encode), "Write FORMAT PLAIN ENCODE JSON.")
	}
	if len(spec.Columns) == 0 {
		return nil, pgerr.New(pgerr.InvalidTableDefinition, "source \"%s\" needs a column list", spec.Name)
	}
	return s, nil
}

// Columns implements connector.Source.
func (s *source) Columns() []connector.Column { return nil }

// AppendOnly implements connector.Source.
func (s *source) AppendOnly() bool { return true }

// Check implements connector.Source.
func (s *source) Check(ctx context.Context) error {
	_, err := s.check(ctx)
	return err
}

// discoverEvery is how often the topic is asked for new partitions.
const discoverEvery = 5 * time.Second

// Open implements connector.Source.
func (s *source) Open(ctx context.Context, cols []int, instance, instances int, stored map[string]string) (connector.Reader, error) {
	opts := append([]kgo.Opt{}, s.client...)
	opts = append(opts, kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.KeepControlRecords(),
		kgo.FetchMaxWait(200*time.Millisecond), kgo.KeepRetryableFetchErrors())
	if s.get(optIsolation, "read_committed") == "read_committed" {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, s.explain(err)
	}
	r := &reader{s: s, cl: cl, instance: instance, instances: instances, at: map[int32]*offset{}, dec: s.decoder(cols)}
	if err := r.open(ctx, stored); err != nil {
		cl.Close()
		return nil, s.explain(err)
	}
	return r, nil
}

// decoder makes the decoder of the columns asked for.
func (s *source) decoder(cols []int) *decoder {
	d := &decoder{}
	var fields []connector.Column
	for _, k := range cols {
		c := s.spec.Columns[k]
		d.types = append(d.types, c.Typ)
		if c.Include == "" {
			d.fields = append(d.fields, len(d.types)-1)
			fields = append(fields, c)
		} else {
			d.meta = append(d.meta, metaColumn{at: len(d.types) - 1, col: c})
		}
	}
	d.json = json.NewDecoder(fields)
	return d
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
	for k, v := range stored {
		o, err := parseOffset(v)
		if err != nil {
			return err
		}
		p, err := strconv.ParseInt(k, 10, 32)
		if err != nil {
			return pgerr.New(pgerr.DataCorrupted, "invalid Kafka partition \"%s\" in the state", k)
		}
		if o.topic != t.ID && o.topic != [16]byte{} {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "topic \"%s\" has been deleted and created again", r.s.topic).
				WithDetail("The stored offsets belong to the old topic.").
				WithHint("Drop the job and create it again to read the new topic.")
		}
		if int(p)%r.instances == r.instance {
			r.at[int32(p)] = &o
		}
	}
	return r.assign(ctx, t, len(stored) == 0)
}

// assign starts consuming the partitions known and those found new. At the first
// start of a job the options say where; later found partitions are read from
// their beginning, since their records are all new.
func (r *reader) assign(ctx context.Context, t kadm.TopicDetail, first bool) error {
	var fresh []int32
	for p := range t.Partitions {
		if int(p)%r.instances == r.instance && r.at[p] == nil {
			fresh = append(fresh, p)
		}
	}
	if len(fresh) > 0 {
		if err := r.resolve(ctx, fresh, first); err != nil {
			return err
		}
	}
	add := map[int32]kgo.Offset{}
	for p, o := range r.at {
		if !r.assigned[p] {
			add[p] = kgo.NewOffset().At(o.next).WithEpoch(o.epoch)
			if r.assigned == nil {
				r.assigned = map[int32]bool{}
			}
			r.assigned[p] = true
		}
	}
	if len(add) > 0 {
		r.cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{r.s.topic: add})
	}
	r.discovered = time.Now()
	return nil
}

func (r *reader) resolve(ctx context.Context, ps []int32, first bool) error {
	adm := kadm.NewClient(r.cl)
	var los kadm.ListedOffsets
	var err error
	switch {
	case !first || r.s.start == "earliest":
		los, err = adm.ListStartOffsets(ctx, r.s.topic)
	case r.s.start == "latest":
		los, err = adm.ListEndOffsets(ctx, r.s.topic)
	default:
		los, err = adm.ListOffsetsAfterMilli(ctx, r.s.at, r.s.topic)
	}
	if err != nil {
		return err
	}
	for _, p := range ps {
		lo, ok := los.Lookup(r.s.topic, p)
		if !ok || lo.Err != nil {
			return fmt.Errorf("partition %d of topic %s has no offset: %w", p, r.s.topic, lo.Err)
		}
		r.at[p] = &offset{next: lo.Offset, epoch: -1, topic: r.topicID}
		r.moved = append(r.moved, p)
	}
	return nil
}
