package kafka

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/streamdb/streamdb/tests/serverproc"
)

// version is the release that pom.xml names; it is part of the jars' path.
const version = "4.1.2"

// startTimeout bounds the start of a broker on a small, busy machine.
const startTimeout = 120 * time.Second

// Broker is a running Kafka node.
type Broker struct {
	cmd  *exec.Cmd
	dir  string
	addr string
	done chan struct{}
}

// Install makes sure that the jars are there and returns their directory.
func Install() (string, error) {
	root, err := serverproc.RepoRoot()
	if err != nil {
		return "", err
	}
	lib := filepath.Join(root, ".cache", "kafka", version, "lib")
	complete := filepath.Join(filepath.Dir(lib), "complete")
	if _, err := os.Stat(complete); err == nil {
		return lib, nil
	}
	cmd := exec.Command("mvn", "-q", "-B", "-f", filepath.Join(root, "tests", "kafka", "pom.xml"),
		"dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+lib)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mvn dependency:copy-dependencies: %w\n%s", err, out)
	}
	return lib, os.WriteFile(complete, nil, 0o644)
}

// broker is what a broker has beside a plain listener.
type broker struct {
	listeners  string // appended to the list
	protocols  string // ... and their protocols
	properties []string
	format     []string // arguments for formatting its log
}

// StartBroker formats a new log directory and starts a broker on it. It
// returns when the broker accepts connections.
func StartBroker() (*Broker, error) { return startBroker(broker{}) }

func startBroker(extra broker) (*Broker, error) {
	lib, err := Install()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "streamdb-kafka-")
	if err != nil {
		return nil, err
	}
	b := &Broker{dir: dir, done: make(chan struct{})}
	conf, err := b.configure(extra)
	if err != nil {
		return nil, err
	}
	classes := lib + "/*"
	id, err := exec.Command("java", "-cp", classes, "kafka.tools.StorageTool", "random-uuid").Output()
	if err != nil {
		return nil, fmt.Errorf("StorageTool random-uuid: %w", err)
	}
	format := exec.Command("java", append([]string{"-cp", classes, "kafka.tools.StorageTool", "format",
		"-t", lastLine(id), "-c", conf, "--standalone"}, extra.format...)...)
	if out, err := format.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("StorageTool format: %w\n%s", err, out)
	}
	log, err := os.Create(filepath.Join(dir, "broker.log"))
	if err != nil {
		return nil, err
	}
	b.cmd = exec.Command("java", "-Xms256m", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
		"-Dlog4j2.level=warn", "-cp", classes, "kafka.Kafka", conf)
	b.cmd.Stdout, b.cmd.Stderr = log, log
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		b.cmd.Wait()
		log.Close()
		close(b.done)
	}()
	return b, b.awaitPort()
}

// lastLine skips the warnings that a JVM may print before a tool's answer.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// configure writes the broker's properties and returns the file's path.
func (b *Broker) configure(extra broker) (string, error) {
	addr, err := serverproc.FreeAddr()
	if err != nil {
		return "", err
	}
	controller, err := serverproc.FreeAddr()
	if err != nil {
		return "", err
	}
	b.addr = addr
	var p bytes.Buffer
	for _, line := range append([]string{
		"process.roles=broker,controller",
		"node.id=1",
		"controller.quorum.bootstrap.servers=" + controller,
		"listeners=PLAINTEXT://" + addr + ",CONTROLLER://" + controller + extra.listeners,
		"advertised.listeners=PLAINTEXT://" + addr + ",CONTROLLER://" + controller + extra.listeners,
		"inter.broker.listener.name=PLAINTEXT",
		"controller.listener.names=CONTROLLER",
		"listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT" + extra.protocols,
		"log.dirs=" + filepath.Join(b.dir, "log"),
		"offsets.topic.replication.factor=1",
		"offsets.topic.num.partitions=4",
		"transaction.state.log.replication.factor=1",
		"transaction.state.log.num.partitions=4",
		"transaction.state.log.min.isr=1",
		"share.coordinator.state.topic.replication.factor=1",
		"share.coordinator.state.topic.min.isr=1",
		"group.initial.rebalance.delay.ms=0",
		"num.network.threads=2",
		"num.io.threads=2",
	}, extra.properties...) {
		fmt.Fprintln(&p, line)
	}
	conf := filepath.Join(b.dir, "server.properties")
	return conf, os.WriteFile(conf, p.Bytes(), 0o644)
}

// PID returns the broker's process id.
func (b *Broker) PID() int { return b.cmd.Process.Pid }

// awaitPort polls until the broker accepts connections.
func (b *Broker) awaitPort() error {
	deadline := time.Now().Add(startTimeout)
	for time.Now().Before(deadline) {
		select {
		case <-b.done:
			return fmt.Errorf("broker ended while starting\n%s", b.Log())
		case <-time.After(100 * time.Millisecond):
		}
		if conn, err := net.DialTimeout("tcp", b.addr, time.Second); err == nil {
			return conn.Close()
		}
	}
	return fmt.Errorf("broker did not start in %s\n%s", startTimeout, b.Log())
}

// Addr is the broker's bootstrap address.
func (b *Broker) Addr() string { return b.addr }

// Log returns what the broker wrote.
func (b *Broker) Log() string {
	text, _ := os.ReadFile(filepath.Join(b.dir, "broker.log"))
	return string(text)
}

// Stop ends the broker and removes its log directory.
func (b *Broker) Stop() error {
	b.cmd.Process.Signal(syscall.SIGKILL)
	<-b.done
	return os.RemoveAll(b.dir)
}
