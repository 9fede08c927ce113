-- @ extended
SELECT id, name FROM t WHERE id > $1

-- @ simple
BEGIN READ WRITE

-- @ simple
SELECT 1

-- @ simple
COMMIT

-- @ extended
SELECT name FROM t WHERE id=$1
