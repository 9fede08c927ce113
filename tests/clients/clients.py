"""Python drivers against the server: clients.py psycopg3|psycopg2|sqlalchemy DSN."""
import datetime
import decimal
import sys


def check(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


ADA = (1, "Ada", datetime.date(1815, 12, 10), decimal.Decimal("9.50"))


def psycopg3(dsn):
    import psycopg

    with psycopg.connect(dsn) as conn:
        check(conn.execute("SELECT id, name, born, score FROM people WHERE id = %s", (1,)).fetchone(), ADA)
        for binary in (False, True):
            cur = conn.cursor(binary=binary)
            for _ in range(7):  # the driver prepares a statement after five runs
                cur.execute("SELECT id, name FROM people WHERE name = %s", ("Bo",))
                check(cur.fetchall(), [(2, "Bo")])
        cur = conn.cursor()
        cur.executemany("INSERT INTO people (id, name) VALUES (%s, %s)", [(11, "Eve"), (12, "Eve")])
        conn.commit()
        check(cur.execute("SELECT n FROM by_name WHERE name = 'Eve'").fetchone(), (2,))
        try:
            cur.execute("INSERT INTO people (id, name) VALUES (1, 'again')")
            raise AssertionError("a duplicate key was accepted")
        except psycopg.errors.UniqueViolation:
            conn.rollback()
        cur.execute("DELETE FROM people WHERE id > 10")
        check(cur.rowcount, 2)
    with psycopg.connect(dsn, autocommit=True) as conn:
        check(conn.execute("SELECT count(*) FROM by_name WHERE name = 'Eve'").fetchone(), (0,))


def psycopg2(dsn):
    import psycopg2 as driver
    from psycopg2 import errors

    conn = driver.connect(dsn)
    cur = conn.cursor()
    cur.execute("SELECT id, name, born, score FROM people WHERE id = %s", (1,))
    check(cur.fetchone(), ADA)
    cur.execute("INSERT INTO people (id, name, born) VALUES (%s, %s, %s) RETURNING id", (21, "O'Hara", datetime.date(2001, 2, 3)))
    check(cur.fetchone(), (21,))
    conn.rollback()
    cur.execute("SELECT count(*) FROM people WHERE id = 21")
    check(cur.fetchone(), (0,))
    try:
        cur.execute("SELECT nothing FROM people")
        raise AssertionError("an unknown column was accepted")
    except errors.UndefinedColumn:
        conn.rollback()
    cur.execute("SELECT %s::text, %s::numeric, %s", ("x", decimal.Decimal("1.10"), None))
    check(cur.fetchone(), ("x", decimal.Decimal("1.10"), None))
    conn.close()


def sqlalchemy(dsn):
    import sqlalchemy as sa

    for driver in ("psycopg", "psycopg2"):
        engine = sa.create_engine(dsn.replace("postgres://", f"postgresql+{driver}://"))
        inspector = sa.inspect(engine)
        assert "people" in inspector.get_table_names(), inspector.get_table_names()
        assert "by_name" in inspector.get_materialized_view_names()
        columns = {c["name"]: c for c in inspector.get_columns("people")}
        check(columns["id"]["nullable"], False)
        check(str(columns["score"]["type"]), "NUMERIC(8, 2)")
        check(inspector.get_pk_constraint("people")["constrained_columns"], ["id"])
        people = sa.Table("people", sa.MetaData(), autoload_with=engine)
        with engine.begin() as conn:
            conn.execute(people.insert(), [{"id": 31, "name": "Fay"}, {"id": 32, "name": "Fay"}])
        with engine.begin() as conn:
            check(conn.execute(sa.text("SELECT n FROM by_name WHERE name = :n"), {"n": "Fay"}).scalar(), 2)
            rows = conn.execute(sa.select(people.c.id).where(people.c.name == "Fay").order_by(people.c.id))
            check([r.id for r in rows], [31, 32])
            check(conn.execute(people.delete().where(people.c.id > 30)).rowcount, 2)
        engine.dispose()


{"psycopg3": psycopg3, "psycopg2": psycopg2, "sqlalchemy": sqlalchemy}[sys.argv[1]](sys.argv[2])
print("ok")
