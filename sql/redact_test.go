package sql

import (
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	secret := func(n string) bool { return strings.Contains(n, "password") }
	for in, want := range map[string]string{
		`CREATE SOURCE s WITH (connector = 'kafka', properties.sasl.password = 'it''s', "properties.ssl.key.password"='b', topic = 'password')`: `CREATE SOURCE s WITH (connector = 'kafka', properties.sasl.password = '***', "properties.ssl.key.password"='***', topic = 'password')`,
		`create sink k from t with ('password' = $$x y$$, a.password = E'\'q', password = 12, password = word)`:                                 `create sink k from t with ('password' = '***', a.password = '***', password = '***', password = '***')`,
		`CREATE SOURCE s WITH (password = SECRET pw, password = secret)`:                                                                        `CREATE SOURCE s WITH (password = SECRET pw, password = secret)`,
		`CREATE SECRET IF NOT EXISTS pw AS 'hunter2'; SELECT 1 AS a`:                                                                            `CREATE SECRET IF NOT EXISTS pw AS '***'; SELECT 1 AS a`,
		`create secret pw with (backend = 'meta') as $q$it$q$`:                                                                                  `create secret pw with (backend = 'meta') as '***'`,
		`CREATE SECRET pw AS 'hunter2`:            `CREATE SECRET pw AS ...`,
		`SELECT a = 'b', 'c' AS d FROM passwords`: `SELECT a = 'b', 'c' AS d FROM passwords`,
	} {
		if got := Redact(in, secret); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}
