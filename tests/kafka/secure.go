package kafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/streamdb/streamdb/tests/serverproc"
)

// Password is that of the users of a secure broker: "me", who may do everything,
// and "guest", who may do nothing.
const Password = "s3cret-horse"

// SecureBroker is a broker with a listener more, of TLS and SASL.
type SecureBroker struct {
	*Broker
	// Secure is the address of the listener with TLS and SASL (PLAIN, SCRAM-SHA-256
	// and -512); CA the file of the authority its certificate comes from, OtherCA
	// that of another.
	Secure, CA, OtherCA string
}

// StartSecureBroker starts a broker whose plain listener is a superuser's.
func StartSecureBroker(dir string) (*SecureBroker, error) {
	addr, err := serverproc.FreeAddr()
	if err != nil {
		return nil, err
	}
	s := &SecureBroker{Secure: addr, CA: filepath.Join(dir, "ca.pem"), OtherCA: filepath.Join(dir, "other.pem")}
	server := filepath.Join(dir, "server.pem")
	if err := writeCertificates(s.CA, server); err != nil {
		return nil, err
	}
	if err := writeCertificates(s.OtherCA, filepath.Join(dir, "unused.pem")); err != nil {
		return nil, err
	}
	const login = "org.apache.kafka.common.security."
	users := `user_me="` + Password + `" user_guest="` + Password + `"`
	extra := broker{
		listeners: ",SASL_SSL://" + addr,
		protocols: ",SASL_SSL:SASL_SSL",
		properties: []string{
			"sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
			"listener.name.sasl_ssl.plain.sasl.jaas.config=" + login + "plain.PlainLoginModule required " + users + ";",
			"listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=" + login + "scram.ScramLoginModule required;",
			"listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=" + login + "scram.ScramLoginModule required;",
			"ssl.keystore.type=PEM",
			"ssl.keystore.location=" + server,
			"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"super.users=User:ANONYMOUS;User:me",
		},
	}
	for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		extra.format = append(extra.format, "--add-scram", mechanism+"=[name=me,password="+Password+"]",
			"--add-scram", mechanism+"=[name=guest,password="+Password+"]")
	}
	s.Broker, err = startBroker(extra)
	return s, err
}

// writeCertificates writes an authority's certificate, and the key and
// certificate of a server on the loopback address that it vouches for.
func writeCertificates(caFile, serverFile string) error {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "broker"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		return err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	block := func(kind string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}) }
	if err := os.WriteFile(caFile, block("CERTIFICATE", caDER), 0o644); err != nil {
		return err
	}
	chain := append(append(block("PRIVATE KEY", pkcs8), block("CERTIFICATE", der)...), block("CERTIFICATE", caDER)...)
	return os.WriteFile(serverFile, chain, 0o600)
}
