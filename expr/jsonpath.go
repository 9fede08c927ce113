package expr

import (
	"strings"
	"sync"

	"github.com/streamdb/streamdb/expr/are"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// pathItem is a value of the SQL/JSON path language: JSON, or a date or time.
type pathItem struct {
	kind pathKind
	raw  []byte        // canonical jsonb of JSON values
	num  types.Decimal // of numbers
	str  string        // of strings, unescaped
	when types.Datum   // of dates and times, of the type typ
	typ  types.T
	zone string // of a timestamp with time zone: the offset it was written with
}

type pathKind uint8

const (
	pathNull pathKind = iota
	pathBool
	pathNumber
	pathString
	pathArray
	pathObject
	pathDatetime
)

var pathKindNames = [...]string{"null", "boolean", "number", "string", "array", "object", ""}

// jsonItem makes an item of canonical jsonb.
func jsonItem(raw []byte) pathItem {
	i := pathItem{raw: raw}
	switch raw[0] {
	case 'n':
	case 't', 'f':
		i.kind = pathBool
	case '"':
		i.kind, i.str = pathString, string(types.JSONUnquote(raw))
	case '[':
		i.kind = pathArray
	case '{':
		i.kind = pathObject
	default:
		i.kind = pathNumber
		i.num, _ = types.ParseDecimal(string(raw))
	}
	return i
}

func numberItem(d types.Decimal) pathItem {
	return pathItem{kind: pathNumber, num: d, raw: types.AppendDecimalText(nil, d)}
}

func stringItem(s string) pathItem {
	return pathItem{kind: pathString, str: s, raw: types.AppendJSONString(nil, s)}
}

func boolItem(b bool) pathItem {
	i := pathItem{kind: pathBool, raw: []byte("false")}
	if b {
		i.raw = []byte("true")
	}
	return i
}

// json appends the item as jsonb.
func (i *pathItem) json(dst []byte) []byte {
	if i.kind == pathDatetime && i.zone != "" {
		z, err := types.SaneZone(i.zone)
		if err == nil {
			return appendJSON(dst, i.typ, i.when, &types.Options{Zone: z})
		}
	}
	if i.kind == pathDatetime {
		dst = appendJSON(dst, i.typ, i.when, &types.Options{})
		if n := len(dst); i.typ.ID == types.Timetz && (dst[n-4] == '+' || dst[n-4] == '-') { // minutes too
			dst = append(dst[:n-1], `:00"`...)
		}
		return dst
	}
	return append(dst, i.raw...)
}

// truth is a value of three-valued logic.
type truth uint8

const (
	isFalse truth = iota
	isTrue
	isUnknown
)

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

// pathEval evaluates a path over one document.
type pathEval struct {
	path    *types.JSONPathValue
	root    pathItem
	vars    []byte
	current pathItem
	// size is that of the innermost array whose subscripts are evaluated; -1: none.
	size int
	// lenient: structural errors are none, as in lax mode and below .**
	lenient bool
	// probe: it is only asked whether there is an item. A sign then passes over what
	// is no number.
	probe   bool
	zoned   bool // the functions called …_tz may compare times across zones
	zone    *types.Options
	regexes map[*types.PathItem]*are.Regexp
	fatal   error // ends the statement even when errors are to be silent
}

// pathSink takes the items a path yields; it returns false to end early.
type pathSink func(pathItem) bool

// collect gathers the items that it is given.
func collectItems(to *[]pathItem) pathSink {
	return func(i pathItem) bool { *to = append(*to, i); return true }
}

func pathError(code pgerr.Code, format string, args ...any) error {
	return pgerr.New(code, format, args...)
}

// next applies the accessor behind i to v, or yields v.
func (e *pathEval) next(i *types.PathItem, v pathItem, yield pathSink) (bool, error) {
	if i == nil || i.Next == nil {
		return yield(v), nil
	}
	return e.item(i.Next, v, !e.path.Strict, yield)
}

// item yields what i makes of v. more tells whether to go on. With unwrap, an
// array stands for its elements where i needs another kind of value.
func (e *pathEval) item(i *types.PathItem, v pathItem, unwrap bool, yield pathSink) (more bool, err error) {
	if e.fatal != nil {
		return false, e.fatal
	}
	switch i.Op {
	case types.PathNull:
		return e.next(i, pathItem{raw: []byte("null")}, yield)
	case types.PathBool:
		return e.next(i, boolItem(i.Text == "t"), yield)
	case types.PathNumber:
		return e.next(i, numberItem(i.Num), yield)
	case types.PathString:
		return e.next(i, stringItem(i.Text), yield)
	case types.PathVariable:
		if e.vars == nil {
			return e.next(i, pathItem{raw: []byte("null")}, yield)
		}
		val, ok := types.JSONField(e.vars, i.Text)
		if !ok {
			e.fatal = pgerr.New(pgerr.UndefinedObject, "could not find jsonpath variable \"%s\"", i.Text)
			return false, e.fatal
		}
		return e.next(i, jsonItem(val), yield)
	case types.PathRoot:
		return e.next(i, e.root, yield)
	case types.PathCurrent:
		return e.next(i, e.current, yield)
	case types.PathLast:
		return e.next(i, numberItem(types.DecimalFromInt64(int64(e.size-1))), yield)
	case types.PathAdd, types.PathSub, types.PathMul, types.PathDiv, types.PathMod:
		return e.arithmetic(i, v, yield)
	case types.PathPlus, types.PathMinus:
		return e.sign(i, v, yield)
	case types.PathKey, types.PathAnyKey, types.PathAnyArray, types.PathIndex, types.PathAny:
		return e.access(i, v, unwrap, yield)
	case types.PathFilter:
		if unwrap && v.kind == pathArray {
			return e.elements(v, func(x pathItem) (bool, error) { return e.item(i, x, false, yield) })
		}
		saved := e.current
		e.current = v
		t := e.condition(i.Left, v)
		e.current = saved
		if t != isTrue || e.fatal != nil {
			return true, e.fatal
		}
		return e.next(i, v, yield)
	case types.PathMethod:
		return e.method(i, v, unwrap, yield)
	}
	switch t := e.condition(i, v); {
	case e.fatal != nil:
		return false, e.fatal
	case t == isUnknown:
		return e.next(i, pathItem{raw: []byte("null")}, yield)
	default:
		return e.next(i, boolItem(t == isTrue), yield)
	}
}

// elements calls f for each element of an array until it says no.
func (e *pathEval) elements(v pathItem, f func(pathItem) (bool, error)) (more bool, err error) {
	more = true
	types.JSONArrayEach(v.raw, func(x []byte) bool {
		more, err = f(jsonItem(x))
		return more && err == nil
	})
	return more, err
}

func (e *pathEval) access(i *types.PathItem, v pathItem, unwrap bool, yield pathSink) (bool, error) {
	inner := func() (bool, error) {
		return e.elements(v, func(x pathItem) (bool, error) { return e.item(i, x, false, yield) })
	}
	each := func(x pathItem) (bool, error) { return e.next(i, x, yield) }
	switch i.Op {
	case types.PathKey:
		switch {
		case v.kind == pathObject:
			if val, ok := types.JSONField(v.raw, i.Text); ok {
				return each(jsonItem(val))
			}
			if !e.lenient {
				return false, pathError("2203A", "JSON object does not contain key \"%s\"", i.Text)
			}
			return true, nil
		case unwrap && v.kind == pathArray:
			return inner()
		case !e.lenient:
			return false, pathError("2203A", "jsonpath member accessor can only be applied to an object")
		}
	case types.PathAnyKey:
		switch {
		case v.kind == pathObject:
			return e.members(v, each)
		case unwrap && v.kind == pathArray:
			return inner()
		case !e.lenient:
			return false, pathError("2203C", "jsonpath wildcard member accessor can only be applied to an object")
		}
	case types.PathAnyArray:
		switch {
		case v.kind == pathArray:
			return e.elements(v, each)
		case !e.path.Strict:
			return each(v)
		case !e.lenient:
			return false, pathError("22039", "jsonpath wildcard array accessor can only be applied to an array")
		}
	case types.PathIndex:
		if v.kind == pathArray || !e.path.Strict {
			return e.indexes(i, v, each)
		}
		if !e.lenient {
			return false, pathError("22039", "jsonpath array accessor can only be applied to an array")
		}
	case types.PathAny:
		saved := e.lenient
		e.lenient = true
		more, err := e.levels(i, v, 0, each)
		e.lenient = saved
		return more, err
	}
	return true, nil
}

// members calls f for the values of an object.
func (e *pathEval) members(v pathItem, f func(pathItem) (bool, error)) (more bool, err error) {
	more = true
	types.JSONObjectEach(v.raw, func(_, x []byte) bool {
		more, err = f(jsonItem(x))
		return more && err == nil
	})
	return more, err
}

// levels walks the levels of .**; level 0 is the value itself. Where only the last
// level is asked for, it is that of the scalars.
func (e *pathEval) levels(i *types.PathItem, v pathItem, level int32, f func(pathItem) (bool, error)) (bool, error) {
	container := v.kind == pathArray || v.kind == pathObject
	leaves := i.From == types.PathLastLevel && i.To == types.PathLastLevel
	if leaves && !container && level > 0 || i.From != types.PathLastLevel && level >= i.From {
		if more, err := f(v); !more || err != nil {
			return more, err
		}
	}
	if !container || i.To != types.PathLastLevel && level >= i.To {
		return true, nil
	}
	down := func(x pathItem) (bool, error) { return e.levels(i, x, level+1, f) }
	if v.kind == pathArray {
		return e.elements(v, down)
	}
	return e.members(v, down)
}

func (e *pathEval) indexes(i *types.PathItem, v pathItem, f func(pathItem) (bool, error)) (bool, error) {
	elems := [][]byte{v.raw}
	if v.kind == pathArray {
		elems = elems[:0]
		types.JSONArrayEach(v.raw, func(x []byte) bool { elems = append(elems, x); return true })
	}
	saved := e.size
	defer func() { e.size = saved }()
	for _, r := range i.Args {
		e.size = len(elems)
		from, err := e.index(r.Left, v)
		to := from
		if err == nil && r.Right != nil {
			to, err = e.index(r.Right, v)
		}
		if err != nil {
			return false, err
		}
		if !e.lenient && (from < 0 || from > to || to >= len(elems)) {
			return false, pathError("22033", "jsonpath array subscript is out of bounds")
		}
		for k := max(from, 0); k <= min(to, len(elems)-1); k++ {
			x := v
			if v.kind == pathArray {
				x = jsonItem(elems[k])
			}
			e.size = saved
			more, err := f(x)
			if !more || err != nil {
				return more, err
			}
		}
	}
	return true, nil
}

// probing sets probe; the result sets it back.
func (e *pathEval) probing(on bool) func() {
	saved := e.probe
	e.probe = on
	return func() { e.probe = saved }
}

// index is the value of a subscript.
func (e *pathEval) index(i *types.PathItem, v pathItem) (int, error) {
	var found []pathItem
	defer e.probing(false)()
	if _, err := e.item(i, v, !e.path.Strict, collectItems(&found)); err != nil {
		return 0, err
	}
	if len(found) != 1 || found[0].kind != pathNumber {
		return 0, pathError("22033", "jsonpath array subscript is not a single numeric value")
	}
	n, ok := found[0].num.Trunc(0).Int64()
	if !ok || n != int64(int32(n)) {
		return 0, pathError("22033", "jsonpath array subscript is out of integer range")
	}
	return int(n), nil
}

// operand is the list of values of an operand, arrays unwrapped in lax mode.
func (e *pathEval) operand(i *types.PathItem, v pathItem, unwrap bool) (out []pathItem, err error) {
	defer e.probing(false)()
	_, err = e.item(i, v, !e.path.Strict, func(x pathItem) bool {
		if unwrap && !e.path.Strict && x.kind == pathArray {
			_, _ = e.elements(x, func(y pathItem) (bool, error) { out = append(out, y); return true, nil })
		} else {
			out = append(out, x)
		}
		return true
	})
	return out, err
}

func (e *pathEval) arithmetic(i *types.PathItem, v pathItem, yield pathSink) (bool, error) {
	var ds [2]types.Decimal
	for k, side := range []*types.PathItem{i.Left, i.Right} {
		xs, err := e.operand(side, v, true)
		if err != nil {
			return false, err
		}
		if len(xs) != 1 || xs[0].kind != pathNumber {
			return false, pathError("22038", "%s operand of jsonpath operator %s is not a single numeric value", [2]string{"left", "right"}[k], i.Op.Sign())
		}
		ds[k] = xs[0].num
	}
	var d types.Decimal
	var err error
	switch i.Op {
	case types.PathAdd:
		d = ds[0].Add(ds[1])
	case types.PathSub:
		d = ds[0].Sub(ds[1])
	case types.PathMul:
		d = ds[0].Mul(ds[1])
	case types.PathDiv:
		d, err = ds[0].Div(ds[1])
	default:
		d, err = ds[0].Mod(ds[1])
	}
	if err != nil {
		return false, err
	}
	return e.next(i, numberItem(d), yield)
}

func (e *pathEval) sign(i *types.PathItem, v pathItem, yield pathSink) (bool, error) {
	xs, err := e.operand(i.Left, v, true)
	if err != nil {
		return false, err
	}
	for _, x := range xs {
		if x.kind != pathNumber {
			if e.probe && i.Next == nil {
				continue
			}
			return false, pathError("2203B", "operand of unary jsonpath operator %s is not a numeric value", i.Op.Sign())
		}
		if i.Op == types.PathMinus {
			x = numberItem(x.num.Neg())
		}
		if more, err := e.next(i, x, yield); !more || err != nil {
			return more, err
		}
	}
	return true, nil
}

// condition is the truth of a predicate; an error inside makes it unknown.
func (e *pathEval) condition(i *types.PathItem, v pathItem) truth {
	switch i.Op {
	case types.PathAnd:
		l := e.condition(i.Left, v)
		if l == isFalse {
			return isFalse
		}
		if r := e.condition(i.Right, v); r != isTrue {
			return r
		}
		return l
	case types.PathOr:
		l := e.condition(i.Left, v)
		if l == isTrue {
			return isTrue
		}
		if r := e.condition(i.Right, v); r != isFalse {
			return r
		}
		return l
	case types.PathNot:
		switch e.condition(i.Left, v) {
		case isTrue:
			return isFalse
		case isFalse:
			return isTrue
		}
		return isUnknown
	case types.PathIsUnknown:
		return truthOf(e.condition(i.Left, v) == isUnknown)
	case types.PathExists:
		found := false
		defer e.probing(!e.path.Strict)()
		_, err := e.item(i.Left, v, !e.path.Strict, func(pathItem) bool {
			found = true
			return e.path.Strict // strict mode wants to know of errors behind
		})
		if err != nil {
			return isUnknown
		}
		return truthOf(found)
	case types.PathStartsWith:
		return e.pairs(i, v, false, func(a, b pathItem) truth {
			if a.kind != pathString || b.kind != pathString {
				return isUnknown
			}
			return truthOf(strings.HasPrefix(a.str, b.str))
		})
	case types.PathLikeRegex:
		re := e.regexes[i]
		if re == nil {
			var err error
			if re, err = compilePathRegex(i.Text, i.Flags); err != nil {
				e.fatal = err
				return isUnknown
			}
			e.regexes[i] = re
		}
		return e.pairs(i, v, false, func(a, _ pathItem) truth {
			if a.kind != pathString {
				return isUnknown
			}
			found, err := re.Match(a.str)
			if err != nil {
				e.fatal = err
				return isUnknown
			}
			return truthOf(found)
		})
	}
	return e.pairs(i, v, true, func(a, b pathItem) truth { return e.compare(i.Op, a, b) })
}

// pairs tests the values of the left side with those of the right: true if it
// holds for any pair, unknown if a pair cannot be tested, in strict mode in any case.
func (e *pathEval) pairs(i *types.PathItem, v pathItem, unwrapRight bool, holds func(a, b pathItem) truth) truth {
	ls, err := e.operand(i.Left, v, true)
	if err != nil {
		return isUnknown
	}
	rs := []pathItem{{}}
	if i.Right != nil {
		if rs, err = e.operand(i.Right, v, unwrapRight); err != nil {
			return isUnknown
		}
	}
	out, failed := isFalse, false
	for _, l := range ls {
		for _, r := range rs {
			switch holds(l, r) {
			case isUnknown:
				if e.path.Strict {
					return isUnknown
				}
				failed = true
			case isTrue:
				if !e.path.Strict {
					return isTrue
				}
				out = isTrue
			}
		}
	}
	if out != isTrue && failed {
		return isUnknown
	}
	return out
}

func (e *pathEval) compare(op types.PathOp, a, b pathItem) truth {
	if a.kind != b.kind {
		if a.kind == pathNull || b.kind == pathNull {
			return truthOf(op == types.PathNe)
		}
		return isUnknown
	}
	d := 0
	switch a.kind {
	case pathNull:
	case pathBool, pathString:
		x, y := string(a.raw), string(b.raw)
		if a.kind == pathString {
			x, y = a.str, b.str
		}
		d = strings.Compare(x, y)
	case pathNumber:
		d = a.num.Cmp(b.num)
	case pathDatetime:
		var ok bool
		if d, ok = e.compareTimes(a, b); !ok {
			return isUnknown
		}
	default:
		return isUnknown
	}
	switch op {
	case types.PathEq:
		return truthOf(d == 0)
	case types.PathNe:
		return truthOf(d != 0)
	case types.PathLt:
		return truthOf(d < 0)
	case types.PathLe:
		return truthOf(d <= 0)
	case types.PathGt:
		return truthOf(d > 0)
	}
	return truthOf(d >= 0)
}

// compilePathRegex compiles a pattern of like_regex with XQuery's flags.
func compilePathRegex(pattern, flags string) (*are.Regexp, error) {
	opts := ""
	if strings.Contains(flags, "i") {
		opts += "i"
	}
	switch {
	case strings.Contains(flags, "x") && !strings.Contains(flags, "q"):
		return nil, pgerr.New(pgerr.FeatureNotSupported, `XQuery "x" flag (expanded regular expressions) is not implemented`).
			WithHint("Write the pattern without white space and comments, and leave the flag out.")
	case strings.Contains(flags, "q"):
		opts += "q"
	case strings.Contains(flags, "s") && strings.Contains(flags, "m"):
		opts += "w"
	case strings.Contains(flags, "s"):
	case strings.Contains(flags, "m"):
		opts += "n"
	default:
		opts += "p"
	}
	return are.Compile(pattern, opts)
}

// checkPathRegex tells whether a pattern of like_regex can be compiled.
func checkPathRegex(pattern, flags string) error {
	_, err := compilePathRegex(pattern, flags)
	return err
}

// RegisterPathRegexes lets jsonpaths be checked for bad patterns when they are read.
var RegisterPathRegexes = sync.OnceFunc(func() { types.CheckPathRegex = checkPathRegex })
