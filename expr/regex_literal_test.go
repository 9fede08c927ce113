package expr

import "testing"

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
		re, err := compileRegex(c.pattern, c.flags)
		if err != nil {
			t.Fatal(err)
		}
		if re.need.text != c.need {
			t.Errorf("%s: %q, want %q", c.pattern, re.need.text, c.need)
		}
	}
}

// Where an expression needs a text, it matches nothing that does not hold it.
func FuzzNeededLiteral(f *testing.F) {
	for _, s := range []string{`(&|^)id=([^&]*)`, `(ab)*c+d{0,2}e{1,3}`, `a|b(cd)`, `(?i)ab`, `x(?:yz)?w`, `[ab]c$`} {
		f.Add(s, "&id=7abccde")
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		re, err := compileRegex(pattern, "")
		if err != nil || len(pattern) > 100 || len(s) > 100 {
			return
		}
		want := re.Regexp.FindStringSubmatchIndex(s)
		if got := re.FindStringSubmatchIndex(s); len(got) != len(want) || re.Match([]byte(s)) != (want != nil) {
			t.Fatalf("%q in %q: %v, want %v", pattern, s, got, want)
		}
	})
}
