package types

import "testing"

func TestVectors(t *testing.T) {
	for _, typ := range []T{TInt2Vector, TOidVector} {
		for _, s := range []string{"", "1", "3 1 2"} {
			d, err := ParseText(typ, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(AppendText(nil, typ, d, nil)); got != s {
				t.Errorf("%s %q became %q", typ, s, got)
			}
		}
		if got, ok := ByOID(typ.OID()); !ok || got != typ {
			t.Errorf("%s by OID is %s", typ, got)
		}
		if got, ok := ByName(typ.TypName()); !ok || got != typ {
			t.Errorf("%s by name is %s", typ, got)
		}
		if typ.ElemType() != typ.ElemType().Base() || typ.Base() != ArrayOf(typ.Elem) {
			t.Errorf("%s is no array of %s", typ, typ.ElemType())
		}
	}
	d, _ := ParseText(TInt2Vector, "5 7", nil)
	if got := string(AppendText(nil, ArrayOf(Int2), d, nil)); got != "[0:1]={5,7}" {
		t.Errorf("as an array %s", got)
	}
	if _, err := ParseText(TInt2Vector, "1 x", nil); err == nil {
		t.Error("letters in an int2vector")
	}
}
