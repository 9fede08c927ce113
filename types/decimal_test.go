package types

import "testing"

func mustDec(t *testing.T, s string) Decimal {
	t.Helper()
	d, err := ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDecimalTextAndScale(t *testing.T) {
	for _, c := range [][2]string{{"1e3", "1000"}, {"0.10", "0.10"}, {"-1.5e-3", "-0.0015"}, {" 12 ", "12"},
		{"NaN", "NaN"}, {"-inf", "-Infinity"}, {"123456789012345678901234567890.5", "123456789012345678901234567890.5"},
		{".5", "0.5"}, {"-0", "0"}, {"99999999999999999999999999999999999999999999", "99999999999999999999999999999999999999999999"}} {
		d := mustDec(t, c[0])
		if g := d.String(); g != c[1] {
			t.Errorf("%s: got %s", c[0], g)
		}
		if r := DecodeDecimal(AppendDecimal(nil, d)); r.String() != c[1] || r.Cmp(d) != 0 {
			t.Errorf("%s: flat encoding gives %s", c[0], r)
		}
		r, err := ParseDecimalBinary(AppendDecimalBinary(nil, d))
		if err != nil || r.String() != c[1] {
			t.Errorf("%s: binary gives %s %v", c[0], r, err)
		}
		k, rest, ok := DecodeDecimalKey(AppendDecimalKey(nil, d))
		if !ok || len(rest) != 0 || k.Cmp(d) != 0 {
			t.Errorf("%s: key gives %s", c[0], k)
		}
	}
}

func TestDecimalDivisionScale(t *testing.T) {
	for _, c := range [][3]string{{"1", "3", "0.33333333333333333333"}, {"10", "3", "3.3333333333333333"},
		{"2", "3", "0.66666666666666666667"}, {"1000000", "7", "142857.142857142857"}, {"1.0", "2.000", "0.50000000000000000000"}} {
		q, err := mustDec(t, c[0]).Div(mustDec(t, c[1]))
		if err != nil || q.String() != c[2] {
			t.Errorf("%s / %s = %s, want %s (%v)", c[0], c[1], q, c[2], err)
		}
	}
}

func TestDecimalKeysFollowOrder(t *testing.T) {
	order := []string{"-Infinity", "-1e40", "-100.5", "-100", "-0.01", "0", "0.001", "0.1", "1", "1.5", "9", "10", "1e30", "Infinity", "NaN"}
	for i := range order {
		for j := range order {
			a, b := mustDec(t, order[i]), mustDec(t, order[j])
			want := cmpInt(i, j)
			ka, kb := string(AppendDecimalKey(nil, a)), string(AppendDecimalKey(nil, b))
			got := 0
			if ka < kb {
				got = -1
			} else if ka > kb {
				got = 1
			}
			if a.Cmp(b) != want || got != want {
				t.Errorf("%s against %s: compare %d, keys %d", a, b, a.Cmp(b), got)
			}
		}
	}
	if string(AppendDecimalKey(nil, mustDec(t, "1.0"))) != string(AppendDecimalKey(nil, mustDec(t, "1.00"))) ||
		HashDecimal(mustDec(t, "100"), 1) != HashDecimal(mustDec(t, "1e2").Mul(mustDec(t, "1.00")), 1) {
		t.Error("equal values of other scale differ as keys")
	}
}
