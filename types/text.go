package types

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

// AppendInt appends an integer's text.
func AppendInt(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }

// AppendBool appends t or f.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 't')
	}
	return append(dst, 'f')
}

// AppendFloat64 appends the shortest text that reads back as v.
func AppendFloat64(dst []byte, v float64) []byte { return appendFloat(dst, v, 64, 15) }

// AppendFloat32 appends the shortest text that reads back as v.
func AppendFloat32(dst []byte, v float32) []byte { return appendFloat(dst, float64(v), 32, 6) }

func appendFloat(dst []byte, v float64, size, digits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	case v == 0:
		if math.Signbit(v) {
			return append(dst, "-0"...)
		}
		return append(dst, '0')
	}
	var buf [32]byte
	e := strconv.AppendFloat(buf[:0], v, 'e', -1, size)
	i := len(e) - 1
	for e[i] != 'e' {
		i--
	}
	exp, _ := strconv.Atoi(string(e[i+1:]))
	if exp >= digits && onBoundary(v, size, e[:i], exp) {
		return appendInside(dst, v, size)
	}
	if exp < -4 || exp >= digits {
		return append(dst, e...)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, size)
}

// parseInt reads an integer of the given width; name is for the message.
func parseInt(s string, width int, name string) (int64, error) {
	t := trimSpace(s)
	neg, i := false, 0
	if t != "" && (t[0] == '-' || t[0] == '+') {
		neg = t[0] == '-'
		i = 1
	}
	if i == len(t) {
		return 0, errInput(name, s)
	}
	limit := uint64(1) << (width - 1)
	if !neg {
		limit--
	}
	var v uint64
	over := false
	for ; i < len(t); i++ {
		c := uint64(t[i] - '0')
		if c > 9 {
			return 0, errInput(name, s)
		}
		if v > (math.MaxUint64-9)/10 {
			over = true
		}
		v = v*10 + c
		over = over || v > limit
	}
	if over {
		return 0, errRange(name, s)
	}
	if neg {
		return -int64(v), nil
	}
	return int64(v), nil
}

// ParseInt2 reads a smallint.
func ParseInt2(s string) (int16, error) { v, err := parseInt(s, 16, "smallint"); return int16(v), err }

// ParseInt4 reads an integer.
func ParseInt4(s string) (int32, error) { v, err := parseInt(s, 32, "integer"); return int32(v), err }

// ParseInt8 reads a bigint.
func ParseInt8(s string) (int64, error) { return parseInt(s, 64, "bigint") }

// ParseOid reads an oid; as in PostgreSQL a negative number wraps.
func ParseOid(s string) (int64, error) {
	v, err := strconv.ParseInt(trimSpace(s), 10, 64)
	if err != nil {
		if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
			return 0, errRange("oid", s)
		}
		return 0, errInput("oid", s)
	}
	if v < math.MinInt32 || v > math.MaxUint32 {
		return 0, errRange("oid", s)
	}
	return int64(uint32(v)), nil
}

// ParseBool reads PostgreSQL's spellings: prefixes of true, false, yes and no,
// on, off, 1 and 0.
func ParseBool(s string) (bool, error) {
	t := strings.ToLower(trimSpace(s))
	switch {
	case t == "":
	case t == "1" || t == "on" || strings.HasPrefix("true", t) || strings.HasPrefix("yes", t):
		return true, nil
	case t == "0" || strings.HasPrefix("off", t) && len(t) > 1 || strings.HasPrefix("false", t) || strings.HasPrefix("no", t):
		return false, nil
	}
	return false, errInput("boolean", s)
}

// ParseFloat8 reads a double precision.
func ParseFloat8(s string) (float64, error) { return parseFloat(s, 64, "double precision") }

// ParseFloat4 reads a real.
func ParseFloat4(s string) (float32, error) {
	v, err := parseFloat(s, 32, "real")
	return float32(v), err
}

func parseFloat(s string, size int, name string) (float64, error) {
	t := trimSpace(s)
	if t == "" || strings.IndexByte(t, '_') >= 0 {
		return 0, errInput(name, s)
	}
	if len(t) == 4 && (t[0] == '-' || t[0] == '+') && strings.EqualFold(t[1:], "nan") {
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(t, size)
	if err != nil {
		if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
			return 0, pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type %s", t, name)
		}
		return 0, errInput(name, s)
	}
	if v == 0 && hasNonzeroDigit(t) {
		return 0, pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type %s", t, name)
	}
	return v, nil
}

func hasNonzeroDigit(t string) bool {
	for i := range len(t) {
		switch c := t[i]; {
		case c == 'e' || c == 'E' || c == 'p':
			return false
		case c >= '1' && c <= '9':
			return true
		}
	}
	return false
}

// ParseUUID reads a UUID with or without braces and hyphens.
func ParseUUID(s string) (u UUIDValue, err error) {
	t := s
	if len(t) > 1 && t[0] == '{' && t[len(t)-1] == '}' {
		t = t[1 : len(t)-1]
	}
	for i := range u {
		if i > 0 && i%2 == 0 && t != "" && t[0] == '-' {
			t = t[1:]
		}
		if len(t) < 2 {
			return u, errInput("uuid", s)
		}
		if _, e := hex.Decode(u[i:i+1], []byte(t[:2])); e != nil {
			return u, errInput("uuid", s)
		}
		t = t[2:]
	}
	if t != "" {
		return u, errInput("uuid", s)
	}
	return u, nil
}

// AppendUUID appends the canonical form.
func AppendUUID(dst []byte, u UUIDValue) []byte {
	for i, n := range [...]int{4, 2, 2, 2, 6} {
		at := [...]int{0, 4, 6, 8, 10}[i]
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, u[at:at+n])
	}
	return dst
}

// ParseBytea reads the hex and the escape format.
func ParseBytea(s string) (string, error) {
	if !strings.HasPrefix(s, `\x`) {
		return parseByteaEscape(s)
	}
	out := make([]byte, 0, len(s)/2)
	for t := s[2:]; t != ""; {
		if isSpace(t[0]) {
			t = t[1:]
			continue
		}
		if _, ok := hexVal(t[0]); !ok {
			r, _ := utf8.DecodeRuneInString(t)
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal digit: \"%c\"", r)
		}
		if len(t) < 2 {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
		}
		hi, _ := hexVal(t[0])
		lo, ok := hexVal(t[1])
		if !ok {
			r, _ := utf8.DecodeRuneInString(t[1:])
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal digit: \"%c\"", r)
		}
		out = append(out, hi<<4|lo)
		t = t[2:]
	}
	return string(out), nil
}

func hexVal(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

func parseByteaEscape(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	out := make([]byte, 0, len(s))
	oct := func(c byte, top byte) bool { return c >= '0' && c <= top }
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			out = append(out, s[i])
		case i+1 < len(s) && s[i+1] == '\\':
			out = append(out, '\\')
			i++
		case i+3 < len(s) && oct(s[i+1], '3') && oct(s[i+2], '7') && oct(s[i+3], '7'):
			out = append(out, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
		default:
			return "", pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type bytea")
		}
	}
	return string(out), nil
}

// AppendBytea appends b in hex format, or in escape format.
func AppendBytea(dst []byte, b []byte, escape bool) []byte {
	if !escape {
		return hex.AppendEncode(append(dst, '\\', 'x'), b)
	}
	for _, c := range b {
		switch {
		case c == '\\':
			dst = append(dst, '\\', '\\')
		case c < 0x20 || c > 0x7e:
			dst = append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// CheckText rejects what no text value may hold: NUL bytes and invalid UTF-8.
func CheckText(s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x00")
	}
	if utf8.ValidString(s) {
		return nil
	}
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x%02x", s[i])
		}
	}
	return nil
}

// TruncateName cuts s to the 63 bytes a name holds, at a character boundary.
func TruncateName(s string) string {
	if len(s) <= 63 {
		return s
	}
	n := 63
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// ApplyTextMod enforces varchar(n) and char(n). Beyond n characters only blanks
// may be cut, unless the cast is explicit: 22001. Char pads to n.
func ApplyTextMod(s string, t T, explicit bool) (string, error) {
	if t.Mod < 4 || t.ID != Varchar && t.ID != Bpchar {
		return s, nil
	}
	n := int(t.Mod) - 4
	if len(s) > n || t.ID == Bpchar {
		chars, cut := 0, -1
		for i := range s {
			if chars == n {
				cut = i
				break
			}
			chars++
		}
		if cut >= 0 {
			if !explicit && strings.Trim(s[cut:], " ") != "" {
				return "", pgerr.New(pgerr.StringDataRightTruncation, "value too long for type %s", t)
			}
			return s[:cut], nil
		}
		if t.ID == Bpchar && chars < n {
			return s + strings.Repeat(" ", n-chars), nil
		}
	}
	return s, nil
}

// ParseText reads a value's text form, as the type's input function does,
// modifier included. The result does not share memory with s only when it must
// differ from it.
func ParseText(t T, s string, opt *Options) (Datum, error) {
	t = t.Underlying()
	if c := codecs[t.ID]; c != nil {
		return box(c.parse(s, t, opt))
	}
	switch t.ID {
	case Bool:
		return box(ParseBool(s))
	case Int2:
		return box(ParseInt2(s))
	case Int4:
		return box(ParseInt4(s))
	case Int8:
		return box(ParseInt8(s))
	case Money:
		return box(ParseMoney(s))
	case Float4:
		return box(ParseFloat4(s))
	case Float8:
		return box(ParseFloat8(s))
	case Numeric:
		d, err := ParseDecimal(s)
		if err == nil {
			d, err = d.Typmod(t.Mod)
		}
		if err != nil {
			return nil, err
		}
		return DecimalDatum(d), nil
	case Varchar, Bpchar:
		return box(ApplyTextMod(s, t, false))
	case Name:
		return TruncateName(s), nil
	case Char:
		return charOf(s), nil
	case Bytea:
		return box(ParseBytea(s))
	case Date:
		return box(ParseDate(s, opt))
	case Time:
		return boxRounded(t.Mod)(ParseTime(s, opt))
	case Timestamp:
		return boxRounded(t.Mod)(ParseTimestamp(s, opt))
	case Timestamptz:
		return boxRounded(t.Mod)(ParseTimestamptz(s, opt))
	case Interval:
		return box(parseIntervalStyled(s, t.Mod, opt))
	case UUID:
		return box(ParseUUID(s))
	case JSON:
		if err := ValidateJSON(s); err != nil {
			return nil, err
		}
		return s, nil
	case JSONB:
		return box(ParseJSONB(s))
	case JSONPath:
		return box(normalJSONPath(s))
	case Oid:
		return box(ParseOid(s))
	case Array:
		if t.IsVector() {
			return parseVector(t, s)
		}
		return box(ParseArray(t, s, opt))
	case Record:
		return box(ParseRecord(t, s, opt))
	case Enum:
		return box(ParseEnum(t, s))
	}
	switch {
	case t.ID.IsReg():
		return parseReg(t, s, opt)
	case t.IsRange():
		return box(ParseRange(t, s, opt))
	case t.IsMultirange():
		return box(ParseMultirange(t, s, opt))
	}
	return s, nil
}

// box makes a Datum of a parser's result; NULL beside an error.
func box[V any](v V, err error) (Datum, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

func boxRounded(mod int32) func(int64, error) (Datum, error) {
	return func(us int64, err error) (Datum, error) {
		if err != nil {
			return nil, err
		}
		return RoundMicros(us, int(mod)), nil
	}
}

func parseReg(t T, s string, opt *Options) (Datum, error) {
	if s == "-" {
		return int64(0), nil
	}
	if s == "0" && (t.ID == Regoper || t.ID == Regoperator) {
		return int64(0), nil
	}
	if s != "" && s[0] >= '0' && s[0] <= '9' {
		return box(ParseOid(s))
	}
	if opt == nil || opt.Resolve == nil {
		return nil, errInput(t.TypName(), s)
	}
	return box(opt.Resolve(t, s))
}

// AppendText appends a value's text form, as the type's output function does.
// A NULL appends nothing.
func AppendText(dst []byte, t T, d Datum, opt *Options) []byte {
	switch v := d.(type) {
	case bool:
		return AppendBool(dst, v)
	case int16:
		return AppendInt(dst, int64(v))
	case int32:
		if t.ID == Date {
			return AppendDateStyle(dst, v, opt)
		}
		return AppendInt(dst, int64(v))
	case int64:
		return AppendTextInt64(dst, t, v, opt)
	case float32:
		if opt != nil && opt.ExtraFloatDigits < 0 {
			return appendFloatDigits(dst, float64(v), 32, 7+opt.ExtraFloatDigits)
		}
		return AppendFloat32(dst, v)
	case float64:
		if opt != nil && opt.ExtraFloatDigits < 0 {
			return appendFloatDigits(dst, v, 64, 16+opt.ExtraFloatDigits)
		}
		return AppendFloat64(dst, v)
	case IntervalValue:
		if opt != nil && opt.IntervalStyle != "" {
			return AppendIntervalStyle(dst, v, opt.IntervalStyle)
		}
		return AppendInterval(dst, v)
	case UUIDValue:
		return AppendUUID(dst, v)
	case string:
		return AppendTextBytes(dst, t, []byte(v), opt)
	}
	return dst
}

// AppendTextInt64 is AppendText for the types whose kind is KInt64.
func AppendTextInt64(dst []byte, t T, v int64, opt *Options) []byte {
	switch t.ID {
	case Enum:
		return append(dst, EnumLabel(t, v)...)
	case Money:
		return AppendMoney(dst, v)
	case Time:
		return AppendTime(dst, v)
	case Timestamp:
		return AppendTimestampStyle(dst, v, opt)
	case Timestamptz:
		return AppendTimestamptzStyle(dst, v, opt)
	}
	if t.ID.IsReg() {
		if v == 0 && t.ID != Regoper && t.ID != Regoperator {
			return append(dst, '-')
		}
		if opt != nil && opt.Name != nil {
			if n, ok := opt.Name(t, v); ok {
				return append(dst, n...)
			}
		}
	}
	return AppendInt(dst, v)
}

// AppendTextBytes is AppendText for the types whose kind is KBytes; b is not kept.
func AppendTextBytes(dst []byte, t T, b []byte, opt *Options) []byte {
	if c := codecs[t.ID]; c != nil {
		return c.text(dst, b)
	}
	switch t.ID {
	case Numeric:
		return AppendDecimalText(dst, DecodeDecimal(b))
	case Bytea:
		return AppendBytea(dst, b, opt != nil && opt.ByteaEscape)
	case Array:
		return AppendArrayText(dst, t, b, opt)
	case Record:
		return AppendRecordText(dst, b, opt)
	case Char:
		return appendChar(dst, b)
	}
	switch {
	case t.IsRange():
		return AppendRangeText(dst, t, b, opt)
	case t.IsMultirange():
		return AppendMultirangeText(dst, t, b, opt)
	}
	return append(dst, b...)
}
