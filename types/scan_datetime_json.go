package types

import (
	"fmt"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// A JSONTime is a date or time of jsonpath.
type JSONTime struct {
	Type  T
	Value Datum
	Zone  string // of a timestamp with time zone: the offset it was written with
}

// isoForms are the pictures of the dates and times that .datetime() knows by
// itself.
var isoForms = func() (out [][]fmtNode) {
	clocks := []string{"HH24:MI:SS.USTZH:TZM", "HH24:MI:SS.USTZH", "HH24:MI:SSTZH:TZM", "HH24:MI:SSTZH", "HH24:MI:SS.US", "HH24:MI:SS"}
	add := func(f string) { out = append(out, scanDTFormat(f)) }
	add("YYYY-MM-DD")
	for _, c := range clocks {
		add(c)
	}
	for _, c := range clocks {
		add("YYYY-MM-DD " + c)
		add(`YYYY-MM-DD"T"` + c)
	}
	return out
}()

// ParseJSONTime reads a date or time in ISO 8601, which says by its parts what it
// is.
func ParseJSONTime(s string) (JSONTime, error) {
	for _, nodes := range isoForms {
		if t, err := readJSONTime(s, nodes); err == nil {
			return t, nil
		}
	}
	return JSONTime{}, pgerr.New("22031", "datetime format is not recognized: \"%s\"", s).
		WithHint("Use a datetime template argument to specify the input data format.")
}

// ParseJSONTimeFormat reads a date or time by a template, which must match wholly and
// says by its fields what it is.
func ParseJSONTimeFormat(s, template string) (JSONTime, error) {
	return readJSONTime(s, parseDTFormat(template))
}

// CheckJSONTimeFormat finds what may not be in a template of jsonpath.
func CheckJSONTimeFormat(template string) error {
	for _, n := range parseDTFormat(template) {
		bad := n.lit
		switch {
		case n.pat != "" || n.isText || strings.Contains("-./,':; ", n.lit):
			continue
		case n.lit == `"`: // behind a backslash
			bad = `\`
		}
		return badDatetime("invalid datetime format separator: \"%s\"", bad)
	}
	return nil
}

func readJSONTime(s string, nodes []fmtNode) (t JSONTime, err error) {
	d, err := scanDateTime(s, nodes, true)
	if err != nil {
		return t, err
	}
	dated, timed, zoned := kindsOf(nodes)
	v, err := d.value()
	switch {
	case err != nil:
		return t, err
	case !dated && !timed:
		return t, badDatetime("datetime format is not dated and not timed")
	case !timed && zoned:
		return t, badDatetime("datetime format is zoned but not timed")
	case !timed:
		days, err := v.date(s)
		return JSONTime{Type: TDate, Value: days}, err
	case zoned && !dated:
		return JSONTime{Type: TTimetz, Value: timetzDatum(TimetzValue{v.round(v.tod), v.off})}, nil
	case !dated:
		return JSONTime{Type: TTime, Value: v.round(v.tod)}, nil
	case zoned:
		us, err := v.timestamptz(nil)
		if err != nil {
			return t, errTypeRange("timestamptz")
		}
		zone := fmt.Sprintf("%+03d:%02d", d.tzSign*d.tzHour, d.tzMin)
		return JSONTime{Type: TTimestamptz, Value: us, Zone: zone}, nil
	}
	us, ok := v.timestamp()
	if !ok || us < minTS || us >= maxTS {
		return t, errTS()
	}
	return JSONTime{Type: TTimestamp, Value: v.round(us)}, nil
}

// kindsOf says whether a picture has fields of a date, a time of day and a zone.
func kindsOf(nodes []fmtNode) (dated, timed, zoned bool) {
	for _, n := range nodes {
		switch n.pat {
		case "", "FX", "IW":
		case "TZH", "TZM":
			zoned = true
		case "AM", "PM", "A.M.", "P.M.", "HH", "HH12", "HH24", "MI", "SS", "SSSS", "SSSSS", "MS", "US",
			"FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
			timed = true
		default:
			dated = true
		}
	}
	return dated, timed, zoned
}
