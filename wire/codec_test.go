package wire

import (
	"testing"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// Labels of enums are shorter than values of four bytes may be.
func TestParseBinaryLengths(t *testing.T) {
	const ref = 1 << 40
	types.Define(&types.Def{Ref: ref, OID: 77001, Schema: "public", Name: "mood", Labels: []types.Label{{Code: 5, Name: "ok"}, {Code: 9, Name: "delighted"}}})
	for label, code := range map[string]int64{"ok": 5, "delighted": 9} {
		if d, err := parseBinary(types.EnumOf(ref), []byte(label)); err != nil || d != code {
			t.Errorf("%s: %v, %v", label, d, err)
		}
	}
	if _, err := parseBinary(types.EnumOf(ref), []byte("x")); pgerr.CodeOf(err) != pgerr.InvalidTextRepresentation {
		t.Errorf("an unknown label: %v", err)
	}
	if _, err := parseBinary(types.TInt4, []byte("ok")); pgerr.CodeOf(err) != pgerr.ProtocolViolation {
		t.Errorf("a short int4: %v", err)
	}
}
