{{ config(materialized='table', indexes=[{'columns': ['customer_id'], 'unique': True}]) }}
with orders as (select * from {{ ref('stg_orders') }} where status <> 'void')
select c.id as customer_id, c.name, count(o.order_id) as orders, coalesce(sum(o.amount), 0) as total
from {{ ref('raw_customers') }} c left join orders o on o.customer_id = c.id
group by c.id, c.name
