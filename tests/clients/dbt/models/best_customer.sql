{{ config(materialized='materialized_view') }}
select t.customer_id, c.name, t.total
from {{ ref('live_totals') }} t join {{ ref('recent_customers') }} c on c.id = t.customer_id
order by t.total desc, t.customer_id
limit 1
