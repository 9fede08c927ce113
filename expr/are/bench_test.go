package are

import (
	"strings"
	"testing"
)

func BenchmarkFind(b *testing.B) {
	url := "https://www.example.com/some/page?a=b&channel_id=apple&x=" + strings.Repeat("y", 40)
	for _, c := range []struct{ name, pattern string }{
		{"library", `(&|^)channel_id=([^&]*)`}, {"dissected", `(&|^)(cha?n*el_id)=([^&]*)(x|xy*)?`}, {"look", `(?<=channel_id=)[^&]*`}, {"shortest", `channel_id=(.*?)&`},
		{"back", `(.)\1`},
	} {
		b.Run(c.name, func(b *testing.B) {
			r, err := Compile(c.pattern, "")
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for range b.N {
				r.Find(url, 0)
			}
		})
	}
}
