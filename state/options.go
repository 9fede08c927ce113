package state

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/streamdb/streamdb/internal/vfs"
)

// Options configures a store. The zero value is ready for use.
type Options struct {
	FS     vfs.FS       // nil: the operating system's
	Logger *slog.Logger // nil: slog.Default()
	// NoSync leaves out every fsync: a crash of the machine may lose or tear
	// commits. For benchmarks and tests.
	NoSync bool
	// CacheBytes is the size of the block cache; 0: 128 MiB.
	CacheBytes int64
	// MemTableBytes is the size of Pebble's write buffer; 0: 16 MiB.
	MemTableBytes int
	// InlineBytes is the size of all deltas of a commit from which on they go to
	// segments instead of the batch, unless they are below an eighth of it, which
	// is also the limit of a sink's epoch; 0: 256 KiB.
	InlineBytes int
	// InlineTotal is the size of a job's inline deltas above which they move to
	// its segment; 0: 1 MiB.
	InlineTotal int64
	// IngestBytes is the size of rows and inline data from which on a commit is
	// made of sorted tables instead of a batch; 0: 256 KiB.
	IngestBytes int
	// FoldBytes is the least size of a job's log that is folded; 0: 64 MiB.
	FoldBytes int64
	// SweepRows is the least number of retractions after which rows whose count
	// became 0 are looked for and deleted; 0: 65536.
	SweepRows int
	// SegmentBytes is the size at which a sink's segment is closed; 0: 64 MiB.
	SegmentBytes int64
	// ReserveBytes of the disk stay free: a commit that would go below fails with
	// 53100 before it writes anything; 0: 64 MiB, negative: no check.
	ReserveBytes int64
	// Watch is told of commits; nil: nobody.
	Watch Watcher
	// Fatal is called when Pebble cannot go on (its write-ahead log or manifest
	// failed); nil: the process logs and exits, so that a restart recovers.
	Fatal func(msg string)
}

// Watcher learns what commits change. Its methods are called by concurrent commits
// and must be quick.
type Watcher interface {
	// Begin is called when nobody can see anything of the commit yet.
	Begin(c *Commit)
	// End is called when everybody sees it or, after an error, nobody ever will.
	// Snapshots whose Clock is at least clock were taken after that.
	End(c *Commit, clock uint64)
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.OS()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	orDefault(&o.CacheBytes, 128<<20)
	orDefault(&o.MemTableBytes, 16<<20)
	orDefault(&o.InlineBytes, 256<<10)
	orDefault(&o.InlineTotal, 1<<20)
	orDefault(&o.IngestBytes, 256<<10)
	orDefault(&o.FoldBytes, 64<<20)
	orDefault(&o.SweepRows, 1<<16)
	orDefault(&o.SegmentBytes, 64<<20)
	orDefault(&o.ReserveBytes, 64<<20)
	if o.Fatal == nil {
		o.Fatal = func(string) { os.Exit(1) }
	}
	return o
}

func orDefault[T int | int64](p *T, d T) {
	if *p == 0 {
		*p = d
	}
}

func (s *Store) pebbleOptions(fs vfs.FS) *pebble.Options {
	o := &pebble.Options{
		FS:                          fs,
		FormatMajorVersion:          pebble.FormatNewest,
		Merger:                      merger,
		CacheSize:                   s.opt.CacheBytes,
		MemTableSize:                uint64(s.opt.MemTableBytes),
		MemTableStopWritesThreshold: 4,
		MaxManifestFileSize:         1 << 20,
		L0CompactionThreshold:       8,
		L0StopWritesThreshold:       64,
		LBaseMaxBytes:               64 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 1 },
		WALBytesPerSync:             512 << 10,
		BytesPerSync:                512 << 10,
		Logger:                      pebbleLog{s},
		EventListener:               s.events(),
	}
	o.Experimental.EnableColumnarBlocks = func() bool { return true }
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		o.Levels[i].BlockSize = 16 << 10
	}
	o.EnsureDefaults()
	return o
}

// events reports what an operator of the database should know; the rest of
// Pebble's doings is at debug level.
func (s *Store) events() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			s.log.Error("storage background work failed and will be retried", "err", err)
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			s.log.Error("storage found corrupted data", "path", info.Path, "err", info.Details)
		},
		DiskSlow: func(info pebble.DiskSlowInfo) {
			s.log.Warn("disk is slow", "path", info.Path, "op", info.OpType.String(), "for", info.Duration)
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			s.log.Warn("storage delays writes", "reason", info.Reason)
		},
	}
}

// pebbleLog passes Pebble's log on.
type pebbleLog struct{ s *Store }

func (l pebbleLog) Infof(format string, args ...any) {
	l.s.log.Debug("pebble: " + strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func (l pebbleLog) Errorf(format string, args ...any) {
	l.s.log.Error("pebble: " + strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// Fatalf is called when Pebble's files may lag behind its memory, so nothing
// read from it can be trusted to survive.
func (l pebbleLog) Fatalf(format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	l.s.fail(msg)
	l.s.log.Error("storage cannot go on; a restart recovers the last committed epoch", "err", msg)
	l.s.opt.Fatal(msg)
}
