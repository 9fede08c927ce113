package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/connector/format/json"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/vec"
)

type source struct {
	*options
	spec      connector.SourceSpec
	start     string
	startTime int64 // ms since 1970
	committed bool
	discovery time.Duration
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
		if s.startTime, err = o.number(optStartTime, 0, 0); err != nil {
			return nil, err
		}
	default:
		return nil, badValue(optStart, s.start, "earliest, latest, timestamp")
	}
	switch v := o.get(optIsolation, "read_committed"); v {
	case "read_committed":
		s.committed = true
	case "read_uncommitted":
	default:
		return nil, badValue(optIsolation, v, "read_committed, read_uncommitted")
	}
	ms, err := o.number(optDiscovery, 5000, 10)
	if err != nil {
		return nil, err
	}
	s.discovery = time.Duration(ms) * time.Millisecond
	return s, s.checkSpec()
}

func (s *source) checkSpec() error {
	switch s.spec.Format {
	case "PLAIN":
		if s.spec.PrimaryKey != nil {
			return pgerr.New(pgerr.InvalidTableDefinition, "FORMAT PLAIN does not keep the rows of source \"%s\" apart by a primary key", s.spec.Name).
				WithHint("Use FORMAT UPSERT if a record replaces the one before with its key, or leave the key out.")
		}
	case "UPSERT", "DEBEZIUM":
		if err := s.checkKey(); err != nil {
			return err
		}
	default:
		return pgerr.Unsupported(fmt.Sprintf("FORMAT %s in a Kafka source", s.spec.Format), "Write FORMAT PLAIN, UPSERT or DEBEZIUM, and ENCODE JSON.")
	}
	if s.spec.Encode != "JSON" {
		return pgerr.Unsupported(fmt.Sprintf("ENCODE %s in a Kafka source", s.spec.Encode), "Write ENCODE JSON.")
	}
	if len(s.spec.Columns) == 0 {
		return pgerr.New(pgerr.InvalidTableDefinition, "source \"%s\" needs a column list", s.spec.Name)
	}
	for _, c := range s.spec.Columns {
		if err := checkColumn(c); err != nil {
			return err
		}
		if c.Path != "" {
			if _, err := json.ParsePath(c.Path); err != nil {
				return pgerr.From(err).WithDetail("It is the path of column \"%s\".", c.Name)
			}
		}
	}
	return noFormatOptions(s.spec.FormatOptions)
}

// checkKey checks the primary key of formats that need one.
func (s *source) checkKey() error {
	if len(s.spec.PrimaryKey) == 0 {
		return pgerr.New(pgerr.InvalidTableDefinition, "FORMAT %s needs a primary key", s.spec.Format).
			WithHint("Add PRIMARY KEY (...) to the columns of source \"%s\".", s.spec.Name)
	}
	for _, k := range s.spec.PrimaryKey {
		switch c := s.spec.Columns[k]; {
		case c.Include == "KEY" && len(s.spec.PrimaryKey) == 1 && s.spec.Format == "UPSERT":
		case c.Include != "":
			return pgerr.New(pgerr.InvalidTableDefinition, "column \"%s\" of INCLUDE %s cannot be in the primary key", c.Name, c.Include)
		}
	}
	switch s.spec.KeyEncode {
	case "", "JSON":
	case "TEXT":
		if len(s.spec.PrimaryKey) > 1 {
			return pgerr.New(pgerr.InvalidTableDefinition, "KEY ENCODE TEXT gives a primary key of one column only")
		}
	default:
		return pgerr.Unsupported("KEY ENCODE "+s.spec.KeyEncode, "Write KEY ENCODE JSON or TEXT.")
	}
	return nil
}

// Columns implements connector.Source.
func (s *source) Columns() []connector.Column { return nil }

// AppendOnly implements connector.Source.
func (s *source) AppendOnly() bool { return s.spec.Format == "PLAIN" }

// Check implements connector.Source.
func (s *source) Check(ctx context.Context) error { return s.check(ctx, nil) }

// Open implements connector.Source.
func (s *source) Open(ctx context.Context, cols []int, instance, instances int, stored map[string]string) (connector.Reader, error) {
	h := &health{o: s.options}
	dec, err := newDecoder(&s.spec, cols)
	if err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(append(s.client, kgo.WithHooks(h))...)
	if err != nil {
		return nil, s.explain(err)
	}
	r := &reader{s: s, cl: cl, health: h, instance: instance, instances: instances, first: true,
		parts: map[int32]*partition{}, dec: dec, pool: vec.Pool{Types: dec.types}, fetching: newFetching()}
	r.init()
	if err := r.open(ctx, stored); err != nil {
		r.Close()
		return nil, s.explain(err)
	}
	return r, nil
}
