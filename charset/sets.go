package charset

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// Set is a character set.
type Set struct {
	ID   int32  // PostgreSQL's number
	Name string // as PostgreSQL prints it
	// MaxLen is the most bytes a character takes.
	MaxLen int
	// ClientOnly sets cannot be those of a database.
	ClientOnly bool

	one  *table            // of a set of one byte a character
	many encoding.Encoding // of another
	len  func(b []byte) int
}

// UTF8 and SQLASCII are the sets whose text is taken as it is.
var (
	UTF8     = &Set{ID: 6, Name: "UTF8", MaxLen: 4}
	SQLASCII = &Set{ID: 0, Name: "SQL_ASCII", MaxLen: 1}
)

// sets are in the order of their numbers.
var sets = []*Set{
	SQLASCII,
	{ID: 1, Name: "EUC_JP", MaxLen: 3, many: japanese.EUCJP, len: eucJPLen},
	{ID: 2, Name: "EUC_CN", MaxLen: 3, many: simplifiedchinese.GBK, len: eucLen},
	{ID: 3, Name: "EUC_KR", MaxLen: 3, many: korean.EUCKR, len: eucLen},
	{ID: 4, Name: "EUC_TW", MaxLen: 4},
	{ID: 5, Name: "EUC_JIS_2004", MaxLen: 3},
	UTF8,
	{ID: 7, Name: "MULE_INTERNAL", MaxLen: 4},
	{ID: 8, Name: "LATIN1", MaxLen: 1, one: iso(charmap.ISO8859_1)},
	{ID: 9, Name: "LATIN2", MaxLen: 1, one: iso(charmap.ISO8859_2)},
	{ID: 10, Name: "LATIN3", MaxLen: 1, one: iso(charmap.ISO8859_3)},
	{ID: 11, Name: "LATIN4", MaxLen: 1, one: iso(charmap.ISO8859_4)},
	{ID: 12, Name: "LATIN5", MaxLen: 1, one: iso(charmap.ISO8859_9)},
	{ID: 13, Name: "LATIN6", MaxLen: 1, one: iso(charmap.ISO8859_10)},
	{ID: 14, Name: "LATIN7", MaxLen: 1, one: iso(charmap.ISO8859_13)},
	{ID: 15, Name: "LATIN8", MaxLen: 1, one: iso(charmap.ISO8859_14)},
	{ID: 16, Name: "LATIN9", MaxLen: 1, one: iso(charmap.ISO8859_15)},
	{ID: 17, Name: "LATIN10", MaxLen: 1, one: iso(charmap.ISO8859_16)},
	{ID: 18, Name: "WIN1256", MaxLen: 1, one: other(charmap.Windows1256, nil)},
	{ID: 19, Name: "WIN1258", MaxLen: 1, one: other(charmap.Windows1258, nil)},
	{ID: 20, Name: "WIN866", MaxLen: 1, one: other(charmap.CodePage866, nil)},
	{ID: 21, Name: "WIN874", MaxLen: 1, one: other(charmap.Windows874, nil)},
	{ID: 22, Name: "KOI8R", MaxLen: 1, one: other(charmap.KOI8R, nil)},
	{ID: 23, Name: "WIN1251", MaxLen: 1, one: other(charmap.Windows1251, nil)},
	{ID: 24, Name: "WIN1252", MaxLen: 1, one: other(charmap.Windows1252, nil)},
	{ID: 25, Name: "ISO_8859_5", MaxLen: 1, one: iso(charmap.ISO8859_5)},
	{ID: 26, Name: "ISO_8859_6", MaxLen: 1, one: iso(charmap.ISO8859_6)},
	{ID: 27, Name: "ISO_8859_7", MaxLen: 1, one: iso(charmap.ISO8859_7)},
	{ID: 28, Name: "ISO_8859_8", MaxLen: 1, one: iso(charmap.ISO8859_8)},
	{ID: 29, Name: "WIN1250", MaxLen: 1, one: other(charmap.Windows1250, nil)},
	{ID: 30, Name: "WIN1253", MaxLen: 1, one: other(charmap.Windows1253, nil)},
	{ID: 31, Name: "WIN1254", MaxLen: 1, one: other(charmap.Windows1254, nil)},
	{ID: 32, Name: "WIN1255", MaxLen: 1, one: other(charmap.Windows1255, map[byte]rune{0xca: utf8.RuneError})},
	{ID: 33, Name: "WIN1257", MaxLen: 1, one: other(charmap.Windows1257, nil)},
	{ID: 34, Name: "KOI8U", MaxLen: 1, one: other(charmap.KOI8U, map[byte]rune{0xae: '╝', 0xbe: '╬'})},
	{ID: 35, Name: "SJIS", MaxLen: 2, ClientOnly: true, many: japanese.ShiftJIS, len: sjisLen},
	{ID: 36, Name: "BIG5", MaxLen: 2, ClientOnly: true, many: traditionalchinese.Big5, len: big5Len},
	{ID: 37, Name: "GBK", MaxLen: 2, ClientOnly: true, many: simplifiedchinese.GBK, len: pairLen},
	{ID: 38, Name: "UHC", MaxLen: 2, ClientOnly: true, many: korean.EUCKR, len: pairLen},
	{ID: 39, Name: "GB18030", MaxLen: 4, ClientOnly: true, many: simplifiedchinese.GB18030, len: gb18030Len},
	{ID: 40, Name: "JOHAB", MaxLen: 3, ClientOnly: true},
	{ID: 41, Name: "SHIFT_JIS_2004", MaxLen: 2, ClientOnly: true},
}

// others are the names that sets have besides their own, folded.
var others = map[string]string{
	"unicode": "UTF8", "abc": "WIN1258", "tcvn": "WIN1258", "tcvn5712": "WIN1258", "vscii": "WIN1258",
	"alt": "WIN866", "win": "WIN1251", "koi8": "KOI8R", "mskanji": "SJIS", "shiftjis": "SJIS",
	"iso88591": "LATIN1", "iso88592": "LATIN2", "iso88593": "LATIN3", "iso88594": "LATIN4", "iso88599": "LATIN5",
	"iso885910": "LATIN6", "iso885913": "LATIN7", "iso885914": "LATIN8", "iso885915": "LATIN9", "iso885916": "LATIN10",
	"windows1250": "WIN1250", "windows1251": "WIN1251", "windows1252": "WIN1252", "windows1253": "WIN1253",
	"windows1254": "WIN1254", "windows1255": "WIN1255", "windows1256": "WIN1256", "windows1257": "WIN1257",
	"windows1258": "WIN1258", "windows866": "WIN866", "windows874": "WIN874", "windows932": "SJIS", "win932": "SJIS",
	"windows936": "GBK", "win936": "GBK", "windows949": "UHC", "win949": "UHC", "windows950": "BIG5", "win950": "BIG5",
}

// byName has the sets by their folded names.
var byName = func() map[string]*Set {
	m := map[string]*Set{}
	for _, s := range sets {
		m[fold(s.Name)] = s
	}
	for name, of := range others {
		m[name] = m[fold(of)]
	}
	return m
}()

// fold leaves the letters, in lower case, and the digits of a name.
func fold(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'A' && c <= 'Z':
			return c + 0x20
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			return c
		}
		return -1
	}, name)
}

// Find returns the set of a name, whose case and punctuation do not count; nil if
// PostgreSQL has none of that name.
func Find(name string) *Set { return byName[fold(name)] }

// ByID returns the set of PostgreSQL's number, or nil.
func ByID(id int32) *Set {
	if id < 0 || int(id) >= len(sets) {
		return nil
	}
	return sets[id]
}

// Raw reports whether bytes of the set are taken as they are.
func (s *Set) Raw() bool { return s == UTF8 || s == SQLASCII }

// Convertible reports whether text of the set can be converted; a few sets are
// known by name only.
func (s *Set) Convertible() bool { return s.Raw() || s.one != nil || s.many != nil }
