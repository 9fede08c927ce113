package are

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

func compile(t *testing.T, pattern, flags string) *Regexp {
	t.Helper()
	r, err := Compile(pattern, flags)
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	return r
}

func groupsOf(t *testing.T, r *Regexp, s string) string {
	t.Helper()
	at, err := r.Find(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	if at == nil {
		return "none"
	}
	var out []string
	for i := 0; i < len(at); i += 2 {
		if at[i] < 0 {
			out = append(out, "-")
		} else {
			out = append(out, s[at[i]:at[i+1]])
		}
	}
	return strings.Join(out, "|")
}

// The answers are PostgreSQL's; tests/parity asks it about random patterns.
func TestFind(t *testing.T) {
	for _, c := range []struct{ pattern, flags, text, want string }{
		{`a(?=r)`, "", "foobar", "a"},
		{`o(?!c)`, "", "chocolate", "o"},
		{`(?<=X)a`, "", "barXa", "a"},
		{`(?<!X)a.`, "", "Xab ac", "ac"},
		{`(a+)b\1`, "", "aabab aabaa", "aba|a"},
		{`(a+)b\1c`, "", "aaabaac", "aabaac|aa"},
		{`(\w)\1`, "i", "xaAb", "aA|a"},
		{`(a|ab)(c|bcd)(d*)`, "", "abcd", "abcd|ab|c|d"},
		{`Y*?([0-9]{1,3})`, "", "XY1234Z", "Y1|1"},
		{`Y*([0-9]{1,3}?)`, "", "XY1234Z", "Y123|123"},
		{`(.*)(\d+)(.*)`, "", "abc01234xyz", "abc01234xyz|abc0123|4|xyz"},
		{`(.*?)(\d+)(.*)`, "", "abc01234xyz", "abc0|abc|0|"},
		{`(?:(.*?)(\d+)(.*)){1,1}`, "", "abc01234xyz", "abc01234xyz|abc|01234|xyz"},
		{`(a+)+`, "", "aaa", "aaa|a"},
		{`(a+)*`, "", "aaa", "aaa|aaa"},
		{`(x*)*`, "", "", "|"},
		{`(?:(a)|b)*`, "", "ab", "ab|-"},
		{`\mfoo\M`, "", "foobar foo", "foo"},
		{`\Mx|é\y`, "", "aé é", "é"},
		{`(^|&)k=([^&]*)`, "", "a=1&k=v&z", "&k=v|&|v"},
		{`[[:<:]]b`, "", "ab b", "b"},
		{`***=a.b`, "", "axb a.b", "a.b"},
		{`(?x)a b # and`, "", "ab", "ab"},
		{`\x41\u00e9\101`, "", "AéA", "AéA"},
		{`(a)\2`, "e", "a2", "a2|a"},
	} {
		if got := groupsOf(t, compile(t, c.pattern, c.flags), c.text); got != c.want {
			t.Errorf("%s in %q: %s, want %s", c.pattern, c.text, got, c.want)
		}
	}
}

// Whatever the standard library finds, the programs find too.
func TestLibraryAndProgramsAgree(t *testing.T) {
	for _, pattern := range []string{`(\d+)-(\d+)`, `(.*)x(.*)`, `(&|^)channel_id=([^&]*)`, `(a)(b?)c*`, `(?:(ab)|c)+d`, `^(a|b)$`, `(a*)(.)`, `((ab)c?)+`} {
		r := compile(t, pattern, "")
		if r.std == nil {
			t.Errorf("%s is not for the library", pattern)
			continue
		}
		own := compile(t, pattern, "")
		own.std = nil
		for _, s := range []string{"", "12-34", "axbxc", "?channel_id=7&x", "channel_id=7", "abcabd", "a", "ab", "abcc", "aab", "abcab"} {
			want, err := own.FindAll(s, 0, -1)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := r.FindAll(s, 0, -1); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s in %q: %v, want %v", pattern, s, got, want)
			}
		}
	}
}

// Plain patterns cost no more than the library takes.
func TestLibraryFindsGroups(t *testing.T) {
	for pattern, want := range map[string]bool{
		`(\d+)-(\d+)`: true, `(.*)x(.*)`: true, `(&|^)channel_id=([^&]*)`: true, `^([a-z]+)://([^/:]+)(:\d+)?`: true,
		`(a|ab)(c|bcd)`: false, `(?:(a)|b)*`: false, `(a*)(a*)*`: false,
	} {
		if r := compile(t, pattern, ""); r.stdGroups != want {
			t.Errorf("%s: %v", pattern, r.stdGroups)
		}
	}
}

func TestHostilePatternsEnd(t *testing.T) {
	text := strings.Repeat("a", 200)
	for _, pattern := range []string{`(a*)*(a*)*\1\2b`, `^(a|aa)+(a|aa)+\1\2\2$b`, `((a?){40})*\2b|((a)\4?)*b`} {
		_, err := compile(t, pattern, "").Match(text)
		if err != nil && pgerr.CodeOf(err) != pgerr.InvalidRegularExpression {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	for _, pattern := range []string{`((a{255}){255}){255}`, strings.Repeat("(", 10000)} {
		if _, err := Compile(pattern, ""); pgerr.CodeOf(err) != pgerr.InvalidRegularExpression {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		`(`: "parentheses", `)`: "parentheses", `[a`: "brackets", `a{2`: "braces", `a{2,1}`: "repetition", `a{256}`: "repetition",
		`*a`: "operand", `a**`: "operand", `^*`: "operand", `(?=a)*`: "operand", `(?<a)`: "operand", `[b-a]`: "range", `[a-\d]`: "range",
		`[[:foo:]]`: "class", `[[=ab=]]`: "collating", `\q`: "escape", `a\`: "escape", `\1`: "backreference", `(a\1)`: "backreference",
		`(?=(a))\1`: "backreference", `(?z)a`: "option", `***a`: "operand",
	} {
		_, err := Compile(pattern, "")
		if e := pgerr.From(err); e == nil || !strings.Contains(e.Error(), want) && e.Code != pgerr.FeatureNotSupported {
			t.Errorf("%s: %v, want %s", pattern, err, want)
		}
	}
}

func TestNeededLiteral(t *testing.T) {
	for _, c := range []struct{ pattern, flags, need string }{
		{`(&|^)channel_id=([^&]*)`, "", "channel_id="},
		{`(?:ab)+c*(def){2,3}x?`, "", "def"},
		{`ab|cd`, "", ""},
		{`ab|ad`, "", "a"},
		{`a(b|cdef)g?`, "", "a"},
		{`ABC`, "i", ""},
		{`x{0,3}y*`, "", ""},
		{`^$`, "", ""},
		{`a.c`, "q", "a.c"},
		{`Straße\d+`, "", "Straße"},
	} {
		if r := compile(t, c.pattern, c.flags); r.std.need.text != c.need {
			t.Errorf("%s: %q, want %q", c.pattern, r.std.need.text, c.need)
		}
	}
}

// FuzzMatch holds that all ways to search agree about where the first match is, and
// that nothing panics.
func FuzzMatch(f *testing.F) {
	for _, s := range []string{`(&|^)id=([^&]*)`, `(ab)*c+d{0,2}e{1,3}`, `a|b(cd)`, `(?i)ab`, `x(?:yz)?w`, `[ab]c$`, `(a*?)b|\1`, `(?<!a)b{2,3}?`, `\mé`} {
		f.Add(s, "&id=7abccde")
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		r, err := Compile(pattern, "")
		if err != nil || !utf8.ValidString(pattern) || !utf8.ValidString(s) || len(pattern) > 60 || len(s) > 60 {
			return
		}
		at, err := r.Find(s, 0)
		at = slices.Clone(at)
		found, err2 := r.Match(s)
		if err != nil || err2 != nil {
			return
		}
		if found != (at != nil) {
			t.Fatalf("%q in %q: %v, but %v", pattern, s, at, found)
		}
		r.std = nil
		if own, err := r.Find(s, 0); err == nil && !slices.Equal(own, at) {
			t.Fatalf("%q in %q: %v, by programs %v", pattern, s, at, own)
		}
	})
}
