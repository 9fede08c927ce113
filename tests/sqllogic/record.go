package sqllogic

import (
	"fmt"
	"regexp"
	"time"
)

// Kind tells what a record does.
type Kind int

// The kinds of records.
const (
	KindStatement     Kind = iota // run, and look at the outcome only
	KindQuery                     // run, and compare the rows
	KindSleep                     // wait
	KindSortMode                  // change the default sort mode
	KindSubstitution              // turn ${...} substitution on or off
	KindHashThreshold             // compare long results by their hash
	KindDisconnect                // end a connection
)

// SortMode tells how rows are ordered before they are compared.
type SortMode int

// The sort modes. SortDefault means what the file's control line says.
const (
	SortDefault SortMode = iota
	SortNone
	SortRows
	SortValues
)

// Position is a line of a file, for reports.
type Position struct {
	File string
	Line int
}

func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Expectation of an error. The zero value expects success.
type ErrorExpectation struct {
	Wanted  bool           // the record must fail
	Pattern *regexp.Regexp // when set, the error text must match
	Text    string         // when not empty, the error text must equal it
}

// Record is one step of a file.
type Record struct {
	Pos        Position
	Kind       Kind
	Connection string // name of the session; empty is the default one. With an @, what follows is its database
	SQL        string
	Error      ErrorExpectation
	Count      int64 // rows that a statement must report, -1 when any will do
	Types      string
	Sort       SortMode
	Label      string
	Expected   []string // result lines of a query
	Retry      int      // further tries after the first one
	Backoff    time.Duration
	On         bool // of KindSubstitution
	Threshold  int  // of KindHashThreshold
	OnlyIf     []string
	SkipIf     []string
	Subtest    string
}

// applies tells whether the record runs on a target with these labels.
func (r *Record) applies(labels map[string]bool) bool {
	for _, l := range r.SkipIf {
		if labels[l] {
			return false
		}
	}
	for _, l := range r.OnlyIf {
		if !labels[l] {
			return false
		}
	}
	return true
}

// File is a parsed .slt file, with the included ones in place.
type File struct {
	Path         string
	Records      []*Record
	NoRestart    bool // "# runner: no-restart"
	RealViews    bool // "# runner: real-views"
	StreamDBOnly bool // "# runner: streamdb-only"

	edit func(text string) string // when set, changes a file's text before it is parsed
}
