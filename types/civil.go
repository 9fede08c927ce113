package types

// Units of time in microseconds, and the Julian day of 2000-01-01.
const (
	usPerSec  int64 = 1_000_000
	usPerMin        = 60 * usPerSec
	usPerHour       = 60 * usPerMin
	usPerDay        = 24 * usPerHour

	epochJulian = 2451545 // Julian day of 2000-01-01
	unixToPG    = 946684800

	minDateDays int32 = -epochJulian             // 4714-11-24 BC
	maxDateDays int32 = 2147483494 - epochJulian // exclusive, 5874898-06-03
	minTS       int64 = -211813488000000000      // 4714-11-24 BC
	maxTS       int64 = 9223371331200000000      // exclusive, 294277-01-01
	maxTSDays   int32 = 109203528 - epochJulian  // exclusive
)

// CivilToDays returns the days from 2000-01-01 to a date of the proleptic
// Gregorian calendar. Year 0 is 1 BC. The month is 1 to 12; days beyond the
// month's end run on into the next.
func CivilToDays(year, month, day int) int {
	y := year
	if month <= 2 {
		y--
	}
	era := floorDiv(y, 400)
	yoe := y - era*400
	mp := (month + 9) % 12
	doy := (153*mp+2)/5 + day - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 730425
}

// DaysToCivil is the inverse of CivilToDays.
func DaysToCivil(days int) (year, month, day int) {
	z := days + 730425
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = doy - (153*mp+2)/5 + 1
	month = mp + 3
	if month > 12 {
		month -= 12
	}
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

func floorDiv[N int | int64](a, b N) N {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func isLeap(y int) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }

func daysIn(year, month int) int {
	if month == 2 && isLeap(year) {
		return 29
	}
	return [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
}

// splitTS splits a finite timestamp into its day and the time within the day.
func splitTS(us int64) (days int, tod int64) {
	d := floorDiv(us, usPerDay)
	return int(d), us - d*usPerDay
}

// tsFromDays joins a day and a time of day; ok is false out of range.
func tsFromDays(days int, tod int64) (int64, bool) {
	if days < int(minDateDays)-1 || days > int(maxTSDays)+1 {
		return 0, false
	}
	us := int64(days)*usPerDay + tod
	return us, us >= minTS && us < maxTS
}

// isoWeek returns the ISO 8601 year and week of a day.
func isoWeek(days int) (year, week int) {
	dow := floorMod(days+5, 7) // Monday is 0; 2000-01-01 was a Saturday
	thursday := days - dow + 3
	y, _, _ := DaysToCivil(thursday)
	return y, (thursday-CivilToDays(y, 1, 1))/7 + 1
}

// isoWeekStart returns the Monday that begins an ISO week.
func isoWeekStart(year, week int) int {
	d := CivilToDays(year, 1, 4)
	return d - floorMod(d+5, 7) + (week-1)*7
}

func floorMod[N int | int64](a, b N) N { return a - floorDiv(a, b)*b }
