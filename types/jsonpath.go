package types

import (
	"strconv"
	"strings"
)

// PathOp is the kind of a step of a jsonpath.
type PathOp uint8

// The kinds of steps: literals, places, accessors, filters, operators, methods.
const (
	PathNull     PathOp = iota
	PathString          // Text
	PathNumber          // Num
	PathBool            // Text is "t" for true
	PathVariable        // $Text
	PathRoot            // $
	PathCurrent         // @
	PathLast            // last
	PathKey             // .Text
	PathAnyKey          // .*
	PathAnyArray        // [*]
	PathIndex           // [Args]
	PathRange           // a to b: Left, Right (nil: one index), in PathIndex only
	PathAny             // .**{From to To}
	PathFilter          // ?(Left)
	PathAnd
	PathOr
	PathNot
	PathIsUnknown
	PathEq
	PathNe
	PathLt
	PathLe
	PathGt
	PathGe
	PathStartsWith // Left starts with Right
	PathLikeRegex  // Left like_regex Text flag Flags
	PathExists
	PathAdd
	PathSub
	PathMul
	PathDiv
	PathMod
	PathPlus  // unary
	PathMinus // unary
	PathMethod
)

// PathLastLevel stands for last among the levels of .**.
const PathLastLevel = -1

// PathItem is a node of a parsed jsonpath; Next is the accessor that is applied to
// what it yields.
type PathItem struct {
	Op          PathOp
	Text        string
	Flags       string
	Num         Decimal
	Left, Right *PathItem
	Args        []*PathItem
	From, To    int32
	Next        *PathItem
}

// JSONPathValue is a parsed jsonpath.
type JSONPathValue struct {
	Strict bool
	Root   *PathItem
}

var pathOpText = map[PathOp]string{
	PathAnd: "&&", PathOr: "||", PathEq: "==", PathNe: "!=", PathLt: "<", PathLe: "<=", PathGt: ">", PathGe: ">=",
	PathAdd: "+", PathSub: "-", PathMul: "*", PathDiv: "/", PathMod: "%", PathPlus: "+", PathMinus: "-", PathStartsWith: "starts with",
}

// Sign is an operator as it is written.
func (o PathOp) Sign() string { return pathOpText[o] }

func (o PathOp) priority() int {
	switch o {
	case PathOr:
		return 0
	case PathAnd:
		return 1
	case PathEq, PathNe, PathLt, PathLe, PathGt, PathGe, PathStartsWith:
		return 2
	case PathAdd, PathSub:
		return 3
	case PathMul, PathDiv, PathMod:
		return 4
	case PathPlus, PathMinus:
		return 5
	}
	return 6
}

// String is the text of the path as PostgreSQL prints it.
func (p *JSONPathValue) String() string {
	var b []byte
	if p.Strict {
		b = append(b, "strict "...)
	}
	return string(p.Root.appendText(b, false, true))
}

func (i *PathItem) appendText(b []byte, inKey, brackets bool) []byte {
	open := func() {
		if brackets {
			b = append(b, '(')
		}
	}
	shut := func() {
		if brackets {
			b = append(b, ')')
		}
	}
	operand := func(x *PathItem) { b = x.appendText(b, false, x.Op.priority() <= i.Op.priority()) }
	dot := func() {
		if inKey {
			b = append(b, '.')
		}
	}
	switch i.Op {
	case PathNull:
		b = append(b, "null"...)
	case PathBool:
		b = append(b, map[string]string{"t": "true", "f": "false"}[i.Text]...)
	case PathString:
		b = AppendJSONString(b, i.Text)
	case PathNumber:
		if i.Next != nil {
			b = append(AppendDecimalText(append(b, '('), i.Num), ')')
		} else {
			b = AppendDecimalText(b, i.Num)
		}
	case PathVariable:
		b = AppendJSONString(append(b, '$'), i.Text)
	case PathRoot:
		b = append(b, '$')
	case PathCurrent:
		b = append(b, '@')
	case PathLast:
		b = append(b, "last"...)
	case PathKey:
		dot()
		b = AppendJSONString(b, i.Text)
	case PathAnyKey:
		dot()
		b = append(b, '*')
	case PathAnyArray:
		b = append(b, "[*]"...)
	case PathIndex:
		b = i.appendIndexes(b)
	case PathAny:
		dot()
		b = i.appendLevels(b)
	case PathFilter:
		b = append(i.Left.appendText(append(b, "?("...), false, false), ')')
	case PathNot:
		b = append(i.Left.appendText(append(b, "!("...), false, false), ')')
	case PathIsUnknown:
		b = append(i.Left.appendText(append(b, '('), false, false), ") is unknown"...)
	case PathExists:
		b = append(i.Left.appendText(append(b, "exists ("...), false, false), ')')
	case PathPlus, PathMinus:
		open()
		b = append(b, i.Op.Sign()...)
		operand(i.Left)
		shut()
	case PathLikeRegex:
		open()
		operand(i.Left)
		b = AppendJSONString(append(b, " like_regex "...), i.Text)
		if i.Flags != "" {
			b = append(append(append(b, ` flag "`...), i.Flags...), '"')
		}
		shut()
	case PathMethod:
		b = append(append(append(b, '.'), i.Text...), '(')
		if i.Left != nil {
			b = i.Left.appendText(b, false, false)
		}
		b = append(b, ')')
	default:
		open()
		operand(i.Left)
		b = append(append(append(b, ' '), i.Op.Sign()...), ' ')
		operand(i.Right)
		shut()
	}
	if i.Next != nil {
		b = i.Next.appendText(b, true, true)
	}
	return b
}

func (i *PathItem) appendIndexes(b []byte) []byte {
	b = append(b, '[')
	for k, a := range i.Args {
		if k > 0 {
			b = append(b, ',')
		}
		b = a.Left.appendText(b, false, false)
		if a.Right != nil {
			b = a.Right.appendText(append(b, " to "...), false, false)
		}
	}
	return append(b, ']')
}

func (i *PathItem) appendLevels(b []byte) []byte {
	b = append(b, "**"...)
	level := func(n int32) {
		if n == PathLastLevel {
			b = append(b, "last"...)
		} else {
			b = strconv.AppendInt(b, int64(n), 10)
		}
	}
	if i.From == 0 && i.To == PathLastLevel {
		return b
	}
	b = append(b, '{')
	level(i.From)
	if i.From != i.To {
		b = append(b, " to "...)
		level(i.To)
	}
	return append(b, '}')
}

// normalJSONPath reads a jsonpath and returns its text as it is stored and shown.
func normalJSONPath(s string) (string, error) {
	p, err := ParseJSONPath(s)
	if err != nil {
		return "", err
	}
	return strings.Clone(p.String()), nil
}
