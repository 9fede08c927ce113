package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/streamdb/streamdb/types"
)

// columnJSON is a column in the log. Types are stored as PostgreSQL's OID and
// modifier, which never change, unlike the numbers of types.ID.
type columnJSON struct {
	Name      string `json:"name"`
	TypeOID   uint32 `json:"type"`
	Mod       int32  `json:"mod"`
	NotNull   bool   `json:"not_null,omitempty"`
	Default   string `json:"default,omitempty"`
	Generated string `json:"generated,omitempty"`
	Comment   string `json:"comment,omitempty"`
	Include   string `json:"include,omitempty"`
	Inner     string `json:"inner,omitempty"`
	Path      string `json:"path,omitempty"`
	Identity  string `json:"identity,omitempty"`
	Sequence  uint32 `json:"sequence,omitempty"`
}

// MarshalJSON writes the column for the log.
func (c Column) MarshalJSON() ([]byte, error) {
	return json.Marshal(columnJSON{c.Name, c.Type.OID(), c.Type.Mod, c.NotNull,
		c.Default, c.Generated, c.Comment, c.Include, c.Inner, c.Path, c.Identity, c.Sequence})
}

// UnmarshalJSON reads a column of the log.
func (c *Column) UnmarshalJSON(b []byte) error {
	var j columnJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	t, ok := types.ByOID(j.TypeOID)
	if !ok {
		return fmt.Errorf("catalog: column %q has unknown type OID %d", j.Name, j.TypeOID)
	}
	t.Mod = j.Mod
	*c = Column{Name: j.Name, Type: t, NotNull: j.NotNull, Default: j.Default, Generated: j.Generated, Identity: j.Identity,
		Sequence: j.Sequence, Comment: j.Comment, Include: j.Include, Inner: j.Inner, Path: j.Path}
	return nil
}
