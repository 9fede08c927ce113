//go:build kafka

package kafka

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector/registry"
	"github.com/streamdb/streamdb/engine"
	"github.com/streamdb/streamdb/pgerr"
)

// answer bounds how long a statement may take to say what is wrong.
const answer = 40 * time.Second

// TestKafkaSecurity reads and writes over TLS with each login, and checks that
// each thing that can be wrong is told as what it is, with a hint, in time.
func TestKafkaSecurity(t *testing.T) {
	b, err := StartSecureBroker(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Stop()
	if err := CreateTopics(t.Context(), b.Addr(), "in", "out"); err != nil {
		t.Fatal(err)
	}
	eng, err := engine.Open(engine.Config{Dir: t.TempDir(), Connectors: registry.All(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	l, err := eng.OpenLocal()
	if err != nil {
		t.Fatal(err)
	}
	exec := func(text string) error {
		ctx, cancel := context.WithTimeout(context.Background(), answer)
		defer cancel()
		_, err := l.Exec(ctx, text)
		return err
	}
	options := func(topic string, more ...string) string {
		m := map[string]string{"connector": "kafka", "topic": topic, "properties.bootstrap.server": b.Secure, "properties.security.protocol": "SASL_SSL",
			"properties.sasl.mechanism": "PLAIN", "properties.sasl.username": "me", "properties.sasl.password": Password, "properties.ssl.ca.location": b.CA}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		var out []string
		for k, v := range m {
			if v != "" {
				out = append(out, fmt.Sprintf("'%s' = '%s'", k, v))
			}
		}
		return " WITH (" + strings.Join(out, ", ") + ")"
	}
	const format = " FORMAT PLAIN ENCODE JSON"
	for i, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		for _, text := range []string{
			fmt.Sprintf("CREATE SOURCE s%d (id int)", i) + options("in", "properties.sasl.mechanism", mechanism) + format,
			fmt.Sprintf("CREATE MATERIALIZED VIEW v%d AS SELECT id FROM s%d", i, i),
			fmt.Sprintf("CREATE SINK k%d FROM v%d", i, i) + options("out", "properties.sasl.mechanism", mechanism) + format,
		} {
			if err := exec(text); err != nil {
				t.Fatalf("%s: %v %s", mechanism, err, pgerr.From(err).Detail)
			}
		}
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: []byte(`{"id":1}`)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	delivered := 0
	for end := time.Now().Add(time.Minute); delivered < 3 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		delivered = 0
		if err := ReadCommitted(t.Context(), b.Addr(), "out", func(*kgo.Record) error { delivered++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if delivered != 3 {
		t.Errorf("%d records of 3 sinks", delivered)
	}
	for name, c := range map[string]struct {
		options   string
		code      pgerr.Code
		msg, hint string
	}{
		"wrong password":       {options("in", "properties.sasl.password", "no"), pgerr.InvalidAuthorization, "refused the login", "properties.sasl.password"},
		"wrong scram password": {options("in", "properties.sasl.mechanism", "SCRAM-SHA-512", "properties.sasl.password", "no"), pgerr.InvalidAuthorization, "refused the login", "properties.sasl.password"},
		"unknown user":         {options("in", "properties.sasl.username", "nobody"), pgerr.InvalidAuthorization, "refused the login", "properties.sasl.username"},
		"unknown authority":    {options("in", "properties.ssl.ca.location", b.OtherCA), pgerr.ConnectionException, "certificate", "properties.ssl.ca.location"},
		"no authority":         {options("in", "properties.ssl.ca.location", ""), pgerr.ConnectionException, "certificate", "properties.ssl.ca.location"},
		"no such file":         {options("in", "properties.ssl.ca.location", "/no/such"), pgerr.UndefinedFile, "/no/such", ""},
		"no TLS":               {options("in", "properties.security.protocol", "SASL_PLAINTEXT"), pgerr.ConnectionException, "", "properties.security.protocol"},
		"no login":             {options("in", "properties.security.protocol", "SSL"), pgerr.ConnectionException, "", "properties.security.protocol"},
		"TLS on a plain port":  {options("in", "properties.bootstrap.server", b.Addr()), pgerr.ConnectionException, "", "properties.security.protocol"},
		"missing topic":        {options("none"), pgerr.UndefinedObject, `topic "none" does not exist`, "topic"},
		"nobody there":         {options("in", "properties.bootstrap.server", "127.0.0.1:1"), pgerr.ConnectionException, "could not reach", "properties.bootstrap.server"},
		"no permission":        {options("in", "properties.sasl.username", "guest"), pgerr.InsufficientPrivilege, "permission denied", "guest"},
	} {
		for _, text := range []string{"CREATE SOURCE bad (id int)" + c.options + format, "CREATE SINK bad FROM v0" + c.options + format} {
			begun := time.Now()
			e := pgerr.From(exec(text))
			if e == nil || e.Code != c.code || !strings.Contains(e.Msg, c.msg) || !strings.Contains(e.Hint, c.hint) || c.hint != "" && e.Hint == "" {
				t.Errorf("%s, %.13s: %+v", name, text, e)
			} else {
				t.Logf("%s: %s: %s; %s; %s (%.1f s)", name, e.Code, e.Msg, e.Detail, e.Hint, time.Since(begun).Seconds())
			}
			if e != nil && strings.Contains(e.Msg+e.Detail+e.Hint, Password) {
				t.Errorf("%s: the error tells the password", name)
			}
		}
	}
	// Later, too: a topic that goes away is told by the source that reads it.
	if _, err := kadm.NewClient(cl).DeleteTopic(t.Context(), "in"); err != nil {
		t.Fatal(err)
	}
	seen := ""
	for end := time.Now().Add(time.Minute); !strings.Contains(seen, "does not exist") && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		c, err := l.Exec(t.Context(), "SELECT coalesce(max(status || ' ' || error), '') FROM streamdb_catalog.sources")
		if err != nil {
			t.Fatal(err)
		}
		seen, _ = c.Cols[0].Datum(0).(string)
	}
	if seen != `retrying topic "in" does not exist` {
		t.Errorf("the source of a deleted topic is %q", seen)
	}
}
