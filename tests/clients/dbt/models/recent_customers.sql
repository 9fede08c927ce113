{{ config(materialized='ephemeral') }}
select id, name from {{ ref('raw_customers') }} where joined >= date '2024-01-01'
