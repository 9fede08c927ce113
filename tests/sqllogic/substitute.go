package sqllogic

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// substitutions expands $NAME, ${NAME} and ${NAME:default} while the file's
// "control substitution" is on. $__TEST_DIR__ is a directory of the file's
// own, $__NOW__ the time in nanoseconds, $__DATABASE__ the database's name,
// every other name an environment variable. \$ and \\ stand for themselves.
type substitutions struct {
	on       bool
	testDir  string
	database string
}

func (s *substitutions) expand(text string) (string, error) {
	if !s.on {
		return text, nil
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		c := text[i]
		if c == '\\' && i+1 < len(text) && (text[i+1] == '$' || text[i+1] == '\\') {
			b.WriteByte(text[i+1])
			i += 2
			continue
		}
		if c != '$' {
			b.WriteByte(c)
			i++
			continue
		}
		value, used, err := s.variable(text[i:])
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		i += used
	}
	return b.String(), nil
}

// variable expands the variable at the start of text and returns how many
// bytes it took.
func (s *substitutions) variable(text string) (string, int, error) {
	if strings.HasPrefix(text, "${") {
		end := strings.IndexByte(text, '}')
		if end < 0 {
			return "", 0, fmt.Errorf("${ without }")
		}
		name, fallback, hasFallback := strings.Cut(text[2:end], ":")
		value, ok := s.lookup(name)
		if !ok && hasFallback {
			value, ok = fallback, true
		}
		if !ok {
			return "", 0, fmt.Errorf("environment variable %s is not set", name)
		}
		return value, end + 1, nil
	}
	n := 1
	for n < len(text) && isNameByte(text[n]) {
		n++
	}
	if n == 1 || text[1] >= '0' && text[1] <= '9' {
		return "$", 1, nil // $1 and dollar quotes are SQL
	}
	value, ok := s.lookup(text[1:n])
	if !ok {
		return "", 0, fmt.Errorf("environment variable %s is not set", text[1:n])
	}
	return value, n, nil
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (s *substitutions) lookup(name string) (string, bool) {
	switch name {
	case "__TEST_DIR__":
		return s.testDir, true
	case "__DATABASE__":
		return s.database, true
	case "__NOW__":
		return strconv.FormatInt(time.Now().UnixNano(), 10), true
	}
	return os.LookupEnv(name)
}
