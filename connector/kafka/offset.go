package kafka

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// A split is a partition, named by its number. Its offset is the offset of the
// next record to read, that of the leader epoch it was read under, and the id of
// the topic: "next/leaderEpoch/topicID".
type offset struct {
	next  int64
	epoch int32
	topic [16]byte
}

func (o offset) String() string {
	return strconv.FormatInt(o.next, 10) + "/" + strconv.FormatInt(int64(o.epoch), 10) + "/" + hex.EncodeToString(o.topic[:])
}

func parseOffset(s string) (offset, error) {
	bad := pgerr.New(pgerr.DataCorrupted, "invalid Kafka offset \"%s\" in the state", s)
	p := strings.Split(s, "/")
	if len(p) != 3 {
		return offset{}, bad
	}
	n, err1 := strconv.ParseInt(p[0], 10, 64)
	e, err2 := strconv.ParseInt(p[1], 10, 32)
	id, err3 := hex.DecodeString(p[2])
	if err1 != nil || err2 != nil || err3 != nil || len(id) != 16 {
		return offset{}, bad
	}
	return offset{n, int32(e), [16]byte(id)}, nil
}
