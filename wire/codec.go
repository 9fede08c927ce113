package wire

import (
	"encoding/binary"
	"strconv"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// parseText reads a value of the text format. b may be reused afterwards.
func parseText(t types.T, b []byte, o *types.Options) (types.Datum, error) {
	s := string(b)
	switch t.ID {
	case types.Int4:
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return nil, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", t, s)
		}
		return int32(n), nil
	case types.Int8:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", t, s)
		}
		return n, nil
	}
	return s, nil
}

// parseBinary reads a value of the binary format.
func parseBinary(t types.T, b []byte) (types.Datum, error) {
	switch t.ID {
	case types.Int4:
		if len(b) != 4 {
			return nil, pgerr.New(pgerr.InvalidBinaryRepresentation, "bad length %d", len(b))
		}
		return int32(binary.BigEndian.Uint32(b)), nil
	case types.Int8, types.Timestamptz:
		if len(b) != 8 {
			return nil, pgerr.New(pgerr.InvalidBinaryRepresentation, "bad length %d", len(b))
		}
		return int64(binary.BigEndian.Uint64(b)), nil
	}
	return string(b), nil
}

// appendText appends a value of the text format to a vector.
func appendText(v vec.Vector, b []byte, o *types.Options) error {
	d, err := parseText(v.Type(), b, o)
	if err == nil {
		v.AppendDatum(d)
	}
	return err
}

func textGeneral(dst []byte, v vec.Vector, i int, o *types.Options) []byte { return dst }

func binGeneral(dst []byte, v vec.Vector, i int, _ *types.Options) []byte { return dst }
