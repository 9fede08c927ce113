package types

// codec is how the values of a type whose kind is KBytes are read and written. A type
// with a row in codecs needs no other place in this package for it. Stored values
// compare bytewise as SQL orders them, unless compare says otherwise, and are equal
// exactly if their bytes are.
type codec struct {
	parse       func(s string, t T, opt *Options) (string, error)
	text        func(dst []byte, b []byte) []byte
	parseBinary func(b []byte, t T) (string, error)
	binary      func(dst []byte, b []byte) []byte
	compare     func(a, b []byte) int
	// key appends the bytes that keys have in the place of a value, and unkey reads
	// them; nil: the value itself, escaped.
	key   func(dst []byte, b []byte) []byte
	unkey func(b []byte) (s string, rest []byte, ok bool)
}

// codecs has the types that are read and written by a codec.
var codecs = [numIDs]*codec{
	Inet:     {parse: func(s string, _ T, _ *Options) (string, error) { return parseInet(s, false) }, text: appendInetText, parseBinary: parseInetBinary, binary: appendInetBinary},
	Cidr:     {parse: func(s string, _ T, _ *Options) (string, error) { return parseInet(s, true) }, text: appendCidrText, parseBinary: parseInetBinary, binary: appendCidrBinary},
	Macaddr:  {parse: timeless(parseMacaddr), text: appendMacaddr, parseBinary: parseMacaddrBinary, binary: appendRaw},
	Macaddr8: {parse: timeless(parseMacaddr8), text: appendMacaddr, parseBinary: parseMacaddr8Binary, binary: appendRaw},
	Bit:      {parse: timeless(parseBits), text: appendBitsText, parseBinary: parseBitsBinary, binary: appendBitsBinary, compare: compareBits, key: appendBitsKey, unkey: readBitsKey},
	Varbit:   {parse: timeless(parseBits), text: appendBitsText, parseBinary: parseBitsBinary, binary: appendBitsBinary, compare: compareBits, key: appendBitsKey, unkey: readBitsKey},
	LSN:      {parse: timeless(parseLSN), text: appendLSNText, parseBinary: parseWordBinary, binary: appendRaw},
	Xid8:     {parse: timeless(parseWord), text: appendWordText, parseBinary: parseWordBinary, binary: appendRaw},
	Xid:      {parse: timeless(parseWord), text: appendWordText, parseBinary: parseWordBinary, binary: appendRaw},
	Timetz:   {parse: parseTimetzText, text: appendTimetzText, parseBinary: parseTimetzBinary, binary: appendTimetzBinary},
}

// timeless makes a parser of one that knows nothing of a session.
func timeless(parse func(s string, t T) (string, error)) func(string, T, *Options) (string, error) {
	return func(s string, t T, _ *Options) (string, error) { return parse(s, t) }
}

func appendRaw(dst, b []byte) []byte { return append(dst, b...) }

// HasCodec reports whether t is a type of fixed form that is stored as bytes, ordered
// by them or by Compare.
func (t T) HasCodec() bool { return codecs[t.ID] != nil }

// ordersByBytes reports whether the stored values of a type compare bytewise.
func (c *codec) ordersByBytes() bool { return c.compare == nil }
