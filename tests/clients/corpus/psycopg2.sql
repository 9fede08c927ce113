-- @ simple
SELECT * FROM t WHERE id=1

-- @ simple
INSERT INTO t(name) VALUES ('p')

-- @ simple
INSERT INTO t(name) VALUES ('q')

-- @ simple
INSERT INTO t(name) VALUES ('p'),('q')

-- @ simple
DECLARE "named" CURSOR WITHOUT HOLD FOR SELECT * FROM t

-- @ simple
FETCH FORWARD 2 FROM "named"

-- @ simple
CLOSE "named"

-- @ simple
SELECT t.oid, typarray
FROM pg_type t JOIN pg_namespace ns
    ON typnamespace = ns.oid
WHERE typname = 'hstore';

-- @ simple
SELECT t.oid, typarray, attname, atttypid
FROM pg_type t
JOIN pg_namespace ns ON typnamespace = ns.oid
JOIN pg_attribute a ON attrelid = typrelid
WHERE typname = 'comp' AND nspname = 'public'
    AND attnum > 0 AND NOT attisdropped
ORDER BY attnum;

-- @ simple
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY

-- @ simple
COPY t(name) TO STDOUT WITH CSV HEADER
