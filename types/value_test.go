package types

import "testing"

func TestTextRoundTrips(t *testing.T) {
	for _, c := range []struct {
		t       T
		in, out string
	}{
		{TFloat8, "1e20", "1e+20"}, {TFloat8, "0.1", "0.1"}, {TFloat8, "1e15", "1e+15"}, {TFloat8, "123456789012345", "123456789012345"},
		{TFloat8, "1e-5", "1e-05"}, {TFloat4, "1e6", "1e+06"}, {TFloat8, "-inf", "-Infinity"},
		{TBool, " TRUE ", "t"}, {TInt4, " -2147483648 ", "-2147483648"},
		{TDate, "Jan 8, 1999", "1999-01-08"}, {TDate, "1/8/1999", "1999-01-08"}, {TDate, "19990108", "1999-01-08"}, {TDate, "0044-03-15 BC", "0044-03-15 BC"},
		{TTimestamp, "2024-02-29T12:34:56.789", "2024-02-29 12:34:56.789"}, {TTimestamp, "epoch", "1970-01-01 00:00:00"},
		{TTimestamptz, "2024-01-01 00:00:00+02", "2023-12-31 22:00:00+00"}, {TTimestamptz, "2024-07-01 12:00 Europe/Berlin", "2024-07-01 10:00:00+00"},
		{TTimestamptz, "2024-03-31 02:30:00 Europe/Berlin", "2024-03-31 01:30:00+00"}, {TTimestamptz, "2023-10-29 02:30:00 Europe/Berlin", "2023-10-29 01:30:00+00"},
		{TTime, "3:04 PM", "15:04:00"}, {TTime, "04:05:06.7891234", "04:05:06.789123"},
		{TInterval, "1-2", "1 year 2 mons"}, {TInterval, "1.5 days", "1 day 12:00:00"}, {TInterval, "-1 day +02:03", "-1 days +02:03:00"},
		{TInterval, "1.5 months", "1 mon 15 days"}, {TInterval, "P1Y2M3DT4H5M6.5S", "1 year 2 mons 3 days 04:05:06.5"}, {TInterval, "@ 3 hours ago", "-03:00:00"},
		{TInterval, "1 2:03:04", "1 day 02:03:04"}, {TInterval, "90", "00:01:30"},
		{TUUID, "{A0EEBC99-9C0B4EF8-BB6D6BB9BD380A11}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
		{TBytea, `\xDEad`, `\xdead`}, {TBytea, `a\\b\001`, `\x615c6201`},
		{TJSONB, `{"bb":1,"a":[1e3, 0.10 ],"bb":"x\u0041\n"}`, `{"a": [1000, 0.10], "bb": "xA\n"}`},
		{TJSONB, `9007199254740993`, `9007199254740993`},
		{ArrayOf(Text), `{a,"b c",NULL,"NULL",""}`, `{a,"b c",NULL,"NULL",""}`}, {ArrayOf(Int4), "{{1,2},{3,4}}", "{{1,2},{3,4}}"}, {ArrayOf(Int4), "[2:3]={7,8}", "[2:3]={7,8}"},
		{NumericOf(5, 2), "1.005", "1.01"}, {T{ID: Timestamp, Mod: 0}, "2024-01-01 00:00:00.5", "2024-01-01 00:00:01"},
		{T{ID: Bpchar, Mod: 9}, "ab", "ab   "}, {T{ID: Varchar, Mod: 6}, "ab   ", "ab"},
	} {
		d, err := ParseText(c.t, c.in, nil)
		if err != nil {
			t.Errorf("%s %q: %v", c.t, c.in, err)
			continue
		}
		if g := string(AppendText(nil, c.t, d, nil)); g != c.out {
			t.Errorf("%s %q: got %q, want %q", c.t, c.in, g, c.out)
		}
		b, err := ParseBinary(c.t, AppendBinary(nil, c.t, d))
		if err != nil || Compare(c.t, b, d) != 0 {
			t.Errorf("%s %q: binary form: %v %v", c.t, c.in, b, err)
		}
	}
}

func TestTextErrors(t *testing.T) {
	for _, c := range []struct {
		t    T
		in   string
		want string
	}{
		{TInt4, "2147483648", `value "2147483648" is out of range for type integer (SQLSTATE 22003)`},
		{TInt4, "x", `invalid input syntax for type integer: "x" (SQLSTATE 22P02)`},
		{TTimestamp, "x", `invalid input syntax for type timestamp: "x" (SQLSTATE 22007)`},
		{TDate, "2024-02-30", `date/time field value out of range: "2024-02-30" (SQLSTATE 22008)`},
		{T{ID: Varchar, Mod: 6}, "abc", `value too long for type character varying(2) (SQLSTATE 22001)`},
		{NumericOf(3, 1), "100", `numeric field overflow (SQLSTATE 22003)`},
		{TJSON, `{"a":}`, `invalid input syntax for type json (SQLSTATE 22P02)`},
		{TJSONB, `"\u0000"`, `unsupported Unicode escape sequence (SQLSTATE 22P05)`},
		{ArrayOf(Int4), "{1", `malformed array literal: "{1" (SQLSTATE 22P02)`},
	} {
		if _, err := ParseText(c.t, c.in, nil); err == nil || err.Error() != c.want {
			t.Errorf("%s %q: %v", c.t, c.in, err)
		}
	}
}
