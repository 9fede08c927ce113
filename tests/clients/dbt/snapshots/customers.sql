{% snapshot customers_snapshot %}
{{ config(target_schema='shop', unique_key='id', strategy='check', check_cols=['name', 'city'], invalidate_hard_deletes=True) }}
select * from {{ ref('raw_customers') }}
{% endsnapshot %}
