-- @ simple
SELECT NOW()

-- @ extended
SELECT * FROM t WHERE id=$1

-- @ extended
SELECT $1::text as m

-- @ simple
BEGIN

-- @ simple
LISTEN ch

-- @ simple
NOTIFY ch, 'x'

-- @ extended
SELECT * FROM t WHERE id > $1

-- @ simple
SELECT 1,2

-- @ simple
SELECT 1; SELECT 2
