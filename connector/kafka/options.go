package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

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
	optDiscovery = "scan.discovery.interval.ms"
	optCompress  = "properties.compression.type"
	optMaxSize   = "properties.max.request.size"
)

const defaultMarkers = "__streamdb_markers"

// Definition is the connector's row in the registry.
func Definition() connector.Definition {
	return connector.Definition{
		Name: "kafka",
		Options: []connector.Option{
			{Name: optTopic, Doc: "The topic.", Required: true},
			{Name: optBrokers, Doc: "Brokers to start from, as host:port, comma separated.", Required: true},
			{Name: optStart, Doc: "Where a source begins: earliest, latest or timestamp.", Default: "earliest"},
			{Name: optStartTime, Doc: "The time, in ms since 1970, of scan.startup.mode = 'timestamp'."},
			{Name: optDiscovery, Doc: "How often a source looks for new partitions, in ms.", Default: "5000"},
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
			{Name: optTxTimeout, Doc: "Transaction timeout of an exactly-once sink, in ms: how long the delivery of one epoch may take; it is doubled for an epoch that does not fit.", Default: "300000"},
			{Name: optTxPrefix, Doc: "Prefix of the sink's transactional id.", Default: "streamdb"},
			{Name: optCompress, Doc: "Compression of written batches: none, gzip, snappy, lz4 or zstd.", Default: "snappy"},
			{Name: optMaxSize, Doc: "Largest batch, and so record, that is written, in bytes.", Default: "1000012"},
			{Name: optMarkers, Doc: "Compacted topic of delivery markers; made if missing.", Default: defaultMarkers},
		},
		Source: newSource,
		Sink:   newSink,
	}
}

// options are checked connection options. They are not changed any more.
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

func errValue(name, v string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid value for option \"%s\": \"%s\"", name, v)
}

func badValue(name, v, available string) error {
	return errValue(name, v).WithHint("Available values: %s.", available)
}

func parseOptions(m map[string]string) (*options, error) {
	o := &options{all: m, topic: m[optTopic]}
	if o.topic == "" {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "option \"%s\" is missing", optTopic)
	}
	for _, b := range strings.Split(m[optBrokers], ",") {
		if b = strings.TrimSpace(b); b != "" {
			o.brokers = append(o.brokers, b)
		}
	}
	if len(o.brokers) == 0 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "option \"%s\" is missing", optBrokers).
			WithHint("Name brokers to start from as host:port, comma separated.")
	}
	o.client = []kgo.Opt{
		kgo.SeedBrokers(o.brokers...), kgo.ClientID(o.get(optClientID, "streamdb")),
		kgo.MetadataMinAge(250 * time.Millisecond), kgo.DialTimeout(5 * time.Second),
		kgo.RetryTimeout(15 * time.Second),
	}
	if err := o.security(); err != nil {
		return nil, err
	}
	o.client = slices.Clip(o.client) // readers and deliverers append to it, each its own
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

// number reads an option that is a whole number of at least lo.
func (o *options) number(name string, def, lo int64) (int64, error) {
	v := o.get(name, strconv.FormatInt(def, 10))
	n, err := strconv.ParseInt(v, 10, 32)
	if name == optStartTime {
		n, err = strconv.ParseInt(v, 10, 64)
	}
	if err != nil || n < lo {
		return 0, errValue(name, v).WithHint("It must be a number of at least %d.", lo)
	}
	return n, nil
}

// noFormatOptions refuses the options of ENCODE JSON, which has none.
func noFormatOptions(m map[string]string) error {
	for k := range m {
		return pgerr.New(pgerr.InvalidParameterValue, "unrecognized format option \"%s\"", k).WithHint("ENCODE JSON has no options.")
	}
	return nil
}
