package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/pgerr"
)

// checkTimeout bounds how long a statement waits for the brokers.
const checkTimeout = 10 * time.Second

// check contacts the brokers, looks the topic up and then asks more.
func (o *options) check(ctx context.Context, more func(context.Context, *kgo.Client) error, opts ...kgo.Opt) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	cl, err := kgo.NewClient(append(o.client, opts...)...)
	if err != nil {
		return o.explain(err)
	}
	defer cl.Close()
	// A ping tries every broker once, so its error says what is wrong; requests
	// are retried until the time is up.
	if err := cl.Ping(ctx); err != nil {
		return o.explain(err)
	}
	if _, err := o.lookup(ctx, cl); err != nil {
		return err
	}
	if more == nil {
		return nil
	}
	if err := more(ctx, cl); err != nil {
		return o.explain(err)
	}
	return nil
}

// lookup describes the topic.
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
	if errors.As(err, &pe) || errors.Is(err, context.Canceled) {
		return err
	}
	where := strings.Join(o.brokers, ", ")
	is := func(kinds ...error) bool {
		for _, k := range kinds {
			if errors.Is(err, k) {
				return true
			}
		}
		return false
	}
	var ke *kerr.Error
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &cert):
		return pgerr.Wrap(err, pgerr.ConnectionException, "the certificate of the Kafka brokers at %s is not trusted", where).
			WithDetail("%v", err).WithHint("Name the authority's certificate with the option \"%s\", and the brokers as their certificate has it.", optCA)
	case errors.As(err, &record):
		return pgerr.Wrap(err, pgerr.ConnectionException, "the Kafka brokers at %s do not speak TLS", where).
			WithDetail("%v", err).WithHint("Check the option \"%s\", and the port.", optProtocol)
	case is(kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState):
		return pgerr.Wrap(err, pgerr.InvalidAuthorization, "the Kafka brokers at %s refused the login", where).
			WithDetail("%v", err).WithHint("Check the options \"%s\", \"%s\" and \"%s\".", optMechanism, optUser, optPassword)
	case is(kerr.TopicAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.GroupAuthorizationFailed):
		return pgerr.Wrap(err, pgerr.InsufficientPrivilege, "permission denied by the Kafka brokers at %s", where).WithDetail("%v", err).
			WithHint("Grant user \"%s\" access to topic \"%s\", and to the transactional ids and the marker topic of an exactly-once sink.", o.get(optUser, "ANONYMOUS"), o.topic)
	case is(kerr.InvalidTransactionTimeout):
		return pgerr.Wrap(err, pgerr.InvalidParameterValue, "the transaction timeout is above the maximum of the Kafka brokers at %s", where).
			WithHint("Lower the option \"%s\", or raise the brokers' transaction.max.timeout.ms.", optTxTimeout)
	case is(kerr.MessageTooLarge, kerr.RecordListTooLarge):
		return pgerr.Wrap(err, pgerr.ProgramLimitExceeded, "a record is too large for topic \"%s\"", o.topic).
			WithDetail("%v", err).WithHint("Raise the option \"%s\" and the topic's max.message.bytes.", optMaxSize)
	case is(kerr.ProducerFenced, kerr.InvalidProducerEpoch):
		return pgerr.Wrap(err, pgerr.ObjectInUse, "another deliverer has taken over the sink into topic \"%s\", or its transaction timed out", o.topic).
			WithDetail("%v", err)
	case is(io.EOF):
		return pgerr.Wrap(err, pgerr.ConnectionException, "the Kafka brokers at %s closed the connection", where).
			WithDetail("Brokers do so when the security protocol is another or a login is refused.").
			WithHint("Check the options \"%s\", \"%s\" and \"%s\".", optProtocol, optUser, optPassword)
	case errors.As(err, &ke):
		return pgerr.Wrap(err, pgerr.SystemError, "the Kafka brokers at %s answered with an error", where).WithDetail("%v", err)
	}
	return pgerr.Wrap(err, pgerr.ConnectionException, "could not reach the Kafka brokers at %s", where).
		WithDetail("%v", err).WithHint("Check that the brokers are running, and the options \"%s\" and \"%s\".", optBrokers, optProtocol)
}

// pause waits a little before another attempt.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(50 * time.Millisecond):
		return nil
	}
}
