package datagen

import (
	"hash/fnv"
	"math/bits"
	"strconv"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// fill appends the values of rows [lo, hi).
type fill func(v vec.Vector, lo, hi int64)

// field is a column on its way to a fill.
type field struct {
	col  connector.Column
	opts map[string]string // what follows fields.NAME.; taken out as it is used
	seed uint64
	key  uint64
	rows int64 // how many rows the field has
}

func (f *field) option(name string) string { return prefix + f.col.Name + "." + name }

// take returns an option and marks it as used.
func (f *field) take(name, def string) string {
	v, ok := f.opts[name]
	if !ok {
		return def
	}
	delete(f.opts, name)
	return v
}

func (f *field) build() (fill, error) {
	kind := f.take("kind", "random")
	if kind != "random" && kind != "sequence" {
		return nil, errValue(f.option("kind"), kind).WithHint("Available values: random, sequence.")
	}
	h := fnv.New64a()
	h.Write([]byte(f.col.Name))
	f.key = mix(f.seed) ^ h.Sum64()
	if s, ok := f.opts["seed"]; ok {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return nil, errValue(f.option("seed"), s)
		}
		delete(f.opts, "seed")
		f.key = mix(n)
	}
	out, err := f.byType(kind == "sequence")
	if err != nil {
		return nil, err
	}
	for k := range f.opts {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "option \"%s\" does not apply to a %s column of type %s", f.option(k), kind, f.col.Typ)
	}
	return out, nil
}

func (f *field) byType(sequence bool) (fill, error) {
	switch t := f.col.Typ; t.ID {
	case types.Float4, types.Float8:
		return f.float(sequence)
	case types.Text, types.Varchar, types.Bpchar:
		if !sequence {
			return f.text()
		}
		if t.ID == types.Bpchar {
			return nil, f.onlyRandom()
		}
		return f.line(sequence)
	case types.Bool, types.UUID:
		if sequence {
			return nil, f.onlyRandom()
		}
		if t.ID == types.UUID {
			return f.uuid, nil
		}
		return f.bool, nil
	case types.Int2, types.Int4, types.Int8, types.Numeric, types.Date, types.Time, types.Timestamp, types.Timestamptz:
		return f.line(sequence)
	}
	return nil, pgerr.Unsupported("type "+f.col.Typ.String()+" in a datagen source",
		"Available: integers, floats, numeric, boolean, text, date, time, timestamp, timestamptz and uuid.")
}

func (f *field) onlyRandom() error {
	return errValue(f.option("kind"), "sequence").WithHint("A column of type %s can only be random.", f.col.Typ)
}

// mix scatters the bits of x.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// random is the field's random number of a row.
func (f *field) random(row int64) uint64 {
	return mix(f.key + (uint64(row)+1)*0x9e3779b97f4a7c15)
}

// between scales a random number to [lo, hi].
func between(r uint64, lo, hi int64) int64 {
	span := uint64(hi) - uint64(lo) + 1
	if span == 0 {
		return int64(r)
	}
	n, _ := bits.Mul64(r, span)
	return int64(uint64(lo) + n)
}

func (f *field) bool(v vec.Vector, lo, hi int64) {
	c := v.(*vec.Col[bool])
	for n := lo; n < hi; n++ {
		c.Vals = append(c.Vals, f.random(n)>>63 == 1)
	}
}

// uuid makes UUIDs of version 4.
func (f *field) uuid(v vec.Vector, lo, hi int64) {
	c := v.(*vec.Col[types.UUIDValue])
	for n := lo; n < hi; n++ {
		a := f.random(n)
		b := mix(a + f.key)
		var u types.UUIDValue
		for i := range 8 {
			u[i], u[8+i] = byte(a>>(8*i)), byte(b>>(8*i))
		}
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
		c.Vals = append(c.Vals, u)
	}
}

func (f *field) float(sequence bool) (fill, error) {
	num := func(name string, def float64) (float64, error) {
		s := f.take(name, "")
		if s == "" {
			return def, nil
		}
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || x-x != 0 {
			return 0, errValue(f.option(name), s).WithHint("It must be a finite number.")
		}
		return x, nil
	}
	a, b, defA, defB := "min", "max", 0.0, 1.0
	if sequence {
		a, b, defA, defB = "start", "step", 1, 1
	}
	x, err := num(a, defA)
	if err != nil {
		return nil, err
	}
	y, err := num(b, defB)
	if err != nil {
		return nil, err
	}
	if !sequence && y < x {
		return nil, errValue(f.option(b), strconv.FormatFloat(y, 'g', -1, 64)).WithHint("It must not be less than \"%s\".", f.option(a))
	}
	value := func(n int64) float64 {
		if sequence {
			return x + y*float64(n)
		}
		return x + (y-x)*(float64(f.random(n)>>11)/(1<<53))
	}
	return func(v vec.Vector, lo, hi int64) {
		for n := lo; n < hi; n++ {
			switch c := v.(type) {
			case *vec.Col[float64]:
				c.Vals = append(c.Vals, value(n))
			case *vec.Col[float32]:
				c.Vals = append(c.Vals, float32(value(n)))
			}
		}
	}, nil
}

// text makes random lower case letters.
func (f *field) text() (fill, error) {
	width := 10
	limit := 1 << 20
	if t := f.col.Typ; t.ID != types.Text && t.Mod >= 4 {
		limit = int(t.Mod) - 4
		width = min(width, limit)
	}
	pad := 0
	if s := f.take("length", ""); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > limit {
			return nil, errValue(f.option("length"), s).WithHint("It must be between 0 and %d.", limit)
		}
		width = n
	}
	if f.col.Typ.ID == types.Bpchar && f.col.Typ.Mod >= 4 {
		pad = limit - width
	}
	return func(v vec.Vector, lo, hi int64) {
		c := v.(*vec.Bytes)
		for n := lo; n < hi; n++ {
			r := f.random(n)
			for i := range width {
				if i > 0 && i%8 == 0 {
					r = mix(r + f.key)
				}
				c.Data = append(c.Data, 'a'+byte((r>>(i%8*8)&0xff)*26>>8))
			}
			for range pad {
				c.Data = append(c.Data, ' ')
			}
			c.Finish()
		}
	}, nil
}
