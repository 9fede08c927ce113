package jobs

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// SecretOption reports whether the value of a connector's option is a secret.
func (e *Runner) SecretOption(name string) bool {
	if catalog.SecretOption(name) {
		return true
	}
	for _, d := range e.Config.Connectors {
		for _, o := range d.Options {
			if o.Secret && o.Name == name {
				return true
			}
		}
	}
	return false
}

// Redact hides the secrets in a statement's text.
func (e *Runner) Redact(text string) string { return sql.Redact(text, e.SecretOption) }

// optionValue returns the value of a kept option as its connector is to see it.
func (e *Runner) optionValue(o catalog.Option) (string, error) {
	switch {
	case o.Secret != 0:
		x, _ := e.Catalog.Current().ByOID(o.Secret).(*catalog.Secret)
		if x == nil {
			return "", pgerr.New(pgerr.UndefinedObject, "secret \"%s\" does not exist", o.Value)
		}
		return e.Vault.open(string(x.Value), "secret "+x.Name)
	case o.Kind == catalog.OptionSealed:
		return e.Vault.open(o.Value, "option "+o.Name)
	}
	return o.Value, nil
}
