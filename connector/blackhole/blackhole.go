package blackhole

import (
	"context"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Definition is the connector's row in the registry.
func Definition() connector.Definition {
	return connector.Definition{Name: "blackhole", Sink: func(connector.SinkSpec) (connector.Sink, error) { return sink{}, nil }}
}

type sink struct{}

func (sink) Check(context.Context) error                          { return nil }
func (sink) Encoder() connector.Encoder                           { return sink{} }
func (sink) Open(context.Context) (connector.Deliverer, error)    { return sink{}, nil }
func (sink) Last(context.Context) (types.Epoch, bool, error)      { return 0, false, nil }
func (sink) Deliver(context.Context, types.Epoch, []byte) error   { return nil }
func (sink) Close() error                                         { return nil }
func (sink) Encode(dst []byte, _ *vec.Chunk) ([]byte, int, error) { return dst, 0, nil }
