package sqllogic

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// outsideVerdict is what became of one file.
type outsideVerdict struct {
	unit    outsideUnit
	verdict string // passed, failed or not applicable
	class   string // why
	detail  string // the first record of that class, with what went wrong
	others  []string
	records [3]int // passed, failed, not applicable
}

const (
	verdictPassed = "passed"
	verdictFailed = "failed"
	verdictNot    = "not applicable"
)

func (v outsideVerdict) inapplicable(why string) outsideVerdict {
	v.verdict, v.class = verdictNot, why
	return v
}

// judge looks at each record that did not go as the file expects. Where
// PostgreSQL does not do what the file expects either, the expectation is
// RisingWave's own and says nothing about this server.
func (v outsideVerdict) judge(file *File, ours, postgres []outcome) outsideVerdict {
	oursBroken, pgBroken := false, false
	var failed, foreign []string
	var failedClass, foreignClass string
	for i, rec := range file.Records {
		if ours[i].skipped {
			continue
		}
		text := judgeRecord(rec, ours[i])
		if text == "" {
			v.records[0]++
			if postgres != nil && postgres[i].err != nil && !rec.Error.Wanted {
				pgBroken = true
			}
			continue
		}
		j := recordJudgement{rec: rec, ours: ours[i], pg: postgres[i], oursBroken: oursBroken, pgBroken: pgBroken}
		class, real := j.classify()
		line := fmt.Sprintf("%s:%d: %s\n%s\n%s", filepath.Base(rec.Pos.File), rec.Pos.Line, class, indent(rec.SQL), indent(text))
		if postgres[i].err != nil {
			line += "\n    PostgreSQL: " + postgres[i].message()
		}
		switch {
		case real:
			v.records[1]++
			failed = append(failed, line)
			if failedClass == "" {
				failedClass = class
			}
		default:
			v.records[2]++
			foreign = append(foreign, line)
			if foreignClass == "" {
				foreignClass = class
			}
		}
		oursBroken = oursBroken || rec.Kind == KindStatement && ours[i].err != nil
		pgBroken = pgBroken || rec.Kind == KindStatement && postgres[i].err != nil && !rec.Error.Wanted
	}
	switch {
	case len(failed) > 0:
		v.verdict, v.class, v.detail, v.others = verdictFailed, failedClass, failed[0], failed[1:]
	case len(foreign) > 0:
		v.verdict, v.class, v.detail, v.others = verdictNot, foreignClass, foreign[0], foreign[1:]
	default:
		v.verdict = verdictPassed
	}
	return v
}

// recordJudgement is a record that failed, with what both servers did.
type recordJudgement struct {
	rec                  *Record
	ours, pg             outcome
	oursBroken, pgBroken bool // an earlier statement failed that should not have
}

// followOn are the errors of a statement whose object was never made.
var followOn = map[string]bool{"42P01": true, "42703": true, "3F000": true, "25P02": true, "26000": true, "42704": true}

// classify returns the kind of a failure, and whether it is one of this server.
func (j recordJudgement) classify() (class string, real bool) {
	switch pgText := judgeRecord(j.rec, j.pg); {
	case j.ours.late:
		return "over the time limit", true
	case j.ours.unset != nil:
		return "needs variables of its own harness", false
	case j.oursBroken && j.ours.err != nil && followOn[j.ours.code()]:
		return "follows from an earlier failure", false
	case pgText == "":
		return j.ourFault(), true
	case sameOutcome(j.rec, j.ours, j.pg) && j.pg.err == nil:
		return "PostgreSQL answers as StreamDB does", false
	case j.pg.err != nil:
		return "RisingWave's own: " + clip(j.pg.message()), false
	case j.oursBroken || j.pgBroken:
		return "follows from an earlier failure", false
	case ownContents.MatchString(j.rec.SQL):
		return "contents of a server's own catalog", false
	}
	return "neither RisingWave's answer nor PostgreSQL's", true
}

// ourFault names the kind of a failure where PostgreSQL and the suite agree.
func (j recordJudgement) ourFault() string {
	switch code := j.ours.code(); {
	case j.ours.err != nil && code == "":
		return "crash or lost connection"
	case code != "":
		return code + " " + clip(j.ours.message())
	case j.rec.Error.Wanted:
		return "no error, but PostgreSQL has " + j.pg.code()
	}
	return "wrong result"
}

// ownContents matches what tells about a server: its catalog, version, settings
// and plans.
var ownContents = regexp.MustCompile(`(?is)\bpg_[a-z]+|information_schema|version|^\s*(explain|show|describe)\b`)

// clip shortens a message to its first line.
func clip(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return text
}
