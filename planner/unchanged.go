package planner

import (
	"math"
	"reflect"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// Unchanged reports whether the operators of two plans, made at different times for
// sessions of the same time zone and styles, do the same with the same input, to the
// last byte of their state. Names do not matter. Where that is not certain the
// answer is no: what two plans are printed as, or a fingerprint, may leave out what
// makes the difference.
func Unchanged(a, b plan.Node) bool {
	s := sameness{works: map[int]int{}}
	return s.value(reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem())
}

// sameness compares plans.
type sameness struct {
	works map[int]int // ids of recursions, which are numbered in each plan anew
	clock bool        // in a Clock, whose time is its input and not when the plan was made
}

// nameFields are fields that nothing but messages depends on.
var nameFields = map[reflect.Type][]string{
	reflect.TypeFor[plan.Column]():    {"Name"},
	reflect.TypeFor[plan.Scan]():      {"Name", "Pos"},
	reflect.TypeFor[plan.Lookup]():    {"Name"},
	reflect.TypeFor[plan.WorkTable](): {"Name"},
}

func (s *sameness) value(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() {
		return false
	}
	if !a.IsValid() {
		return true
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Interface:
		return s.value(a.Elem(), b.Elem())
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return s.pointer(a, b)
	case reflect.Struct:
		return s.fields(a, b)
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !s.value(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return a.Uint() == b.Uint()
	case reflect.Float32, reflect.Float64:
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	case reflect.String:
		return a.String() == b.String()
	}
	return false
}

func (s *sameness) fields(a, b reflect.Value) bool {
	skip := nameFields[a.Type()]
next:
	for i := range a.NumField() {
		for _, n := range skip {
			if a.Type().Field(i).Name == n {
				continue next
			}
		}
		if !s.value(a.Field(i), b.Field(i)) {
			return false
		}
	}
	return true
}

func (s *sameness) pointer(a, b reflect.Value) bool {
	if !a.CanInterface() || !b.CanInterface() {
		return s.value(a.Elem(), b.Elem())
	}
	switch x := a.Interface().(type) {
	case *expr.Func:
		return sameFunc(x, b.Interface().(*expr.Func)) && (timeless(x) || s.clock && x.Clock)
	case *expr.AggFunc:
		y := b.Interface().(*expr.AggFunc)
		return x == y || x.Name == "single_value" && y.Name == x.Name && x.Ret == y.Ret
	case *expr.Cast:
		if !timelessCast(x) {
			return false
		}
	case *plan.Clock:
		s.clock = true
		defer func() { s.clock = false }()
	case *plan.Recursive:
		y := b.Interface().(*plan.Recursive)
		s.works[x.ID] = y.ID
		return x.All == y.All && s.value(reflect.ValueOf(x.Out), reflect.ValueOf(y.Out)) &&
			s.value(reflect.ValueOf(&x.Base).Elem(), reflect.ValueOf(&y.Base).Elem()) && s.value(reflect.ValueOf(&x.Step).Elem(), reflect.ValueOf(&y.Step).Elem())
	case *plan.WorkTable:
		y := b.Interface().(*plan.WorkTable)
		id, ok := s.works[x.ID] // not known: of a recursion around what is compared
		return ok && id == y.ID && s.value(reflect.ValueOf(x.Out), reflect.ValueOf(y.Out))
	}
	return s.value(a.Elem(), b.Elem())
}

// sameFunc reports whether two functions are one. Most are entries of a table;
// casts written as calls are made when they are called.
func sameFunc(f, g *expr.Func) bool {
	if f == g {
		return true
	}
	if f.Name != g.Name || f.Ret != g.Ret || len(f.Args) != len(g.Args) || f.Set || g.Set || f.New != nil || g.New != nil || f.RetFn != nil || g.RetFn != nil || f.UserOID != 0 || g.UserOID != 0 {
		return false
	}
	for i := range f.Args {
		if f.Args[i] != g.Args[i] {
			return false
		}
	}
	return true
}

// timelessFuncs are stable functions whose results depend on the time zone and the
// styles of a session alone, neither on when it is nor on the catalog.
var timelessFuncs = map[string]bool{
	"+": true, "-": true, "||": true, "=": true, "<>": true, "<": true, "<=": true, ">": true, ">=": true,
	"age": true, "array_to_json": true, "array_to_string": true, "concat": true, "concat_ws": true, "convert": true, "convert_from": true,
	"convert_to": true, "date_part": true, "date_trunc": true, "extract": true, "format": true, "generate_series": true,
	"json_build_array": true, "json_build_object": true, "jsonb_build_array": true, "jsonb_build_object": true, "make_timestamptz": true,
	"quote_literal": true, "quote_nullable": true, "row_to_json": true, "timezone": true, "to_char": true, "to_date": true, "to_json": true,
	"to_jsonb": true, "to_number": true, "to_timestamp": true,
}

func timeless(f *expr.Func) bool {
	switch f.Volatility {
	case expr.Immutable:
		return true
	case expr.Stable:
		return timelessFuncs[f.Name] && !(f.Name == "age" && len(f.Args) < 2)
	}
	return false
}

// timelessCast reports the same of a cast. Text like 'today' depends on when it is,
// names of relations on the catalog.
func timelessCast(c *expr.Cast) bool {
	if !c.Stable() {
		return true
	}
	from := c.Arg.Type()
	if from.ID == types.Array {
		from = types.T{ID: from.Elem}
	}
	return from.Category() == 'D' || from.ID == types.Interval
}
