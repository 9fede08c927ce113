package registry

import (
	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/connector/blackhole"
	"github.com/streamdb/streamdb/connector/datagen"
	"github.com/streamdb/streamdb/connector/kafka"
	"github.com/streamdb/streamdb/connector/nexmark"
)

// All returns every connector by name.
func All() map[string]connector.Definition {
	m := map[string]connector.Definition{}
	for _, d := range []connector.Definition{
		blackhole.Definition(),
		datagen.Definition(),
		kafka.Definition(),
		nexmark.Definition(),
	} {
		m[d.Name] = d
	}
	return m
}
