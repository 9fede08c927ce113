package types

import "testing"

func jb(t *testing.T, s string) []byte {
	t.Helper()
	v, err := ParseJSONB(s)
	if err != nil {
		t.Fatal(s, err)
	}
	return []byte(v)
}

func TestJSONBContainment(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":{"c":[1,2]}}`, `{"b":{"c":[2]}}`, true}, {`[1,2,3]`, `[3,1]`, true}, {`[1,2]`, `2`, true}, {`{"a":0.1}`, `{"a":0.10}`, true},
		{`{"a":1}`, `{"a":2}`, false}, {`[[1,2]]`, `[1]`, false}, {`"x"`, `"x"`, true}, {`[{"a":1}]`, `[{}]`, true},
	} {
		if g := JSONBContains(jb(t, c.a), jb(t, c.b)); g != c.want {
			t.Errorf("%s @> %s = %v", c.a, c.b, g)
		}
	}
}

func TestJSONBEdits(t *testing.T) {
	b := jb(t, `{"a":[1,{"b":null}],"c":"x"}`)
	check := func(name string, got []byte, err error, want string) {
		t.Helper()
		if err != nil || string(got) != want {
			t.Errorf("%s: %s %v, want %s", name, got, err, want)
		}
	}
	v, err := AppendJSONBSet(nil, b, []string{"a", "1", "b"}, []byte("2"), true)
	check("set", v, err, `{"a": [1, {"b": 2}], "c": "x"}`)
	v, err = AppendJSONBInsert(nil, b, []string{"a", "0"}, []byte("0"), false)
	check("insert", v, err, `{"a": [0, 1, {"b": null}], "c": "x"}`)
	v, err = AppendJSONBDelete(nil, b, "a")
	check("delete", v, err, `{"c": "x"}`)
	v, err = AppendJSONBDeletePath(nil, b, []string{"a", "-1"})
	check("delete path", v, err, `{"a": [1], "c": "x"}`)
	check("strip", AppendJSONBStripNulls(nil, b), nil, `{"a": [1, {}], "c": "x"}`)
	check("concat", AppendJSONBConcat(nil, b, jb(t, `{"c":1}`)), nil, `{"a": [1, {"b": null}], "c": 1}`)
	p, ok := JSONFollow(b, []string{"a", "1", "b"})
	if !ok || string(p) != "null" {
		t.Errorf("path: %s %v", p, ok)
	}
}

func TestJSONBKeysFollowOrder(t *testing.T) {
	order := []string{`[]`, `null`, `"a"`, `"b"`, `1`, `10`, `false`, `true`, `[1]`, `[2]`, `[1,1]`, `{}`, `{"a":1}`, `{"b":0}`, `{"a":1,"b":1}`}
	for i := range order {
		for j := range order {
			if g := CompareBytes(TJSONB, jb(t, order[i]), jb(t, order[j])); g != cmpInt(i, j) {
				t.Errorf("%s against %s: %d", order[i], order[j], g)
			}
		}
	}
}
