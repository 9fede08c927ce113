package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
)

const (
	optTopic     = "topic"
	optBrokers   = "properties.bootstrap.server"
	optStart     = "scan.startup.mode"
	optStartTime = "scan.startup.timestamp.millis"
	optIsolation = "isolation"
	optProtocol  = "properties.security.protocol"
	optMechanism = "properties.sasl.mechanism"
	optUser      = "properties.sasl.username"
	optPassword  = "properties.sasl.password"
	optCA        = "properties.ssl.ca.location"
	optCert      = "properties.ssl.certificate.location"
	optKey       = "properties.ssl.key.location"
	optClientID  = "properties.client.id"
	optDelivery  = "delivery"
	optTxTimeout = "properties.transaction.timeout.ms"
	optTxPrefix  = "transactional.id.prefix"
	optMarkers   = "marker.topic"
)

// Definition is the connector's row in the registry.
func Definition() connector.Definition {
	return connector.Definition{
		Name: "kafka",
		Options: []connector.Option{
			{Name: optTopic, Doc: "The topic.", Required: true},
			{Name: optBrokers, Doc: "Brokers to start from, as host:port, comma separated.", Required: true},
			{Name: optStart, Doc: "Where a source begins: earliest, latest or timestamp.", Default: "earliest"},
			{Name: optStartTime, Doc: "The time, in ms since 1970, of scan.startup.mode = 'timestamp'."},
			{Name: optIsolation, Doc: "read_committed or read_uncommitted.", Default: "read_committed"},
			{Name: optProtocol, Doc: "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.", Default: "PLAINTEXT"},
			{Name: optMechanism, Doc: "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512."},
			{Name: optUser, Doc: "User name for SASL."},
			{Name: optPassword, Doc: "Password for SASL.", Secret: true},
			{Name: optCA, Doc: "File of the certificate authority for TLS."},
			{Name: optCert, Doc: "File of the client's certificate for TLS."},
			{Name: optKey, Doc: "File of the client's key for TLS."},
			{Name: optClientID, Doc: "Client id shown to the brokers.", Default: "streamdb"},
			{Name: optDelivery, Doc: "exactly_once or at_least_once.", Default: "exactly_once"},
			{Name: optTxTimeout, Doc: "Transaction timeout of an exactly-once sink.", Default: "60000"},
			{Name: optTxPrefix, Doc: "Prefix of the sink's transactional id.", Default: "streamdb"},
			{Name: optMarkers, Doc: "Compacted topic of delivery markers; made if missing.", Default: "__streamdb_markers"},
		},
		Source: newSource,
		Sink:   newSink,
	}
}

// options are checked connection options.
type options struct {
	all     map[string]string
	topic   string
	brokers []string
	client  []kgo.Opt
}

func (o *options) get(name, def string) string {
	if v, ok := o.all[name]; ok && v != "" {
		return v
	}
	return def
}

func badValue(name, v, available string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid value for option \"%s\": \"%s\"", name, v).
		WithHint("Available values: %s.", available)
}

func parseOptions(m map[string]string) (*options, error) {
	o := &options{all: m, topic: m[optTopic]}
	for _, b := range strings.Split(m[optBrokers], ",") {
		if b = strings.TrimSpace(b); b != "" {
			o.brokers = append(o.brokers, b)
		}
	}
	if len(o.brokers) == 0 {
		return nil, badValue(optBrokers, m[optBrokers], "host:port, comma separated")
	}
	o.client = []kgo.Opt{
		kgo.SeedBrokers(o.brokers...), kgo.ClientID(o.get(optClientID, "streamdb")),
		kgo.MetadataMinAge(250 * time.Millisecond), kgo.DialTimeout(5 * time.Second),
		kgo.RetryTimeout(15 * time.Second),
	}
	if err := o.security(); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *options) security() error {
	proto := strings.ToUpper(o.get(optProtocol, "PLAINTEXT"))
	switch proto {
	case "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL":
	default:
		return badValue(optProtocol, proto, "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL")
	}
	if strings.HasSuffix(proto, "SSL") {
		c, err := o.tls()
		if err != nil {
			return err
		}
		o.client = append(o.client, kgo.DialTLSConfig(c))
	}
	if !strings.HasPrefix(proto, "SASL") {
		return nil
	}
	user, pw := o.get(optUser, ""), o.get(optPassword, "")
	var m sasl.Mechanism
	switch mech := strings.ToUpper(o.get(optMechanism, "PLAIN")); mech {
	case "PLAIN":
		m = plain.Auth{User: user, Pass: pw}.AsMechanism()
	case "SCRAM-SHA-256":
		m = scram.Auth{User: user, Pass: pw}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		m = scram.Auth{User: user, Pass: pw}.AsSha512Mechanism()
	default:
		return badValue(optMechanism, mech, "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512")
	}
	o.client = append(o.client, kgo.SASL(m))
	return nil
}

func (o *options) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f := o.get(optCA, ""); f != "" {
		pem, err := os.ReadFile(f)
		if err != nil {
			return nil, pgerr.Wrap(err, pgerr.UndefinedFile, "could not read \"%s\": %v", f, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "\"%s\" holds no certificate", f)
		}
	}
	if f := o.get(optCert, ""); f != "" {
		cert, err := tls.LoadX509KeyPair(f, o.get(optKey, ""))
		if err != nil {
			return nil, pgerr.Wrap(err, pgerr.InvalidParameterValue, "could not load the client certificate: %v", err)
		}
		c.Certificates = []tls.Certificate{cert}
	}
	return c, nil
}

func (o *options) millis(name string, def int64) (int64, error) {
	v := o.get(name, strconv.FormatInt(def, 10))
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0, badValue(name, v, "milliseconds")
	}
	return n, nil
}

// checkTimeout bounds how long CREATE waits for the brokers.
const checkTimeout = 10 * time.Second

// check contacts the brokers and looks the topic up.
func (o *options) check(ctx context.Context) (kadm.TopicDetail, error) {
	cl, err := kgo.NewClient(append(o.client, kgo.RetryTimeout(checkTimeout))...)
	if err != nil {
		return kadm.TopicDetail{}, o.explain(err)
	}
	defer cl.Close()
	return o.lookup(ctx, cl)
}

func (o *options) lookup(ctx context.Context, cl *kgo.Client) (kadm.TopicDetail, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	ts, err := kadm.NewClient(cl).ListTopics(ctx, o.topic)
	if err != nil {
		return kadm.TopicDetail{}, o.explain(err)
	}
	t := ts[o.topic]
	if errors.Is(t.Err, kerr.UnknownTopicOrPartition) || t.Topic == "" {
		return t, pgerr.New(pgerr.UndefinedObject, "topic \"%s\" does not exist", o.topic).
			WithHint("Create the topic first, or correct the option \"%s\".", optTopic)
	}
	if t.Err != nil {
		return t, o.explain(t.Err)
	}
	return t, nil
}

// explain turns an error of the client into one a user can act on.
func (o *options) explain(err error) error {
	var pe *pgerr.Error
	if errors.As(err, &pe) {
		return err
	}
	where := strings.Join(o.brokers, ", ")
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState):
		return pgerr.Wrap(err, pgerr.InvalidAuthorization, "the Kafka brokers at %s refused the login", where).
			WithDetail("%v", err).WithHint("Check the options \"%s\", \"%s\" and \"%s\".", optMechanism, optUser, optPassword)
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		return pgerr.Wrap(err, pgerr.InsufficientPrivilege, "permission denied by the Kafka brokers at %s", where).WithDetail("%v", err)
	}
	return pgerr.Wrap(err, pgerr.ConnectionException, "could not reach the Kafka brokers at %s", where).
		WithDetail("%v", err).WithHint("Check the option \"%s\" and that the brokers are running.", optBrokers)
}
