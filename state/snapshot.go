package state

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
)

// Snapshot is a consistent image of all relations and of the meta space: every
// commit that had returned when it was taken, whole, and none that had not begun.
// It may be used concurrently and must be closed.
type Snapshot struct {
	s     *Store
	sn    *pebble.Snapshot
	clock uint64
}

// Clock tells which commits the snapshot sees for certain: those whose end a
// Watcher was told with this clock or a smaller one. It may see later ones too.
func (sn *Snapshot) Clock() uint64 { return sn.clock }

// Snapshot takes a snapshot. It costs a microsecond and holds back the
// reclamation of what is deleted later. On a closed or failed store its methods
// return the error.
func (s *Store) Snapshot() *Snapshot {
	if s.begin() != nil {
		return &Snapshot{s: s}
	}
	defer s.end()
	clock := s.clock.Load() // before the snapshot
	return &Snapshot{s: s, sn: s.db.NewSnapshot(), clock: clock}
}

// Close releases the snapshot; a second call does nothing.
func (sn *Snapshot) Close() error {
	if sn.sn == nil {
		return nil
	}
	err := sn.sn.Close()
	sn.sn = nil
	return fileError(err, "could not close a snapshot")
}

func (sn *Snapshot) reader() (pebble.Reader, error) {
	if err := sn.s.failure(); err != nil {
		return nil, err
	}
	if sn.sn == nil {
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the snapshot is closed")
	}
	return sn.sn, nil
}

// Get returns a copy of the value of a row of a keyed relation.
func (sn *Snapshot) Get(table TableID, key []byte) (val []byte, ok bool, err error) {
	r, err := sn.reader()
	if err != nil {
		return nil, false, err
	}
	return getRow(r, table, key, nil)
}

// Count returns how many times a relation without a key has the row.
func (sn *Snapshot) Count(table TableID, row []byte) (int64, error) {
	r, err := sn.reader()
	if err != nil {
		return 0, err
	}
	v, ok, err := getValue(r, appendRowKey(nil, table, row), nil)
	if err != nil || !ok {
		return 0, err
	}
	return decodeCount(v)
}

// MetaGet returns a copy of a meta value.
func (sn *Snapshot) MetaGet(key []byte) (val []byte, ok bool, err error) {
	r, err := sn.reader()
	if err != nil {
		return nil, false, err
	}
	return getValue(r, metaKey(key), nil)
}

// MetaScan calls f for all meta keys with a prefix, in order. Slices are
// borrowed.
func (sn *Snapshot) MetaScan(prefix []byte, f func(key, val []byte) error) error {
	r, err := sn.reader()
	if err != nil {
		return err
	}
	return metaScan(r, prefix, f)
}

// Scan iterates over the rows of a relation with lo <= key < hi; nil means no
// bound.
func (sn *Snapshot) Scan(table TableID, lo, hi []byte) (*Iter, error) {
	r, err := sn.reader()
	if err != nil {
		return nil, err
	}
	low := appendRowKey(nil, table, lo)
	high := successor(appendRowKey(nil, table, nil))
	if hi != nil {
		high = appendRowKey(nil, table, hi)
	}
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: low, UpperBound: high})
	if err != nil {
		return nil, fileError(err, "could not read relation %d", table)
	}
	return &Iter{it: it, table: table}, nil
}

// Get returns the newest committed value of a row of a keyed relation, appended
// to buf[:0].
func (s *Store) Get(table TableID, key, buf []byte) (val []byte, ok bool, err error) {
	if err := s.begin(); err != nil {
		return nil, false, err
	}
	defer s.end()
	return getRow(s.db, table, key, buf)
}

// MetaGet returns a copy of the newest committed meta value.
func (s *Store) MetaGet(key []byte) (val []byte, ok bool, err error) {
	if err := s.begin(); err != nil {
		return nil, false, err
	}
	defer s.end()
	return getValue(s.db, metaKey(key), nil)
}

// MetaScan calls f for all meta keys with a prefix, in order, of one committed
// state. Slices are borrowed.
func (s *Store) MetaScan(prefix []byte, f func(key, val []byte) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	return metaScan(s.db, prefix, f)
}

func metaScan(r pebble.Reader, prefix []byte, f func(key, val []byte) error) error {
	lo := metaKey(prefix)
	skip := len(metaKey(nil))
	err := scanRange(r, lo, successor(lo), func(key, val []byte) error { return f(key[skip:], val) })
	return mapReadError(err)
}

// mapReadError gives storage errors a code and leaves those of callbacks alone.
func mapReadError(err error) error {
	if err != nil && (pebble.IsCorruptionError(err) || errors.Is(err, vfs.ErrCorruption)) {
		return fileError(err, "could not read storage")
	}
	return err
}

// getValue returns a copy of a value, appended to buf[:0].
func getValue(r pebble.Reader, key, buf []byte) ([]byte, bool, error) {
	v, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fileError(err, "could not read storage")
	}
	if buf == nil {
		buf = make([]byte, 0, len(v))
	}
	buf = append(buf[:0], v...)
	return buf, true, closer.Close()
}

func getRow(r pebble.Reader, table TableID, key, buf []byte) ([]byte, bool, error) {
	var kb [128]byte
	v, closer, err := r.Get(appendRowKey(kb[:0], table, key))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fileError(err, "could not read relation %d", table)
	}
	defer closer.Close()
	if len(v) == 0 || v[0] != tagRow {
		return nil, false, corrupt("relation %d has an invalid row", table)
	}
	if buf == nil {
		buf = make([]byte, 0, len(v))
	}
	return append(buf[:0], v[1:]...), true, nil
}

// Iter walks rows in key order. It belongs to one goroutine.
type Iter struct {
	it      *pebble.Iterator
	table   TableID
	started bool
	seek    []byte // where to start; nil: at the first row
	val     []byte
	count   int64
	err     error
}

// Seek makes the next call of Next go to the first row with a key not below key.
// A walk that has failed stays so.
func (i *Iter) Seek(key []byte) {
	i.seek = appendRowKey(i.seek[:0], i.table, key)
	i.started = false
}

// Next goes to the next row and returns whether there is one; look at Err when
// there is not.
func (i *Iter) Next() bool {
	for i.err == nil {
		if !i.started {
			i.started = true
			if i.seek == nil {
				i.it.First()
			} else {
				i.it.SeekGE(i.seek)
			}
		} else {
			i.it.Next()
		}
		if !i.it.Valid() {
			return false
		}
		v, err := i.it.ValueAndErr()
		if err != nil {
			i.err = fileError(err, "could not read relation %d", i.table)
			return false
		}
		if len(v) > 0 && v[0] == tagRow {
			i.val, i.count = v[1:], 1
			return true
		}
		if i.count, i.err = decodeCount(v); i.err != nil {
			return false
		}
		i.val = nil
		if i.count > 0 {
			return true
		}
		if i.count < 0 {
			i.err = pgerr.New(pgerr.Internal, "relation %d has a row with a count of %d", i.table, i.count)
		}
	}
	return false
}

// Key is the key of the row, or the row's whole encoding in a relation without a
// key. It is valid until Next.
func (i *Iter) Key() []byte { return i.it.Key()[rowPrefix:] }

// Val is the row of a keyed relation, nil in one without a key. It is valid until
// Next.
func (i *Iter) Val() []byte { return i.val }

// Count is how many times the relation has the row: 1 in a keyed one.
func (i *Iter) Count() int64 { return i.count }

// Err returns the error that ended the walk.
func (i *Iter) Err() error {
	if i.err != nil {
		return i.err
	}
	return fileError(i.it.Error(), "could not read relation %d", i.table)
}

// Close ends the walk and returns its error.
func (i *Iter) Close() error {
	err := i.Err()
	if cerr := i.it.Close(); err == nil {
		err = fileError(cerr, "could not read relation %d", i.table)
	}
	return err
}
