package clients

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
)

// dbtRun runs dbt on the project in dbt/ against one database.
type dbtRun struct {
	bin, out string
	env      []string
}

func newDbt(t *testing.T, dsn string) dbtRun {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return dbtRun{
		bin: filepath.Join(pythonEnv(t), "dbt"),
		out: t.TempDir(),
		env: append(os.Environ(), "SHOP_HOST="+config.Host, "SHOP_PORT="+strconv.Itoa(int(config.Port)), "SHOP_USER="+config.User,
			"SHOP_PASSWORD="+config.Password, "SHOP_DB="+config.Database, "DO_NOT_TRACK=1"),
	}
}

func (d dbtRun) run(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), d.bin, append([]string{"--no-use-colors", "--no-version-check"}, append(args,
		"--profiles-dir", ".", "--target-path", filepath.Join(d.out, "target"), "--log-path", filepath.Join(d.out, "logs"))...)...)
	cmd.Dir, cmd.Env = "dbt", d.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("dbt %v: %v\n%s", args, err, out)
	}
}

// TestDbt builds the project, changes the data under it, and runs it again, as
// it is, with a column more and from scratch. After each run the tables, the
// incremental tables, the snapshot and the materialized views are what dbt
// makes of PostgreSQL.
func TestDbt(t *testing.T) {
	dsn := startServer(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	change := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	rows := func(sql string, want string) {
		t.Helper()
		out, err := psql(t, dsn, "-At", "-c", sql)
		if err != nil || out != want {
			t.Errorf("%s: %v, got\n%swant\n%s", sql, err, out, want)
		}
	}
	change("DROP SCHEMA IF EXISTS shop CASCADE")
	dbt := newDbt(t, dsn)

	dbt.run(t, "build")
	rows("SELECT * FROM shop.customer_totals ORDER BY 1", "1|Ada|2|15.50\n2|Grace|1|99.99\n3|Edsger|0|0\n4|Zoë, d'A|0|0\n")
	rows("SELECT order_id, status FROM shop.order_history ORDER BY 1", "1|paid\n2|paid\n3|open\n4|void\n")
	rows("SELECT * FROM shop.best_customer", "2|Grace|99.99\n")

	change(`UPDATE shop.raw_customers SET city = 'Paris' WHERE id = 2;
		DELETE FROM shop.raw_customers WHERE id = 4;
		INSERT INTO shop.raw_customers VALUES (5, 'Barbara', 'Boston', '2024-06-01');
		UPDATE shop.raw_orders SET status = 'paid' WHERE id = 4;
		INSERT INTO shop.raw_orders VALUES (5, 5, 500, 'paid', '2024-06-02 01:00:00'), (6, 1, 1, 'open', '2024-06-03')`)
	dbt.run(t, "build", "--exclude", "resource_type:seed")
	rows("SELECT customer_id, orders, total FROM shop.customer_totals ORDER BY 1", "1|3|16.50\n2|1|99.99\n3|1|7.25\n5|1|500.00\n")
	rows("SELECT order_id, status FROM shop.order_history ORDER BY 1", "1|paid\n2|paid\n3|open\n4|paid\n5|paid\n6|open\n")
	rows("SELECT * FROM shop.order_log ORDER BY 1", "1|paid\n2|paid\n3|open\n4|void\n5|paid\n6|open\n")
	rows("SELECT id, city, dbt_valid_to IS NULL FROM shop.customers_snapshot ORDER BY 1, 3",
		"1|London|t\n2|New York|f\n2|Paris|t\n3|Austin|t\n4||f\n5|Boston|t\n")
	rows("SELECT * FROM shop.best_customer", "5|Barbara|500.00\n")

	change("INSERT INTO shop.raw_orders VALUES (7, 3, 2.50, 'paid', '2024-06-04')")
	dbt.run(t, "run", "--select", "order_log", "--vars", "{with_amount: true}")
	rows("SELECT * FROM shop.order_log WHERE order_id > 5 ORDER BY 1", "6|open|\n7|paid|2.50\n")
	dbt.run(t, "build", "--full-refresh", "--exclude", "customers_snapshot")
	rows("SELECT * FROM shop.order_log ORDER BY 1", "1|paid\n2|paid\n3|open\n4|void\n")
	rows("SELECT * FROM shop.best_customer", "2|Grace|99.99\n")
	dbt.run(t, "docs", "generate")
	if _, err := os.Stat(filepath.Join(dbt.out, "target", "catalog.json")); err != nil {
		t.Error(err)
	}
}
