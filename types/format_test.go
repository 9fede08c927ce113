package types

import (
	"testing"
	"unsafe"
)

func TestToCharNumeric(t *testing.T) {
	for _, c := range [][3]string{
		{"1234.5", "9,999.99", " 1,234.50"}, {"-1234.5", "FM9,999.00", "-1,234.50"}, {"0.1", "0.9", " 0.1"}, {"0.1", "9.9", "  .1"},
		{"-485", "999MI", "485-"}, {"485", "S999", "+485"}, {"-485", "999PR", "<485>"}, {"12", "FM000", "012"}, {"12345", "999", " ###"},
		{"12.0", "FM99.99", "12."}, {"0", "999", "   0"}, {"482", "999th", " 482nd"}, {"12", "99V9", " 120"}, {"1", "9,999", "     1"},
		{"1234567", "FM9G999G999", "1,234,567"}, {"-5", "SG99", "- 5"}, {"0.5", "FM990.00", "0.50"}, {"-0.5", "99.99", "  -.50"},
	} {
		if g, err := ToCharNumeric(mustDec(t, c[0]), c[1]); err != nil || g != c[2] {
			t.Errorf("to_char(%s, %s) = %q %v, want %q", c[0], c[1], g, err, c[2])
		}
	}
}

func TestToCharTimestamp(t *testing.T) {
	const f = `YYYY-MM-DD HH24:MI:SS.US|FMMonth FMDDth|Day|DY|Mon|HH12:MI AM|IYYY-IW-ID|DDD|Q|CC|J|WW|W|RM|Y,YYY|MS|SSSS|"at" YY`
	const want = `2024-03-05 14:07:09.123456|March 5th|Tuesday  |TUE|Mar|02:07 PM|2024-10-2|065|1|21|2460375|10|1|III |2,024|123|50829|at 24`
	if g, err := ToCharTimestamp(nil, ts(t, "2024-03-05 14:07:09.123456"), f, nil); err != nil || string(g) != want {
		t.Errorf("got  %s\nwant %s %v", g, want, err)
	}
}

// A format may lie in memory that is used again for the next one.
func TestToCharFormatIsNotKept(t *testing.T) {
	f := []byte("YYYY-MM")
	at := ts(t, "2024-03-05 14:07:09")
	for _, c := range [][2]string{{"YYYY-MM", "2024-03"}, {"HH24.MI", "14.07"}, {"DDxx YY", "05xx 24"}, {"MIyy_SS", "0724_09"}} {
		copy(f, c[0])
		g, err := ToCharTimestamp(nil, at, unsafe.String(&f[0], len(f)), nil)
		if err != nil || string(g) != c[1] {
			t.Errorf("to_char(%s) = %s %v, want %s", c[0], g, err, c[1])
		}
	}
}

func TestToCharAllocatesNothing(t *testing.T) {
	at, buf := ts(t, "2024-03-05 14:07:09.123456"), make([]byte, 0, 200)
	n := testing.AllocsPerRun(100, func() {
		if _, err := ToCharTimestamp(buf, at, "YYYY-MM-DD HH24:MI:SS.US Month DY DDth AM", nil); err != nil {
			t.Fatal(err)
		}
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestToTimestamp(t *testing.T) {
	for _, c := range [][3]string{
		{"2024-03-05 14:07:09.5", "YYYY-MM-DD HH24:MI:SS.MS", "2024-03-05 14:07:09.5+00"}, {"05 Mar 2024", "DD Mon YYYY", "2024-03-05 00:00:00+00"},
		{"20240305", "YYYYMMDD", "2024-03-05 00:00:00+00"}, {"05/03/24 02:07 PM", "DD/MM/YY HH12:MI PM", "2024-03-05 14:07:00+00"}, {"2024-065", "YYYY-DDD", "2024-03-05 00:00:00+00"},
	} {
		us, err := ToTimestampFormat(c[0], c[1], UTC())
		if g := string(AppendTimestamptz(nil, us, nil)); err != nil || g != c[2] {
			t.Errorf("to_timestamp(%s, %s) = %s %v, want %s", c[0], c[1], g, err, c[2])
		}
	}
}
