package charset

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"utf-8": "UTF8", "Unicode": "UTF8", "ISO-8859-1": "LATIN1", "latin 9": "LATIN9", "windows-1252": "WIN1252",
		"koi8": "KOI8R", "ShiftJIS": "SJIS", "windows_949": "UHC", "sql_ascii": "SQL_ASCII", "binary": "", "": "",
	} {
		got := ""
		if s := Find(name); s != nil {
			got = s.Name
		}
		if got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	for i, s := range sets {
		if ByID(int32(i)) != s || s.ID != int32(i) || Find(s.Name) != s {
			t.Errorf("%s is not found", s.Name)
		}
	}
}

// The answers are PostgreSQL's.
func TestConvert(t *testing.T) {
	for _, c := range []struct{ set, bytes, text string }{
		{"LATIN1", "caf\xe9 \x80", "café \u0080"},
		{"LATIN9", "\xa4", "€"},
		{"WIN1252", "\x80\x92", "€’"},
		{"WIN1251", "\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"},
		{"KOI8U", "\xae", "╝"},
		{"EUC_JP", "a\xc6\xfc\xcb\xdc\x8e\xb1", "a日本ｱ"},
		{"SJIS", "\x93\xfa\x96\x7b\xb1", "日本ｱ"},
		{"EUC_KR", "\xc7\xd1", "한"},
		{"UHC", "\x81\x41", "갂"},
		{"GBK", "\xc4\xe3", "你"},
		{"BIG5", "\xa7\x41", "你"},
		{"GB18030", "\x81\x30\x81\x30", "\u0080"},
	} {
		s := Find(c.set)
		if got, err := s.Decode(nil, []byte(c.bytes)); string(got) != c.text || err != nil {
			t.Errorf("%s: %x is %q, %v", c.set, c.bytes, got, err)
		}
		if got, err := s.Encode(nil, []byte(c.text)); string(got) != c.bytes || err != nil {
			t.Errorf("%s: %q is %x, %v", c.set, c.text, got, err)
		}
		if n := s.Whole([]byte(c.bytes)); n != len(c.bytes) {
			t.Errorf("%s: %d of %x is whole", c.set, n, c.bytes)
		}
	}
}

func TestWrongText(t *testing.T) {
	for _, c := range []struct{ set, bytes, code, message string }{
		{"WIN1252", "\x81", "22P05", `character with byte sequence 0x81 in encoding "WIN1252" has no equivalent in encoding "UTF8"`},
		{"LATIN1", "a\x00", "22021", `invalid byte sequence for encoding "LATIN1": 0x00`},
		{"EUC_JP", "\xc6", "22021", `invalid byte sequence for encoding "EUC_JP": 0xc6`},
		{"EUC_KR", "\xa1\x20", "22021", `invalid byte sequence for encoding "EUC_KR": 0xa1 0x20`},
		{"SJIS", "\x81\x20", "22021", `invalid byte sequence for encoding "SJIS": 0x81 0x20`},
	} {
		_, err := Find(c.set).Decode(nil, []byte(c.bytes))
		if e := pgerr.From(err); e == nil || string(e.Code) != c.code || e.Msg != c.message {
			t.Errorf("%s %x: %v", c.set, c.bytes, err)
		}
	}
	_, err := Find("LATIN1").Encode(nil, []byte("5 €"))
	if e := pgerr.From(err); e == nil || e.Msg != `character with byte sequence 0xe2 0x82 0xac in encoding "UTF8" has no equivalent in encoding "LATIN1"` {
		t.Errorf("got %v", err)
	}
	if n := Find("SJIS").Whole([]byte("\x93\xfa\x96")); n != 2 {
		t.Errorf("%d bytes are whole", n)
	}
}

// What is decoded is text, and can be encoded again unless it was refused.
func FuzzDecode(f *testing.F) {
	f.Add(int32(35), []byte("\x93\xfa\x96\x7b"))
	f.Add(int32(39), []byte("\x81\x30\x81\x30"))
	f.Fuzz(func(t *testing.T, id int32, b []byte) {
		s := ByID(id)
		if s == nil || s.Raw() || !s.Convertible() {
			return
		}
		n := s.Whole(b)
		text, err := s.Decode(nil, b[:n])
		if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			t.Fatalf("%s: %x is no text: %q", s.Name, b, text)
		}
		if err == nil && s.one != nil {
			if back, err := s.Encode(nil, text); err != nil || !bytes.Equal(back, b[:n]) {
				t.Fatalf("%s: %x is %q is %x, %v", s.Name, b, text, back, err)
			}
		}
	})
}
