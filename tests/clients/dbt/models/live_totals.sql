{{ config(materialized='materialized_view', indexes=[{'columns': ['customer_id']}]) }}
select customer_id, count(*) as orders, sum(amount) as total
from {{ ref('stg_orders') }}
where status <> 'void'
group by customer_id
