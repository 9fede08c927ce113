package types

import (
	"math"
	"math/rand"
	"testing"
)

// FuzzParseText holds that whatever an input function accepts prints as text
// that reads back as an equal value.
func FuzzParseText(f *testing.F) {
	for i, s := range []string{"1.5e-3", "2024-02-29 12:00:00+02", "Jan 8, 1999 BC", "1 day -02:03:04", "P1Y", `{"a":[1,"\u00e9"]}`, `{1,"a",NULL}`, `\x00`} {
		f.Add(uint8(i), s)
	}
	ts := []T{TNumeric, TTimestamptz, TDate, TInterval, TInterval, TJSONB, ArrayOf(Text), TBytea, TFloat8, TTime, TTimestamp, TUUID, TInt4, ArrayOf(Numeric)}
	f.Fuzz(func(t *testing.T, k uint8, s string) {
		ty := ts[int(k)%len(ts)]
		if len(s) > 200 {
			return
		}
		d, err := ParseText(ty, s, nil)
		if err != nil {
			return
		}
		out := string(AppendText(nil, ty, d, nil))
		again, err := ParseText(ty, out, nil)
		if err != nil || Compare(ty, d, again) != 0 {
			t.Fatalf("%s %q printed %q: %v", ty, s, out, err)
		}
	})
}

// FuzzBinary holds that hostile bytes give errors, never panics.
func FuzzBinary(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		All(func(ty T) { _, _ = ParseBinary(ty, b) })
		if d, err := ParseBinary(ArrayOf(Int4), b); err == nil {
			AppendText(nil, ArrayOf(Int4), d, nil)
		}
		d := DecodeDecimal(b)
		if d.Scale() < 100 && len(b) < 64 && DecodeDecimal(AppendDecimal(nil, d)).Cmp(d) != 0 {
			t.Fatalf("flat decimal %x", b)
		}
		AppendArrayText(nil, ArrayOf(Text), b, nil)
		AppendRecordText(nil, b, nil)
		DecodeKey(TNumeric, b)
		DecodeKey(TText, b)
	})
}

func TestKeysFollowCompare(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	gens := map[T]func() Datum{
		TInt8: func() Datum { return int64(r.Uint64()) >> (r.Intn(64)) },
		TFloat8: func() Datum {
			return []Datum{0.0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), r.NormFloat64() * 1e3}[r.Intn(6)]
		},
		TText: func() Datum { return []Datum{"", "a", "a\x00", "a\x00b", "a\xff", "ab"}[r.Intn(6)] },
		TNumeric: func() Datum {
			return DecimalDatum(DecimalFromScaled(int64(r.Uint64())>>r.Intn(64), r.Intn(20)))
		},
		TInterval: func() Datum {
			return IntervalValue{Micros: int64(r.Intn(3)-1) * usPerDay, Days: int32(r.Intn(63) - 31), Months: int32(r.Intn(3) - 1)}
		},
		ArrayOf(Int4): func() Datum {
			var e []Datum
			for range r.Intn(4) {
				e = append(e, []Datum{nil, int32(1), int32(2)}[r.Intn(3)])
			}
			return ArrayDatum(e)
		},
	}
	for ty, gen := range gens {
		for range 3000 {
			a, b := gen(), gen()
			want := Compare(ty, a, b)
			for _, desc := range []bool{false, true} {
				ka, kb := string(AppendKey(nil, ty, a, desc, false)), string(AppendKey(nil, ty, b, desc, false))
				got := 0
				if ka < kb {
					got = -1
				} else if ka > kb {
					got = 1
				}
				if desc {
					got = -got
				}
				if got != want {
					t.Fatalf("%s: %v against %v: compare %d, keys %d (desc %v)", ty, a, b, want, got, desc)
				}
			}
		}
	}
}

func BenchmarkDecodeDecimal(b *testing.B) {
	e := AppendDecimal(nil, DecimalFromScaled(123456789, 2))
	for b.Loop() {
		_ = DecodeDecimal(e)
	}
}
