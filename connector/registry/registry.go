// Package registry is the table of connectors. To add one, add its line here.
package registry

import (
	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/connector/blackhole"
	"github.com/streamdb/streamdb/connector/nexmark"
)

// All returns every connector by name.
func All() map[string]connector.Definition {
	m := map[string]connector.Definition{}
	for _, d := range []connector.Definition{
		blackhole.Definition(),
		nexmark.Definition(),
	} {
		m[d.Name] = d
	}
	return m
}
