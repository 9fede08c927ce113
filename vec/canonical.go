package vec

import "github.com/streamdb/streamdb/types"

// needsCanonical reports whether SQL-equal values of t can differ in bytes, so
// that hashing and equality must go through appendCanonical.
func needsCanonical(t types.T) bool {
	switch t.ID {
	case types.Numeric, types.Bpchar, types.JSONB, types.Array, types.Record, types.Numrange, types.Nummultirange:
		return true
	}
	return false
}

// appendCanonical appends the equality form of a value: equal SQL values give
// equal bytes.
func appendCanonical(dst []byte, t types.T, b []byte) []byte {
	return types.AppendKeyBytes(dst, t, b, false)
}
