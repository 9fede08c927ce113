-- @ extended
      select b.oid, b.typarray
      from pg_catalog.pg_type a
      left join pg_catalog.pg_type b on b.oid = a.typelem
      where a.typcategory = 'A'
      group by b.oid, b.typarray
      order by b.oid
    

-- @ extended
select $1::int4 as x

-- @ extended
select * from t where id = $1

-- @ simple
begin 

-- @ extended
select 1

-- @ extended
commit
