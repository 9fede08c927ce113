package registry

import (
	"strings"
	"testing"
)

// Every connector can do something and documents each option once.
func TestDefinitions(t *testing.T) {
	all := All()
	for _, name := range []string{"blackhole", "datagen", "kafka", "nexmark"} {
		if _, ok := all[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	for name, d := range all {
		if name != d.Name || d.Source == nil && d.Sink == nil {
			t.Errorf("%s: not a connector", name)
		}
		seen := map[string]bool{}
		for _, o := range append(d.Options, d.Prefixes...) {
			if o.Name == "" || seen[o.Name] || !strings.HasSuffix(o.Doc, ".") {
				t.Errorf("%s: option %q: %q", name, o.Name, o.Doc)
			}
			if o.Required && o.Default != "" {
				t.Errorf("%s: option %q is required and has a default", name, o.Name)
			}
			seen[o.Name] = true
		}
	}
}
