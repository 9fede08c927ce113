package catalog

import (
	"encoding/json"
	"fmt"
)

// columnJSON is a column in the log.
type columnJSON struct {
	Name string `json:"name"`
	typeJSON
	NotNull   bool      `json:"not_null,omitempty"`
	Default   string    `json:"default,omitempty"`
	Generated string    `json:"generated,omitempty"`
	Comment   string    `json:"comment,omitempty"`
	Include   string    `json:"include,omitempty"`
	Inner     string    `json:"inner,omitempty"`
	Path      string    `json:"path,omitempty"`
	Identity  string    `json:"identity,omitempty"`
	Sequence  uint32    `json:"sequence,omitempty"`
	Number    int       `json:"number,omitempty"`
	ACL       *ACL      `json:"acl,omitempty"`
	Physical  *Physical `json:"physical,omitempty"`
}

// MarshalJSON writes the column for the log.
func (c Column) MarshalJSON() ([]byte, error) {
	return json.Marshal(columnJSON{c.Name, typeToJSON(c.Type), c.NotNull,
		c.Default, c.Generated, c.Comment, c.Include, c.Inner, c.Path, c.Identity, c.Sequence, c.Number, c.ACL, c.Physical})
}

// UnmarshalJSON reads a column of the log.
func (c *Column) UnmarshalJSON(b []byte) error {
	var j columnJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	t, ok := j.t()
	if !ok {
		return fmt.Errorf("catalog: column %q has unknown type OID %d", j.Name, j.OID)
	}
	*c = Column{Name: j.Name, Type: t, NotNull: j.NotNull, Default: j.Default, Generated: j.Generated, Identity: j.Identity,
		Sequence: j.Sequence, Comment: j.Comment, Include: j.Include, Inner: j.Inner, Path: j.Path, Number: j.Number, ACL: j.ACL, Physical: j.Physical}
	return nil
}
