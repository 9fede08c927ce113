package expr

import (
	"errors"
	"testing"

	"github.com/streamdb/streamdb/expr/are"
	"github.com/streamdb/streamdb/pgerr"
)

// FuzzPatterns holds that no pattern makes the translators panic or fail with
// anything but an error for users, and that LIKE's short cuts agree with its
// general matcher.
func FuzzPatterns(f *testing.F) {
	for _, p := range []string{"a%b_c", `\%`, "(a|b)*?[^[:alpha:]x]", `\mfoo\M`, "(?i)x", "***=a.b", `[\]\d-]`, "%%a%%", "é_"} {
		f.Add(p, "subject é a.b", "i")
	}
	f.Fuzz(func(t *testing.T, p, s, flags string) {
		if re, err := are.Compile(p, flags); err == nil {
			if _, err := re.FindAll(s, 0, -1); err != nil && pgerr.CodeOf(err) != pgerr.InvalidRegularExpression {
				t.Errorf("%q: %v", p, err)
			}
		} else {
			var e *pgerr.Error
			if !errors.As(err, &e) || e.Code == pgerr.Internal {
				t.Errorf("%q: %v", p, err)
			}
		}
		l, err := compileLike(p, false)
		if err != nil {
			return
		}
		if fast, slow := l.match(s), matchLike(s, p); fast != slow {
			t.Errorf("%q LIKE %q: %v by short cut, %v in general", s, p, fast, slow)
		}
	})
}

// FuzzLoad holds that damaged states are refused and never panic.
func FuzzLoad(f *testing.F) {
	f.Add([]byte{1, 'a'}, []byte{2})
	f.Add([]byte{}, []byte{2, 0, 0, 0, 2, 0, 2, 2})
	f.Fuzz(func(t *testing.T, sub, val []byte) {
		var m multiset
		if m.Load(sub, val) == nil {
			m.total()
		}
		for _, a := range []Acc{&decimalSum{finish: finishDecimalSum}, &floatSum{finish: finishFloatSum}, &pairSum{counts: true}} {
			a.Load(sub, val)
		}
	})
}
