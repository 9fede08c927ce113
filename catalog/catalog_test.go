package catalog

import (
	"errors"
	"reflect"
	"testing"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

func table(name string, cols ...Column) *Table {
	return &Table{Head: Head{Schema: "public", Name: name}, Columns: cols,
		PrimaryKey: &Key{Name: name + "_pkey", Columns: []int{0}}}
}

func code(err error) pgerr.Code {
	var e *pgerr.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestApplyLoadRoundTrip(t *testing.T) {
	base := New()
	c := Hold(base)
	tb := table("orders", Column{Name: "id", Type: types.TInt8, NotNull: true}, Column{Name: "price", Type: types.NumericOf(10, 2), Default: "0"})
	tb.Owner = BootstrapOID
	c.Assign(tb, DatabaseOID)
	s1, e1, err := c.Current().In(DatabaseOID).Apply(Change{Create: tb})
	if err != nil {
		t.Fatal(err)
	}
	c.Publish(s1)
	mv := &MatView{Head: Head{Schema: "public", Name: "totals", Owner: BootstrapOID}, Query: "SELECT sum(price) FROM orders",
		Columns: []Column{{Name: "sum", Type: types.TNumeric}}, Key: []int{}, DependsOn: []uint32{tb.OID}}
	c.Assign(mv, DatabaseOID)
	s2, e2, err := c.Current().In(DatabaseOID).Apply(Change{Create: mv})
	if err != nil {
		t.Fatal(err)
	}
	c.Publish(s2)

	newest := map[string]Entry{}
	for _, e := range append(e1, e2...) {
		newest[string(e.Key)] = e
	}
	var es []Entry
	for _, e := range newest {
		es = append(es, e)
	}
	got, err := Load(New(), es)
	if err != nil {
		t.Fatal(err)
	}
	got = got.In(DatabaseOID)
	if !reflect.DeepEqual(got.Get("public", "orders"), Object(tb)) || !reflect.DeepEqual(got.Get("public", "totals"), Object(mv)) {
		t.Fatalf("loaded objects differ: %+v %+v", got.Get("public", "orders"), got.Get("public", "totals"))
	}
	if got.NextOID() != s2.NextOID() || len(got.Dependents(tb.OID)) != 1 {
		t.Fatalf("next %d want %d, dependents %v", got.NextOID(), s2.NextOID(), got.Dependents(tb.OID))
	}
}

func TestApplyErrors(t *testing.T) {
	c := Hold(New())
	tb := table("t", Column{Name: "a", Type: types.TInt4})
	c.Assign(tb, DatabaseOID)
	s, _, err := c.Current().In(DatabaseOID).Apply(Change{Create: tb})
	if err != nil {
		t.Fatal(err)
	}
	c.Publish(s)
	v := &View{Head: Head{Schema: "public", Name: "v"}, DependsOn: []uint32{tb.OID}}
	c.Assign(v, DatabaseOID)
	if s, _, err = s.Apply(Change{Create: v}); err != nil {
		t.Fatal(err)
	}
	c.Publish(s)
	dup := table("t")
	c.Assign(dup, DatabaseOID)
	if _, _, err := s.Apply(Change{Create: dup}); code(err) != pgerr.DuplicateTable {
		t.Errorf("duplicate: %v", err)
	}
	if _, _, err := s.Apply(Change{Drop: tb.OID}); code(err) != pgerr.DependentObjectsStillExist {
		t.Errorf("drop with dependents: %v", err)
	}
	if _, _, err := s.Apply(Change{Drop: PublicOID}); code(err) != pgerr.DependentObjectsStillExist {
		t.Errorf("drop of a built-in schema: %v", err)
	}
	order := s.DropOrder(tb.OID)
	if len(order) != 2 || order[0] != Object(v) || order[1] != Object(tb) {
		t.Errorf("drop order %v", order)
	}
	n, _, err := s.Apply(Change{Drop: v.OID}, Change{Drop: tb.OID})
	if err != nil || n.Get("public", "t") != nil {
		t.Fatalf("cascade: %v", err)
	}
	if n.NextOID() <= v.OID || s.Get("public", "t") == nil {
		t.Error("an OID came back, or the old snapshot changed")
	}
}

func TestResolve(t *testing.T) {
	c := Hold(New(&VirtualTable{Head: Head{OID: 1259, Schema: "pg_catalog", Name: "pg_class"}}))
	tb := table("customers", Column{Name: "a", Type: types.TInt4})
	c.Assign(tb, DatabaseOID)
	s, _, err := c.Current().In(DatabaseOID).Apply(Change{Create: tb})
	if err != nil {
		t.Fatal(err)
	}
	path := []string{"nosuch", "public"}
	if o, err := s.Resolve("", "pg_class", path); err != nil || o.Header().OID != 1259 {
		t.Errorf("pg_class: %v %v", o, err)
	}
	_, err = s.Resolve("", "custmers", path)
	if e := pgerr.From(err); e.Code != pgerr.UndefinedTable || e.Hint != `Perhaps you meant "customers".` {
		t.Errorf("%+v", e)
	}
	if !s.Visible(tb.OID, path) || s.Visible(tb.OID, nil) {
		t.Error("visibility")
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"abc", "abc", 0}, {"abc", "acb", 2}, {"kitten", "sitting", 3}, {"", "ab", 2}} {
		if got := Distance(c.a, c.b, 9); got != c.want {
			t.Errorf("%q %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
