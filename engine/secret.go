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
	sealed, err := s.eng.Vault.Seal(st.Value, "secret "+o.Name)
	if err != nil {
		return err
	}
	o.Value = []byte(sealed)
	return s.changeCatalog(catalog.Change{Create: o})
}

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
		case s.eng.SecretOption(o.Name) && o.Value != "":
			v, err := s.eng.Vault.Seal(o.Value, "option "+o.Name)
			if err != nil {
				return err
			}
			o.Kind, o.Value = catalog.OptionSealed, v
		}
	}
	return nil
}
