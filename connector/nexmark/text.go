package nexmark

import "strconv"

var (
	firstNames  = []string{"Ada", "Ben", "Cora", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jana", "Kai"}
	lastNames   = []string{"Adler", "Brook", "Croft", "Dale", "Ember", "Frost", "Grove", "Heath", "Irwin"}
	cities      = []string{"Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne"}
	states      = []string{"AZ", "CA", "ID", "OR", "WA", "WY"}
	hotChannel  = []string{"Google", "Facebook", "Baidu", "Apple"}
	hotURLs     = []string{"https://www.nexmark.com/goo/gle/top/item.htm?query=1", "https://www.nexmark.com/face/book/top/item.htm?query=1", "https://www.nexmark.com/bai/du/top/item.htm?query=1", "https://www.nexmark.com/app/le/top/item.htm?query=1"}
	alphabet    = "abcdefghijklmnopqrstuvwxyz"
	extraLength = 68 // of a bid; the published sizes are 54 to 81
)

// word appends a random text of 3 to n-1 letters, with a special character for
// one in thirteen.
func (r *rng) word(dst []byte, n int64, special byte) []byte {
	return r.letters(dst, 3+r.intn(n-3), special)
}

func (r *rng) letters(dst []byte, n int64, special byte) []byte {
	for n > 0 {
		x := r.next()
		for k := 0; k < 8 && n > 0; k, n = k+1, n-1 {
			b := x & 0xff
			x >>= 8
			if b%13 == 0 && special != 0 {
				dst = append(dst, special)
			} else {
				dst = append(dst, alphabet[b%26])
			}
		}
	}
	return dst
}

// channel appends the channel of bid id, and url its page.
func channel(dst []byte, seed uint64, id int64) []byte {
	r := draw(seed, id, seqChannel)
	if r.intn(2) > 0 {
		return append(dst, hotChannel[r.intn(4)]...)
	}
	return strconv.AppendInt(append(dst, "channel-"...), r.intn(channels), 10)
}

func url(dst []byte, seed uint64, id int64) []byte {
	r := draw(seed, id, seqChannel)
	if r.intn(2) > 0 {
		return append(dst, hotURLs[r.intn(4)]...)
	}
	n := r.intn(channels)
	u := draw(seed, n, seqChannel+100)
	dst = append(dst, "https://www.nexmark.com/"...)
	for range 3 {
		dst = append(u.word(dst, 5, '_'), '/')
	}
	dst = append(dst, "item.htm?query=1"...)
	if u.intn(10) > 0 {
		dst = strconv.AppendInt(append(dst, "&channel_id="...), reversed(n), 10)
	}
	return dst
}

// reversed is the absolute value of the number with its 32 bits reversed.
func reversed(n int64) int64 {
	var x uint32
	for i := range 32 {
		x |= uint32(n) >> i & 1 << (31 - i)
	}
	v := int64(int32(x))
	return max(v, -v)
}

func pick(dst []byte, r *rng, of []string) []byte { return append(dst, of[r.intn(int64(len(of)))]...) }

func name(dst []byte, r *rng) []byte {
	return pick(append(pick(dst, r, firstNames), ' '), r, lastNames)
}

func email(dst []byte, r *rng) []byte {
	dst = append(r.word(dst, 7, '_'), '@')
	return append(r.word(dst, 5, '_'), ".com"...)
}

func card(dst []byte, r *rng) []byte {
	for i := range 4 {
		if i > 0 {
			dst = append(dst, ' ')
		}
		n := r.intn(10000)
		for d := int64(1000); d > 0; d /= 10 {
			dst = append(dst, byte('0'+n/d%10))
		}
	}
	return dst
}
