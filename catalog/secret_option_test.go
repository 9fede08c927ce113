package catalog

import "testing"

func TestHideSecrets(t *testing.T) {
	in := `CREATE SOURCE s WITH (connector = 'kafka', properties.sasl.password = 'it''s', "properties.ssl.key.password"='b', topic = 'password')`
	want := `CREATE SOURCE s WITH (connector = 'kafka', properties.sasl.password = '***', "properties.ssl.key.password"='***', topic = 'password')`
	if got := HideSecrets(in); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
