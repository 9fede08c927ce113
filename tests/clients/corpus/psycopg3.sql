-- @ extended
SAVEPOINT "_pg3_1"

-- @ extended
RELEASE "_pg3_1"

-- @ extended
SELECT name, oid, array_oid, array_agg(label) AS labels
FROM (
    SELECT
        t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
        e.enumlabel AS label
    FROM pg_type t
    LEFT JOIN  pg_enum e
    ON e.enumtypid = t.oid
    WHERE t.oid = $1::regtype
    ORDER BY e.enumsortorder
) x
GROUP BY name, oid, array_oid

-- @ extended
SELECT
    t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    coalesce(a.fnames, '{}') AS field_names,
    coalesce(a.ftypes, '{}') AS field_types
FROM pg_type t
LEFT JOIN (
    SELECT
        attrelid,
        array_agg(attname) AS fnames,
        array_agg(atttypid) AS ftypes
    FROM (
        SELECT a.attrelid, a.attname, a.atttypid
        FROM pg_attribute a
        JOIN pg_type t ON t.typrelid = a.attrelid
        WHERE t.oid = $1::regtype
        AND a.attnum > 0
        AND NOT a.attisdropped
        ORDER BY a.attnum
    ) x
    GROUP BY attrelid
) a ON a.attrelid = t.typrelid
WHERE t.oid = $1::regtype

-- @ extended
SELECT
    typname AS name, oid, typarray AS array_oid,
    oid::regtype::text AS regtype, typdelim AS delimiter
FROM pg_type t
WHERE t.oid = $1::regtype
ORDER BY t.oid

-- @ extended
ROLLBACK TO "_pg3_1"

-- @ extended
DEALLOCATE ALL

-- @ extended
SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngtypid
WHERE t.oid = $1::regtype

-- @ extended
SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    r.rngtypid AS range_oid, r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngmultitypid
WHERE t.oid = $1::regtype

-- @ extended
SELECT id,ts,n FROM t

-- @ extended
DECLARE "srv" CURSOR FOR SELECT * FROM t

-- @ extended
FETCH FORWARD 1 FROM "srv"

-- @ extended
CLOSE "srv"

-- @ simple
COPY t(name) FROM STDIN

-- @ extended
SELECT $1
