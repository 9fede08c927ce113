package expr

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// charset is a character set that text can be converted to and from. UTF8 has
// no map; SQL_ASCII takes bytes as they are.
type charset struct {
	name string // as PostgreSQL prints it
	cm   *charmap.Charmap
}

// charsets are found by their names in lower case without punctuation.
var charsets = map[string]charset{
	"utf8": {name: "UTF8"}, "unicode": {name: "UTF8"}, "sqlascii": {name: "SQL_ASCII"},
	"latin1": {"LATIN1", charmap.ISO8859_1}, "iso88591": {"LATIN1", charmap.ISO8859_1},
	"latin2": {"LATIN2", charmap.ISO8859_2}, "iso88592": {"LATIN2", charmap.ISO8859_2},
	"latin3": {"LATIN3", charmap.ISO8859_3}, "iso88593": {"LATIN3", charmap.ISO8859_3},
	"latin4": {"LATIN4", charmap.ISO8859_4}, "iso88594": {"LATIN4", charmap.ISO8859_4},
	"latin5": {"LATIN5", charmap.ISO8859_9}, "iso88599": {"LATIN5", charmap.ISO8859_9},
	"latin6": {"LATIN6", charmap.ISO8859_10}, "iso885910": {"LATIN6", charmap.ISO8859_10},
	"latin7": {"LATIN7", charmap.ISO8859_13}, "iso885913": {"LATIN7", charmap.ISO8859_13},
	"latin8": {"LATIN8", charmap.ISO8859_14}, "iso885914": {"LATIN8", charmap.ISO8859_14},
	"latin9": {"LATIN9", charmap.ISO8859_15}, "iso885915": {"LATIN9", charmap.ISO8859_15},
	"latin10": {"LATIN10", charmap.ISO8859_16}, "iso885916": {"LATIN10", charmap.ISO8859_16},
	"iso88595": {"ISO_8859_5", charmap.ISO8859_5}, "iso88596": {"ISO_8859_6", charmap.ISO8859_6},
	"iso88597": {"ISO_8859_7", charmap.ISO8859_7}, "iso88598": {"ISO_8859_8", charmap.ISO8859_8},
	"abc": {"WIN1258", charmap.Windows1258}, "tcvn": {"WIN1258", charmap.Windows1258}, "vscii": {"WIN1258", charmap.Windows1258},
	"alt": {"WIN866", charmap.CodePage866}, "win": {"WIN1251", charmap.Windows1251}, "koi8": {"KOI8R", charmap.KOI8R},
	"win1250": {"WIN1250", charmap.Windows1250}, "win1251": {"WIN1251", charmap.Windows1251},
	"win1252": {"WIN1252", charmap.Windows1252}, "win1253": {"WIN1253", charmap.Windows1253},
	"win1254": {"WIN1254", charmap.Windows1254}, "win1255": {"WIN1255", charmap.Windows1255},
	"win1256": {"WIN1256", charmap.Windows1256}, "win1257": {"WIN1257", charmap.Windows1257},
	"win1258": {"WIN1258", charmap.Windows1258}, "win866": {"WIN866", charmap.CodePage866},
	"koi8r": {"KOI8R", charmap.KOI8R}, "koi8u": {"KOI8U", charmap.KOI8U},
}

// manyByteCharsets are those PostgreSQL knows and this server does not.
const manyByteCharsets = " eucjp euccn euckr euctw eucjis2004 johab muleinternal sjis big5 gbk uhc gb18030 shiftjis2004 "

func findCharset(name, what string) (charset, error) {
	key := strings.Map(func(c rune) rune {
		switch {
		case c >= 'A' && c <= 'Z':
			return c + 0x20
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			return c
		}
		return -1
	}, name)
	if c, ok := charsets[key]; ok {
		return c, nil
	}
	if key != "" && strings.Contains(manyByteCharsets, " "+key+" ") {
		return charset{}, pgerr.Unsupported("the encoding "+name, "Encodings of one byte a character and UTF8 are there.")
	}
	return charset{}, pgerr.New(pgerr.InvalidParameterValue, "invalid %s encoding name \"%s\"", what, name)
}

func (c charset) raw() bool { return c.name == "SQL_ASCII" }

// decode turns bytes of the set into UTF-8.
func (c charset) decode(b []byte) ([]byte, error) {
	if c.cm == nil {
		return b, validText(b)
	}
	out := make([]byte, 0, len(b))
	for _, x := range b {
		r := c.cm.DecodeByte(x)
		if x == 0 {
			return nil, c.zeroByte()
		}
		if r == utf8.RuneError {
			return nil, pgerr.New(pgerr.UntranslatableCharacter,
				"character with byte sequence 0x%02x in encoding \"%s\" has no equivalent in encoding \"UTF8\"", x, c.name)
		}
		out = utf8.AppendRune(out, r)
	}
	return out, nil
}

func (c charset) zeroByte() error {
	return pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"%s\": 0x00", c.name)
}

// encode turns UTF-8 into bytes of the set.
func (c charset) encode(b []byte) ([]byte, error) {
	if c.cm == nil {
		return b, nil
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		x, ok := c.cm.EncodeRune(r)
		if !ok {
			hex := make([]string, n)
			for k := range n {
				hex[k] = fmt.Sprintf("0x%02x", b[i+k])
			}
			return nil, pgerr.New(pgerr.UntranslatableCharacter,
				"character with byte sequence %s in encoding \"UTF8\" has no equivalent in encoding \"%s\"", strings.Join(hex, " "), c.name)
		}
		out = append(out, x)
		i += n
	}
	return out, nil
}

func encodingFuncs() []*Func {
	return []*Func{
		fn("convert_from", ts(tBytea, tName), tText, func(r *row) error {
			c, err := findCharset(r.s(1), "source")
			if err != nil {
				return err
			}
			b, err := c.decode(r.b(0))
			if err != nil {
				return err
			}
			return r.putB(b)
		}),
		fn("convert_to", ts(tText, tName), tBytea, func(r *row) error {
			c, err := findCharset(r.s(1), "destination")
			if err != nil {
				return err
			}
			b, err := c.encode(r.b(0))
			if err != nil {
				return err
			}
			return r.putB(b)
		}),
		fn("convert", ts(tBytea, tName, tName), tBytea, convertBytes),
		fn("length", ts(tBytea, tName), tI4, func(r *row) error {
			c, err := findCharset(r.s(1), "source")
			if err != nil {
				return pgerr.New(pgerr.InvalidParameterValue, "invalid encoding name \"%s\"", r.s(1))
			}
			if i := bytes.IndexByte(r.b(0), 0); i >= 0 && c.cm != nil {
				return c.zeroByte()
			}
			if c.cm != nil || c.raw() {
				return r.putI4(len(r.b(0)))
			}
			if err := validText(r.b(0)); err != nil {
				return err
			}
			return r.putI4(utf8.RuneCount(r.b(0)))
		}),
	}
}

func convertBytes(r *row) error {
	from, err := findCharset(r.s(1), "source")
	if err != nil {
		return err
	}
	to, err := findCharset(r.s(2), "destination")
	if err != nil {
		return err
	}
	b := r.b(0)
	if from.cm != nil && bytes.IndexByte(b, 0) >= 0 {
		return from.zeroByte()
	}
	if from.name == to.name || to.raw() || from.raw() {
		if from.name == "UTF8" || from.raw() && to.name == "UTF8" {
			err = types.CheckText(string(b))
		}
		if err != nil {
			return err
		}
		return r.putB(b)
	}
	if b, err = from.decode(b); err == nil {
		b, err = to.encode(b)
	}
	if err != nil {
		return err
	}
	return r.putB(b)
}
