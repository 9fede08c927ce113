package state

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
)

// holdEnv makes the test binary a process that holds a state directory open.
const holdEnv = "STREAMDB_TEST_HOLD_DIR"

func TestMain(m *testing.M) {
	dir := os.Getenv(holdEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	s, err := Open(dir, Options{Logger: quiet()})
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString("held\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = s.Close()
}

func wantCode(t *testing.T, err error, code pgerr.Code, text string) {
	t.Helper()
	if pgerr.CodeOf(err) != code || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %s with %q", err, code, text)
	}
}

func TestLockedByAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdEnv+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, Options{Logger: quiet()})
	wantCode(t, err, pgerr.ObjectInUse, "\""+dir+"\" is in use by another server")
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, Options{Logger: quiet()})
	wantCode(t, err, pgerr.ObjectInUse, "in use")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenForeignDirectories(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs, Options{Logger: quiet()})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFile(fs, "data", formatFile, []byte("streamdb state 99\n")); err != nil {
		t.Fatal(err)
	}
	_, err := Open("data", Options{FS: fs, Logger: quiet()})
	wantCode(t, err, pgerr.ObjectNotInPrerequisiteState, "not compatible")
	if err := fs.Remove("data/" + formatFile); err != nil {
		t.Fatal(err)
	}
	_, err = Open("data", Options{FS: fs, Logger: quiet()})
	wantCode(t, err, pgerr.ObjectNotInPrerequisiteState, "has data but no file")

	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(file+"/data", Options{Logger: quiet()})
	wantCode(t, err, pgerr.WrongObjectType, "could not create directory")
}

func TestUseAfterClose(t *testing.T) {
	s := openMem(t, vfs.NewMem(), Options{Logger: quiet()})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	err := s.Commit(context.Background(), &Commit{Epoch: 1})
	wantCode(t, err, pgerr.ObjectNotInPrerequisiteState, "closed")
	_, err = s.Snapshot().Scan(1, nil, nil)
	wantCode(t, err, pgerr.ObjectNotInPrerequisiteState, "closed")
}

// bigEpoch writes to a table, a job and a sink, each above all inline limits.
func bigEpoch(e uint64) *Commit {
	d := NewDelta()
	b := NewRowBatch(1)
	val := []byte(strings.Repeat("v", 1000))
	w := d.Writer(0)
	for i := range 1000 {
		k := []byte{byte(i), byte(i >> 8)}
		b.Put(k, val)
		w.Put(0, k, val)
	}
	return &Commit{
		Epoch: typesEpoch(e), Rows: []*RowBatch{b}, Jobs: []JobDelta{{2, d}},
		Sink: []SinkBatch{{3, []byte(strings.Repeat("s", 300<<10)), 7}},
	}
}

func TestDiskFull(t *testing.T) {
	for _, suffix := range []string{".sst", ".seg"} {
		var full atomic.Bool
		fs := vfs.WithFaults(vfs.NewMem(), func(op vfs.Op) error {
			write := op.Kind == vfs.OpFileWrite || op.Kind == vfs.OpFileWriteAt || op.Kind == vfs.OpCreate
			if full.Load() && write && strings.HasSuffix(op.Path, suffix) {
				return syscall.ENOSPC
			}
			return nil
		})
		s := openMem(t, fs, Options{Logger: quiet()})
		commit(t, s, bigEpoch(1))
		full.Store(true)
		err := s.Commit(context.Background(), bigEpoch(2))
		wantCode(t, err, pgerr.DiskFull, "No space left on device")
		if got := s.LastEpoch(); got != 1 {
			t.Errorf("epoch %d is visible", got)
		}
		if _, ok, err := s.Get(1, []byte{1, 1}, nil); !ok || err != nil {
			t.Errorf("read while full: %v %v", ok, err)
		}
		full.Store(false)
		commit(t, s, bigEpoch(2))
		if n := len(jobEntries(t, s, 2)); n != 1000 {
			t.Errorf("%d entries", n)
		}
		p := s.SinkLog(3).Pending()
		if p.Epochs != 2 || p.Rows != 14 || p.Bytes != 600<<10 || p.Last != 2 {
			t.Errorf("%+v", p)
		}
	}
}

func TestDiskReserve(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs, Options{Logger: quiet(), ReserveBytes: 1000})
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 900, TotalBytes: 1 << 30})
	err := s.Commit(context.Background(), &Commit{Epoch: 1})
	wantCode(t, err, pgerr.DiskFull, "No space left on device")
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 29, TotalBytes: 1 << 30})
	commit(t, s, &Commit{Epoch: 1})
}

// While there is plenty of space commits do not ask for it, but look again in time
// for others who take it, and count what they take themselves.
func TestDiskWithPlentyOfSpace(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs, Options{Logger: quiet(), ReserveBytes: 1000})
	plenty, little := vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 41}, vfs.DiskUsage{AvailBytes: 900, TotalBytes: 1 << 41}
	full := func(n int) bool {
		err := s.space.check(n, false)
		if err != nil {
			wantCode(t, err, pgerr.DiskFull, "No space left on device")
		}
		return err != nil
	}
	look := func() {
		fs.TestingSetDiskUsage(plenty)
		s.space.looked = time.Time{}
		if full(1) {
			t.Fatal("there is space")
		}
		s.space.looked = time.Now().Add(time.Hour) // so that time is no reason to look
		fs.TestingSetDiskUsage(little)
	}
	look()
	for range 10 {
		if full(1 << 30) {
			t.Fatal("asked without need")
		}
	}
	s.space.looked = time.Now().Add(-spaceLook)
	if !full(1) {
		t.Error("did not look again")
	}
	look()
	if full(1 << 39) {
		t.Error("asked without need")
	}
	if !full(1 << 39) {
		t.Error("did not count what was written")
	}
	look()
	if !full(1 << 40) {
		t.Error("did not look for what does not fit")
	}
}

// TestLogWaitsForSpace fills the disk under Pebble's own log, which cannot take
// an error.
func TestLogWaitsForSpace(t *testing.T) {
	var left atomic.Int64
	fs := vfs.WithFaults(vfs.NewMem(), func(op vfs.Op) error {
		if op.Kind == vfs.OpFileWrite && strings.HasSuffix(op.Path, ".log") && left.Add(-1) >= 0 {
			return syscall.ENOSPC
		}
		return nil
	})
	s := openMem(t, fs, Options{Logger: quiet(), Fatal: func(msg string) { t.Error(msg) }})
	left.Store(4)
	commit(t, s, &Commit{Epoch: 1, Meta: []KV{{[]byte("a"), []byte("b")}}})
	if left.Load() > 0 {
		t.Error("the log was not written")
	}
}

func TestFailedLog(t *testing.T) {
	var broken, fatal atomic.Bool
	mem := vfs.NewMem()
	fs := vfs.WithFaults(mem, func(op vfs.Op) error {
		if broken.Load() && strings.HasSuffix(op.Path, ".log") && (op.Kind == vfs.OpFileWrite || op.Kind == vfs.OpFileSync) {
			return syscall.EIO
		}
		return nil
	})
	s := openMem(t, fs, Options{Logger: quiet(), Fatal: func(string) { fatal.Store(true) }})
	commit(t, s, &Commit{Epoch: 1})
	broken.Store(true)
	err := s.Commit(context.Background(), &Commit{Epoch: 2, Meta: []KV{{[]byte("a"), []byte("b")}}})
	wantCode(t, err, pgerr.IOError, "has failed")
	if !fatal.Load() {
		t.Error("Fatal was not called")
	}
	// What is in memory may not survive, so it is not shown either.
	_, _, err = s.MetaGet([]byte("a"))
	wantCode(t, err, pgerr.IOError, "has failed")
}

func TestCorruptionIsReported(t *testing.T) {
	for _, kind := range []string{"job", "sink", "sst", "missing"} {
		fs := vfs.NewMem()
		s := openMem(t, fs, Options{Logger: quiet()})
		commit(t, s, bigEpoch(1))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		switch kind {
		case "missing":
			if err := fs.Remove(findFile(t, fs, "data/log", "job-")); err != nil {
				t.Fatal(err)
			}
		case "sst":
			flip(t, fs, findFile(t, fs, "data/db", ".sst"))
		default:
			flip(t, fs, findFile(t, fs, "data/log", kind+"-"))
		}
		err := readAll(fs)
		if !errors.Is(err, vfs.ErrCorruption) || pgerr.CodeOf(err) != pgerr.DataCorrupted {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// Any file of a directory is taken away, or cut to half: it does not come up with
// less, and the error says what is wrong, and with which file if that is known.
func TestLostFiles(t *testing.T) {
	full := func() *vfs.MemFS {
		fs := vfs.NewMem()
		s := openMem(t, fs, Options{Logger: quiet()})
		commit(t, s, bigEpoch(1))
		commit(t, s, &Commit{Epoch: 2, Meta: []KV{{[]byte("a"), []byte("b")}}})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return fs
	}
	spare := regexp.MustCompile(`LOCK|OPTIONS|ballast|MARK|format-version`) // what is made anew
	tried := 0
	for _, dir := range []string{"data", "data/db", "data/log"} {
		names, err := full().List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			path := dir + "/" + n
			fs := full()
			st, err := fs.Stat(path)
			if err != nil || st.IsDir() || spare.MatchString(n) {
				continue
			}
			tried++
			if err := fs.Remove(path); err != nil {
				t.Fatal(err)
			}
			err = readAll(fs)
			e := pgerr.From(err)
			if e == nil || e.Code != pgerr.DataCorrupted && e.Code != pgerr.ObjectNotInPrerequisiteState {
				t.Errorf("without %s: %v", path, err)
				continue
			}
			told := e.Msg + e.Detail + e.Hint
			if number := strings.TrimLeft(strings.TrimSuffix(n, ".sst"), "0"); !strings.Contains(told, number) && !strings.Contains(told, "lost commits") {
				t.Errorf("without %s: %s, detail %s", path, e.Msg, e.Detail)
			}
		}
	}
	if tried < 6 {
		t.Errorf("only %d files", tried)
	}
	// A manifest that is cut, and one that is gone with what names it.
	for _, part := range []string{"MANIFEST", "marker.manifest"} {
		fs := full()
		path := findFile(t, fs, "data/db", part)
		b, err := vfs.ReadFile(fs, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := fs.Remove(path); err != nil {
			t.Fatal(err)
		}
		if part == "MANIFEST" {
			if err := vfs.WriteFile(fs, "data/db", fs.PathBase(path), b[:len(b)/2]); err != nil {
				t.Fatal(err)
			}
		}
		if err := readAll(fs); pgerr.CodeOf(err) != pgerr.DataCorrupted || !strings.Contains(err.Error(), "lost commits: manifest") {
			t.Errorf("%s: %v", part, err)
		}
	}
	// A log that is damaged where commits are.
	fs := full()
	flip(t, fs, findFile(t, fs, "data/db", ".log"))
	if err := readAll(fs); pgerr.CodeOf(err) != pgerr.DataCorrupted {
		t.Error(err)
	}
	// Without the mark it comes up with what is left.
	if err := fs.Remove("data/" + markFile); err != nil {
		t.Fatal(err)
	}
	s := openMem(t, fs, Options{Logger: quiet()})
	if s.LastEpoch() > 1 {
		t.Error(s.LastEpoch())
	}
}

func findFile(t *testing.T, fs vfs.FS, dir, part string) string {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	best, size := "", int64(-1)
	for _, n := range names {
		if st, err := fs.Stat(dir + "/" + n); err == nil && strings.Contains(n, part) && st.Size() > size {
			best, size = dir+"/"+n, st.Size()
		}
	}
	if best == "" {
		t.Fatalf("no file with %s in %v", part, names)
	}
	return best
}

// flip changes a byte at a third of the file.
func flip(t *testing.T, fs vfs.FS, path string) {
	t.Helper()
	b, err := vfs.ReadFile(fs, path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fs.OpenReadWrite(path, vfs.WriteCategory)
	if err != nil {
		t.Fatal(err)
	}
	at := len(b) / 3
	if _, err := f.WriteAt([]byte{b[at] ^ 0x40}, int64(at)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func readAll(fs vfs.FS) error {
	s, err := Open("data", Options{FS: fs, Logger: quiet()})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.LoadJob(2, func(int, int, []byte, []byte) error { return nil }); err != nil {
		return err
	}
	if _, err := s.SinkLog(3).Next(0); err != nil {
		return err
	}
	sn := s.Snapshot()
	defer sn.Close()
	it, err := sn.Scan(1, nil, nil)
	if err != nil {
		return err
	}
	for it.Next() {
	}
	return it.Close()
}

// TestTornTail adds bytes that no commit names to segments.
func TestTornTail(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs, Options{Logger: quiet()})
	commit(t, s, bigEpoch(1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"job-", "sink-"} {
		path := findFile(t, fs, "data/log", p)
		st, err := fs.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := fs.OpenReadWrite(path, vfs.WriteCategory)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("half of a record"), st.Size()); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	if err := readAll(fs); err != nil {
		t.Fatal(err)
	}
	s = openMem(t, fs, Options{Logger: quiet()})
	commit(t, s, bigEpoch(2))
	if n := len(jobEntries(t, s, 2)); n != 1000 {
		t.Errorf("%d entries", n)
	}
}

func TestOrphansAreRemoved(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs, Options{Logger: quiet()})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"job-5-77.seg", "job-5-78.base", "sink-6-79.seg"} {
		if err := vfs.WriteFile(fs, "data/log", n, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	s = openMem(t, fs, Options{Logger: quiet()})
	if names, _ := fs.List("data/log"); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
	if n := s.nextFile.Load(); n != 79 {
		t.Errorf("file numbers go on from %d", n)
	}
}
