{{ config(materialized='incremental', incremental_strategy='append', on_schema_change='append_new_columns') }}
select order_id, status{% if var('with_amount', false) %}, amount{% endif %}
from {{ ref('stg_orders') }}
{% if is_incremental() %}
where order_id > (select coalesce(max(order_id), 0) from {{ this }})
{% endif %}
