package json

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Decoder decodes objects into rows of fixed columns. It belongs to one
// goroutine.
type Decoder struct {
	cols []connector.Column
	root node
	vals []span // of the present record, by column
	shapes
	leaves  []leaf // of the present record, if tracing
	tracing bool
	name    []byte       // an unescaped or folded field name
	text    []byte       // an unescaped string
	spare   []vec.Vector // by column: takes the values of columns not asked for
	opt     types.Options
	// NullBad makes NULL of a value that does not fit its column, where NULL is
	// allowed, instead of making the record bad.
	NullBad bool
	// Debezium reads strings as Debezium writes them: bytea in base64, json and
	// jsonb as the text of a document.
	Debezium bool
}

// span is a column's raw value in the record; to 0: missing. Exact tells that it
// was found by the path or the name to the letter.
type span struct {
	from, to int
	exact    bool
}

// NewDecoder makes a decoder of the given columns; a column's invalid path is an
// error.
func NewDecoder(cols []connector.Column) (*Decoder, error) {
	d := &Decoder{cols: cols, vals: make([]span, len(cols))}
	var names []string
	var named []int
	for i, c := range cols {
		p := Path{{c.Name, -1}}
		if c.Path == "" {
			names, named = append(names, c.Name), append(named, i)
		} else {
			var err error
			if p, err = ParsePath(c.Path); err != nil {
				return nil, err
			}
		}
		d.root.add(p, i)
	}
	d.root.addFolded(names, named)
	d.off = len(d.root.exact) > 0
	return d, nil
}

// Append appends the object's fields to the columns at of c, one value each, and
// leaves the weight to the caller. A negative place means that the column's value
// is checked and dropped: whether a record is good must not depend on who reads
// it. On error nothing is appended. Rec is not kept.
func (d *Decoder) Append(c *vec.Chunk, at []int, rec []byte) error {
	try := d.shapes.use()
	if try && d.follow(c, at, rec) {
		return nil
	}
	if try {
		undo(c, at)
		d.missed++
		d.tracing, d.leaves = true, d.leaves[:0]
	}
	clear(d.vals)
	err := d.locate(rec)
	for i := 0; i < len(d.vals) && err == nil; i++ {
		err = d.fill(d.target(c, at, i), i, rec)
	}
	if err != nil {
		undo(c, at)
	} else if try {
		d.learn(rec)
	}
	d.tracing = false
	return err
}

// undo takes back what was appended to the columns for a row that is not to be.
func undo(c *vec.Chunk, at []int) {
	for _, k := range at {
		if k >= 0 {
			vec.Truncate(c.Cols[k], c.Rows)
		}
	}
}

// fill appends column i's value of the record that was located to v.
func (d *Decoder) fill(v vec.Vector, i int, rec []byte) error {
	s, col := d.vals[i], &d.cols[i]
	switch {
	case s.to == 0:
		return d.absent(v, i)
	case rec[s.from] == 'n':
		return d.null(v, i)
	}
	n := v.Len()
	err := d.value(v, rec[s.from:s.to])
	if err != nil && d.NullBad && !col.NotNull {
		vec.Truncate(v, n)
		v.AppendNull()
		return nil
	}
	if err != nil {
		err = pgerr.From(err).WithDetail("%s: %s", d.place(i), Short(rec[s.from:s.to]))
	}
	return err
}

// absent appends what stands for a value that the record does not have.
func (d *Decoder) absent(v vec.Vector, i int) error {
	if def := d.cols[i].Default; def != nil {
		v.AppendDatum(def)
		return nil
	}
	return d.null(v, i)
}

func (d *Decoder) null(v vec.Vector, i int) error {
	if col := &d.cols[i]; col.NotNull {
		return pgerr.New(pgerr.NotNullViolation, "null value in column \"%s\" violates not-null constraint", col.Name)
	}
	v.AppendNull()
	return nil
}

// place tells where in the record a column's value is.
func (d *Decoder) place(col int) string {
	if p := d.cols[col].Path; p != "" {
		return "Path \"" + p + "\" of the record"
	}
	return "Field \"" + d.cols[col].Name + "\" of the record"
}

func (d *Decoder) target(c *vec.Chunk, at []int, col int) vec.Vector {
	if at[col] >= 0 {
		return c.Cols[at[col]]
	}
	if d.spare == nil {
		d.spare = make([]vec.Vector, len(d.cols))
	}
	if d.spare[col] == nil {
		d.spare[col] = vec.New(d.cols[col].Typ, 1)
	}
	d.spare[col].Reset()
	return d.spare[col]
}

// Short makes text for a message of a piece of a record.
func Short(b []byte) string {
	if len(b) > 100 {
		return string(bytes.ToValidUTF8(b[:100], []byte("?"))) + "..."
	}
	return string(bytes.ToValidUTF8(b, []byte("?")))
}

// locate finds the values of the columns in the record. Of repeated fields the
// last counts.
func (d *Decoder) locate(b []byte) error {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return errSyntax(b, i)
	}
	start := i
	i, err := d.object(&d.root, b, i)
	if err != nil {
		return err
	}
	for _, c := range d.root.exact { // the whole record
		d.vals[c] = span{start, i, true}
	}
	if i = space(b, i); i != len(b) {
		return errSyntax(b, i)
	}
	return nil
}

// object finds the values below n in the object that begins at i, and returns its
// end.
func (d *Decoder) object(n *node, b []byte, i int) (int, error) {
	i = space(b, i+1)
	for k := 0; ; k++ {
		if i < len(b) && b[i] == '}' && k == 0 {
			return i + 1, nil
		}
		if i >= len(b) || b[i] != '"' {
			return 0, errSyntax(b, i)
		}
		e, escaped, err := str(b, i+1)
		if err != nil {
			return 0, err
		}
		to := d.field(n, k, b[i+1:e], escaped)
		if i = space(b, e+1); i >= len(b) || b[i] != ':' {
			return 0, errSyntax(b, i)
		}
		i = space(b, i+1)
		if to == nil {
			i, err = d.pass(b, i, false)
		} else {
			i, err = d.reach(to, b, i)
		}
		if err != nil {
			return 0, err
		}
		if i = space(b, i); i < len(b) && b[i] == ',' {
			i = space(b, i+1)
			continue
		}
		if i >= len(b) || b[i] != '}' {
			return 0, errSyntax(b, i)
		}
		return i + 1, nil
	}
}

// array finds the values below n in the array that begins at i.
func (d *Decoder) elements(n *node, b []byte, i int) (int, error) {
	i = space(b, i+1)
	for k := 0; ; k++ {
		if i < len(b) && b[i] == ']' && k == 0 {
			return i + 1, nil
		}
		var err error
		if k < len(n.items) && n.items[k] != nil {
			i, err = d.reach(n.items[k], b, i)
		} else {
			i, err = d.pass(b, i, false)
		}
		if err != nil {
			return 0, err
		}
		if i = space(b, i); i < len(b) && b[i] == ',' {
			i = space(b, i+1)
			continue
		}
		if i >= len(b) || b[i] != ']' {
			return 0, errSyntax(b, i)
		}
		return i + 1, nil
	}
}

// reach notes the value at i as that of n's columns, looks into it for those
// below, and returns its end.
func (d *Decoder) reach(n *node, b []byte, i int) (e int, err error) {
	for _, c := range n.below { // of an earlier field of the same name
		d.vals[c] = span{}
	}
	switch {
	case i < len(b) && b[i] == '{' && n.fields != nil:
		e, err = d.object(n, b, i)
	case i < len(b) && b[i] == '[' && n.items != nil:
		e, err = d.elements(n, b, i)
	default:
		e, err = d.pass(b, i, n.fields != nil || n.items != nil)
	}
	if err != nil {
		return 0, err
	}
	for _, c := range n.exact {
		d.vals[c] = span{i, e, true}
	}
	for _, c := range n.loose {
		if !d.vals[c].exact {
			d.vals[c] = span{i, e, false}
		}
	}
	return e, nil
}

// pass returns the end of the value at i, below which there are no columns; flat
// tells that there would be some if it were of another kind.
func (d *Decoder) pass(b []byte, i int, flat bool) (int, error) {
	e, err := value(b, i)
	if d.tracing && err == nil {
		d.leaves = append(d.leaves, leaf{i, e, flat})
	}
	return e, err
}

// field returns where the k-th field of an object at n leads, nil for nowhere.
func (d *Decoder) field(n *node, k int, name []byte, escaped bool) *node {
	if k < len(n.seen) {
		if f := &n.seen[k]; f.name == string(name) {
			return f.to
		}
	}
	if escaped {
		var err error
		if d.name, err = appendUnescaped(d.name[:0], name); err != nil {
			return nil // no column is named like that
		}
		return d.lookUp(n, d.name)
	}
	to := d.lookUp(n, name)
	if k == len(n.seen) && k < maxSeen {
		n.seen = append(n.seen, field{string(name), to})
	}
	return to
}

func (d *Decoder) lookUp(n *node, name []byte) *node {
	if to, ok := n.fields[string(name)]; ok {
		return to
	}
	if n.folded == nil {
		return nil
	}
	d.name = appendFolded(d.name[:0], name)
	return n.folded[string(d.name)]
}

// appendFolded appends the name in lower case. Dst may share its start.
func appendFolded(dst, name []byte) []byte {
	for len(name) > 0 {
		if c := name[0]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst, name = append(dst, c), name[1:]
			continue
		}
		r, n := utf8.DecodeRune(name)
		name = name[n:]
		// A lower case form may be longer than its capital, which must not
		// overwrite what is still to be read.
		if l := unicode.ToLower(r); utf8.RuneLen(l) == n {
			r = l
		} else if r == utf8.RuneError && n == 1 {
			r = '?'
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
