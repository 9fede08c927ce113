package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"

	"github.com/streamdb/streamdb/pgerr"
)

const (
	scramName       = "SCRAM-SHA-256"
	scramIterations = 4096
)

// authenticate finds out whether the client is who it says. The error never
// tells whether the user exists.
func (c *conn) authenticate(user string) error {
	if c.srv.cfg.Secret == nil || c.srv.cfg.Trust != nil && c.srv.cfg.Trust(user) {
		return nil
	}
	secret, known := c.srv.cfg.Secret(user)
	if c.srv.cfg.Password {
		return c.cleartext(user, secret, known)
	}
	return c.sasl(user, secret, known)
}

func errPassword(user string) error {
	return pgerr.New(pgerr.InvalidPassword, "password authentication failed for user \"%s\"", user)
}

func (c *conn) cleartext(user, secret string, known bool) error {
	if !c.tls {
		return pgerr.New(pgerr.InvalidAuthorization, "password authentication in clear needs a TLS connection").
			WithHint("Connect with sslmode=require.")
	}
	c.be.SetAuthType(pgproto3.AuthTypeCleartextPassword)
	c.send(&pgproto3.AuthenticationCleartextPassword{})
	msg, err := c.authMessage()
	if err != nil {
		return err
	}
	pw, ok := msg.(*pgproto3.PasswordMessage)
	if !ok {
		return errAuthMessage
	}
	stored, err := c.credentials(user, secret, known)
	if err != nil {
		return err
	}
	given, err := derive(pw.Password, stored.KeyFactors)
	if err != nil || !known || subtle.ConstantTimeCompare(given.StoredKey, stored.StoredKey) != 1 {
		return errPassword(user)
	}
	return nil
}

var errAuthMessage = pgerr.New(pgerr.ProtocolViolation, "expected a password response")

func (c *conn) authMessage() (pgproto3.FrontendMessage, error) {
	if err := c.flush(); err != nil {
		return nil, errGone
	}
	// A password is short: nobody unauthenticated makes the server hold more.
	c.be.SetMaxBodyLen(maxStartupPacket)
	defer c.be.SetMaxBodyLen(c.srv.cfg.MaxMessage)
	msg, err := c.be.Receive()
	if err != nil {
		return nil, errGone
	}
	return msg, nil
}

func (c *conn) sasl(user, secret string, known bool) error {
	stored, err := c.credentials(user, secret, known)
	if err != nil {
		return err
	}
	srv, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return stored, nil })
	if err != nil {
		return err
	}
	conv := srv.NewConversation()
	c.be.SetAuthType(pgproto3.AuthTypeSASL)
	c.send(&pgproto3.AuthenticationSASL{AuthMechanisms: []string{scramName}})
	msg, err := c.authMessage()
	if err != nil {
		return err
	}
	first, ok := msg.(*pgproto3.SASLInitialResponse)
	if !ok {
		return errAuthMessage
	}
	if first.AuthMechanism != scramName {
		return pgerr.New(pgerr.ProtocolViolation, "client selected an invalid SASL authentication mechanism")
	}
	answer, err := conv.Step(string(first.Data))
	if err != nil {
		return pgerr.New(pgerr.ProtocolViolation, "malformed SCRAM message").WithDetail("%s.", err)
	}
	c.be.SetAuthType(pgproto3.AuthTypeSASLContinue)
	c.send(&pgproto3.AuthenticationSASLContinue{Data: []byte(answer)})
	if msg, err = c.authMessage(); err != nil {
		return err
	}
	final, ok := msg.(*pgproto3.SASLResponse)
	if !ok {
		return errAuthMessage
	}
	answer, err = conv.Step(string(final.Data))
	if err != nil || !conv.Valid() || !known {
		return errPassword(user)
	}
	c.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(answer)})
	return nil
}

// credentials returns what verifies a user's password. An unknown user gets
// ones that nothing verifies, with the same salt at every attempt, so that it
// looks like a known one.
func (c *conn) credentials(user, secret string, known bool) (scram.StoredCredentials, error) {
	if known && strings.HasPrefix(secret, scramName+"$") {
		cr, err := parseSecret(secret)
		if err != nil {
			c.srv.cfg.Log.Error("invalid SCRAM secret", "user", user)
			return cr, errPassword(user)
		}
		return cr, nil
	}
	mac := hmac.New(sha256.New, c.srv.mock[:])
	mac.Write([]byte(user))
	sum := mac.Sum(nil)
	f := scram.KeyFactors{Salt: string(sum[:16]), Iters: scramIterations}
	if !known {
		return scram.StoredCredentials{KeyFactors: f, StoredKey: sum, ServerKey: sum}, nil
	}
	return derive(secret, f)
}

func derive(password string, f scram.KeyFactors) (scram.StoredCredentials, error) {
	cl, err := scram.SHA256.NewClient("", password, "")
	if err != nil { // not valid for SASLprep: used as it is, like PostgreSQL does
		if cl, err = scram.SHA256.NewClientUnprepped("", password, ""); err != nil {
			return scram.StoredCredentials{}, err
		}
	}
	return cl.GetStoredCredentialsWithError(f)
}

// parseSecret reads SCRAM-SHA-256$iterations:salt$storedkey:serverkey.
func parseSecret(s string) (cr scram.StoredCredentials, err error) {
	bad := errors.New("malformed SCRAM secret")
	parts := strings.Split(s, "$")
	if len(parts) != 3 {
		return cr, bad
	}
	iters, salt, ok1 := strings.Cut(parts[1], ":")
	stored, server, ok2 := strings.Cut(parts[2], ":")
	if !ok1 || !ok2 {
		return cr, bad
	}
	if cr.Iters, err = strconv.Atoi(iters); err != nil || cr.Iters < 1 {
		return cr, bad
	}
	dec := base64.StdEncoding
	rawSalt, err1 := dec.DecodeString(salt)
	sk, err2 := dec.DecodeString(stored)
	vk, err3 := dec.DecodeString(server)
	if errors.Join(err1, err2, err3) != nil || len(sk) != sha256.Size || len(vk) != sha256.Size {
		return cr, bad
	}
	cr.Salt, cr.StoredKey, cr.ServerKey = string(rawSalt), sk, vk
	return cr, nil
}

// ScramSecret makes the stored form of a password, as PostgreSQL's
// pg_authid.rolpassword has it. salt should be 16 random bytes.
func ScramSecret(password string, salt []byte) (string, error) {
	cr, err := derive(password, scram.KeyFactors{Salt: string(salt), Iters: scramIterations})
	if err != nil {
		return "", err
	}
	enc := base64.StdEncoding
	return scramName + "$" + strconv.Itoa(scramIterations) + ":" + enc.EncodeToString(salt) +
		"$" + enc.EncodeToString(cr.StoredKey) + ":" + enc.EncodeToString(cr.ServerKey), nil
}
