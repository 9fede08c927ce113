package connector

import (
	"context"
	"time"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Definition describes one connector.
type Definition struct {
	// Name is the value of the option connector.
	Name string
	// Options lists every option with its meaning; an option not listed is an
	// error that names the closest one.
	Options []Option
	// Prefixes are beginnings of option names that are accepted beside Options,
	// for options named after columns; the connector checks what follows.
	Prefixes []Option
	// Source checks a source's options and columns; nil: not a source.
	Source func(SourceSpec) (Source, error)
	// Sink checks a sink's options; nil: not a sink.
	Sink func(SinkSpec) (Sink, error)
}

// Option documents one option of a connector.
type Option struct {
	Name, Doc string
	Default   string
	Required  bool
	Secret    bool // never shown or logged
}

// Column is a column of a source or sink.
type Column struct {
	Name string
	Typ  types.T
	// Include is KEY, PARTITION, OFFSET, TIMESTAMP, PAYLOAD, HEADERS or HEADER (with
	// Header naming one) for metadata columns; else empty.
	Include, Header string
	// Path is where in a record the value is, as formats with nesting have it;
	// empty: in the field of the column's name.
	Path string
	// NotNull makes a record without a value here a bad one.
	NotNull bool
	// Default fills the column where a record has no such field; a null stays
	// one. Nil: NULL.
	Default types.Datum
}

// SourceSpec is what CREATE SOURCE says.
type SourceSpec struct {
	Name           string
	Options        map[string]string
	Format, Encode string // upper case: PLAIN, JSON; empty for generators
	FormatOptions  map[string]string
	KeyEncode      string // JSON, TEXT or empty: either
	Columns        []Column
	PrimaryKey     []int
	// NullBad makes NULL of a field that does not fit its column, where NULL is
	// allowed, instead of making the record a bad one.
	NullBad bool
}

// Source is a checked source. It is safe for concurrent use.
type Source interface {
	// Columns returns the columns the source has by itself when CREATE SOURCE
	// names none (generators); nil: they must be declared.
	Columns() []Column
	// AppendOnly reports whether rows are never taken back. If not, the primary
	// key of the spec tells rows apart: a row of weight +1 takes the place of the
	// one with its key, and of a row of weight -1 only the key counts.
	AppendOnly() bool
	// Check contacts the external system and reports what would stop a reader:
	// unreachable brokers, a missing topic, a refused password.
	Check(ctx context.Context) error
	// Open starts reading into chunks of the columns cols (positions in the
	// columns of the spec). The reader serves share instance of instances: it
	// takes the splits that fall to it, including later discovered ones. Offsets
	// holds the stored offset of splits read before; other splits start where
	// the options say.
	Open(ctx context.Context, cols []int, instance, instances int, offsets map[string]string) (Reader, error)
}

// Bounded is a Source of which can be read, once and from its beginning, what is
// there at one moment.
type Bounded interface {
	// OpenBounded opens a reader of the columns cols, over all splits. The last
	// batch has End; Offsets are not given.
	OpenBounded(ctx context.Context, cols []int) (Reader, error)
}

// Batch is a piece of a source's input.
type Batch struct {
	// Chunk holds the rows; the reader gives it away. Rows == 0 is legal.
	Chunk *vec.Chunk
	// Pool may take the chunk back after use; nil: the garbage collector does.
	Pool *vec.Pool
	// Offsets are the positions to go on from after this batch, for the splits
	// that moved.
	Offsets map[string]string
	// Bad are records that could not be decoded.
	Bad []BadRecord
	// End tells that a bounded source has no more rows.
	End bool
}

// BadRecord is a record that could not be turned into a row.
type BadRecord struct {
	Split  string // topic and partition
	Offset string
	Key    []byte
	Value  []byte
	Reason error
}

// Unavailable is what change streams write in place of a large value that an
// update has not touched: the row keeps the one it had.
const Unavailable = "__debezium_unavailable_value"

// Reader reads a share of a source. It belongs to one goroutine, except Close.
type Reader interface {
	// Read blocks until there is something to report or ctx ends. An error ends
	// the reader; the runtime reopens it from the last offsets with back-off. While
	// it waits it says so, by Wait.
	Read(ctx context.Context) (*Batch, error)
	Close() error
}

// Position tells where a split is read: the offset of the next record, and that
// behind the last one there is.
type Position struct {
	Split     string
	Next, End int64
}

// Positioner is a Reader whose splits' positions can be asked for at any time,
// from any goroutine.
type Positioner interface{ Positions() []Position }

// Offsets is a Source whose stored offsets can be told as numbers like those of
// a Position.
type Offsets interface {
	OffsetOf(stored string) (int64, error)
}

// Health is a Reader or Deliverer that tells, at any time and from any goroutine,
// what has kept it from working since when; nil: nothing has.
type Health interface {
	Trouble() (err error, since time.Time)
}

// Pinger is a Deliverer that can try whether its target is there. It is asked now
// and then while there is nothing to deliver.
type Pinger interface {
	Ping(ctx context.Context) error
}

// SinkSpec is what CREATE SINK says.
type SinkSpec struct {
	ID uint32 // stable identity, part of transactional ids
	// Instance identifies the data directory among all others, so that two of
	// them writing to one external system do not take each other's sinks over.
	Instance       string
	Name           string
	Options        map[string]string
	Format, Encode string // PLAIN (append-only) or UPSERT; JSON
	FormatOptions  map[string]string
	Columns        []Column
	Key            []int // upsert key; nil: append-only
}

// Sink is a checked sink. Encode is called by one goroutine at a time per
// Encoder; Open by the deliverer.
type Sink interface {
	Check(ctx context.Context) error
	// Encoder returns a new encoder of changes to log records.
	Encoder() Encoder
	// Open prepares delivery: it fences earlier deliverers of the same sink.
	Open(ctx context.Context) (Deliverer, error)
}

// Encoder turns changes into records of the sink log.
type Encoder interface {
	// Encode appends the records of a consolidated chunk to dst: for an upsert
	// sink a row of weight +1 is its key's new value and a row of weight -1 the
	// key's removal (there is at most one row a key in an epoch); an append-only
	// sink repeats a row weight times. It returns the number of records.
	Encode(dst []byte, c *vec.Chunk) ([]byte, int, error)
}

// Deliverer writes the sink log to the external system, epochs in order.
type Deliverer interface {
	// Last returns the last epoch known to be delivered; 0: none. Kept tells that
	// it was read from the external system, as an exactly-once sink does; else it
	// counts only what this deliverer has written.
	Last(ctx context.Context) (last types.Epoch, kept bool, err error)
	// Deliver writes an epoch's records, all or nothing for exactly-once sinks.
	// It returns only when they are durable there. On error the deliverer is
	// closed and opened anew, and Last decides where to go on.
	Deliver(ctx context.Context, e types.Epoch, records []byte) error
	Close() error
}

// Backoff is the delay before attempt n (from 0) to reach an external system.
func Backoff(n int) time.Duration {
	return min(100*time.Millisecond<<min(n, 10), 10*time.Second)
}
