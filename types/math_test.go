package types

import "testing"

func TestDecimalFunctions(t *testing.T) {
	fn := map[string]func(a, b Decimal) (Decimal, error){
		"sqrt": func(a, _ Decimal) (Decimal, error) { return a.Sqrt() },
		"exp":  func(a, _ Decimal) (Decimal, error) { return a.Exp() },
		"ln":   func(a, _ Decimal) (Decimal, error) { return a.Ln() },
		"log":  func(a, b Decimal) (Decimal, error) { return a.Log(b) },
		"pow":  func(a, b Decimal) (Decimal, error) { return a.Power(b) },
	}
	for _, c := range [][4]string{ // results of PostgreSQL 15
		{"sqrt", "2", "0", "1.414213562373095"}, {"sqrt", "12345.678", "0", "111.1111065555555"}, {"sqrt", "0.0001", "0", "0.01000000000000000"},
		{"sqrt", "1e20", "0", "10000000000.00000"}, {"exp", "1", "0", "2.7182818284590452"}, {"exp", "-5.5", "0", "0.004086771438464067"},
		{"exp", "100", "0", "26881171418161354484126255515800135873611119"}, {"ln", "2", "0", "0.6931471805599453"}, {"ln", "1.0001", "0", "0.00009999500033330834"},
		{"ln", "1e50", "0", "115.12925464970228"}, {"log", "2", "10", "3.3219280948873623"}, {"log", "10", "100", "2.0000000000000000"},
		{"pow", "2", "10", "1024.0000000000000000"}, {"pow", "2", "-10", "0.0009765625000000"}, {"pow", "2.5", "0.5", "1.5811388300841897"},
		{"pow", "10", "-20", "0.0000000000000000"}, {"pow", "1.01", "1000", "20959.1556378136600644"}, {"pow", "0", "0.5", "0.0000000000000000"},
		{"pow", "10", "20", "100000000000000000000.0000000000000000"}, {"pow", "0.5", "100", "0.0000000000000000"},
	} {
		r, err := fn[c[0]](mustDec(t, c[1]), mustDec(t, c[2]))
		if err != nil || r.String() != c[3] {
			t.Errorf("%s(%s,%s) = %s %v, want %s", c[0], c[1], c[2], r, err, c[3])
		}
	}
}

func ts(t *testing.T, s string) int64 {
	t.Helper()
	v, err := ParseTimestamp(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestExtractScales(t *testing.T) {
	for _, c := range [][3]string{
		{"second", "2024-01-02 03:04:05.678", "5.678000"}, {"epoch", "2024-01-02 03:04:05.5", "1704164645.500000"},
		{"julian", "2024-01-02 12:00", "2460312.50000000000000000000"}, {"julian", "2024-01-02 03:00:01", "2460312.12501157407407407407"},
		{"week", "2021-01-03", "53"}, {"isoyear", "2021-01-03", "2020"}, {"dow", "2024-01-07", "0"}, {"isodow", "2024-01-07", "7"},
		{"century", "2000-01-01", "20"}, {"doy", "2024-12-31", "366"}, {"quarter", "2024-05-01", "2"}, {"milliseconds", "2024-01-01 00:00:01.5", "1500.000"},
	} {
		d, null, err := ExtractTimestamp(ParseField(c[0]), c[0], ts(t, c[1]), nil)
		if err != nil || null || d.String() != c[2] {
			t.Errorf("extract(%s from %s) = %s %v, want %s", c[0], c[1], d, err, c[2])
		}
	}
	v, _ := ParseInterval("1 year 1 mon 1 day 1.5 s")
	if d, err := ExtractInterval(FieldEpoch, "epoch", v); err != nil || d.String() != "34236001.500000" {
		t.Errorf("epoch of interval: %s %v", d, err)
	}
}

func TestTruncationKeepsTheTwoHoursOfAnAutumnChangeApart(t *testing.T) {
	z, err := LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"hour", "2023-10-29 00:40:00", "2023-10-29 00:00:00"}, {"hour", "2023-10-29 01:40:00", "2023-10-29 01:00:00"},
		{"day", "2023-10-29 22:59:59", "2023-10-28 22:00:00"}, {"day", "2023-10-29 23:00:00", "2023-10-29 23:00:00"},
		{"week", "2024-03-31 01:30:00", "2024-03-24 23:00:00"}, {"decade", "2024-03-31 01:30:00", "2019-12-31 23:00:00"},
	} {
		r, err := DateTruncZone(ParseField(c[0]), c[0], ts(t, c[1]), z)
		if err != nil || r != ts(t, c[2]) {
			t.Errorf("%s of %s: %s %v", c[0], c[1], AppendTimestamp(nil, r), err)
		}
	}
}

func TestTimestampArithmetic(t *testing.T) {
	a, err := Age(ts(t, "2024-03-01"), ts(t, "2023-01-31 12:00"))
	if g := string(AppendInterval(nil, a)); err != nil || g != "1 year 1 mon 12:00:00" {
		t.Errorf("age: %s %v", g, err)
	}
	r, err := TimestampAdd(ts(t, "2024-01-31"), IntervalValue{Months: 1})
	if err != nil || r != ts(t, "2024-02-29") {
		t.Errorf("a month after January 31: %s %v", AppendTimestamp(nil, r), err)
	}
	b, err := DateBin(IntervalValue{Micros: 15 * usPerMin}, ts(t, "2024-01-01 10:07"), ts(t, "2001-01-01"))
	if err != nil || b != ts(t, "2024-01-01 10:00") {
		t.Errorf("date_bin: %s %v", AppendTimestamp(nil, b), err)
	}
	m, err := MulInterval(IntervalValue{Months: 1, Days: 1, Micros: usPerHour}, 1.5)
	if g := string(AppendInterval(nil, m)); err != nil || g != "1 mon 16 days 13:30:00" {
		t.Errorf("interval times 1.5: %s %v", g, err)
	}
}
