{{ config(materialized='view') }}
select id as order_id, customer_id, amount::numeric(12,2) as amount, status, ordered_at::timestamp as ordered_at
from {{ ref('raw_orders') }}
