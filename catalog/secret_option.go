package catalog

import "regexp"

// hidden stands where the value of a secret option was.
const hidden = "***"

var secretName = regexp.MustCompile(`(?i)password|secret|token|credential|jaas`)

// SecretOption tells whether the value of a connector's option must not be
// shown, going by the option's name.
func SecretOption(name string) bool { return secretName.MatchString(name) }

// optionArray is the options of a connector as pg_foreign_table has them.
func optionArray(c *Connector) any {
	if c == nil {
		return nil
	}
	var out []string
	for _, o := range c.Options {
		v := o.Value
		if o.Kind == OptionSealed || o.Secret != 0 || SecretOption(o.Name) {
			v = hidden
		}
		out = append(out, o.Name+"="+v)
	}
	return textArray(out)
}
