package planner

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// serialTypes are the type names that stand for an integer with a sequence.
var serialTypes = map[string]types.T{
	"smallserial": types.TInt2, "serial2": types.TInt2, "serial": types.TInt4, "serial4": types.TInt4,
	"bigserial": types.TInt8, "serial8": types.TInt8,
}

// SequenceChange is what options do to a sequence besides its definition.
type SequenceChange struct {
	Restart   bool
	RestartAt int64
	Owner     []string // the parts of OWNED BY; nil: not given
	Name      []string // SEQUENCE NAME
}

// sequenceOptions are the options by name; none may be given twice.
type sequenceOptions map[string]*sql.SequenceOption

func (os sequenceOptions) number(name string) (n int64, given bool, err error) {
	o := os[name]
	if o == nil || o.Value == "" {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(o.Value, 10, 64)
	if err != nil {
		err = pgerr.New(pgerr.NumericValueOutOfRange, "value \"%s\" is out of range for type bigint", o.Value)
	}
	return n, true, err
}

// BindSequence applies options to a sequence: to a new one (create; its type is
// set if the options may not choose it), or to one that exists.
func (p *Planner) BindSequence(q *catalog.Sequence, list []sql.SequenceOption, create bool) (*SequenceChange, error) {
	b := p.newBinder(false)
	os := sequenceOptions{}
	for i := range list {
		o := &list[i]
		if os[o.Name] != nil {
			return nil, b.errAt(o, pgerr.SyntaxError, "conflicting or redundant options")
		}
		os[o.Name] = o
	}
	ch := &SequenceChange{}
	if o := os["owned_by"]; o != nil {
		if q.Identity {
			return nil, b.errAt(o, pgerr.SyntaxError, "invalid OWNED BY option")
		}
		ch.Owner = o.Names
	}
	if o := os["sequence_name"]; o != nil {
		ch.Name = o.Names
	}
	resetMin, resetMax := create, create
	if o := os["as"]; o != nil {
		t, err := b.typeName(o.Type)
		if err != nil {
			return nil, err
		}
		if t.ID != types.Int2 && t.ID != types.Int4 && t.ID != types.Int8 {
			what := "sequence"
			if q.Identity {
				what = "identity column"
			}
			return nil, pgerr.New(pgerr.InvalidParameterValue, "%s type must be smallint, integer, or bigint", what)
		}
		if !create {
			lo, hi := catalog.SequenceLimits(q.Type)
			resetMax, resetMin = q.Increment > 0 && q.Max == hi, q.Increment < 0 && q.Min == lo
		}
		q.Type = t
	}
	if err := os.bounds(q, resetMin, resetMax, create); err != nil {
		return nil, err
	}
	return ch, os.start(q, ch, create)
}

// bounds sets the increment, the bounds and the cycle.
func (os sequenceOptions) bounds(q *catalog.Sequence, resetMin, resetMax, create bool) error {
	if n, given, err := os.number("increment"); err != nil {
		return err
	} else if given {
		if q.Increment = n; n == 0 {
			return pgerr.New(pgerr.InvalidParameterValue, "INCREMENT must not be zero")
		}
	} else if create {
		q.Increment = 1
	}
	if o := os["cycle"]; o != nil {
		q.Cycle = !o.Off
	}
	lo, hi := catalog.SequenceLimits(q.Type)
	if n, given, err := os.number("maxvalue"); err != nil {
		return err
	} else if given {
		q.Max = n
	} else if os["maxvalue"] != nil || resetMax {
		if q.Max = hi; q.Increment < 0 {
			q.Max = -1
		}
	}
	if n, given, err := os.number("minvalue"); err != nil {
		return err
	} else if given {
		q.Min = n
	} else if os["minvalue"] != nil || resetMin {
		if q.Min = 1; q.Increment < 0 {
			q.Min = lo
		}
	}
	switch {
	case q.Max < lo || q.Max > hi:
		return pgerr.New(pgerr.InvalidParameterValue, "MAXVALUE (%d) is out of range for sequence data type %s", q.Max, q.Type)
	case q.Min < lo || q.Min > hi:
		return pgerr.New(pgerr.InvalidParameterValue, "MINVALUE (%d) is out of range for sequence data type %s", q.Min, q.Type)
	case q.Min >= q.Max:
		return pgerr.New(pgerr.InvalidParameterValue, "MINVALUE (%d) must be less than MAXVALUE (%d)", q.Min, q.Max)
	}
	return nil
}

// start sets where the sequence starts and starts again, and its cache.
func (os sequenceOptions) start(q *catalog.Sequence, ch *SequenceChange, create bool) error {
	if n, given, err := os.number("start"); err != nil {
		return err
	} else if given {
		q.Start = n
	} else if create {
		if q.Start = q.Min; q.Increment < 0 {
			q.Start = q.Max
		}
	}
	if err := sequenceInBounds(q, "START", q.Start); err != nil {
		return err
	}
	if os["restart"] != nil {
		n, given, err := os.number("restart")
		if err != nil {
			return err
		}
		if ch.Restart, ch.RestartAt = true, n; !given {
			ch.RestartAt = q.Start
		}
		if err := sequenceInBounds(q, "RESTART", ch.RestartAt); err != nil {
			return err
		}
	}
	if n, given, err := os.number("cache"); err != nil {
		return err
	} else if given {
		if q.Cache = n; n <= 0 {
			return pgerr.New(pgerr.InvalidParameterValue, "CACHE (%d) must be greater than zero", n)
		}
	} else if create {
		q.Cache = 1
	}
	return nil
}

// sequenceInBounds checks a value of an option against the bounds.
func sequenceInBounds(q *catalog.Sequence, what string, n int64) error {
	if n < q.Min {
		return pgerr.New(pgerr.InvalidParameterValue, "%s value (%d) cannot be less than MINVALUE (%d)", what, n, q.Min)
	}
	if n > q.Max {
		return pgerr.New(pgerr.InvalidParameterValue, "%s value (%d) cannot be greater than MAXVALUE (%d)", what, n, q.Max)
	}
	return nil
}

// serial makes the sequence of a column of a serial type, or nil.
func (r *relationBinder) serial(c *sql.ColumnDef) (types.T, error) {
	if c.Type == nil || c.Type.Schema != "" {
		return types.T{}, nil
	}
	t, ok := serialTypes[c.Type.Name]
	if !ok {
		return types.T{}, nil
	}
	switch {
	case r.source:
		return t, r.b.unsupported(c, "a serial column of a source", "Give the type of the values in the records.")
	case c.Type.Dims > 0:
		return t, pgerr.New(pgerr.FeatureNotSupported, "array of serial is not implemented").
			WithHint("Give the column an array type, such as integer[].").At(r.b.at(c))
	case c.Default != nil:
		return t, pgerr.New(pgerr.SyntaxError, "multiple default values specified for column \"%s\" of table \"%s\"", c.Name, r.name)
	case c.Null:
		return t, r.b.errAt(c, pgerr.SyntaxError, "conflicting NULL/NOT NULL declarations for column \"%s\" of table \"%s\"", c.Name, r.name)
	}
	q := &catalog.Sequence{Type: t, OwnedColumn: c.Name}
	r.sequences = append(r.sequences, q)
	_, err := r.b.p.BindSequence(q, nil, true)
	return t, err
}

// identity makes the sequence of an identity column.
func (r *relationBinder) identity(c *sql.ColumnDef, t types.T) error {
	if r.source {
		return r.b.unsupported(c, "an identity column of a source", "Give the type of the values in the records.")
	}
	q, err := r.b.p.IdentitySequence(c.Name, t, c.Sequence)
	r.sequences = append(r.sequences, q)
	return err
}

// IdentitySequence makes the sequence of an identity column of type t.
func (p *Planner) IdentitySequence(column string, t types.T, os []sql.SequenceOption) (*catalog.Sequence, error) {
	if t.ID != types.Int2 && t.ID != types.Int4 && t.ID != types.Int8 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "identity column type must be smallint, integer, or bigint")
	}
	q := &catalog.Sequence{Type: t, OwnedColumn: column, Identity: true}
	ch, err := p.BindSequence(q, os, true)
	if err == nil && ch.Name != nil {
		q.Name = ch.Name[len(ch.Name)-1]
		if len(ch.Name) > 1 {
			q.Schema = ch.Name[len(ch.Name)-2]
		}
	}
	return q, err
}

var namedNextval = regexp.MustCompile(`nextval\('((?:[^']|'')*)'(?:::regclass)?\)`)

// withSequenceOIDs makes nextval('name') in the text of a default name the sequence
// by OID.
func (b *binder) withSequenceOIDs(text string) (string, error) {
	var first error
	out := namedNextval.ReplaceAllStringFunc(text, func(use string) string {
		name := strings.ReplaceAll(namedNextval.FindStringSubmatch(use)[1], "''", "'")
		if b.p.Session == nil || b.p.Session.Options.Resolve == nil {
			return use
		}
		oid, err := b.p.Session.Options.Resolve(types.TRegclass, name)
		if n, numeric := strconv.ParseUint(name, 10, 32); numeric == nil {
			oid, err = int64(n), nil
		}
		if err != nil {
			first = err
			return use
		}
		return catalog.NextValueText(uint32(oid))
	})
	return out, first
}

// nextOf is the next value of an identity column's sequence.
func (b *binder) nextOf(c catalog.Column) (expr.Expr, error) {
	return b.storedExpr(catalog.NextValueText(c.Sequence), nil, c.Type)
}

// constantRegclass turns '123'::regclass into its value, so that it is not looked
// up for every row.
func constantRegclass(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		c, ok := x.(*expr.Cast)
		if !ok || c.To.ID != types.Regclass {
			return x
		}
		k, ok := c.Arg.(*expr.Const)
		if !ok {
			return x
		}
		text, _ := k.Val.(string)
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return x
		}
		return &expr.Const{Val: int64(n), Typ: c.To}
	})
}
