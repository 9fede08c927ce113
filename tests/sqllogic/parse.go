package sqllogic

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// ParseFile reads a .slt file and all that it includes.
func ParseFile(path string) (*File, error) {
	f := &File{Path: path}
	return f, f.include(path, 0)
}

// maxIncludeDepth stops a file that includes itself.
const maxIncludeDepth = 16

func (f *File) include(path string, depth int) error {
	if depth > maxIncludeDepth {
		return fmt.Errorf("%s: includes nest deeper than %d files", path, maxIncludeDepth)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if f.edit != nil {
		text = []byte(f.edit(string(text)))
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	p := &parser{file: f, path: path, lines: lines, depth: depth}
	return p.parse()
}

// parser walks the lines of one file and appends records to file.
type parser struct {
	file  *File
	path  string
	lines []string
	next  int
	depth int
	// Conditions and the connection hold for the next statement or query only.
	onlyIf, skipIf []string
	connection     string
	subtest        string
	halted         bool
}

func (p *parser) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.path, line, fmt.Sprintf(format, args...))
}

func (p *parser) parse() error {
	for p.next < len(p.lines) && !p.halted {
		line := strings.TrimRight(p.lines[p.next], " \t")
		p.next++
		if line == "" {
			continue
		}
		if strings.HasPrefix(line, "#") {
			p.comment(line)
			continue
		}
		if err := p.directive(strings.Fields(line), p.next); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) comment(line string) {
	word, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimLeft(line, "#")), "runner:")
	if !ok {
		return
	}
	switch strings.TrimSpace(word) {
	case "no-restart":
		p.file.NoRestart = true
	case "real-views":
		p.file.RealViews = true
	case "streamdb-only":
		p.file.StreamDBOnly = true
	}
}

// directive handles the first line of a record; line is its 1-based number.
func (p *parser) directive(words []string, line int) error {
	switch words[0] {
	case "statement":
		return p.statement(words[1:], line)
	case "query":
		return p.query(words[1:], line)
	case "system":
		return p.errorf(line, "system is refused: a test file never runs commands")
	case "halt":
		p.halted = true
		return nil
	}
	if len(words) < 2 {
		return p.errorf(line, "%s needs an argument, or is no directive of a test file", words[0])
	}
	arg := words[1]
	switch words[0] {
	case "connection":
		p.connection = arg
	case "disconnect":
		p.add(&Record{Kind: KindDisconnect, Connection: arg}, line)
	case "onlyif":
		p.onlyIf = append(p.onlyIf, arg)
	case "skipif":
		p.skipIf = append(p.skipIf, arg)
	case "subtest":
		p.subtest = arg
	case "include":
		return p.includeGlob(arg, line)
	case "control":
		return p.control(words[1:], line)
	case "sleep":
		d, err := time.ParseDuration(arg)
		if err != nil {
			return p.errorf(line, "sleep: %v", err)
		}
		p.add(&Record{Kind: KindSleep, Backoff: d}, line)
	case "hash-threshold":
		n, err := strconv.Atoi(arg)
		if err != nil {
			return p.errorf(line, "hash-threshold: %v", err)
		}
		p.add(&Record{Kind: KindHashThreshold, Threshold: n}, line)
	default:
		return p.errorf(line, "unknown directive %q", words[0])
	}
	return nil
}

func (p *parser) includeGlob(pattern string, line int) error {
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(p.path), pattern))
	if err != nil {
		return p.errorf(line, "include: %v", err)
	}
	if len(paths) == 0 {
		return p.errorf(line, "include: nothing matches %q", pattern)
	}
	sort.Strings(paths)
	for _, path := range paths {
		if err := p.file.include(path, p.depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) control(words []string, line int) error {
	if len(words) != 2 {
		return p.errorf(line, "control needs a name and a value")
	}
	switch words[0] {
	case "sortmode":
		mode, ok := sortModes[words[1]]
		if !ok {
			return p.errorf(line, "unknown sort mode %q", words[1])
		}
		p.add(&Record{Kind: KindSortMode, Sort: mode}, line)
	case "substitution":
		if words[1] != "on" && words[1] != "off" {
			return p.errorf(line, "control substitution takes on or off")
		}
		p.add(&Record{Kind: KindSubstitution, On: words[1] == "on"}, line)
	default:
		return p.errorf(line, "control %s is not supported", words[0])
	}
	return nil
}

var sortModes = map[string]SortMode{"nosort": SortNone, "rowsort": SortRows, "valuesort": SortValues}

// add completes a record with what the lines before it said, and appends it.
func (p *parser) add(r *Record, line int) {
	r.Pos = Position{File: p.path, Line: line}
	r.Subtest = p.subtest
	r.OnlyIf, r.SkipIf = p.onlyIf, p.skipIf
	p.onlyIf, p.skipIf = nil, nil
	if r.Kind == KindStatement || r.Kind == KindQuery {
		r.Connection, p.connection = p.connection, ""
	}
	p.file.Records = append(p.file.Records, r)
}

func (p *parser) statement(words []string, line int) error {
	r := &Record{Kind: KindStatement, Count: -1}
	words, err := p.retry(r, words, line)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return p.errorf(line, "statement needs ok, count or error")
	}
	switch words[0] {
	case "ok":
	case "count":
		if len(words) != 2 {
			return p.errorf(line, "statement count needs one number")
		}
		if r.Count, err = strconv.ParseInt(words[1], 10, 64); err != nil {
			return p.errorf(line, "statement count: %v", err)
		}
	case "error":
		if r.Error, err = p.errorExpectation(words[1:], line); err != nil {
			return err
		}
	default:
		return p.errorf(line, "statement %s: want ok, count or error", words[0])
	}
	sql, results := p.body(r.Error.Wanted)
	if sql == "" {
		return p.errorf(line, "statement without SQL")
	}
	r.SQL = sql
	r.Error.Text = results
	p.add(r, line)
	return nil
}

func (p *parser) query(words []string, line int) error {
	r := &Record{Kind: KindQuery, Count: -1}
	words, err := p.retry(r, words, line)
	if err != nil {
		return err
	}
	if len(words) > 0 && words[0] == "error" {
		if r.Error, err = p.errorExpectation(words[1:], line); err != nil {
			return err
		}
		r.SQL, r.Error.Text = p.body(true)
		p.add(r, line)
		return nil
	}
	if len(words) > 0 {
		r.Types = words[0]
		words = words[1:]
	}
	if len(words) > 0 {
		if mode, ok := sortModes[words[0]]; ok {
			r.Sort = mode
			words = words[1:]
		}
	}
	r.Label = strings.Join(words, " ")
	sql, results := p.body(false)
	if sql == "" {
		return p.errorf(line, "query without SQL")
	}
	r.SQL = sql
	if results != "" {
		r.Expected = strings.Split(results, "\n")
	}
	p.add(r, line)
	return nil
}

// retry takes "retry N backoff D" off the end of a record's first line.
func (p *parser) retry(r *Record, words []string, line int) ([]string, error) {
	n := len(words)
	if n < 4 || words[n-4] != "retry" || words[n-2] != "backoff" {
		return words, nil
	}
	var err error
	if r.Retry, err = strconv.Atoi(words[n-3]); err != nil {
		return nil, p.errorf(line, "retry: %v", err)
	}
	if r.Backoff, err = time.ParseDuration(words[n-1]); err != nil {
		return nil, p.errorf(line, "backoff: %v", err)
	}
	return words[:n-4], nil
}

func (p *parser) errorExpectation(words []string, line int) (ErrorExpectation, error) {
	e := ErrorExpectation{Wanted: true}
	if len(words) == 0 {
		return e, nil
	}
	re, err := regexp.Compile(strings.Join(words, " "))
	if err != nil {
		return e, p.errorf(line, "error pattern: %v", err)
	}
	e.Pattern = re
	return e, nil
}

// body reads the SQL of a record up to a blank line, and what follows a line
// of ---- up to the next blank line. An expected error text may itself hold
// blank lines, so with isError it ends at two of them.
func (p *parser) body(isError bool) (sql, results string) {
	var s, r []string
	inResults := false
	for p.next < len(p.lines) {
		line := p.lines[p.next]
		p.next++
		switch {
		case !inResults && strings.TrimRight(line, " \t") == "----":
			inResults = true
		case line == "" && inResults && isError && p.next < len(p.lines) && p.lines[p.next] != "":
			r = append(r, line)
		case line == "":
			return strings.Join(s, "\n"), strings.Join(r, "\n")
		case inResults:
			r = append(r, line)
		default:
			s = append(s, line)
		}
	}
	return strings.Join(s, "\n"), strings.Join(r, "\n")
}
