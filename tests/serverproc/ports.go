package serverproc

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// firstPort is the lowest port that is given out.
const firstPort = 10000

// ports gives out port numbers, each once in the life of this process and to one
// process of this user at a time. What the system itself picks, for connections
// and for servers that ask for port 0, is from another range: a port that was
// merely seen free could be gone by the time its server starts, or restarts.
var ports struct {
	sync.Mutex
	claims    *os.File // a byte for each port, locked by the process that has it
	next, end int      // in [firstPort, end)
	left      int
}

// FreeAddr returns a loopback address for a server of a test. It stays this
// process's own, so a server may leave it and come back.
func FreeAddr() (string, error) {
	ports.Lock()
	defer ports.Unlock()
	if ports.claims == nil {
		if err := openPorts(); err != nil {
			return "", err
		}
	}
	for ; ports.left > 0; ports.left-- {
		port := ports.next
		if ports.next++; ports.next == ports.end {
			ports.next = firstPort
		}
		if addr, ok := claimPort(port); ok {
			ports.left--
			return addr, nil
		}
	}
	return "", fmt.Errorf("none of the ports %d to %d is free", firstPort, ports.end-1)
}

func openPorts() error {
	name := filepath.Join(os.TempDir(), "streamdb-test-ports-"+strconv.Itoa(os.Geteuid()))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	ports.claims, ports.end = f, firstEphemeral()
	ports.left = ports.end - firstPort
	// Processes that start together begin far from each other.
	ports.next = firstPort + os.Getpid()*97%ports.left
	return nil
}

// firstEphemeral is the first port that the system picks from by itself.
func firstEphemeral() int {
	const usual = 16000 // the lowest that systems in use have
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return usual
	}
	if f := strings.Fields(string(text)); len(f) == 2 {
		if low, err := strconv.Atoi(f[0]); err == nil && low > usual {
			return low
		}
	}
	return usual
}

// claimPort locks the port against other processes; it is refused when one of
// them has it or something else listens there. Locks end with the process.
func claimPort(port int) (string, bool) {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: int64(port), Len: 1}
	if err := syscall.FcntlFlock(ports.claims.Fd(), syscall.F_SETLK, &lock); err != nil {
		return "", false
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", false
	}
	return addr, l.Close() == nil
}
