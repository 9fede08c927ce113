package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// maxEdits is how far a name may be from what is written to be suggested.
const maxEdits = 3

// noColumn is the error for a column that does not exist.
func (b *binder) noColumn(sc *scope, table, name string, at sql.Node) error {
	var err *pgerr.Error
	if table != "" {
		err = pgerr.New(pgerr.UndefinedColumn, "column %s.%s does not exist", table, name)
	} else {
		err = pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", name)
	}
	hidden, first, second := closestColumns(sc, table, name)
	switch {
	case hidden != "":
		err = err.WithHint("There is a column named \"%s\" in table \"%s\", but it cannot be referenced from this part of the query.", name, hidden)
	case second != "":
		err = err.WithHint("Perhaps you meant to reference the column \"%s\" or the column \"%s\".", first, second)
	case first != "":
		err = err.WithHint("Perhaps you meant to reference the column \"%s\".", first)
	}
	return err.At(b.at(at))
}

// closestColumns finds what may have been meant by a column that cannot be seen:
// an item that has it, or the one or two columns with the closest names, by
// PostgreSQL's measure. Of three that are equally close none is suggested.
func closestColumns(sc *scope, table, name string) (hidden, first, second string) {
	dist := maxEdits + 1
	for s := sc; s != nil; s = s.outside() {
		for _, it := range slices.Concat(s.hidden, s.barred, s.items) {
			if it.name == "" || it.join {
				continue
			}
			penalty := 0
			if table != "" {
				penalty = catalog.Distance(table, it.name, maxEdits+1)
			}
			for _, c := range it.cols {
				if c.name == name && penalty == 0 {
					return it.name, "", ""
				}
				if c.system || penalty > dist {
					continue
				}
				d := catalog.Distance(name, c.name, dist+1-penalty)
				if d > len(name)/2 {
					continue
				}
				switch d += penalty; {
				case d < dist:
					dist, first, second = d, it.name+"."+c.name, ""
				case d > dist:
				case second != "":
					dist, first, second = d-1, "", ""
				case first != "":
					second = it.name + "." + c.name
				case dist <= maxEdits:
					first = it.name + "." + c.name
				}
			}
		}
	}
	return "", first, second
}
