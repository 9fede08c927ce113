package expr

import (
	"testing"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// wideExpr is repeat('x', 100000) <> repeat(i::text, 30000) AND 10 / (i - 700) <> 10
// over a column i.
func wideExpr(t *testing.T) Expr {
	t.Helper()
	call := func(name string, args ...Expr) Expr {
		var ts []types.T
		for _, a := range args {
			ts = append(ts, a.Type())
		}
		f, err := ResolveFunc(name, ts)
		if err != nil {
			t.Fatal(err)
		}
		return &Call{Fn: f, Args: args, Typ: f.Ret}
	}
	op := func(name string, l, r Expr) Expr {
		f, err := ResolveOp(name, l.Type(), r.Type())
		if err != nil {
			t.Fatal(err)
		}
		return &Call{Fn: f, Args: []Expr{l, r}, Typ: f.Ret}
	}
	i := &Col{Index: 0, Typ: types.TInt4}
	n := func(v int32) Expr { return &Const{Val: v, Typ: types.TInt4} }
	x := &Const{Val: "x", Typ: types.TText}
	return &And{Args: []Expr{
		op("<>", call("repeat", x, n(100000)), call("repeat", &Cast{Arg: i, To: types.TText}, n(30000))),
		op("<>", op("/", n(10), op("-", i, n(700))), n(10)),
	}}
}

// A condition whose values for a chunk take some hundred megabytes is computed in
// parts, with the same rows, and with the same errors by row.
func TestWideFilter(t *testing.T) {
	p, err := Compile(wideExpr(t))
	if err != nil {
		t.Fatal(err)
	}
	in := vec.NewChunk([]types.T{types.TInt4}, 1000)
	for i := range int32(1000) {
		in.AppendRow(1, i)
	}
	c := &Ctx{Session: &Session{}, Errors: &RowErrors{}}
	sel, err := p.Filter(c, in, nil)
	if err != nil || len(sel) != 998 {
		t.Fatalf("%d rows, %v; want 998", len(sel), err)
	}
	want := int32(0)
	for _, i := range sel {
		if want == 700 || want == 701 {
			want++
		}
		if want == 701 {
			want++
		}
		if i != want {
			t.Fatalf("row %d, want %d", i, want)
		}
		want++
	}
	if len(c.Errors.Rows) != 1 || c.Errors.Rows[0] != 700 {
		t.Errorf("failed rows %v, want 700", c.Errors.Rows)
	}
	c.Errors = nil
	if _, err := p.Filter(c, in, nil); err == nil || err.Error() != "division by zero (SQLSTATE 22012)" {
		t.Errorf("error %v", err)
	}
	// The values themselves are the caller's to ask for in parts.
	p, err = Compile(wideExpr(t).(*And).Args[0].(*Call).Args[1])
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Eval(c, in)
	w, ok := err.(*WideError)
	if !ok || w.Rows < 100 || w.Rows > 999 {
		t.Fatalf("error %v, want a WideError", err)
	}
}
