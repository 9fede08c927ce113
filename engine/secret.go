package engine

import (
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// createSecret keeps a value under a name, for options to refer to as SECRET name.
func (s *Session) createSecret(st *sql.CreateSecret) error {
	for _, o := range st.Options {
		if o.Name != "backend" || o.Value != "meta" {
			return pgerr.New(pgerr.InvalidParameterValue, "unrecognized option \"%s\" of a secret", o.Name).
				WithHint("Secrets are kept encrypted in the catalog; leave WITH out, or write WITH (backend = 'meta').")
		}
	}
	o := &catalog.Secret{Head: catalog.Head{Schema: st.Name.Schema, Name: st.Name.Name}}
	snap := s.snapshot()
	if _, err := s.place(&o.Head, false); err != nil {
		return err
	}
	s.furnish(o)
	if snap.Other(catalog.KindSecret, o.Schema, o.Name, nil) != nil {
		e := pgerr.New(pgerr.DuplicateObject, "secret \"%s\" already exists", o.Name)
		if st.IfNotExists {
			s.notice("NOTICE", pgerr.New(pgerr.DuplicateObject, "%s, skipping", e.Msg))
			return nil
		}
		return e
	}
	s.number(o)
	sealed, err := s.eng.vault.seal(st.Value, "secret "+o.Name)
	if err != nil {
		return err
	}
	o.Value = []byte(sealed)
	return s.changeCatalog(catalog.Change{Create: o})
}

// secretOption reports whether the value of a connector's option is a secret.
func (e *Runner) secretOption(name string) bool {
	if catalog.SecretOption(name) {
		return true
	}
	for _, d := range e.cfg.Connectors {
		for _, o := range d.Options {
			if o.Secret && o.Name == name {
				return true
			}
		}
	}
	return false
}

// redact hides the secrets in a statement's text.
func (e *Runner) redact(text string) string { return sql.Redact(text, e.secretOption) }

// sealOptions makes the options of a new object fit to be kept: values that are
// secrets are encrypted, and references to named secrets resolved.
func (s *Session) sealOptions(c *catalog.Connector) error {
	if c == nil {
		return nil
	}
	for i := range c.Options {
		o := &c.Options[i]
		switch {
		case sql.OptionKind(o.Kind) == sql.OptSecret:
			schema, name, ok := strings.Cut(o.Value, ".")
			if !ok {
				schema, name = "", o.Value
			}
			x, _ := s.snapshot().Other(catalog.KindSecret, schema, name, s.expr.SearchPath).(*catalog.Secret)
			if x == nil {
				return pgerr.New(pgerr.UndefinedObject, "secret \"%s\" does not exist", o.Value).
					WithHint("CREATE SECRET %s AS '...' makes it.", sql.QuoteIdent(name))
			}
			if err := s.mayLookInto(s.snapshot(), schema); err != nil {
				return err
			}
			if err := s.may(x, catalog.Usage); err != nil {
				return err
			}
			o.Secret = x.OID
		case s.eng.secretOption(o.Name) && o.Value != "":
			v, err := s.eng.vault.seal(o.Value, "option "+o.Name)
			if err != nil {
				return err
			}
			o.Kind, o.Value = catalog.OptionSealed, v
		}
	}
	return nil
}

// optionValue returns the value of a kept option as its connector is to see it.
func (e *Runner) optionValue(o catalog.Option) (string, error) {
	switch {
	case o.Secret != 0:
		x, _ := e.cat.Current().ByOID(o.Secret).(*catalog.Secret)
		if x == nil {
			return "", pgerr.New(pgerr.UndefinedObject, "secret \"%s\" does not exist", o.Value)
		}
		return e.vault.open(string(x.Value), "secret "+x.Name)
	case o.Kind == catalog.OptionSealed:
		return e.vault.open(o.Value, "option "+o.Name)
	}
	return o.Value, nil
}
