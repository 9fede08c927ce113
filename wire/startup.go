package wire

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamdb/streamdb/pgerr"
)

// The codes in place of a protocol version in the first packet.
const (
	codeCancel = 80877102
	codeSSL    = 80877103
	codeGSSENC = 80877104

	maxStartupPacket = 10_000
)

var errBadStartup = pgerr.New(pgerr.ProtocolViolation, "invalid length of startup packet")

// startup runs from accept to the first ReadyForQuery. ok false: the connection
// is over (a cancel request, a probe, a refusal already sent).
func (c *conn) startup() (ok bool, err error) {
	c.nc.SetDeadline(time.Now().Add(c.srv.cfg.StartupTimeout))
	packet, code, err := c.firstPacket()
	if err != nil || packet == nil {
		return false, err
	}
	if code>>16 != 3 {
		return false, pgerr.New(pgerr.FeatureNotSupported,
			"unsupported frontend protocol %d.%d: server supports 3.0 to 3.0", code>>16, code&0xffff)
	}
	st, extensions, err := parseStartup(packet)
	if err != nil {
		return false, err
	}
	if minor := code & 0xffff; minor > 0 || len(extensions) > 0 {
		c.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: 3 << 16, UnrecognizedOptions: extensions})
	}
	if c.srv.cfg.RequireTLS && !c.tls {
		return false, pgerr.New(pgerr.InvalidAuthorization, "connection requires a valid TLS session").
			WithHint("Connect with sslmode=require.")
	}
	if err := c.authenticate(st.User); err != nil {
		return false, err
	}
	if err := c.srv.admit(c); err != nil {
		return false, err
	}
	st.Remote, st.TLS, st.Client = c.nc.RemoteAddr().String(), c.tls, c
	return true, c.openSession(st)
}

func (c *conn) openSession(st Startup) error {
	c.send(&pgproto3.AuthenticationOk{})
	c.begin()
	defer c.idle()
	sess, err := c.srv.backend.NewSession(c.query, st)
	if err != nil {
		return err
	}
	c.sess = sess
	c.quick, _ = sess.(Quick)
	c.limits, _ = sess.(Limiter)
	key := binary.BigEndian.AppendUint32(nil, c.key)
	c.send(&pgproto3.BackendKeyData{ProcessID: uint32(c.pid), SecretKey: key})
	c.nc.SetDeadline(time.Time{})
	return c.ready()
}

// firstPacket reads past requests for encryption to the packet that names a
// protocol version. nil without error: nothing more is to be done.
func (c *conn) firstPacket() (body []byte, code uint32, err error) {
	var sslAsked, gssAsked bool
	for {
		body, code, err = c.readStartupPacket()
		if err != nil {
			return nil, 0, err
		}
		switch {
		case code == codeCancel:
			if len(body) >= 8 {
				c.srv.cancel(int32(binary.BigEndian.Uint32(body)), body[4:])
			}
			return nil, 0, nil
		case code == codeSSL && !sslAsked && !c.tls:
			sslAsked = true
			if err := c.answerSSL(); err != nil {
				return nil, 0, err
			}
		case code == codeGSSENC && !gssAsked && !c.tls:
			gssAsked = true
			if _, err := c.nc.Write([]byte{'N'}); err != nil {
				return nil, 0, err
			}
		default:
			return body, code, nil
		}
	}
}

func (c *conn) readStartupPacket() ([]byte, uint32, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.br, head[:]); err != nil {
		return nil, 0, errGone // a probe that connects and leaves is no error
	}
	n := int64(binary.BigEndian.Uint32(head[:])) - 4
	if n < 4 || n > maxStartupPacket {
		return nil, 0, errBadStartup
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c.br, b); err != nil {
		return nil, 0, errGone
	}
	return b[4:], binary.BigEndian.Uint32(b), nil
}

func (c *conn) answerSSL() error {
	if c.srv.cfg.TLS == nil {
		_, err := c.nc.Write([]byte{'N'})
		return err
	}
	if c.br.Buffered() > 0 {
		// Bytes sent before the handshake would be taken for encrypted ones.
		return pgerr.New(pgerr.ProtocolViolation, "received unencrypted data after SSL request").
			WithDetail("This could be either a client-software bug or evidence of an attempted man-in-the-middle attack.")
	}
	if _, err := c.nc.Write([]byte{'S'}); err != nil {
		return err
	}
	t := tls.Server(c.nc, c.srv.cfg.TLS)
	if err := t.Handshake(); err != nil {
		c.srv.cfg.Log.Info("could not accept a TLS connection", "remote", c.nc.RemoteAddr().String(), "error", err)
		return errGone
	}
	c.setTransport(t)
	c.tls = true
	return nil
}

var errGone = errors.New("client has gone")

// parseStartup reads the name and value pairs of a StartupMessage. Options of
// the protocol (_pq_.) are returned apart: none is known.
func parseStartup(b []byte) (st Startup, extensions []string, err error) {
	bad := pgerr.New(pgerr.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte")
	if len(b) == 0 || b[len(b)-1] != 0 {
		return st, nil, bad
	}
	b = b[:len(b)-1]
	var options string
	var params []Param
	for len(b) > 0 {
		name, rest, ok1 := strings.Cut(string(b), "\x00")
		value, rest, ok2 := strings.Cut(rest, "\x00")
		if !ok1 || !ok2 {
			return st, nil, bad
		}
		b = b[len(b)-len(rest):]
		switch {
		case name == "user":
			st.User = value
		case name == "database":
			st.Database = value
		case name == "options":
			options = value
		case name == "replication":
			if on := strings.ToLower(value); on != "off" && on != "false" && on != "0" && on != "no" {
				return st, nil, pgerr.Unsupported("replication", "Create a sink to read changes continuously.")
			}
		case strings.HasPrefix(name, "_pq_."):
			extensions = append(extensions, name)
		case name == "client_encoding":
			params = append(params, Param{name, strings.Trim(value, `'"`)})
		default:
			params = append(params, Param{name, value})
		}
	}
	if st.User == "" {
		return st, nil, pgerr.New(pgerr.InvalidAuthorization, "no PostgreSQL user name specified in startup packet")
	}
	if st.Database == "" {
		st.Database = st.User
	}
	st.Params, err = parseOptions(options)
	st.Params = append(st.Params, params...)
	return st, extensions, err
}

// parseOptions reads the options parameter: words apart by white space, which a
// backslash escapes, of the forms -c name=value, -cname=value, --name=value.
func parseOptions(s string) ([]Param, error) {
	words := splitOptions(s)
	var out []Param
	for i := 0; i < len(words); i++ {
		w := words[i]
		var set string
		switch {
		case w == "-c" && i+1 < len(words):
			i++
			set = words[i]
		case strings.HasPrefix(w, "-c"):
			set = w[2:]
		case strings.HasPrefix(w, "--"):
			set = w[2:]
		default:
			return nil, pgerr.New(pgerr.SyntaxError, "invalid command-line argument for server process: %s", w).
				WithHint("Use -c name=value to set a parameter.")
		}
		name, value, ok := strings.Cut(set, "=")
		if !ok || name == "" {
			return nil, pgerr.New(pgerr.SyntaxError, "-c %s requires a value", set)
		}
		out = append(out, Param{strings.ReplaceAll(name, "-", "_"), value})
	}
	return out, nil
}

func splitOptions(s string) []string {
	var words []string
	var w []byte
	in := false
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '\\' && i+1 < len(s):
			i++
			w, in = append(w, s[i]), true
		case ch == ' ' || ch >= '\t' && ch <= '\r':
			if in {
				words, w, in = append(words, string(w)), w[:0], false
			}
		default:
			w, in = append(w, ch), true
		}
	}
	if in {
		words = append(words, string(w))
	}
	return words
}
