package serverproc

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Postgres is a throw-away PostgreSQL, the oracle of the tests.
type Postgres struct {
	cmd  *exec.Cmd
	addr string
	log  *tail
}

// FindPostgres returns the directory of PostgreSQL's server programs, or an
// error that says how to install them.
func FindPostgres() (string, error) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for i := len(dirs) - 1; i >= 0; i-- {
		if _, err := os.Stat(filepath.Join(dirs[i], "initdb")); err == nil {
			return dirs[i], nil
		}
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	return "", fmt.Errorf("no PostgreSQL server found: run `make test-deps` or install the package postgresql")
}

// StartPostgres creates a cluster in a new temporary directory and starts it
// on a loopback port. PostgreSQL refuses to run as root, so root drops to the
// user postgres (or nobody). Time zone is UTC, sorting is by bytes, and fsync
// is off: the cluster never outlives the test. Settings, each "name=value", are
// added to these and win over them.
func StartPostgres(settings ...string) (*Postgres, error) {
	bin, err := FindPostgres()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "streamdb-oracle-")
	if err != nil {
		return nil, err
	}
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}
	if os.Geteuid() == 0 {
		if attr.Credential, err = unprivileged(dir); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "streamdb", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
	initdb.SysProcAttr, initdb.Dir = attr, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	addr, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(addr)
	p := &Postgres{addr: addr, log: &tail{}}
	args := []string{"-D", data, "-p", port, "-h", "127.0.0.1", "-k", dir}
	for _, set := range append([]string{"fsync=off", "timezone=UTC", "max_connections=200", "shared_buffers=64MB"}, settings...) {
		args = append(args, "-c", set)
	}
	p.cmd = exec.Command(filepath.Join(bin, "postgres"), args...)
	p.cmd.SysProcAttr, p.cmd.Dir = attr, dir
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	return p, p.awaitPort()
}

// Addr is the host:port of the server.
func (p *Postgres) Addr() string { return p.addr }

// Pid is the process id of the server, whose children serve the connections.
func (p *Postgres) Pid() int { return p.cmd.Process.Pid }

// DSN is a connection string for a database of the cluster.
func (p *Postgres) DSN(database string) string {
	return "postgres://streamdb@" + p.addr + "/" + database + "?sslmode=disable"
}

// Stop ends the server (fast shutdown) and removes its cluster.
func (p *Postgres) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	p.cmd.Wait()
	return os.RemoveAll(p.cmd.Dir)
}

func (p *Postgres) awaitPort() error {
	deadline := time.Now().Add(readyTimeout)
	for time.Now().Before(deadline) {
		if strings.Contains(p.log.String(), "ready to accept connections") {
			return nil
		}
		if err := p.cmd.Process.Signal(syscall.Signal(0)); err != nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("PostgreSQL did not start\n%s", p.log.String())
}

// unprivileged picks the user that PostgreSQL shall run as and gives it dir.
func unprivileged(dir string) (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, uid, gid)
}
