package sql

import "testing"

// BenchmarkParse shows what a short simple query costs.
func BenchmarkParse(b *testing.B) {
	for _, s := range []string{"SELECT 1", "UPDATE pgbench_accounts SET abalance = abalance + 4711 WHERE aid = 12345"} {
		b.Run(s[:6], func(b *testing.B) {
			for b.Loop() {
				if _, err := Parse(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
