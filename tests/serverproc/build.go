package serverproc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// RepoRoot returns the directory that holds go.mod, searched upwards from the
// working directory (the package folder, when called from a Go test).
func RepoRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
		dir = parent
	}
}

// Build compiles ./cmd/streamdb into dir and returns the path of the binary.
// When STREAMDB_BIN names a binary, that one is used and nothing is built.
func Build(dir string) (string, error) {
	if bin := os.Getenv("STREAMDB_BIN"); bin != "" {
		return filepath.Abs(bin)
	}
	root, err := RepoRoot()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "streamdb")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/streamdb")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/streamdb: %w\n%s", err, out)
	}
	return bin, nil
}

// Once builds the binary at the first call of its method Path and hands the
// same path, or the same error, to every later caller.
type Once struct {
	once sync.Once
	bin  string
	err  error
}

// Path returns the binary, built into dir by whichever call comes first.
func (o *Once) Path(dir string) (string, error) {
	o.once.Do(func() { o.bin, o.err = Build(dir) })
	return o.bin, o.err
}
