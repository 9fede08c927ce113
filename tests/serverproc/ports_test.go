package serverproc

import (
	"net"
	"strconv"
	"testing"
)

// Every address is another one, outside of what the system picks itself.
func TestFreeAddr(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		addr, err := FreeAddr()
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := net.SplitHostPort(addr)
		port, _ := strconv.Atoi(text)
		if seen[addr] || port < firstPort || port >= firstEphemeral() {
			t.Fatalf("%s: seen %v, ports from %d to %d", addr, seen[addr], firstPort, firstEphemeral())
		}
		seen[addr] = true
	}
}
