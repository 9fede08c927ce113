package are

import (
	"slices"
	"strings"
	"testing"
)

// onePathOf compiles a pattern and its single path, which is nil if it has none.
func onePathOf(t testing.TB, pattern, flags string) (*library, *onePath) {
	re, err := Compile(pattern, flags)
	if err != nil || re.std == nil {
		t.Fatal(pattern, err)
	}
	return re.std, newOnePath(re.std.tree)
}

func TestOnePathPatterns(t *testing.T) {
	for pattern, want := range map[string]bool{
		`(&|^)channel_id=([^&]*)`:       true,
		`^(\d+)-(\d+)$`:                 true,
		`\yid=([a-z]+)(;|\Z)`:           true,
		`(ab|cd)*x?`:                    true,
		`a*?b`:                          true,
		`(a*)*b`:                        true,
		`ä(ö|ü)+`:                       true,
		``:                              true,
		`a*a`:                           false,
		`(ab|ac)`:                       true, // factored to a[bc]
		`(abc|abd)x`:                    true,
		`(a|b)*abb`:                     false,
		`.*x`:                           false,
		`[a-m]|[k-z]`:                   true, // one class
		`([a-m])|([k-z])`:               false,
		strings.Repeat("a?b", 1+1024/2): false, // too large
	} {
		if _, p := onePathOf(t, pattern, ""); (p != nil) != want {
			t.Errorf("%s: path %v, want %v", pattern, p != nil, want)
		}
	}
	if _, p := onePathOf(t, `(ÄK|ſ)b`, "i"); p == nil {
		t.Error("no path with folded case")
	}
	if _, p := onePathOf(t, `(k)x|(K)y`, "i"); p != nil { // the Kelvin sign is a k
		t.Error("a path where two ways begin with the same character")
	}
}

// A path finds what the expression's own engine finds.
func checkOnePath(t *testing.T, pattern, flags, s string) {
	r, err := Compile(pattern, flags)
	if err != nil || r.std == nil {
		return
	}
	re := r.std
	fast := *re
	fast.path, fast.tree = newOnePath(re.tree), nil
	want := re.Regexp.FindStringSubmatchIndex(s)
	if got := fast.FindStringSubmatchIndex(s); !slices.Equal(got, want) || (got == nil) != (want == nil) {
		t.Fatalf("%q with %q in %q: %v, want %v", pattern, flags, s, got, want)
	}
	if fast.MatchString(s) != (want != nil) {
		t.Fatalf("%q with %q matches %q: %v", pattern, flags, s, want == nil)
	}
	for _, n := range []int{-1, 2} {
		want := re.Regexp.FindAllStringSubmatchIndex(s, n)
		got := fast.FindAllStringSubmatchIndex(s, n)
		if !slices.EqualFunc(got, want, slices.Equal[[]int]) {
			t.Fatalf("%d of all %q with %q in %q: %v, want %v", n, pattern, flags, s, got, want)
		}
	}
}

var onePathSamples = []string{`(&|^)id=([^&]*)`, `^(\d+)-(\d*)$`, `\yid=([a-z]+)(;|\Z)?`, `(ab|cd)*x?`, `a*?b`, `(a*)*b`, `(a|b?)+c`,
	`ä(ö|ü)+`, ``, `(a)|b`, `x*`, `(x*)(y|$)`, `(?:a(b)?)+`, `\Bb(a?)`, `^$`, `(|a)(b|)c`, `((a)|(b)|())*d`, `k+[^k]`, `(a{2,3}b){1,2}`,
	`^a|b$`, `(^|x)(a|$)`, `a(?:b|$)(c?)`, `[^a]*a`, `(\w+)@(\w+)\.com`, `a+?(b??)c`, `.`, `(.)$`, `\s*(;)`}

func TestOnePath(t *testing.T) {
	texts := []string{"", "a", "b", "ab", "abcdx", "id=7&id=8", "x&id=", "id", "17-", "17-4", "aid=ab; id=cd", "id=ab", "aaab", "aaaa", "ababab",
		"aöüx", "äöüä", "xxyx", "a\nb", "\n", "bab\nba", "ſKk", "Kelvin K", "a\xffb\xff", "\xe4\xf6", "kkkſ", "aabaab", "aaabaaab",
		"ada@x.com, bob@y.com", "a ;b;", "caxa", strings.Repeat("a", 200), strings.Repeat("ä", 50) + "öb"}
	for _, pattern := range onePathSamples {
		for _, flags := range []string{"", "i", "n"} {
			for _, s := range texts {
				checkOnePath(t, pattern, flags, s)
			}
		}
	}
}

// Where trying all starts would take quadratic time, the path gives up.
func TestOnePathLinear(t *testing.T) {
	_, p := onePathOf(t, `a*b`, "")
	if _, ok := p.find(strings.Repeat("a", 1000), 0, true); ok {
		t.Error("a quadratic search went to its end")
	}
	checkOnePath(t, `a*b`, "", strings.Repeat("a", 1000))
}

func FuzzOnePath(f *testing.F) {
	for _, p := range onePathSamples {
		f.Add(p, "", "aabä&id=7-4 kx\nc")
		f.Add(p, "i", "ABBAkK")
	}
	f.Fuzz(func(t *testing.T, pattern, flags, s string) {
		if len(pattern) <= 60 && len(s) <= 100 {
			checkOnePath(t, pattern, flags, s)
		}
	})
}

func BenchmarkRegexpMatch(b *testing.B) {
	re, p := onePathOf(b, `(&|^)channel_id=([^&]*)`, "")
	s := "https://www.nexmark.com/abcd/e_fg/hij/item.htm?query=1&channel_id=1548378234"
	b.Run("path", func(b *testing.B) {
		fast := *re
		fast.path, fast.tree = p, nil
		for b.Loop() {
			fast.FindStringSubmatchIndex(s)
		}
	})
	b.Run("regexp", func(b *testing.B) {
		for b.Loop() {
			re.Regexp.FindStringSubmatchIndex(s)
		}
	})
}
