package catalog

import (
	"regexp"
	"strings"
)

// hidden stands in texts where the value of a secret option was.
const hidden = "'***'"

var (
	secretName    = regexp.MustCompile(`(?i)password|secret|token|credential|jaas`)
	optionInQuery = regexp.MustCompile(`("(?:[^"]|"")+"|[A-Za-z_][\w.]*)(\s*=\s*)[eE]?'(?:[^']|'')*'`)
)

// SecretOption tells whether the value of a connector's option must not be
// shown, going by the option's name.
func SecretOption(name string) bool { return secretName.MatchString(name) }

// HideSecrets replaces the values of secret options in the text of a CREATE
// SOURCE or CREATE SINK statement.
func HideSecrets(text string) string {
	return optionInQuery.ReplaceAllStringFunc(text, func(s string) string {
		m := optionInQuery.FindStringSubmatch(s)
		if !SecretOption(m[1]) {
			return s
		}
		return m[1] + m[2] + hidden
	})
}

// optionArray is the options of a connector as pg_foreign_table has them.
func optionArray(c *Connector) any {
	if c == nil {
		return nil
	}
	var out []string
	for _, o := range c.Options {
		v := o.Value
		if SecretOption(o.Name) {
			v = strings.Trim(hidden, "'")
		}
		out = append(out, o.Name+"="+v)
	}
	return textArray(out)
}
