package jobs

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
)

// vault encrypts the secrets that the catalog keeps, with AES-256-GCM under a key
// made from the master key. The master key is given to the server, or else made
// once and kept in a file of the data directory that only its owner can read: then
// it guards copies of the store, not of the whole directory.
type vault struct {
	dir   string
	given []byte // the configured master key; nil: the file's
	check func() ([]byte, error)
	keep  func(check []byte) error

	mu   sync.Mutex
	aead cipher.AEAD
}

// masterKeyFile is the file of the master key in the data directory.
const masterKeyFile = "master.key"

const (
	sealPrefix = "sealed:v1:"
	// checkText, sealed, tells whether a master key is the right one.
	checkText = "streamdb"
	// minKey is the least length of a master key in bytes.
	minKey = 16
)

var vaultKey = []byte("vault")

func (e *Runner) newVault() *vault {
	return &vault{dir: e.Config.Dir, given: e.Config.MasterKey,
		check: func() ([]byte, error) { v, _, err := e.Store.MetaGet(vaultKey); return v, err },
		keep: func(c []byte) error {
			return e.Commit(&state.Commit{Epoch: e.NextEpoch(), Meta: []state.KV{{Key: vaultKey, Val: c}}})
		}}
}

// verify fails if there are secrets that the master key does not open.
func (v *vault) verify() error {
	c, err := v.check()
	if err != nil || c == nil {
		return err
	}
	_, err = v.cipher(false)
	return err
}

// cipher returns the cipher; with create it makes a master key if there is none
// yet.
func (v *vault) cipher(create bool) (cipher.AEAD, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.aead != nil {
		return v.aead, nil
	}
	c, err := v.check()
	if err != nil {
		return nil, err
	}
	key := v.given
	if key == nil {
		if key, err = v.fileKey(create && c == nil); err != nil {
			return nil, err
		}
	}
	if len(key) < minKey {
		return nil, pgerr.New(pgerr.ConfigFileError, "the master key is too short").WithDetail("It has %d bytes, and needs at least %d.", len(key), minKey)
	}
	derived, err := hkdf.Key(sha256.New, key, nil, "streamdb catalog secrets v1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	if c == nil {
		err = v.keep([]byte(seal(aead, checkText, "check")))
	} else if s, e := unseal(aead, string(c), "check"); e != nil || s != checkText {
		err = pgerr.New(pgerr.ConfigFileError, "the master key is not the one that the secrets of this data directory were encrypted with").
			WithHint("Start the server with the master key it had before.")
	}
	if err != nil {
		return nil, err
	}
	v.aead = aead
	return aead, nil
}

// fileKey reads the master key of the data directory; with create it is made.
func (v *vault) fileKey(create bool) ([]byte, error) {
	path := filepath.Join(v.dir, masterKeyFile)
	b, err := os.ReadFile(path)
	if err == nil {
		return []byte(strings.TrimSpace(string(b))), nil
	}
	if !errors.Is(err, fs.ErrNotExist) || !create {
		return nil, pgerr.Wrap(err, pgerr.ConfigFileError, "could not read the master key: %v", err).
			WithHint("Put the file back, or start the server with the master key.")
	}
	key := []byte(rand.Text() + rand.Text())
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(append(key, '\n'))
	return key, errors.Join(err, f.Sync(), f.Close())
}

// Seal encrypts a secret; what tells where it belongs, so that it cannot be put
// elsewhere.
func (v *vault) Seal(secret, what string) (string, error) {
	a, err := v.cipher(true)
	if err != nil {
		return "", err
	}
	return seal(a, secret, what), nil
}

// open decrypts a sealed secret.
func (v *vault) open(sealed, what string) (string, error) {
	a, err := v.cipher(false)
	if err != nil {
		return "", err
	}
	s, err := unseal(a, sealed, what)
	if err != nil {
		return "", pgerr.New(pgerr.DataCorrupted, "a secret of the catalog cannot be decrypted").WithDetail("It is that of %s.", what)
	}
	return s, nil
}

func seal(a cipher.AEAD, secret, what string) string {
	nonce := make([]byte, a.NonceSize())
	rand.Read(nonce) //nolint:errcheck // it never fails
	return sealPrefix + base64.StdEncoding.EncodeToString(a.Seal(nonce, nonce, []byte(secret), []byte(what)))
}

func unseal(a cipher.AEAD, sealed, what string) (string, error) {
	text, ok := strings.CutPrefix(sealed, sealPrefix)
	b, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(b) < a.NonceSize() {
		return "", errors.New("not a sealed secret")
	}
	s, err := a.Open(nil, b[:a.NonceSize()], b[a.NonceSize():], []byte(what))
	return string(s), err
}
