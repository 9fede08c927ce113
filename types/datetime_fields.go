package types

// Date and time input is read in two steps, as PostgreSQL reads it: splitFields
// cuts it into fields by their form, dtDecoder gives them their meaning.

// dtField is one field of date and time input, in lower case.
type dtField struct {
	kind byte // one of the field kinds
	text string
}

// The kinds of fields.
const (
	dtNumber  = 'n' // digits, perhaps with a point
	dtDate    = 'd' // has separators: a date, the name of a zone, hhmmss-08
	dtTime    = 't' // has a colon
	dtString  = 's' // letters
	dtOffset  = 'z' // a sign and digits
	dtSpecial = 'x' // a sign and letters
)

// The most fields and bytes that input may have.
const (
	maxDTFields = 25
	maxDTBytes  = 153
)

func isLetter(c byte) bool { c |= 0x20; return c >= 'a' && c <= 'z' }

func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }

func isPunct(c byte) bool { return c > ' ' && c < 0x7f && !isAlnum(c) }

// splitFields cuts input into fields; false where it has bytes that no field has.
func splitFields(s string) ([]dtField, bool) {
	var out []dtField
	size, i := 0, 0
	for i < len(s) {
		c := s[i]
		if isSpace(c) || isPunct(c) && c != '+' && c != '-' && c != '.' {
			i++
			continue
		}
		if len(out) >= maxDTFields {
			return nil, false
		}
		var f dtField
		switch {
		case isDigit(c):
			f, i = numberField(s, i)
		case c == '.':
			f, i = takeField(dtNumber, s, i, i+1, isDigit)
		case isLetter(c):
			f, i = wordField(s, i)
		case c == '+' || c == '-':
			j := i + 1
			for j < len(s) && isSpace(s[j]) {
				j++
			}
			switch {
			case j < len(s) && isDigit(s[j]):
				f, j = takeField(dtOffset, s, j, j, func(c byte) bool { return isDigit(c) || c == ':' || c == '.' || c == '-' })
			case j < len(s) && isLetter(s[j]):
				f, j = takeField(dtSpecial, s, j, j, isLetter)
			default:
				return nil, false
			}
			f.text, i = s[i:i+1]+f.text, j
		default:
			return nil, false
		}
		if size += len(f.text) + 1; size > maxDTBytes {
			return nil, false
		}
		out = append(out, f)
	}
	return out, true
}

// takeField makes a field of s[from:to] and all that follows and belongs to it.
func takeField(kind byte, s string, from, to int, more func(byte) bool) (dtField, int) {
	for to < len(s) && more(s[to]) {
		to++
	}
	return dtField{kind, lowerASCII(s[from:to])}, to
}

func lowerASCII(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] |= 0x20
				}
			}
			return string(b)
		}
	}
	return s
}

// numberField reads a field that begins with a digit.
func numberField(s string, from int) (dtField, int) {
	to := from
	for to < len(s) && isDigit(s[to]) {
		to++
	}
	if to == len(s) {
		return dtField{dtNumber, s[from:to]}, to
	}
	switch sep := s[to]; sep {
	case ':':
		return takeField(dtTime, s, from, to, func(c byte) bool { return isDigit(c) || c == ':' || c == '.' })
	case '-', '/', '.':
		to++
		if to == len(s) || !isDigit(s[to]) {
			return takeField(dtDate, s, from, to, func(c byte) bool { return isAlnum(c) || c == sep })
		}
		kind := byte(dtDate)
		if sep == '.' {
			kind = dtNumber
		}
		for to < len(s) && isDigit(s[to]) {
			to++
		}
		if to < len(s) && s[to] == sep {
			return takeField(dtDate, s, from, to, func(c byte) bool { return isDigit(c) || c == sep })
		}
		return dtField{kind, s[from:to]}, to
	}
	return dtField{dtNumber, s[from:to]}, to
}

// wordField reads a field that begins with a letter: a word, or with what is
// glued to it a date or the name of a zone.
func wordField(s string, from int) (dtField, int) {
	f, to := takeField(dtString, s, from, from, isLetter)
	if to == len(s) {
		return f, to
	}
	c := s[to]
	glued := c == '-' || c == '/' || c == '.'
	if c == '+' || isDigit(c) {
		_, known := dtWords[f.text]
		glued = !known
	}
	if glued {
		return takeField(dtDate, s, from, to, func(c byte) bool {
			return isAlnum(c) || c == '+' || c == '-' || c == '/' || c == '_' || c == '.' || c == ':'
		})
	}
	return f, to
}

// dtWord is the meaning of a word: what it settles and which value.
type dtWord struct {
	role dtMask
	val  int
}

// dtMask is a set of what input settles.
type dtMask uint32

const (
	hasMonth dtMask = 1 << iota
	hasYear
	hasDay
	hasDoy
	hasDow
	hasHour
	hasMinute
	hasSecond
	hasFraction // with hasSecond, all of the seconds
	hasZone
	hasSummer     // by a zone's abbreviation, or perhaps
	hasSummerMark // DST behind a zone
	hasAMPM
	hasEra
	isReserved // now, today, infinity and so on
	isUnit     // labels the next field
	isTimeMark // the T before a time
	isFiller

	fullDate = hasYear | hasMonth | hasDay
	fullTime = hasHour | hasMinute | hasSecond | hasFraction
)

// Values of isReserved, isUnit and isTimeMark.
const (
	wordNone = iota
	wordNow
	wordToday
	wordTomorrow
	wordYesterday
	wordAllballs
	wordEpoch
	wordInfinity
	wordNegInfinity
	unitYear
	unitMonth
	unitDay
	unitHour
	unitMinute
	unitSecond
	unitJulian
	unitTime
	unitOther
)

// dtWords are the words of dates and times besides the zones.
var dtWords = map[string]dtWord{
	"-infinity": {isReserved, wordNegInfinity}, "+infinity": {isReserved, wordInfinity}, "infinity": {isReserved, wordInfinity},
	"epoch": {isReserved, wordEpoch}, "now": {isReserved, wordNow}, "today": {isReserved, wordToday},
	"tomorrow": {isReserved, wordTomorrow}, "yesterday": {isReserved, wordYesterday}, "allballs": {isReserved, wordAllballs},
	"ad": {hasEra, 0}, "bc": {hasEra, 1}, "am": {hasAMPM, 0}, "pm": {hasAMPM, 1}, "at": {isFiller, 0}, "on": {isFiller, 0},
	"dst": {hasSummer, 3600}, "t": {isTimeMark, unitTime},
	"y": {isUnit, unitYear}, "m": {isUnit, unitMonth}, "d": {isUnit, unitDay}, "h": {isUnit, unitHour}, "mm": {isUnit, unitMinute},
	"s": {isUnit, unitSecond}, "j": {isUnit, unitJulian}, "jd": {isUnit, unitJulian}, "julian": {isUnit, unitJulian},
	"dow": {isUnit, unitOther}, "doy": {isUnit, unitOther}, "isodow": {isUnit, unitOther}, "isoyear": {isUnit, unitOther},
	"jan": {hasMonth, 1}, "january": {hasMonth, 1}, "feb": {hasMonth, 2}, "february": {hasMonth, 2}, "mar": {hasMonth, 3},
	"march": {hasMonth, 3}, "apr": {hasMonth, 4}, "april": {hasMonth, 4}, "may": {hasMonth, 5}, "jun": {hasMonth, 6},
	"june": {hasMonth, 6}, "jul": {hasMonth, 7}, "july": {hasMonth, 7}, "aug": {hasMonth, 8}, "august": {hasMonth, 8},
	"sep": {hasMonth, 9}, "sept": {hasMonth, 9}, "september": {hasMonth, 9}, "oct": {hasMonth, 10}, "october": {hasMonth, 10},
	"nov": {hasMonth, 11}, "november": {hasMonth, 11}, "dec": {hasMonth, 12}, "december": {hasMonth, 12},
	"sun": {hasDow, 0}, "sunday": {hasDow, 0}, "mon": {hasDow, 1}, "monday": {hasDow, 1}, "tue": {hasDow, 2}, "tues": {hasDow, 2},
	"tuesday": {hasDow, 2}, "wed": {hasDow, 3}, "weds": {hasDow, 3}, "wednesday": {hasDow, 3}, "thu": {hasDow, 4},
	"thur": {hasDow, 4}, "thurs": {hasDow, 4}, "thursday": {hasDow, 4}, "fri": {hasDow, 5}, "friday": {hasDow, 5},
	"sat": {hasDow, 6}, "saturday": {hasDow, 6},
}
